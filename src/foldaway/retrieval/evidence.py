"""What a query and a candidate's text have in common beyond the store's two ranks.

Measured within the candidates: how much a word tells is judged by how many of them hold it, so no corpus statistics are
asked for. Words said several times in a long query weigh as often as they were said.

A long text holds many words of any question somewhere; what answers it holds them close together. So each candidate is
also judged by its best passage alone.

Sources: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009 (weights of terms, also
of those said again in the query); Metzler and Croft, "A Markov Random Field Model for Term Dependencies", SIGIR 2005;
Callan, "Passage-Level Evidence in Document Retrieval", SIGIR 1994.
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
PASSAGE_WORDS = 20
"""Words that tell something, side by side: a sentence or two."""
OPENING_CHARS = 200
RARE = 3.0
_UNSEEN = 20
"""Texts without any word of the query, added when chance is judged: among one or two candidates nothing is rare."""
_K1 = 1.2
_B = 0.75

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Evidence:
    """0..1 each, the best candidate of a query at 1 for all but `coverage` and `sure`."""

    stems: float
    """BM25 over stemmed words."""
    coverage: float
    """Share of what the query's words tell that the candidate holds."""
    neighbours: float
    """Words that stand side by side in both."""
    passage: float
    """What the query's words tell that stand together in one passage."""
    opening: float = 0.0
    """Share of what the candidate's first line tells that the query names; 0 where that was not asked for."""
    sure: float = 0.0
    """How little chance there is in the best passage, comparable between queries: the share of the whole query that it
    holds, words counted that no candidate knows; or 1 where it tells as much as `RARE` words of one candidate alone."""


@dataclass(frozen=True, slots=True)
class Words:
    """A text as it is compared."""

    counts: Mapping[str, int]
    beside: frozenset[tuple[str, str]]
    ordered: tuple[str, ...]

    @property
    def length(self) -> int:
        return len(self.ordered)


@lru_cache(maxsize=4096)
def words_of(text: str) -> Words:
    found = tuple(content_words(text[:MOST_CHARS]))
    return Words(Counter(found), frozenset(pairwise(found)), found)


def evidence(query: str, texts: Sequence[str], *, openings: bool = False) -> list[Evidence]:
    """One a text; with `openings` also what their first lines show. O(size of the texts)."""
    asked = content_words(query)
    candidates = [words_of(text) for text in texts]
    words = _telling(Counter(asked), [candidate.counts for candidate in candidates])
    beside = _telling(Counter(pairwise(asked)), [candidate.beside for candidate in candidates])
    average = sum(candidate.length for candidate in candidates) / max(1, len(candidates))
    whole = sum(words.values())
    stems = [_bm25(words, candidate, average) for candidate in candidates]
    covered = [sum(weight for word, weight in words.items() if word in c.counts) for c in candidates]
    near = [sum(weight for pair, weight in beside.items() if pair in c.beside) for c in candidates]
    together = [_best_passage(words, candidate.ordered) for candidate in candidates]
    opening = _openings(set(asked), texts, candidates) if openings else [0.0] * len(texts)
    sure = _sure(asked, candidates)
    shares = [_share(one, whole) for one in covered]
    parts = (_to_best(stems), shares, _to_best(near), _to_best(together), opening, sure)
    return [Evidence(*shown) for shown in zip(*parts, strict=True)]


def _best_passage(words: Mapping[str, float], ordered: Sequence[str]) -> float:
    """The most that distinct ones of these words tell within `PASSAGE_WORDS`."""
    hits = [place for place, word in enumerate(ordered) if word in words]
    held: Counter[str] = Counter()
    first, told, best = 0, 0.0, 0.0
    for place in hits:
        held[ordered[place]] += 1
        if held[ordered[place]] == 1:
            told += words[ordered[place]]
        while hits[first] <= place - PASSAGE_WORDS:
            left = ordered[hits[first]]
            held[left] -= 1
            told -= words[left] if not held[left] else 0.0
            first += 1
        best = max(best, told)
    return best


def _sure(asked: Sequence[str], candidates: Sequence[Words]) -> list[float]:
    many = len(candidates) + _UNSEEN
    words = {
        word: count * _weight(many, sum(word in candidate.counts for candidate in candidates))
        for word, count in Counter(asked).items()
    }
    whole, enough = sum(words.values()), RARE * _weight(many, 1)
    told = [_best_passage(words, candidate.ordered) for candidate in candidates]
    return [min(1.0, max(_share(one, whole), _share(one, enough))) for one in told]


def _openings(asked: Container[str], texts: Sequence[str], candidates: Sequence[Words]) -> list[float]:
    holders = Counter(word for candidate in candidates for word in candidate.counts)
    shown = []
    for text in texts:
        named = dict.fromkeys(content_words(text.partition("\n")[0][:OPENING_CHARS]))
        tells = {word: _weight(len(candidates), holders[word]) for word in named}
        shown.append(_share(sum(tells[word] for word in tells if word in asked), sum(tells.values())))
    return _to_best(shown)


def _to_best(values: Sequence[float]) -> list[float]:
    best = max(values, default=0.0)
    return [_share(value, best) for value in values]


def _telling(asked: Mapping[T, int], held: Sequence[Container[T]]) -> dict[T, float]:
    """What each of these tells, for those that some candidate holds."""
    many = len(held)
    found: dict[T, float] = {}
    for one, count in asked.items():
        holders = sum(one in texts for texts in held)
        if holders:
            found[one] = count * _weight(many, holders)
    return found


def _weight(many: int, holders: int) -> float:
    """What a word tells that `holders` of `many` texts hold."""
    return math.log(1 + (many - holders + 0.5) / (holders + 0.5))


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
