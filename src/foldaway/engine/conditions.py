"""Conditions that a view reports: what is too large to fit, and user words that had to give way (S1.9, I4)."""

from __future__ import annotations

from collections.abc import Mapping

from foldaway.engine.engine import Engine
from foldaway.engine.words import WORDS_REASON
from foldaway.errors import OverBudget
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Budget, Commit
from foldaway.model.wire import TurnKind

NAMED = 3
"""So many of the largest parts are named."""
FRONT_TURNS = 8
"""Instructions are looked for in so many first turns."""


def check_fixed(engine: Engine, system_tokens: int, tools_tokens: int, budget: int, *, may_send: bool) -> None:
    """Raise OverBudget when system text and tools alone pass the budget (or, where they may be sent, the window)."""
    instructions = sum(
        engine.log.turn_tokens[t]
        for t, turn in enumerate(engine.log.turns[:FRONT_TURNS])
        if turn.kind is TurnKind.INSTRUCTION
    )
    needed = system_tokens + tools_tokens + instructions
    room = engine.budget.window_tokens
    over_window = room is not None and needed > room
    if needed <= engine.budget.tokens or (may_send and not over_window):
        return
    missing = needed - budget
    raise OverBudget(
        f"the system text ({system_tokens + instructions} tokens) and the tools ({tools_tokens} tokens) alone are over "
        f"the budget of {budget} tokens by {missing}; shorten them or raise the budget",
        missing_tokens=missing,
        largest=(("system", system_tokens + instructions), ("tools", tools_tokens)),
    )


def largest(engine: Engine, system_tokens: int, tools_tokens: int) -> tuple[tuple[str, int], ...]:
    """The largest parts of the view that could not be folded, with their tokens, largest first."""
    parts = [("system", system_tokens), ("tools", tools_tokens)]
    for turn, tokens in engine.view_cache.per_turn.items():
        items = engine.log.items_of_turn(turn)
        if items:
            biggest = max(items, key=lambda i: (i.tokens, -i.id))
            parts.append((f"{biggest.kind.value} #{biggest.id}", tokens))
    return tuple(sorted((p for p in parts if p[1]), key=lambda p: (-p[1], p[0]))[:NAMED])


def shortened_words(items: Mapping[int, Item], commit: Commit | None) -> str:
    """User words that this commit shows shortened or only by the fold note; "" when there are none."""
    changed = [c for c in commit.changes if items[c.item].kind in (Kind.USER, Kind.GOAL)] if commit else []
    short = [f"#{c.item}" for c in changed if Level.STUB < c.after < Level.RAW]
    gone = [f"#{c.item}" for c in changed if c.after <= Level.STUB < c.before]
    if not short and not gone:
        return ""
    return f"{WORDS_REASON}: {len(short)} abstracted, {len(gone)} folded ({', '.join([*short, *gone][:8])})"


def reserve_used(tokens: int, budget: Budget, share: float) -> str:
    """That a view takes more than the reserve leaves of the budget, in words; "" when it does not."""
    whole = budget.tokens + budget.reserve_tokens
    if not share or tokens <= whole - int(whole * share):
        return ""
    return (
        f"the reserve of {share:.0%} of the budget is in use: the view takes {tokens} of {whole} tokens, "
        "since pins and the last turn leave no choice"
    )
