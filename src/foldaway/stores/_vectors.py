"""Vectors of memories over SQL tables: keeping them, and the nearest ones to another.

Kept as little-endian float32. A filter is checked first: where it leaves few memories, all of those are compared.
With the extra `memory` (numpy) vectors are mirrored in memory, see `_mirror`; without it every vector that may be
found is read and compared in Python, which gives the same and is slower (about 20 microseconds a vector of 256).
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from heapq import nlargest
from importlib.util import find_spec
from operator import mul
from typing import TYPE_CHECKING

from foldaway.errors import StoreError
from foldaway.stores._memory_rows import MOST_VARIABLES, Scope
from foldaway.stores._memory_words import few
from foldaway.stores._tables import Row, Transaction, blob

if TYPE_CHECKING:
    from foldaway.stores._mirror import Mirrors

_MISSING = """SELECT m.id, m.handle, m.packed, m.data FROM memories m WHERE m.id > ?
    AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.memory = m.id AND v.model = ?) ORDER BY m.id LIMIT ?"""


class Vectors(ABC):
    """What a dialect does about vectors. Not safe between threads by itself: its store's transactions are."""

    @abstractmethod
    def put(self, db: Transaction, model: str, vectors: Sequence[tuple[bytes, Sequence[float]]]) -> None:
        """Keep these, by the handle of their memory."""

    @abstractmethod
    def drop(self, db: Transaction, row: int) -> None:
        """Delete the vectors of this memory."""

    @abstractmethod
    def missing(self, db: Transaction, model: str, limit: int) -> list[Row]:
        """(handle, packed, data) of memories without a vector of this model, the one told first at the head."""

    @abstractmethod
    def nearest(
        self, db: Transaction, among: Sequence[Scope], model: str, vector: Sequence[float], limit: int
    ) -> list[tuple[int, float]]:
        """(row, cosine), best first; equal cosines: the later row first."""

    @abstractmethod
    def shrink(self) -> None:
        """Something was deleted: no copy of it may stay in this process."""


class BlobVectors(Vectors):
    """Vectors as BLOBs in a table, compared in this process."""

    def __init__(self, mirrored: bool | None = None) -> None:
        """`mirrored`: with numpy or without; None: with it when it is installed."""
        self._whole: dict[int, int] = {}
        """By model: up to this memory none is without a vector."""
        self._mirrors = _mirrors() if mirrored or (mirrored is None and find_spec("numpy")) else None

    def put(self, db: Transaction, model: str, vectors: Sequence[tuple[bytes, Sequence[float]]]) -> None:
        number = known_model(db, model, len(vectors[0][1]))
        for handle, vector in vectors:
            data = packed_vector(vector)
            check_length(model, number[1], len(vector))
            for row, scope in db.rows("SELECT id, scope FROM memories WHERE handle = ?", handle):
                # A new row, not a changed one: mirrors read on from the highest id.
                db.run("DELETE FROM vectors WHERE memory = ? AND model = ?", row, number[0])
                insert = "INSERT INTO vectors (model, scope, memory, data) VALUES (?, ?, ?, ?)"
                db.run(insert, number[0], scope, row, data)

    def drop(self, db: Transaction, row: int) -> None:
        db.run("DELETE FROM vectors WHERE memory = ?", row)
        db.run("INSERT INTO forgotten (memory) VALUES (?)", row)

    def missing(self, db: Transaction, model: str, limit: int) -> list[Row]:
        if limit <= 0:
            return []
        number, _ = find_model(db, model)
        rows = db.rows(_MISSING, self._whole.get(number, 0), number, limit)
        # Memories come in the order of their ids and vectors stay: what is whole once stays whole.
        last = rows[0][0] - 1 if rows else db.rows("SELECT coalesce(max(id), 0) FROM memories")[0][0]
        if number:
            self._whole[number] = max(self._whole.get(number, 0), last)
        return [row[1:] for row in rows]

    def nearest(
        self, db: Transaction, among: Sequence[Scope], model: str, vector: Sequence[float], limit: int
    ) -> list[tuple[int, float]]:
        number, dimensions = find_model(db, model)
        if not number or limit <= 0:
            return []
        check_length(model, dimensions, len(vector))
        search = _plain if self._mirrors is None else self._mirrors.nearest
        found = [each for scope in among for each in search(db, scope, number, vector, limit)]
        return nlargest(limit, found, key=lambda each: (each[1], each[0]))

    def shrink(self) -> None:
        if self._mirrors is not None:
            self._mirrors.forget()


def _mirrors() -> Mirrors:
    from foldaway.stores._mirror import Mirrors

    return Mirrors()


def _plain(db: Transaction, scope: Scope, model: int, vector: Sequence[float], limit: int) -> list[tuple[int, float]]:
    query = array("f", vector)
    rows = few(db, scope)
    if rows is None:
        sql = f"""SELECT v.memory, v.data FROM vectors v JOIN memories m ON m.id = v.memory
            WHERE v.model = ? AND v.scope = ? AND {scope.condition}"""
        stored = db.rows(sql, model, scope.number, *scope.values)
    else:
        stored = of_memories(db, model, rows)
    cosines = ((row, round(sum(map(mul, query, unpacked_vector(data))), 7)) for row, data in stored)
    return nlargest(limit, cosines, key=lambda each: (each[1], each[0]))


def of_memories(db: Transaction, model: int, rows: Sequence[int]) -> list[Row]:
    """(row, bytes) of those of these memories that have a vector of the model."""
    found: list[Row] = []
    for start in range(0, len(rows), MOST_VARIABLES):
        part = rows[start : start + MOST_VARIABLES]
        marks = ", ".join("?" * len(part))
        found += db.rows(f"SELECT memory, data FROM vectors WHERE memory IN ({marks}) AND model = ?", *part, model)
    return found


def packed_vector(vector: Sequence[float]) -> bytes:
    values = array("f", vector)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def unpacked_vector(data: bytes) -> array[float]:
    values = array("f", data)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def find_model(db: Transaction, model: str) -> tuple[int, int]:
    """Its number (0: no vector of it was ever kept) and the length of its vectors."""
    rows = db.rows("SELECT id, dimensions FROM models WHERE name = ?", blob(model))
    return (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)


def known_model(db: Transaction, model: str, dimensions: int) -> tuple[int, int]:
    number, known = find_model(db, model)
    if number:
        return number, known
    if not model or not dimensions:
        raise StoreError(f"vectors of {dimensions} numbers by model {model!r} cannot be kept; name the model")
    return db.insert("INSERT INTO models (name, dimensions) VALUES (?, ?)", blob(model), dimensions), dimensions


def check_length(model: str, dimensions: int, length: int) -> None:
    if length != dimensions:
        raise StoreError(
            f"model {model!r} has vectors of {dimensions} numbers here, not {length}; give another model another name"
        )
