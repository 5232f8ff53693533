"""The optimum itself, on small problems, by dynamic programming over what is shown.

A view is a set of blocks (items, and literals named without their items) in a fixed order, so it fits into the bits
of a number, the front of the view in the lowest bits: two views share the blocks below their lowest different bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from foldaway.lab.bill import CACHE, RECALL_CAP_TOKENS
from foldaway.lab.oracle.model import Shown
from foldaway.lab.oracle.problem import Problem
from foldaway.model.plan import Prices

MOST_BLOCKS = 14
"""Blocks that may be shown or not at one call, for `cheapest`; their subsets are the states."""
MOST_PAGED_BLOCKS = 10
"""The same for `most_visible`, which looks at pairs of states."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best there is, and one course of views that reaches it."""

    value: float
    views: tuple[Shown, ...]


def cheapest(problem: Problem, *, prices: Prices = CACHE, naming: bool = False) -> Optimum:
    """Least bill in tokens at base input price; anything may come back at any call, for what it costs to write it.

    With `naming`, literals may be named without their items. O(calls * 2^blocks * blocks).
    Raises ValueError for a problem with more than `MOST_BLOCKS` blocks to decide on at one call, and for prices that
    ask less for writing than for reading.
    """
    if prices.write < prices.read:
        raise ValueError(f"prices {prices.name!r}: expected write ({prices.write}) >= read ({prices.read})")
    board = _Board(problem, naming)
    costs: dict[int, float] = {}
    came_from: list[dict[int, int]] = []
    for number in range(len(problem.calls)):
        states = list(board.states(number, MOST_BLOCKS))
        arrive, source = _arrivals(board, costs, states, prices) if number else _first(board, states, prices)
        costs = {state: arrive[state] + board.extra(number, state, prices) for state in states}
        came_from.append(source)
    return _traced(board, min(costs.items(), key=lambda kv: (kv[1], kv[0]), default=None), came_from)


def most_visible(problem: Problem, *, naming: bool = False, recall: bool = False) -> Optimum:
    """Most counted calls with all needs in view.

    Without `recall`, an item that was evicted comes back only after a call that missed it, as under demand paging;
    with it, at any call. Names may be put in at any call: they are taken from the log. Exponential in the blocks.
    Raises ValueError for a problem with more than `MOST_PAGED_BLOCKS` blocks to decide on at one call.
    """
    board = _Board(problem, naming)
    scores: dict[int, int] = {0: 0}
    came_from: list[dict[int, int]] = []
    for number in range(len(problem.calls)):
        states = list(board.states(number, MOST_PAGED_BLOCKS))
        at_hand = board.fresh(number) | board.names
        reached: dict[int, int] = {}
        source: dict[int, int] = {}
        for before, score in scores.items():
            missed = board.missed(number - 1, before) if number else 0
            allowed = -1 if recall else before | at_hand | missed
            for state in states:
                if state & ~allowed == 0 and score > reached.get(state, -1):
                    reached[state], source[state] = score, before
        scores = {state: score + board.serves(number, state) for state, score in reached.items()}
        if recall and scores:
            # Whatever is shown now, everything is at hand for the next call: the best view is enough.
            scores = dict([max(scores.items(), key=lambda kv: (kv[1], -kv[0]))])
        came_from.append(source)
    best = max(scores.items(), key=lambda kv: (kv[1], -kv[0]), default=None)
    return _traced(board, best, came_from)


