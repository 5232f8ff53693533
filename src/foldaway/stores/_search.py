"""The word index of a session's texts, and searching it."""

from __future__ import annotations

import heapq
from collections import defaultdict

from foldaway.protocols import Hit
from foldaway.stores import _words
from foldaway.stores._tables import Session, Transaction, text_of, unpack

INDEX = "words"
_LEAST_CANDIDATES = 50


def _scoped(found: Session, word: str) -> str:
    """The word as it is indexed: under its session, so that looking it up never meets another session's texts."""
    return f"{found.id}/{word}"


def index_words(db: Transaction, found: Session, row: int, text: str) -> int:
    """Index a text's words and count it in the session's statistics; its length in words."""
    words, count = _words.terms(text)
    db.index_words(INDEX, row, [_scoped(found, word) for word in words])
    db.run("UPDATE sessions SET texts = texts + 1, words = words + ? WHERE id = ?", count, found.id)
    return count


def unindex(db: Transaction, found: Session, row: int) -> None:
    query = """SELECT n.key, c.packed, c.data, t.words FROM texts t JOIN contents c ON c.id = t.content
        LEFT JOIN notes n ON n.id = t.id WHERE t.id = ?"""
    ((key, packed, data, count),) = db.rows(query, row)
    text = unpack(packed, data)
    words, _ = _words.terms(text if key is None else f"{text_of(key)}\n{text}")
    db.unindex_words(INDEX, row, [_scoped(found, word) for word in words])
    db.run("DELETE FROM texts WHERE id = ?", row)
    db.run("UPDATE sessions SET texts = texts - 1, words = words - ? WHERE id = ?", count, found.id)


def search_words(db: Transaction, found: Session, query: str, limit: int) -> list[Hit]:
    """See `SqlStore.search`."""
    wanted = _words.query_terms(query)
    if not wanted or limit <= 0:
        return []
    held: dict[int, list[_words.Term]] = defaultdict(list)
    frequencies: dict[_words.Term, int] = {}
    for term in wanted:
        rows = db.rows_with(INDEX, [_scoped(found, term.text)], prefix=term.prefix)
        frequencies[term] = len(rows)
        for row in rows:
            held[row].append(term)
    texts, words = db.rows("SELECT texts, words FROM sessions WHERE id = ?", found.id)[0]
    weights = _words.weights(frequencies, texts)
    superseded = {row for (row,) in db.rows("SELECT id FROM texts WHERE session = ? AND superseded = 1", found.id)}

    # Only the most promising are read and ranked exactly: a common word may stand in every text of a long session.
    def promise(row: int) -> tuple[bool, float, int]:
        return row in superseded, -sum(weights[term] for term in held[row]), -row

    candidates = heapq.nsmallest(max(_LEAST_CANDIDATES, 4 * limit), held, key=promise)
    return _ranked(
        db,
        found,
        query,
        limit,
        words / max(texts, 1),
        {row: {term: weights[term] for term in held[row]} for row in candidates},
    )


def _ranked(
    db: Transaction,
    found: Session,
    query: str,
    limit: int,
    average_words: float,
    candidates: dict[int, dict[_words.Term, float]],
) -> list[Hit]:
    load = """SELECT t.ref, t.words, t.superseded, n.key, n.at_microseconds, c.packed, c.data FROM texts t
        JOIN contents c ON c.id = t.content LEFT JOIN notes n ON n.id = t.id WHERE t.id = ? AND t.session = ?"""
    needle = _words.normal(query)
    hits: list[tuple[tuple[bool, float, int, int], Hit]] = []
    for row, held in candidates.items():
        for ref, words, superseded, key, at, packed, data in db.rows(load, row, found.id):
            text = unpack(packed, data)
            searched = _words.normal(text if key is None else f"{text_of(key)}\n{text}")
            # Rounded: equal ranks must be equal whatever the order in which the terms were summed.
            score = round(_words.score(searched, words, average_words, needle, held), 9)
            hit = Hit(ref=text_of(ref), text=text, score=score, superseded=bool(superseded))
            hits.append(((hit.superseded, -score, -(at or 0), -row), hit))
    return [hit for _, hit in heapq.nsmallest(limit, hits, key=lambda pair: pair[0])]
