"""One score out of the ranks and scores of words, of vectors and of what the texts show.

Ranks alone (reciprocal rank fusion) throw away how clear a lead is: a rare id found by words leads by far, and a page
of advice asked for in other words leads by nothing. So ranks are joined by scores, each relative to the best candidate
of its query. Chosen on one half of the queries of four sets (see docs/results.md), the same weights
for hashed and for model-made vectors.

Source of the rank part: Cormack et al., "Reciprocal Rank Fusion outperforms Condorcet", SIGIR 2009.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from foldaway.retrieval.evidence import Evidence

_DIGITS = 6
RANK_OFFSET = 10
"""k of reciprocal rank fusion; smaller than the usual 60, since lists here are short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each kind of evidence weighs in the sum; each kind is 0..1."""

    words_rank: float = 0.25
    vector_rank: float = 0.25
    words: float = 1.0
    """The word index's score, relative to the best."""
    vector: float = 0.5
    """Cosine, relative to the best."""
    stems: float = 1.0
    coverage: float = 1.0
    neighbours: float = 0.5

    @property
    def total(self) -> float:
        return float(sum(getattr(self, field.name) for field in fields(self)))


SHORT = Weights()
LONG = Weights(stems=0.5, coverage=0.0, neighbours=1.0)
"""Of queries of a page: no text covers them."""


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

    def rank_score(self, name: str) -> float:
        """1 for the first, less for each further one, 0 for what was not found."""
        place = self.place.get(name)
        return 0.0 if place is None else RANK_OFFSET / (RANK_OFFSET + place)


def fused(
    names: Sequence[str], words: Ranked, vectors: Ranked, shown: Sequence[Evidence], weights: Weights
) -> dict[str, float]:
    """The score of each candidate, 0..1, rounded so that equal is equal on any machine."""
    whole = weights.total
    return {
        name: round(
            (
                weights.words_rank * words.rank_score(name)
                + weights.vector_rank * vectors.rank_score(name)
                + weights.words * words.share.get(name, 0.0)
                + weights.vector * vectors.share.get(name, 0.0)
                + weights.stems * one.stems
                + weights.coverage * one.coverage
                + weights.neighbours * one.neighbours
            )
            / whole,
            9,
        )
        for name, one in zip(names, shown, strict=True)
    }
