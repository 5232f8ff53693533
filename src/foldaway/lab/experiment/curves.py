"""Policies over whole curves: how much was in view at what price, budgets swept.

A policy is judged by its frontier: the most it kept in view at a price of at most x, whatever the budget that took.
Between two points of a frontier the line counts as reached (part of the sessions under one budget, part under the
other); to the right of the last the frontier goes on flat, as nobody has to spend more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from foldaway.lab.results import ReplayResult, Tally

Measure = Callable[[ReplayResult], float]


@dataclass(frozen=True, slots=True)
class Point:
    """A policy under one budget."""

    x: float
    y: float
    budget_tokens: int


def no_impact(rule: str) -> Measure:
    """Share of the steps with needs of which every need that counts stood in the view; 1 where no step has any."""

    def measure(result: ReplayResult) -> float:
        rate = result.steps.get(rule, Tally()).visible_rate
        return 1.0 if rate is None else rate

    return measure


def bill_share(result: ReplayResult) -> float:
    """The bill as a share of full history's."""
    return result.bill.share_of(result.full_bill)


def mean_tokens(result: ReplayResult) -> float:
    """Tokens a call, on average."""
    return result.mean_tokens


def curves(pools: Iterable[ReplayResult], x: Measure, y: Measure) -> dict[str, tuple[Point, ...]]:
    """Policy -> its points, smallest budget first; policies in order of first appearance."""
    found: dict[str, list[Point]] = {}
    for result in pools:
        found.setdefault(result.policy, []).append(Point(x(result), y(result), result.budget_tokens))
    return {policy: tuple(sorted(points, key=lambda p: p.budget_tokens)) for policy, points in found.items()}


def frontier(points: Iterable[Point]) -> tuple[Point, ...]:
    """The points that no other one of the same policy beats, cheapest first."""
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.x, -p.y, p.budget_tokens)):
        if not best or point.y > best[-1].y:
            best.append(point)
    return tuple(best)


def at(points: Sequence[Point], x: float) -> float | None:
    """What a frontier reaches at a price of at most x; None where even its cheapest point costs more."""
    if not points or x < points[0].x:
        return None
    for left, right in pairwise(points):
        if x < right.x:
            return left.y + (right.y - left.y) * (x - left.x) / (right.x - left.x)
    return points[-1].y


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """How far one frontier lies above another, on average over the prices that both can be had for."""

    low: float
    high: float
    mean_difference: float
    """Mean of y(policy) - y(baseline) over x from `low` to `high`."""
    share_above: float
    """Share of that range in which the policy is on or above the baseline."""


def area(policy: Sequence[Point], baseline: Sequence[Point]) -> Area | None:
    """The area between two frontiers by the trapezoid rule, over their common range of x, divided by its length.

    The range goes from the dearer of the two cheapest points to the dearer of the two last ones. Exact for broken
    lines. None where there is no common range.
    """
    if not policy or not baseline:
        return None
    low, high = max(policy[0].x, baseline[0].x), max(policy[-1].x, baseline[-1].x)
    if high <= low:
        return None
    xs = sorted({low, high, *(p.x for p in (*policy, *baseline) if low < p.x < high)})
    gaps = [(x, (at(policy, x) or 0.0) - (at(baseline, x) or 0.0)) for x in xs]
    total = above = 0.0
    for (x0, d0), (x1, d1) in pairwise(gaps):
        total += (x1 - x0) * (d0 + d1) / 2
        above += (x1 - x0) * _share_above(d0, d1)
    # Parts that add up to all of the range must say so.
    share = min(1.0, round(above / (high - low), 9))
    return Area(low=low, high=high, mean_difference=total / (high - low), share_above=share)


def _share_above(d0: float, d1: float) -> float:
    """Of a line from d0 to d1, the part that is not below zero."""
    if d0 >= 0 and d1 >= 0:
        return 1.0
    if d0 < 0 and d1 < 0:
        return 0.0
    return max(d0, d1) / abs(d1 - d0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Who is best at one price."""

    x: float
    reached: Mapping[str, float | None]
    """Policy -> what it reaches; None where it cannot be had at that price."""
    best: tuple[str, ...]


def levels(found: Mapping[str, Sequence[Point]], xs: Sequence[float], *, tie: float = 5e-5) -> list[Level]:
    """At each price, what every policy reaches, and which are best (several within `tie`)."""
    fronts = {policy: frontier(points) for policy, points in found.items()}
    rows = []
    for x in xs:
        reached = {policy: at(front, x) for policy, front in fronts.items()}
        most = max((y for y in reached.values() if y is not None), default=None)
        best = tuple(p for p, y in reached.items() if y is not None and most is not None and y >= most - tie)
        rows.append(Level(x=x, reached=reached, best=best))
    return rows


def price_levels(found: Mapping[str, Sequence[Point]], count: int = 8) -> tuple[float, ...]:
    """Round numbers, evenly spaced, over the prices that occur, but for those of policies far dearer than most."""
    fronts = [frontier(points) for points in found.values() if points]
    if not fronts:
        return ()
    low, high = min(f[0].x for f in fronts), sorted(f[-1].x for f in fronts)[len(fronts) // 2]
    step = nice_step((high - low) / count)
    first = int(low / step) + 1
    return tuple(step * n for n in range(first, first + count) if step * n <= high + step)


def nice_step(rough: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten."""
    if rough <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= rough * (1 - 1e-9))


@dataclass(frozen=True, slots=True, kw_only=True)
class Domination:
    """Points of one policy that another policy beats: no dearer and nothing less in view, one of the two better."""

    policy: str
    points: int
    beaten: int
    by: Mapping[str, int]
    """Other policy -> how many of them it beats, most first."""


def dominations(found: Mapping[str, Sequence[Point]]) -> list[Domination]:
    """For each policy, how many of its budgets another policy makes pointless, at whatever budget of its own."""
    rows = []
    for policy, points in found.items():
        by = {other: sum(any(_beats(q, p) for q in theirs) for p in points) for other, theirs in found.items()}
        by.pop(policy)
        beaten = sum(any(_beats(q, p) for o, theirs in found.items() if o != policy for q in theirs) for p in points)
        order = dict(sorted(((o, n) for o, n in by.items() if n), key=lambda one: (-one[1], one[0])))
        rows.append(Domination(policy=policy, points=len(points), beaten=beaten, by=order))
    return rows


def _beats(one: Point, other: Point) -> bool:
    return one.x <= other.x and one.y >= other.y and (one.x < other.x or one.y > other.y)
