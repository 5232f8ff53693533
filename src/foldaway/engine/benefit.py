"""The price of a commit: `benefit = N_future * (C - C') - L_cache_break - L_gc`, in tokens at base input price (S2.4).

Between commits a prompt costs little, as its prefix is read from the provider's cache. A commit makes each later call
cheaper and the next one dearer, since all behind the first altered message is written anew.

N_future is no constant. What a commit frees fills again at the session's own pace; over that time the saving shrinks
evenly from all to nothing, which is half of it on average. So it counts for half the calls until the room is full
again. Committing whenever that exceeds the price is the cheapest rhythm of refilling known to inventory keeping
(Harris, "How many parts to make at once", 1913: order when holding has cost as much as ordering will). Nor does it
count for more calls than the session has had so far: nobody knows how long it goes on, and as long again is the guess
that is right about half the time.

Source of formula and rule: Self-GC (arXiv 2607.00692), as told in reading notes; 0.3 is theirs and settable.
"""

from __future__ import annotations

from foldaway.engine.constraints.last_turn import newest_agent_turn
from foldaway.engine.log import Log
from foldaway.engine.window import Note, Shown, View
from foldaway.model.plan import Benefit, Commit
from foldaway.model.prices import PriceList

PACE_TURNS = 64
"""The newest turns, from which the pace is taken."""
AT_ONCE_SHARE = 0.3
"""From this share of the view on a commit that pays is made at once; smaller gains wait for a quiet moment."""


def benefit(
    *, log: Log, shown: Shown, view: View, fixed_tokens: int, commit: Commit, after: Shown, prices: PriceList,
    cold: bool = False, gc: float = 0.0,
) -> Benefit:  # fmt: skip
    """What this commit would earn. `shown` and `view` are the state before it, `after` the state it leads to.

    `cold`: the provider's cache is known to be gone, so the next call writes all in any case. O(visible turns).
    """
    before, then = commit.tokens_before, commit.tokens_after
    freed = before - then
    saved = prices.cost(before, before) - prices.cost(then, then)
    fresh = sum(tokens for turn, tokens in view.per_turn.items() if turn >= newest_agent_turn(log))
    known = 0 if cold else before - fresh
    kept = 0 if cold else min(fixed_tokens + kept_tokens(log, shown, after, view, commit), known)
    # The formula counts the next call among those that save, so its saving is taken back here.
    broken = prices.cost(kept, then) - prices.cost(known, before) + saved
    return Benefit(
        future_calls=future_calls(log, freed), saved_per_call=round(saved, 2), cache_break=round(broken, 2),
        gc=gc, freed_share=round(freed / before, 4) if before else 0.0, cold=cold,
    )  # fmt: skip


def foreseen(
    *, log: Log, tokens: int, low_tokens: int, floor_tokens: int, prices: PriceList, cold: bool = False
) -> float:
    """About what a commit would earn that frees down to the low watermark and keeps the pinned floor of the prefix.

    For policies that share the room out anew (`rewrites_all`): most commits that do not pay are told without
    rehearsing them. O(1).
    """
    freed = tokens - low_tokens
    saved = prices.cost(tokens, tokens) - prices.cost(low_tokens, low_tokens)
    known = 0 if cold else tokens
    broken = prices.cost(min(floor_tokens, known), low_tokens) - prices.cost(known, tokens) + saved
    return future_calls(log, freed) * saved - broken


def kept_tokens(log: Log, shown: Shown, after: Shown, view: View, commit: Commit) -> int:
    """Tokens of the messages in front of the first one that the commit alters."""
    altered = [log.items[c.item].turn for c in commit.changes]
    if _text(shown.note) != _text(after.note):
        altered += [note.turn for note in (shown.note, after.note) if note is not None]
    first = min(altered, default=len(log.turns))
    return sum(tokens for turn, tokens in view.per_turn.items() if turn < first)


def future_calls(log: Log, freed_tokens: int) -> int:
    """N_future: half the calls in which what was freed fills again, and no more than there have been; at least 1."""
    refill = freed_tokens / (2.0 * pace(log)) if freed_tokens > 0 else 0.0
    return max(1, min(log.step, int(refill)))


def pace(log: Log) -> float:
    """Tokens that a step adds to the history, from the newest turns; at least 1. O(1)."""
    tokens = log.turn_tokens[-PACE_TURNS:]
    if not tokens:
        return 1.0
    steps = log.step - log.turn_step[-len(tokens)]
    return max(1.0, sum(tokens) / max(1, steps))


def moment(benefit: Benefit, *, boundary: str, at_once_share: float = AT_ONCE_SHARE) -> str:
    """Why a commit that nobody forces is made now; "" when it does not pay or can wait."""
    if benefit.total <= 0:
        return ""
    if benefit.freed_share > at_once_share:
        return "large gain"
    if benefit.cold:
        return "the cache is cold"
    return boundary


def _text(note: Note | None) -> str:
    return "" if note is None else note.text
