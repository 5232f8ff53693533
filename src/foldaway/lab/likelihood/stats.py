"""Do two things go together? Small, exact, and with intervals that know which values come from one recording."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import TypeVar

RESAMPLES = 2_000
SEED = 20_250_101

T = TypeVar("T")


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def auc(low: Sequence[float], high: Sequence[float]) -> float | None:
    """The chance that a value of `high` is above one of `low`, ties counted half; None when one is empty.

    Source: Mann and Whitney, "On a test of whether one of two random variables is stochastically larger than the
    other", Ann. Math. Statist. 18(1), 1947. O(n log n).
    """
    if not low or not high:
        return None
    ordered = sorted(low)
    wins = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in high)
    return wins / (2 * len(low) * len(high))


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Spearman's rank correlation, ties with their mean rank; None when one of the two does not vary.

    Source: Spearman, "The proof and measurement of association between two things", Am. J. Psychol. 15, 1904.
    """
    rx, ry = _ranks(xs), _ranks(ys)
    mx, my = mean(rx), mean(ry)
    if mx is None or my is None:
        return None
    sxx, syy = sum((x - mx) ** 2 for x in rx), sum((y - my) ** 2 for y in ry)
    if not sxx or not syy:
        return None
    return sum((x - mx) * (y - my) for x, y in zip(rx, ry, strict=True)) / float((sxx * syy) ** 0.5)


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [(bisect_left(ordered, v) + bisect_right(ordered, v) + 1) / 2 for v in values]


def interval(
    groups: Sequence[Sequence[T]], statistic: Callable[[Sequence[T]], float | None], *, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """A statistic's 95 % interval: whole groups (recordings) are drawn anew, as values within one hang together.

    None when fewer than two groups have values, or when the statistic cannot be had from most of the draws. The
    percentile bootstrap with a fixed seed: the same groups give the same interval. Source: Efron, "Bootstrap methods:
    another look at the jackknife", Ann. Statist. 7(1), 1979.
    """
    kept = [group for group in groups if group]
    if len(kept) < 2:
        return None
    draws = random.Random(SEED)
    found = []
    for _ in range(resamples):
        drawn = [value for group in draws.choices(kept, k=len(kept)) for value in group]
        value = statistic(drawn)
        if value is not None:
            found.append(value)
    if 2 * len(found) < resamples:
        return None
    found.sort()
    return found[int(0.025 * (len(found) - 1))], found[int(0.975 * (len(found) - 1) + 0.5)]
