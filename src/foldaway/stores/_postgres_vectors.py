"""Vectors in pgvector: compared one by one where few may be found, by an HNSW index where a whole large scope may.

An index follows its links through all tenants' vectors and passes over those that may not be found; where these are
most, it misses some (recall 0.83 measured at 1 %). So a filter is checked first and what it leaves is compared in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest

from foldaway.stores._memory_rows import Scope
from foldaway.stores._memory_words import FEW
from foldaway.stores._postgres_transaction import PgTransaction
from foldaway.stores._tables import Row, Transaction
from foldaway.stores._vectors import Vectors, check_length, find_model, known_model

MOST_INDEXED_NUMBERS = 2000
"""pgvector indexes no longer vectors; such are compared one by one."""


class PgVectors(Vectors):
    def put(self, db: Transaction, model: str, vectors: Sequence[tuple[bytes, Sequence[float]]]) -> None:
        number, dimensions = find_model(db, model)
        if not number:
            number, dimensions = _new_model(db, model, len(vectors[0][1]))
        for _, vector in vectors:
            check_length(model, dimensions, len(vector))
        # Reading the memory locks it: it cannot be deleted before its vector is there to go with it.
        db.run_many(
            """INSERT INTO vectors (memory, model, tenant, scope, access, data)
            SELECT id, ?, tenant, scope, access, ?::vector FROM memories WHERE handle = ? FOR KEY SHARE
            ON CONFLICT (memory, model) DO UPDATE SET data = excluded.data""",
            [(number, _text(vector), handle) for handle, vector in vectors],
        )

    def drop(self, db: Transaction, row: int) -> None:
        db.run("DELETE FROM vectors WHERE memory = ?", row)

    def missing(self, db: Transaction, model: str, limit: int) -> list[Row]:
        number, _ = find_model(db, model)
        sql = """SELECT m.handle, m.packed, m.data FROM memories m WHERE NOT EXISTS
            (SELECT 1 FROM vectors v WHERE v.memory = m.id AND v.model = ?) ORDER BY m.id LIMIT ?"""
        return db.rows(sql, number, max(limit, 0))

    def nearest(
        self, db: Transaction, among: Sequence[Scope], model: str, vector: Sequence[float], limit: int
    ) -> list[tuple[int, float]]:
        number, dimensions = find_model(db, model)
        if not number or limit <= 0:
            return []
        check_length(model, dimensions, len(vector))
        found = [each for scope in among for each in _nearest(db, scope, number, dimensions, _text(vector), limit)]
        return nlargest(limit, found, key=lambda each: (each[1], each[0]))

    def shrink(self) -> None:
        """Nothing is mirrored in this process."""


def _nearest(
    db: Transaction, scope: Scope, model: int, dimensions: int, vector: str, limit: int
) -> list[tuple[int, float]]:
    if dimensions <= MOST_INDEXED_NUMBERS and not _leaves_few(db, scope):
        found = _by_index(db, scope, model, dimensions, vector, limit)
        if len(found) >= limit:
            return found
    return _one_by_one(db, scope, model, vector, limit)


def _leaves_few(db: Transaction, scope: Scope) -> bool:
    if not scope.selective:
        rows = db.rows("SELECT memories FROM memory_scopes WHERE scope = ?", scope.number)
        return not rows or rows[0][0] <= FEW
    counted = f"SELECT count(*) FROM (SELECT 1 FROM memories m WHERE {scope.condition} LIMIT ?) few"
    return bool(db.rows(counted, *scope.values, FEW + 1)[0][0] <= FEW)


def _one_by_one(db: Transaction, scope: Scope, model: int, vector: str, limit: int) -> list[tuple[int, float]]:
    # MATERIALIZED: the filter comes first, whatever the planner thinks.
    sql = f"""WITH few AS MATERIALIZED (SELECT m.id FROM memories m WHERE {scope.condition})
        SELECT v.memory, v.data <=> ?::vector AS distance FROM few JOIN vectors v ON v.memory = few.id
        WHERE v.model = ? ORDER BY distance, v.memory DESC LIMIT ?"""
    return _cosines(db.rows(sql, *scope.values, vector, model, limit))


def _by_index(
    db: Transaction, scope: Scope, model: int, dimensions: int, vector: str, limit: int
) -> list[tuple[int, float]]:
    # Model and length stand in the text, as they do in the index: see `_new_model`.
    distance = f"v.data::vector({dimensions}) <=> ?::vector({dimensions})"
    sql = f"""SELECT v.memory, {distance} AS distance FROM vectors v JOIN memories m ON m.id = v.memory
        WHERE v.model = {model} AND v.scope = ? AND {scope.condition} ORDER BY {distance} LIMIT ?"""
    return _cosines(db.rows(sql, vector, scope.number, *scope.values, vector, limit))


def _cosines(rows: Sequence[Row]) -> list[tuple[int, float]]:
    return [(row, round(1 - distance, 7)) for row, distance in rows]


def _new_model(db: Transaction, model: str, dimensions: int) -> tuple[int, int]:
    # Two processes that meet a model first at once: one waits here for the other.
    db.run("SELECT pg_advisory_xact_lock(hashtextextended('foldaway models', 0))")
    number, dimensions = known_model(db, model, dimensions)
    if dimensions <= MOST_INDEXED_NUMBERS:
        assert isinstance(db, PgTransaction)
        db.as_owner(
            f"""CREATE INDEX IF NOT EXISTS vectors_near_{number} ON vectors
            USING hnsw ((data::vector({dimensions})) vector_cosine_ops) WHERE model = {number}"""
        )
    return number, dimensions


def _text(vector: Sequence[float]) -> str:
    return "[" + ",".join(map(repr, map(float, vector))) + "]"
