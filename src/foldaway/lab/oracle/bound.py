"""What no policy can beat, for sessions of any length.

Three bounds, each by leaving rules out, so that the best of a freer game can only be better than the best of ours:

*Visible steps.* At each call the view holds what is forced: system prompt, tools, pins, last turn. A need that these
do not hold must be covered by a text that names its literal or by an item that holds it. The least cover is bounded
from below by the dual of its linear relaxation: each need is charged the least of what its name costs and of its
share in any item that holds it, an item's tokens over the number of needs it covers here. No name and no item is
charged more than it costs, so every cover costs at least the sum. Needs whose literals share a word could be named by
one text, so only needs that share none are charged. Where forced tokens and charges pass the budget, no view of that
call can serve it. Each call is judged for itself, as if everything could be brought back for nothing.

*Visible steps, whole items.* The same without names: for policies that show an item raw or not at all.

*Bill.* Each call reads or writes its forced tokens; what the last turn brings is new, so it is written; at the first
call all is. A need that is not forced is either out of view, which costs an extra call that reads at least the forced
tokens and writes what it fetches; or its literal stands in the rest of the view. Then it was written at some call
since the forced part held it last, or it was carried, and so read, through every call from there: it costs at least
the cheaper of the two, and these tokens are none of the forced ones. One item may carry several literals: each is
charged its share, as above. Charges are added up over literals that share no word, and for one literal over stretches
that do not overlap. A price list that asks less for writing than for reading has no such bound.

They hold for what goes through the engine, at the same budget and with the same pins: a policy, or another library,
that drops the user's words plays another game.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from foldaway.lab.bill import CACHE
from foldaway.lab.oracle.problem import Problem
from foldaway.model.plan import Prices


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleBound:
    """At most this many of the steps with needs can have them all in view."""

    total: int
    visible: int
    over: int = 0
    """Calls whose forced tokens alone pass the budget."""

    @property
    def rate(self) -> float | None:
        return self.visible / self.total if self.total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """All bounds of one problem."""

    budget_tokens: int
    visible: VisibleBound
    whole: VisibleBound
    """For policies that show items raw or not at all."""
    bill: float
    """Tokens at base input price, at least."""


def bounds_of(problem: Problem, prices: Prices = CACHE) -> Bounds:
    return Bounds(
        budget_tokens=problem.budget_tokens,
        visible=visible_bound(problem),
        whole=visible_bound(problem, whole=True),
        bill=bill_bound(problem, prices),
    )


def visible_bound(problem: Problem, *, whole: bool = False) -> VisibleBound:
    """The bound on visible steps; with `whole`, for policies that name nothing. O(calls + needs * holders)."""
    total = visible = over = 0
    for number, (forced, given) in enumerate(zip(forced_tokens(problem), _given(problem), strict=True)):
        call = problem.calls[number]
        room = problem.budget_tokens - forced
        over += room < 0
        if call.counts:
            total += 1
            missing = [need.literal for need in call.needs if need.literal not in given]
            cost = _cover_bound(problem, number, missing, whole)
            visible += not missing or (cost is not None and cost <= room)
    return VisibleBound(total=total, visible=visible, over=over)


def bill_bound(problem: Problem, prices: Prices = CACHE) -> float:
    """Least bill, in tokens at base input price. Raises ValueError where writing costs less than reading."""
    if prices.write < prices.read:
        raise ValueError(f"prices {prices.name!r}: a bound needs write ({prices.write}) >= read ({prices.read})")
    forced = forced_tokens(problem)
    premium = prices.write - prices.read
    sent = prices.read * sum(forced) + premium * sum(_written(problem, forced[:1]))
    return sent + sum(_carried(problem, forced, prices))


def forced_tokens(problem: Problem) -> list[int]:
    """For each call what every view of it holds: beside, pins and last turn. O(items + calls)."""
    change = [0] * (len(problem.calls) + 1)
    for item in problem.items:
        if item.pinned and item.enters < len(problem.calls):
            change[item.enters] += item.tokens
            if item.unpinned_from is not None and item.unpinned_from < len(problem.calls):
                change[max(item.enters, item.unpinned_from)] -= item.tokens
    found, pinned = [], 0
    for number, call in enumerate(problem.calls):
        pinned += change[number]
        last = (problem.items[n] for n in sorted(call.protected) if not problem.items[n].held_by_pin(number))
        found.append(problem.beside_tokens + pinned + sum(item.tokens for item in last))
    return found


def _given(problem: Problem) -> Iterator[frozenset[int]]:
    """For each call the literals that its forced items hold, so that they are in view whatever a policy does."""
    holds: dict[int, list[int]] = {}
    for number, literal in enumerate(problem.literals):
        for holder in literal.holders:
            holds.setdefault(holder, []).append(number)
    pins = [n for n, item in enumerate(problem.items) if item.pinned and n in holds]
    for number, call in enumerate(problem.calls):
        pinned = (n for n in pins if problem.items[n].held_by_pin(number))
        yield frozenset(literal for item in (*call.protected, *pinned) for literal in holds.get(item, ()))


def _written(problem: Problem, first: Sequence[int]) -> Iterator[int]:
    """Tokens that must be written: all of the first call, then what is forced at the call that it enters."""
    yield from first
    for number, item in enumerate(problem.items):
        at = item.enters
        if 0 < at < len(problem.calls) and not item.repeats and problem.is_forced(at, number):
            yield item.tokens


def _cover_bound(problem: Problem, call: int, literals: Sequence[int], whole: bool) -> int | None:
    """Tokens that bring these literals into view, at least; None: there is no way."""
    names: dict[int, int | None] = {}
    for number in literals:
        literal = problem.literals[number]
        here = [h for h in literal.holders if problem.items[h].enters <= call]
        if not here:
            return None
        named = not whole or any(problem.items[h].leaves_stub for h in here)
        names[number] = literal.naming_tokens if named else None
    apart = _apart(problem, names)
    shares = _shares(problem, apart, call)
    return math.ceil(sum(_least(names[n], shares[n]) for n in apart))


def _apart(problem: Problem, literals: Iterable[int]) -> list[int]:
    """Some of the literals, no two of which share a word: those with the costliest names first."""
    chosen, taken = [], set[str]()
    for number in sorted(literals, key=lambda n: (-(problem.literals[n].naming_tokens or 0), n)):
        words = problem.literals[number].words
        if taken.isdisjoint(words):
            taken |= words
            chosen.append(number)
    return sorted(chosen)


def _shares(problem: Problem, literals: Sequence[int], call: int) -> dict[int, Fraction]:
    """Literal -> its least share of an item that holds it and has entered; items are shared out by these literals."""
    covers = Counter(h for n in literals for h in problem.literals[n].holders)
    return {
        n: min(
            Fraction(problem.items[h].tokens, covers[h])
            for h in problem.literals[n].holders
            if problem.items[h].enters <= call
        )
        for n in literals
    }


def _least(name: int | None, share: Fraction) -> Fraction:
    return share if name is None else min(share, Fraction(name))


def _carried(problem: Problem, forced: Sequence[int], prices: Prices) -> Iterator[float]:
    """The least that each need costs beyond the forced tokens: carried, written anew, or fetched by an extra call."""
    wanted = {need.literal for call in problem.calls for need in call.needs}
    apart = _apart(problem, wanted)
    shares = _shares(problem, apart, max((item.enters for item in problem.items), default=0))
    tokens = {n: float(_least(problem.literals[n].naming_tokens, shares[n])) for n in apart}
    since = dict.fromkeys(apart, -1)
    for number, (call, given) in enumerate(zip(problem.calls, _given(problem), strict=True)):
        for need in call.needs:
            if need.literal in tokens and need.literal not in given:
                held = min(prices.read * (number - since[need.literal]), prices.write) * tokens[need.literal]
                yield min(held, prices.read * forced[number] + prices.write * need.recall_tokens)
                since[need.literal] = number
        since.update((literal, number) for literal in given if literal in tokens)
