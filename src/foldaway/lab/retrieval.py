"""Rankers measured on retrieval sets: recall at 1, 5 and 10, mean reciprocal rank, time a query."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from foldaway.lab.results import percentile
from foldaway.lab.retrieval_rankers import Ranker
from foldaway.lab.retrieval_sets import Query, RetrievalSet

CUTS = (1, 5, 10)
DEPTH = max(CUTS)
"""Ranks below are not asked for: a gold document there counts as not found, in the mean reciprocal rank too."""
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One ranker's answer to one query."""

    query: Query
    ranked: tuple[str, ...]
    ms: float

    def recall(self, cut: int) -> float:
        """Share of the gold documents among the first `cut`."""
        return len(self.query.gold.intersection(self.ranked[:cut])) / len(self.query.gold)

    @property
    def reciprocal_rank(self) -> float:
        """Of the first gold document; 0 when none is among the first ten."""
        return next((1 / (n + 1) for n, name in enumerate(self.ranked) if name in self.query.gold), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One ranker on one set; `answers` in the order of the set's queries."""

    set_name: str
    ranker: str
    answers: tuple[Answer, ...]

    def half(self, *, chosen_on: bool) -> Measured:
        kept = tuple(answer for answer in self.answers if answer.query.chosen_on == chosen_on)
        return Measured(set_name=self.set_name, ranker=self.ranker, answers=kept)

    def recall(self, cut: int) -> float:
        return _mean([answer.recall(cut) for answer in self.answers])

    @property
    def mrr(self) -> float:
        return _mean([answer.reciprocal_rank for answer in self.answers])

    @property
    def median_ms(self) -> float:
        return percentile([answer.ms for answer in self.answers], 0.5)

    @property
    def mrr_interval(self) -> tuple[float, float]:
        """95 %, see `interval`."""
        return interval([answer.reciprocal_rank for answer in self.answers])

    def lead(self, other: Measured) -> tuple[float, float, float]:
        """MRR above another ranker's on the same queries, and its interval of 95 %: queries are drawn in pairs."""
        pairs = zip(self.answers, other.answers, strict=True)
        differences = [mine.reciprocal_rank - theirs.reciprocal_rank for mine, theirs in pairs]
        return (_mean(differences), *interval(differences))

    def against(self, other: Measured) -> tuple[int, int]:
        """(queries whose first gold document stands higher here, and lower), of the same set and half."""
        both = [
            (mine.reciprocal_rank, theirs.reciprocal_rank)
            for mine, theirs in zip(self.answers, other.answers, strict=True)
        ]
        return sum(mine > theirs for mine, theirs in both), sum(mine < theirs for mine, theirs in both)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Of the mean, 95 %, by drawing the values again and again with a fixed seed; (0, 0) of nothing.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993. O(RESAMPLES x values).
    """
    if not values:
        return 0.0, 0.0
    means = sorted(sum(values[n] for n in drawn) / len(values) for drawn in _draws(len(values)))
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


@lru_cache(maxsize=8)
def _draws(many: int) -> tuple[tuple[int, ...], ...]:
    drawing = random.Random(f"retrieval {many}")
    return tuple(tuple(drawing.choices(range(many), k=many)) for _ in range(RESAMPLES))


def measure(
    sets: Sequence[RetrievalSet],
    rankers: Sequence[Ranker],
    progress: Callable[[int, int, str], object] = lambda done, total, what: None,
) -> list[Measured]:
    """Every ranker on every set, in this order. A set is indexed once for the rankers that share a store."""
    found: list[Measured] = []
    for one in sets:
        for ranker in rankers:
            ranker.index(one.docs)
            answers = tuple(_asked(ranker, query) for query in one.queries)
            found.append(Measured(set_name=one.name, ranker=ranker.name, answers=answers))
            progress(len(found), len(sets) * len(rankers), f"{one.name}: {ranker.name}")
    return found


def _asked(ranker: Ranker, query: Query) -> Answer:
    start = time.perf_counter()
    ranked = ranker.rank(query, DEPTH)
    return Answer(query=query, ranked=tuple(ranked), ms=1000 * (time.perf_counter() - start))
