"""Keyword relevance: fold first what shares least with what the agent is about.

BM25 of each turn against the newest user words and the newest assistant text (Robertson and Zaragoza, 2009); no age,
no structure. Papers report it as the strongest single signal for old results, and as blind to what comes next.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Item, Level
from foldaway.model.plan import Change
from foldaway.policies._turns import fold, foldable_turns

K1 = 1.2
B = 0.75
_WORD = re.compile(r"[A-Za-z0-9_]{3,}|[一-鿿]{2}")
READ_CHARS = 40_000
"""Of a giant item only this much is compared."""


@dataclass(frozen=True, slots=True)
class Relevance:
    shows_digests = False

    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        turns = foldable_turns(snapshot)
        scores = bm25([words(" ".join(snapshot.text(i)[:READ_CHARS] for i in t)) for t in turns], snapshot.query())
        for items, score in sorted(zip(turns, scores, strict=True), key=lambda p: (p[1], p[0][0].id)):
            yield from fold(items, Level.STUB, f"relevance {score:.2f} to the current step")


def words(text: str) -> Sequence[str]:
    return [w.lower() for w in _WORD.findall(text)]


def bm25(documents: Sequence[Sequence[str]], query: str) -> list[float]:
    """Scores of documents for a query, rounded so that equal is equal on any machine."""
    counts = [Counter(d) for d in documents]
    mean = sum(len(d) for d in documents) / max(1, len(documents)) or 1.0
    terms = sorted(set(words(query)))
    scores = [0.0] * len(documents)
    for term in terms:
        holding = sum(1 for c in counts if term in c)
        if not holding:
            continue
        weight = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
        for number, count in enumerate(counts):
            if frequency := count.get(term, 0):
                length = K1 * (1 - B + B * len(documents[number]) / mean)
                scores[number] += weight * frequency * (K1 + 1) / (frequency + length)
    return [round(s, 6) for s in scores]


__all__ = ["Item", "Relevance", "bm25", "words"]