class _Board:
    """A problem as bits."""

    def __init__(self, problem: Problem, naming: bool) -> None:
        self.problem = problem
        named = [n for n, lit in enumerate(problem.literals) if naming and lit.naming_tokens is not None]
        blocks = [(item, -1) for item in range(len(problem.items))]
        blocks += [(problem.literals[n].holders[0], n) for n in named]
        self.blocks = sorted(blocks)
        self._bit = {block: 1 << at for at, block in enumerate(self.blocks)}
        self._tokens = [self._size(block) for block in self.blocks]
        self.names = sum(bit for (_, literal), bit in self._bit.items() if literal >= 0)
        self._shows = [self._showing(n) for n in range(len(problem.literals))]
        self._known: dict[int, int] = {0: 0}

    def _size(self, block: tuple[int, int]) -> int:
        item, literal = block
        return self.problem.items[item].tokens if literal < 0 else self.problem.literals[literal].naming_tokens or 0

    def _showing(self, literal: int) -> int:
        holders = self.problem.literals[literal].holders
        name = self._bit.get((holders[0], literal), 0)
        return name | sum(self._bit[holder, -1] for holder in holders)

    def tokens(self, state: int) -> int:
        """Tokens of the blocks, without what stands beside them."""
        known = self._known.get(state)
        if known is None:
            top = state.bit_length() - 1
            known = self._known[state] = self._tokens[top] + self.tokens(state ^ (1 << top))
        return known

    def states(self, call: int, most: int) -> Iterator[int]:
        """All views that the rules allow at this call; refuses to choose among more than `most` blocks."""
        forced = sum(self._bit[item, -1] for item in self.problem.forced(call))
        room = self.problem.budget_tokens - self.problem.beside_tokens
        free = [bit for block, bit in self._bit.items() if self._entered(block, call) and not bit & forced]
        if self.tokens(forced) > room:
            yield forced
            return
        if len(free) > most:
            raise ValueError(
                f"call {call} has {len(free)} blocks to decide on; the exact optimum is worked out for up to "
                f"{most}, take the bounds for larger problems"
            )
        for chosen in range(1 << len(free)):
            state = forced | sum(bit for at, bit in enumerate(free) if chosen >> at & 1)
            if self.tokens(state) <= room:
                yield state

    def _entered(self, block: tuple[int, int], call: int) -> bool:
        return self.problem.items[block[0]].enters <= call

    def fresh(self, call: int) -> int:
        """Items that enter at this call; at the first one also those from before."""
        return sum(
            self._bit[n, -1]
            for n, item in enumerate(self.problem.items)
            if item.enters == call or (call == 0 and item.enters < 0)
        )

    def missed(self, call: int, state: int) -> int:
        """Items that hold a need of the call that was out of view: fetched, so at hand for the next call."""
        found = 0
        for need in self.problem.calls[call].needs:
            if not state & self._shows[need.literal]:
                found |= self._shows[need.literal] & ~self.names
        return found

    def serves(self, call: int, state: int) -> bool:
        wanted = self.problem.calls[call]
        return wanted.counts and all(state & self._shows[need.literal] for need in wanted.needs)

    def extra(self, call: int, state: int, prices: Prices) -> float:
        """The extra calls for what the view lacks."""
        missing = [n for n in self.problem.calls[call].needs if not state & self._shows[n.literal]]
        total = self.problem.beside_tokens + self.tokens(state)
        fetched = sum(min(need.recall_tokens, RECALL_CAP_TOKENS) for need in missing)
        return prices.read * total * len(missing) + prices.write * fetched

    def shown(self, state: int) -> Shown:
        chosen = [block for block, bit in self._bit.items() if state & bit]
        return Shown(
            frozenset(item for item, literal in chosen if literal < 0),
            frozenset(literal for _, literal in chosen if literal >= 0),
        )


def _first(board: _Board, states: Sequence[int], prices: Prices) -> tuple[dict[int, float], dict[int, int]]:
    """The first call writes everything."""
    beside = board.problem.beside_tokens
    return {state: prices.write * (beside + board.tokens(state)) for state in states}, dict.fromkeys(states, 0)


def _arrivals(
    board: _Board, costs: dict[int, float], states: Sequence[int], prices: Prices
) -> tuple[dict[int, float], dict[int, int]]:
    """State -> least cost of getting there and sending it, and the state before that gives it.

    For every front that two views may share, the cheapest view before that has this front. A front shorter than the
    longest shared one overstates the cost, so the least over all fronts is exact.
    """
    best: dict[tuple[int, int], tuple[float, int]] = {}
    masks = [(1 << length) - 1 for length in range(len(board.blocks) + 1)]
    for state, cost in costs.items():
        for mask in masks:
            key, known = (mask, state & mask), (cost, state)
            if known < best.get(key, (float("inf"), -1)):
                best[key] = known
    arrive: dict[int, float] = {}
    source: dict[int, int] = {}
    beside = board.problem.beside_tokens
    for state in states:
        total = beside + board.tokens(state)
        ways = []
        for mask in masks:
            if (mask, state & mask) in best:
                prefix = beside + board.tokens(state & mask)
                cost, before = best[mask, state & mask]
                ways.append((cost + prices.read * prefix + prices.write * (total - prefix), before))
        arrive[state], source[state] = min(ways)
    return arrive, source


def _traced(board: _Board, best: tuple[int, float] | None, came_from: Sequence[dict[int, int]]) -> Optimum:
    if best is None:
        return Optimum(0, ())
    state, value = best
    views = []
    for source in reversed(came_from):
        views.append(board.shown(state))
        state = source[state]
    return Optimum(value, tuple(reversed(views)))
