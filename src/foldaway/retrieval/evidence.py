"""What a query and a candidate's text have in common beyond the store's two ranks.

Measured within the candidates: how much a word tells is judged by how many of them hold it, so no corpus statistics are
asked for. Words said several times in a long query weigh as often as they were said.

Sources: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009 (weights of terms, also
of those said again in the query); Metzler and Croft, "A Markov Random Field Model for Term Dependencies", SIGIR 2005.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

from foldaway.retrieval.words import content_words

MOST_CHARS = 20_000
"""Of a longer candidate only the first are compared; the store's own ranks have seen it whole."""
_K1 = 1.2
_B = 0.75

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Evidence:
    """0..1 each, the best candidate of a query at 1 for `stems` and `neighbours`."""

    stems: float
    """BM25 over stemmed words."""
    coverage: float
    """Share of what the query's words tell that the candidate holds."""
    neighbours: float
    """Words that stand side by side in both."""


@dataclass(frozen=True, slots=True)
class Words:
    """A text as it is compared."""

    counts: Mapping[str, int]
    beside: frozenset[tuple[str, str]]
    length: int


@lru_cache(maxsize=4096)
def words_of(text: str) -> Words:
    found = content_words(text[:MOST_CHARS])
    return Words(Counter(found), frozenset(pairwise(found)), len(found))


def evidence(query: str, texts: Sequence[str]) -> list[Evidence]:
    """One a text. O(size of the texts)."""
    asked = content_words(query)
    candidates = [words_of(text) for text in texts]
    words = _telling(Counter(asked), [candidate.counts for candidate in candidates])
    beside = _telling(Counter(pairwise(asked)), [candidate.beside for candidate in candidates])
    average = sum(candidate.length for candidate in candidates) / max(1, len(candidates))
    whole = sum(words.values())
    stems = [_bm25(words, candidate, average) for candidate in candidates]
    covered = [sum(weight for word, weight in words.items() if word in c.counts) for c in candidates]
    near = [sum(weight for pair, weight in beside.items() if pair in c.beside) for c in candidates]
    best_stems, best_near = max(stems, default=0.0), max(near, default=0.0)
    return [
        Evidence(_share(one, best_stems), _share(two, whole), _share(three, best_near))
        for one, two, three in zip(stems, covered, near, strict=True)
    ]


def _telling(asked: Mapping[T, int], held: Sequence[Container[T]]) -> dict[T, float]:
    """What each of these tells, for those that some candidate holds."""
    many = len(held)
    found: dict[T, float] = {}
    for one, count in asked.items():
        holders = sum(one in texts for texts in held)
        if holders:
            found[one] = count * math.log(1 + (many - holders + 0.5) / (holders + 0.5))
    return found


def _bm25(words: Mapping[str, float], candidate: Words, average: float) -> float:
    spread = _K1 * (1 - _B + _B * candidate.length / max(average, 1.0))
    total = 0.0
    for word, weight in words.items():
        often = candidate.counts.get(word, 0)
        total += weight * often * (_K1 + 1) / (often + spread) if often else 0.0
    return total


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def likeness(one: str, other: str) -> float:
    """0..1: share of the words of both that stand in both (Jaccard)."""
    first, second = words_of(one).counts.keys(), words_of(other).counts.keys()
    together = len(first | second)
    return len(first & second) / together if together else float(one == other)
