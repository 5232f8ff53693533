"""Finding memories by their words: BM25 over words and CJK pairs, among what a filter leaves.

Up to a few thousand memories a scope this is exact. Beyond, a word that stands in very many memories no longer finds
any, it only ranks what rarer words found; and when all words are such, a thousand memories are looked through: those
that hold all the words, or the newest that a filter leaves.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from foldaway.stores import _words
from foldaway.stores._memory_rows import MOST_VARIABLES, Scope
from foldaway.stores._tables import Transaction, text_of, unpack

INDEX = "memory_words"
COMMON = 5_000
"""A word in more memories of a scope than that is common."""
FEW = 8_000
"""A filter that leaves no more rows of a scope than that is checked before the words are looked up."""
_LEAST_CANDIDATES = 50
_MOST_READ = 1_000
"""Memories that are read to find common words in them."""


def terms(key: str, text: str) -> tuple[list[str], int]:
    """Distinct terms of a memory, and its length in words."""
    return _words.terms(f"{key}\n{text}" if key else text)


def scoped(scope: int, words: Sequence[str]) -> list[str]:
    """Words as they are indexed: under their scope, so that looking one up never meets another scope's memories."""
    return [f"{scope}/{word}" for word in words]


@dataclass(frozen=True, slots=True)
class _Statistics:
    """Of one scope: how many memories, words in them, and the first and last id it ever had."""

    memories: int
    words: int
    first: int
    last: int


@dataclass(slots=True)
class _Found:
    """What one scope holds of the words looked for."""

    scope: Scope
    rows: dict[_words.Term, list[int]] = field(default_factory=dict)
    """Of each rarer word: where it stands."""
    common: list[_words.Term] = field(default_factory=list)
    to_read: list[int] = field(default_factory=list)
    """Rows that must be read to know which common words they hold; only where there is no rarer word."""


def few(db: Transaction, scope: Scope) -> list[int] | None:
    """The rows that the filter leaves, lowest first; None when they are many."""
    if not scope.selective:
        return None
    rows = scope.rows(db, "m.id", "LIMIT ?", FEW + 1)
    return sorted([row for (row,) in rows]) if len(rows) <= FEW else None


def search(db: Transaction, among: Sequence[Scope], query: str, limit: int) -> list[tuple[int, float]]:
    """(row, score), best first; equal scores: the later row first."""
    wanted = _words.query_terms(query)
    if not wanted or limit <= 0:
        return []
    frequencies = dict.fromkeys(wanted, 0)
    texts = words = 0
    found: list[_Found] = []
    for scope in among:
        for row in db.rows("SELECT memories, words, first, last FROM memory_scopes WHERE scope = ?", scope.number):
            statistics = _Statistics(*row)
            texts, words = texts + statistics.memories, words + statistics.words
            found.append(_look_up(db, scope, wanted, statistics, frequencies))
    weights = _words.weights(frequencies, texts)
    rank = _Rank(_words.normal(query), words / max(texts, 1), weights, max(_LEAST_CANDIDATES, 4 * limit))
    ranked = [(-score, -row) for part in found for row, score in rank.scores(db, part)]
    return [(-row, -score) for score, row in heapq.nsmallest(limit, ranked)]


def _look_up(
    db: Transaction,
    scope: Scope,
    wanted: Sequence[_words.Term],
    statistics: _Statistics,
    frequencies: dict[_words.Term, int],
) -> _Found:
    left = few(db, scope)
    found = _Found(scope)
    if left == []:
        return found
    allowed = None if left is None else set(left)
    for term in wanted:
        rows = db.rows_with(INDEX, scoped(scope.number, [term.text]), prefix=term.prefix, most=COMMON + 1)
        if len(rows) > COMMON:
            found.common.append(term)
            frequencies[term] += _share(statistics, rows)
            continue
        frequencies[term] += len(rows)
        found.rows[term] = rows if allowed is None else sorted(allowed.intersection(rows))
    if found.common and not any(found.rows.values()):
        found.to_read = _common_rows(db, found) if left is None else left[-_MOST_READ:]
    return found


def _share(statistics: _Statistics, rows: Sequence[int]) -> int:
    """How many memories hold a common word, judged by the share of those up to the last row that was looked at."""
    seen = (rows[-1] - statistics.first + 1) / max(statistics.last - statistics.first + 1, 1)
    return int(min(statistics.memories, max(COMMON, round(len(rows) / max(seen, 1e-9)))))


def _common_rows(db: Transaction, found: _Found) -> list[int]:
    """Rows that hold all the words, or else any of them; no more than are read."""
    words = [scoped(found.scope.number, [term.text])[0] for term in found.common]
    plain = [word for word, term in zip(words, found.common, strict=True) if not term.prefix]
    together = db.rows_with(INDEX, plain, most=_MOST_READ) if len(plain) > 1 else []
    if together:
        return together
    each = _MOST_READ // len(words) + 1
    return sorted(
        {
            row
            for word, term in zip(words, found.common, strict=True)
            for row in db.rows_with(INDEX, [word], prefix=term.prefix, most=each)
        }
    )


@dataclass(frozen=True, slots=True)
class _Rank:
    """How candidates are read and scored."""

    needle: str
    average_words: float
    weights: dict[_words.Term, float]
    enough: int
    """Candidates that are scored exactly, the most promising ones."""

    def scores(self, db: Transaction, found: _Found) -> list[tuple[int, float]]:
        promise: dict[int, float] = {}
        for term, rows in found.rows.items():
            weight = self.weights[term]
            for row in rows:
                promise[row] = promise.get(row, 0.0) + weight
        scored: list[tuple[int, float]] = []
        for part in self._parts(found, promise):
            scored += self._read(db, found, part)
            if len(scored) >= self.enough and not found.to_read:
                break
        return scored

    def _parts(self, found: _Found, promise: dict[int, float]) -> Iterator[list[int]]:
        """Candidates, most promising first, in pieces: only as many are read as it takes to find enough that pass."""
        ordered: list[int] = found.to_read

        def order(row: int) -> tuple[float, int]:
            # Rounded: equal promises must be equal whatever the order in which they were summed.
            return -round(promise[row], 9), -row

        if not ordered:
            ordered = heapq.nsmallest(self.enough, promise, key=order)
            yield ordered
            if not found.scope.filtered or len(ordered) == len(promise):
                return
            ordered = sorted(promise, key=order)[self.enough :]
        for start in range(0, len(ordered), MOST_VARIABLES):
            yield ordered[start : start + MOST_VARIABLES]

    def _read(self, db: Transaction, found: _Found, rows: Sequence[int]) -> list[tuple[int, float]]:
        marks = ", ".join("?" * len(rows))
        load = f"""SELECT m.id, m.words, m.subject, m.packed, m.data FROM memories m {db.by_row()}
            WHERE m.id IN ({marks}) AND {found.scope.condition}"""
        wanted = set(rows)
        holders = [(term, wanted.intersection(held)) for term, held in found.rows.items()]
        scored: list[tuple[int, float]] = []
        for row, words, subject, packed, data in db.rows(load, *rows, *found.scope.values) if rows else ():
            key, text = text_of(bytes(subject)), unpack(packed, bytes(data))
            searched = _words.normal(f"{key}\n{text}" if key else text)
            held = {term: self.weights[term] for term, holding in holders if row in holding}
            held.update((term, self.weights[term]) for term in found.common if term.text in searched)
            if held:
                score = _words.score(searched, words, self.average_words, self.needle, held)
                scored.append((row, round(score, 9)))
        return scored
