"""Finding memories by their words: BM25 over words and CJK pairs, among what a filter leaves.

Up to a few ten thousand memories a scope this is exact. Beyond, a word that stands in very many memories no longer
finds any, it only ranks what rarer words found; and when all words are such, they must stand in a memory together.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from foldaway.stores import _words
from foldaway.stores._memory_rows import MOST_VARIABLES, Scope
from foldaway.stores._tables import Transaction, text_of, unpack

INDEX = "memory_words"
COMMON = 5_000
"""A word in more memories of a scope than that is common."""
FEW = 20_000
"""A filter that leaves no more rows of a scope than that is checked before the words are looked up."""
_LEAST_CANDIDATES = 50


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
    """Candidates of one scope: what each promises, and which terms it is known to hold."""

    scope: Scope
    held: dict[int, list[_words.Term]] = field(default_factory=dict)
    common: list[_words.Term] = field(default_factory=list)


def few(db: Transaction, scope: Scope) -> list[int] | None:
    """The rows that the filter leaves, lowest first; None when they are many."""
    if not scope.selective:
        return None
    rows = scope.rows(db, "m.id", "LIMIT ?", FEW + 1)
    return sorted(row for (row,) in rows) if len(rows) <= FEW else None


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
    needle, average = _words.normal(query), words / max(texts, 1)
    ranked = [
        (-score, -row)
        for part in found
        for row, score in _scores(db, part, weights, needle, average, max(_LEAST_CANDIDATES, 4 * limit))
    ]
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
        for row in rows if allowed is None else allowed.intersection(rows):
            found.held.setdefault(row, []).append(term)
    if not found.held and found.common:
        _look_up_common(db, found, allowed)
    return found


def _share(statistics: _Statistics, rows: Sequence[int]) -> int:
    """How many memories hold a common word, judged by the share of those up to the last row that was looked at."""
    seen = (rows[-1] - statistics.first + 1) / max(statistics.last - statistics.first + 1, 1)
    return int(min(statistics.memories, max(COMMON, round(len(rows) / max(seen, 1e-9)))))


def _look_up_common(db: Transaction, found: _Found, allowed: set[int] | None) -> None:
    """Rows that hold all the words; where a filter leaves few, any of the words will do."""
    words = [scoped(found.scope.number, [term.text])[0] for term in found.common]
    plain = [word for word, term in zip(words, found.common, strict=True) if not term.prefix]
    together = db.rows_with(INDEX, plain, most=COMMON) if len(plain) > 1 else []
    rows = together if allowed is None else list(allowed.intersection(together))
    if not rows:
        for word, term in zip(words, found.common, strict=True):
            most = COMMON if allowed is None else None
            held = db.rows_with(INDEX, [word], prefix=term.prefix, most=most)
            rows += held if allowed is None else allowed.intersection(held)
    found.held.update((row, []) for row in rows)


def _scores(
    db: Transaction,
    found: _Found,
    weights: dict[_words.Term, float],
    needle: str,
    average_words: float,
    candidates: int,
) -> list[tuple[int, float]]:
    def promise(row: int) -> tuple[float, int]:
        return -sum([weights[term] for term in found.held[row]]), -row

    scored: list[tuple[int, float]] = []
    for part in _parts(found, promise, candidates):
        marks = ", ".join("?" * len(part))
        load = f"""SELECT m.id, m.words, m.subject, m.packed, m.data FROM memories m
            WHERE m.id IN ({marks}) AND {found.scope.condition}"""
        for row, words, subject, packed, data in db.rows(load, *part, *found.scope.values):
            key, text = text_of(bytes(subject)), unpack(packed, bytes(data))
            searched = _words.normal(f"{key}\n{text}" if key else text)
            held = {term: weights[term] for term in found.held[row]}
            held.update((term, weights[term]) for term in found.common if term.text in searched)
            # Rounded: equal ranks must be equal whatever the order in which the terms were summed.
            scored.append((row, round(_words.score(searched, words, average_words, needle, held), 9)))
        if len(scored) >= candidates:
            break
    return scored


def _parts(found: _Found, promise: Callable[[int], tuple[float, int]], candidates: int) -> list[list[int]]:
    """Candidates, most promising first, in pieces: only as many are read as it takes to find enough that pass."""
    best = heapq.nsmallest(candidates, found.held, key=promise)
    if not found.scope.filtered or len(best) == len(found.held):
        return [best[start : start + MOST_VARIABLES] for start in range(0, len(best), MOST_VARIABLES)]
    ordered = sorted(found.held, key=promise)
    return [ordered[start : start + MOST_VARIABLES] for start in range(0, len(ordered), MOST_VARIABLES)]
