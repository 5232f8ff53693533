"""Whether two ways of doing the same tasks come out alike: a paired equivalence test.

Two one-sided tests (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987) by a paired bootstrap over tasks (Efron and
Tibshirani, "An Introduction to the Bootstrap", 1993): tasks are drawn with both of their rates, so what makes a task
hard cancels out. The bootstrap and not a t-test, because most differences are exactly 0 and the rest lie far to one
side. It takes the tasks for independent; those of one source are not quite, so the intervals are a little too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from foldaway.lab.results import percentile

MARGIN = 0.02
"""Stated before anything was run: a loss of up to 2 percentage points of a task's no-impact rate counts as none."""
ALPHA = 0.05
"""Of each of the two one-sided tests: equivalence is read from the 90 % interval."""
RESAMPLES = 10_000
SEED = 20_261_130


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalence:
    """The second rate less the first, over tasks. Shares, not percentage points."""

    tasks: int
    difference: float
    """Mean over tasks, each task weighing the same."""
    low: float
    high: float
    """The 90 % interval."""
    margin: float
    p_worse: float
    """Share of the resamples in which the loss is at least the margin."""
    p_better: float
    """Share of those in which the gain is."""

    @property
    def non_inferior(self) -> bool:
        """No worse than the margin, at level `ALPHA`."""
        return self.tasks > 0 and self.low > -self.margin

    @property
    def equivalent(self) -> bool:
        """Neither worse nor better than the margin."""
        return self.non_inferior and self.high < self.margin


def equivalence(
    first: Sequence[float], second: Sequence[float], *, margin: float = MARGIN, resamples: int = RESAMPLES
) -> Equivalence:
    """Test paired rates, one pair a task. Deterministic (`SEED`). O(tasks x resamples).

    Raises ValueError when the rates do not pair or the margin is not above 0.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} rates against {len(second)}; expected one pair a task")
    if margin <= 0:
        raise ValueError(f"margin {margin}: expected a share above 0")
    differences = [b - a for a, b in zip(first, second, strict=True)]
    count = len(differences)
    if not count:
        return Equivalence(tasks=0, difference=0.0, low=-1.0, high=1.0, margin=margin, p_worse=1.0, p_better=1.0)
    draw = Random(SEED).choices
    means = [sum(draw(differences, k=count)) / count for _ in range(resamples)]
    return Equivalence(
        tasks=count,
        difference=sum(differences) / count,
        low=percentile(means, ALPHA),
        high=percentile(means, 1 - ALPHA),
        margin=margin,
        p_worse=sum(m <= -margin for m in means) / resamples,
        p_better=sum(m >= margin for m in means) / resamples,
    )
