"""How sure the figures are: intervals of rates, and differences between policies on the same sessions.

Rates over steps get exact or Wilson intervals, which take steps for independent. Differences are resampled by
session, since the steps of a session hang together: the bootstrap draws whole sessions, and both policies come with
the session that was drawn.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

SEED = 20261130
RESAMPLES = 2_000


def clopper_pearson(hits: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a rate: never covers less than it says. (0, 1) when there is nothing to go by.

    Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika 26, 1934. Each end is found by bisection on the binomial tail.
    """
    if total == 0:
        return 0.0, 1.0
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _bisect(lambda p: at_least(hits, total, p) < tail)
    high = 1.0 if hits == total else _bisect(lambda p: 1 - at_least(hits + 1, total, p) > tail)
    return low, high


def _bisect(below: Callable[[float], bool]) -> float:
    """Where a condition that holds from 0 on stops to hold, to the last digit of a double."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if below(middle):
            low = middle
        else:
            high = middle


def at_least(hits: int, total: int, rate: float) -> float:
    """P(X >= hits) for a binomial X: the regularised incomplete beta function I_rate(hits, total - hits + 1)."""
    if hits <= 0:
        return 1.0
    if hits > total or rate <= 0:
        return 0.0
    if rate >= 1:
        return 1.0
    a, b = float(hits), float(total - hits + 1)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(rate) + b * math.log1p(-rate)
    # The fraction converges quickly below the mean only; above it the other tail is computed.
    if rate < (a + 1) / (a + b + 2):
        return math.exp(log_front) * _beta_fraction(a, b, rate) / a
    return 1 - math.exp(log_front) * _beta_fraction(b, a, 1 - rate) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method (Abramowitz and Stegun, 26.5.8)."""
    tiny = 1e-300
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d, tiny)
            c = _away_from_zero(1 + term / c, tiny)
            step = c * d
            value *= step
        if abs(step - 1) < 1e-15:
            break
    return value


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny


@lru_cache(maxsize=8)
def draws(count: int, resamples: int = RESAMPLES, seed: int = SEED) -> tuple[tuple[int, ...], ...]:
    """`resamples` times `count` numbers from 0 to `count` - 1, drawn with replacement; the same for the same seed."""
    source = random.Random(seed)
    return tuple(tuple(int(source.random() * count) for _ in range(count)) for _ in range(resamples))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A ratio of sums under one policy less that under another, over the same sessions."""

    value: float
    low: float
    """2.5 % of the resampled differences lie below."""
    high: float
    resampled: tuple[float, ...] = ()
    """Sorted."""

    @property
    def clear(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low > 0 or self.high < 0


def paired_bootstrap(
    ours: Sequence[float],
    theirs: Sequence[float],
    weights: Sequence[float],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Difference:
    """(sum of `ours` - sum of `theirs`) / sum of `weights`, with its 95 % interval when sessions are drawn anew.

    One number a session in each: visible steps and steps with needs, or costs and costs of full history. Percentile
    interval of the cluster bootstrap (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993). O(sessions x
    resamples).
    """
    gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
    whole = sum(weights)
    if not whole:
        return Difference(value=0.0, low=0.0, high=0.0)
    found = []
    for drawn in draws(len(gaps), resamples, seed):
        weight = sum(map(weights.__getitem__, drawn))
        # A draw of sessions without any need says nothing about the difference.
        if weight:
            found.append(sum(map(gaps.__getitem__, drawn)) / weight)
    found.sort()
    low, high = interval(found, 0.95)
    return Difference(value=sum(gaps) / whole, low=low, high=high, resampled=tuple(found))


def interval(ordered: Sequence[float], confidence: float) -> tuple[float, float]:
    """The middle part of sorted values; (0, 0) for none."""
    if not ordered:
        return 0.0, 0.0
    # A little is added so that 5 % of 100 is 5 also where rounding says 4.99.
    cut = int(len(ordered) * (1 - confidence) / 2 + 1e-9)
    return ordered[cut], ordered[len(ordered) - 1 - cut]


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalence:
    """Two one-sided tests: whether a difference is inside a margin that was stated beforehand."""

    margin: float
    low: float
    """The 90 % interval of the difference: each side is tested at 5 %."""
    high: float

    @property
    def equivalent(self) -> bool:
        return -self.margin < self.low and self.high < self.margin

    @property
    def no_worse(self) -> bool:
        """The one-sided reading: not below by the margin or more."""
        return self.low > -self.margin


def tost(difference: Difference, margin: float) -> Equivalence:
    """Schuirmann's two one-sided tests at 5 %, read off the resampled differences.

    Source: Schuirmann, "A comparison of the two one-sided tests procedure and the power approach", J. Pharmacokin.
    Biopharm. 15, 1987.
    """
    low, high = interval(difference.resampled, 0.90)
    return Equivalence(margin=margin, low=low, high=high)
