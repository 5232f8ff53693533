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
from foldaway.stores._memory_rows import Scope
from foldaway.stores._memory_words import few
from foldaway.stores._tables import Row, Transaction, blob, name_of

if TYPE_CHECKING:
    from foldaway.stores._mirror import Mirrors

_MISSING = """SELECT m.id, m.handle, m.packed, m.data FROM memories m WHERE m.id > ?
    AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.memory = m.id AND v.model = ?) ORDER BY m.id LIMIT ?"""

_WORTH_SETTLING = 4_096
"""Vectors."""
_MANY = 1_000
"""Memories of a scope from which on a mirror is worth reading in pieces."""


class Vectors(ABC):
    """What a dialect does about vectors. Not safe between threads by itself: its store's transactions are."""

    def __init__(self, mirrored: bool | None = None) -> None:
        """`mirrored`: with numpy or without; None: with it when it is installed."""
        self._whole: dict[int, int] = {}
        """By model: up to this memory none is without a vector."""
        self._settled: dict[int, int] = {}
        """By model: up to this vector none is worth settling."""
        self._mirrors = _mirrors() if mirrored or (mirrored is None and find_spec("numpy")) else None

    @abstractmethod
    def put(self, db: Transaction, model: str, vectors: Sequence[tuple[bytes, Sequence[float]]]) -> None:
        """Keep these, by the handle of their memory."""

    def drop(self, db: Transaction, rows: Sequence[int]) -> None:
        """Delete the vectors of these memories; whoever mirrors them learns it."""
        self._take_out(db, vectors_of(db, rows))
        db.run_many("INSERT INTO forgotten (memory) VALUES (?)", [(row,) for row in rows])

    @abstractmethod
    def missing(self, db: Transaction, model: str, limit: int) -> list[Row]:
        """(handle, packed, data) of memories without a vector of this model, the one told first at the head."""

    @abstractmethod
    def nearest(
        self, db: Transaction, among: Sequence[Scope], model: str, vector: Sequence[float], limit: int
    ) -> list[tuple[int, float]]:
        """(row, cosine), best first; equal cosines: the later row first."""

    @abstractmethod
    def mirrored_scopes(self, db: Transaction) -> list[int]:
        """The scopes whose vectors this process would mirror, and that are worth making pieces of mirrors for."""

    def shrink(self, rows: Sequence[int] | None = None) -> None:
        """These memories were deleted (None: any): no copy of them may stay in this process."""
        if self._mirrors is not None:
            self._mirrors.forget(rows)

    def passing(self, scope: Scope, rows: Sequence[int]) -> Sequence[int]:
        """These rows but for some that the filter surely does not admit, as far as that is known without asking."""
        return rows if self._mirrors is None else self._mirrors.passing(scope, rows)

    def wants_settling(self, db: Transaction, model: str) -> bool:
        """Whether `settle` is worth a transaction. Cheap."""
        if self._mirrors is None:
            return False
        number, _ = find_model(db, model)
        if number not in self._settled:
            sealed = "SELECT coalesce(max(last), 0) FROM mirrors WHERE model = ?"
            self._settled[number] = int(db.rows(sealed, number)[0][0])
        return bool(number and db.last_vector() - self._settled[number] >= _WORTH_SETTLING)

    def settle(self, db: Transaction, model: str) -> bool:
        """No memory is without a vector of this model: some of what makes the first search faster is made now.

        Whether there is more to be made.
        """
        from foldaway.stores import _sealed

        number, _ = find_model(db, model)
        if _sealed.seal(db, number, self.mirrored_scopes(db)):
            return True
        self._settled[number] = db.last_vector()
        return False

    def _take_out(self, db: Transaction, had: Sequence[tuple[int, int, int, int]]) -> None:
        """Delete these vectors (id, model, scope, memory), and what pieces of mirrors hold of them."""
        if had and find_spec("numpy"):
            from foldaway.stores import _sealed

            _sealed.take_out(db, had)
        elif had:
            # Pieces that nobody here can read go as a whole.
            db.run("DELETE FROM mirrors")
        db.run_many("DELETE FROM vectors WHERE id = ?", [(number,) for number, *_ in had])


class BlobVectors(Vectors):
    """Vectors as BLOBs in a table, compared in this process."""

    def put(self, db: Transaction, model: str, vectors: Sequence[tuple[bytes, Sequence[float]]]) -> None:
        number, dimensions = known_model(db, model, len(vectors[0][1]))
        for _, vector in vectors:
            check_length(model, dimensions, len(vector))
        # One said twice: the last one told stays.
        last = dict(vectors)
        rows = _rows_of(db, list(last))
        had = vectors_of(db, [row for _, row, _ in rows], number)
        # A new row, not a changed one: mirrors read on from the highest id.
        self._take_out(db, had)
        insert = "INSERT INTO vectors (model, scope, memory, data) VALUES (?, ?, ?, ?)"
        db.run_many(insert, [(number, scope, row, packed_vector(last[handle])) for handle, row, scope in rows])

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

    def mirrored_scopes(self, db: Transaction) -> list[int]:
        return [
            scope for (scope,) in db.rows("SELECT scope FROM memory_scopes WHERE memories > ? ORDER BY scope", _MANY)
        ]


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
    sql = f"SELECT v.memory, {db.vector_column} FROM vectors v WHERE {{}} AND v.model = ?"
    return db.rows_of(sql, "v.memory", rows, model)


def _rows_of(db: Transaction, handles: Sequence[bytes]) -> list[tuple[bytes, int, int]]:
    """(handle, row, scope) of the memories that have these, in the order asked for."""
    rows = db.rows_of("SELECT handle, id, scope FROM memories WHERE {}", "handle", handles)
    found = {bytes(handle): (row, scope) for handle, row, scope in rows}
    return [(handle, *found[handle]) for handle in handles if handle in found]


def vectors_of(db: Transaction, rows: Sequence[int], model: int | None = None) -> list[tuple[int, int, int, int]]:
    """(id, model, scope, memory) of the vectors of these memories."""
    found = db.rows_of("SELECT id, model, scope, memory FROM vectors WHERE {}", "memory", rows)
    return [(number, of, scope, row) for number, of, scope, row in found if model is None or of == model]


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
    name = name_of("model name", model)
    return db.insert("INSERT INTO models (name, dimensions) VALUES (?, ?)", name, dimensions), dimensions


def check_length(model: str, dimensions: int, length: int) -> None:
    if length != dimensions:
        raise StoreError(
            f"model {model!r} has vectors of {dimensions} numbers here, not {length}; give another model another name"
        )
