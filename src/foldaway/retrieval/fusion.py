"""One score out of what words, vectors and the texts themselves show.

Scores, each relative to the best candidate of its query, and not ranks: ranks throw away how clear a lead is. A rare id
found by words leads by far, a page of advice asked for in other words leads by nothing. Chosen on one half of the
queries of four sets (see docs/results.md).

A question in other words than its answer, or in another language, shares with all memories no more than a word by
chance. Where words explain that little, vectors of a model of meaning decide.

Sources: Lee, "Analyses of Multiple Evidence Combination", SIGIR 1997; Bruch et al., "An Analysis of Fusion Functions
for Hybrid Retrieval", ACM TOIS 42(1), 2023.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from foldaway.retrieval.evidence import Evidence

_DIGITS = 6
_LEAST_SURE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each kind of evidence weighs in the sum; each kind is 0..1."""

    words: float = 1.0
    """The word index's score, relative to the best."""
    vector: float = 0.5
    """Cosine, relative to the best."""
    stems: float = 0.5
    neighbours: float = 0.5
    passage: float = 2.0
    opening: float = 0.0

    @property
    def total(self) -> float:
        return float(sum(getattr(self, field.name) for field in fields(self)))


SHORT = Weights()
LONG = Weights(neighbours=1.0, passage=0.5, opening=0.5)
"""Of queries of a page: no passage covers them, and they name what they are about in the words of titles."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One half's answer: place (0 is first, equal scores share one) and score relative to the best, by id."""

    place: Mapping[str, int]
    share: Mapping[str, float]

    @classmethod
    def of(cls, found: Sequence[tuple[str, float]]) -> Ranked:
        best = max((score for _, score in found), default=0.0)
        shares = {name: max(score, 0.0) / best if best > 0 else 0.0 for name, score in found}
        # How a store orders equal scores depends on when it was told what; the places must not.
        scores = sorted((-round(score, _DIGITS) for _, score in found))
        return cls({name: bisect_left(scores, -round(score, _DIGITS)) for name, score in found}, shares)


def fused(
    names: Sequence[str],
    words: Ranked,
    vectors: Ranked,
    shown: Sequence[Evidence],
    weights: Weights,
    *,
    meaning: bool = False,
) -> dict[str, float]:
    """The score of each candidate, 0..1, rounded so that equal is equal on any machine.

    `meaning`: the vectors know more than words, and decide where these explain little of the query.
    """
    sure = max((one.sure for one in shown), default=0.0)
    alone = weights.vector * (max(sure, _LEAST_SURE) ** -2 - 1) if meaning else 0.0
    last = min(vectors.share.values(), default=0.0)
    whole = weights.total + alone
    return {
        name: round(
            (
                weights.words * words.share.get(name, 0.0)
                + weights.vector * vectors.share.get(name, 0.0)
                # One that was not among the nearest can be as near as the last of them.
                + alone * vectors.share.get(name, last)
                + weights.stems * one.stems
                + weights.neighbours * one.neighbours
                + weights.passage * one.passage
                + weights.opening * one.opening
            )
            / whole,
            9,
        )
        for name, one in zip(names, shown, strict=True)
    }
