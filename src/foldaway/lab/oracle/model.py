"""The game that `exact` solves: what is shown at each call, and what that scores.

A view is the text beside the messages, then blocks in the order of the items: an item shown raw, and after its place
the literals named in its stead (a literal is named at the place of the first item that holds it). It is billed as the
lab bills views: tokens up to the first block that differs from the view before are read, the rest is written, and
each need out of view costs one more call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foldaway.lab.bill import Bill, call_bill
from foldaway.lab.oracle.problem import Problem


@dataclass(frozen=True, slots=True)
class Shown:
    """One view."""

    items: frozenset[int]
    named: frozenset[int] = frozenset()
    """Literals that it names without their items."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a course of views scores."""

    visible: int
    """Counted calls with all needs in view."""
    bill: Bill


def evaluate(problem: Problem, views: Sequence[Shown]) -> Outcome:
    """Score one view for each call. Raises ValueError, with the reason, for a view that breaks a rule."""
    if len(views) != len(problem.calls):
        raise ValueError(f"{len(views)} views for {len(problem.calls)} calls; expected one for each")
    visible, bill = 0, Bill()
    before: list[tuple[int, int, int]] | None = None
    for number, (call, shown) in enumerate(zip(problem.calls, views, strict=True)):
        if problem_with := _broken_rule(problem, number, shown):
            raise ValueError(f"call {number}: {problem_with}")
        blocks = _blocks(problem, shown)
        total = problem.beside_tokens + sum(tokens for _, _, tokens in blocks)
        prefix = 0 if before is None else problem.beside_tokens + _common(before, blocks)
        missing = [need for need in call.needs if not in_view(problem, shown, need.literal)]
        bill += call_bill(prefix, total, [need.recall_tokens for need in missing])
        visible += call.counts and not missing
        before = blocks
    return Outcome(visible, bill)


def in_view(problem: Problem, shown: Shown, literal: int) -> bool:
    return literal in shown.named or not shown.items.isdisjoint(problem.literals[literal].holders)


def _blocks(problem: Problem, shown: Shown) -> list[tuple[int, int, int]]:
    """(place, literal or -1, tokens), in the order of the view."""
    blocks = [(item, -1, problem.items[item].tokens) for item in shown.items]
    for number in shown.named:
        literal = problem.literals[number]
        blocks.append((literal.holders[0], number, literal.naming_tokens or 0))
    return sorted(blocks)


def _common(before: Sequence[tuple[int, int, int]], now: Sequence[tuple[int, int, int]]) -> int:
    tokens = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            break
        tokens += new[2]
    return tokens


def _broken_rule(problem: Problem, number: int, shown: Shown) -> str:
    forced = problem.forced(number)
    if not forced <= shown.items:
        return f"items {sorted(forced - shown.items)} may not be evicted"
    early = [item for item in shown.items if problem.items[item].enters > number]
    early += [n for n in shown.named if problem.items[problem.literals[n].holders[0]].enters > number]
    if early:
        return f"{sorted(early)} were not there yet"
    if any(problem.literals[n].naming_tokens is None for n in shown.named):
        return "it names a literal that cannot be named"
    total = problem.beside_tokens + sum(tokens for _, _, tokens in _blocks(problem, shown))
    if total > problem.budget_tokens and (shown.items != forced or shown.named):
        return f"{total} tokens are over the budget of {problem.budget_tokens}"
    return ""
