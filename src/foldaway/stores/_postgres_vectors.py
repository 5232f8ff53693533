"""Vectors in pgvector: compared one by one where few may be found, mirrored where they are many and one owner's.

A mirror (see `_mirror`, with numpy) finds more of the nearest than HNSW does in the same time, needs no index that is
dear to make, and serves one owner: of a pool each reader may see another part. So large pools have an HNSW index, as
have large owners where numpy is missing. An index over everybody's vectors passes over those that may not be found;
where these are most, it misses some (recall 0.83 measured at 1 %). So a filter is checked first and what it leaves is
compared in full, and a large scope has an index of its own, made once all its memories have vectors: building it takes
a fraction of the time that adding to it one by one takes, and small scopes need none.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest

from foldaway.stores._memory_rows import MOST_VARIABLES, Scope
from foldaway.stores._memory_words import FEW
from foldaway.stores._tables import Row, Transaction
from foldaway.stores._vectors import Vectors, check_length, find_model, known_model, vectors_of

MOST_INDEXED_NUMBERS = 2000
"""pgvector indexes no longer vectors; such are compared one by one."""
INDEX_ABOVE = 20_000
"""A scope of more memories gets an index; so many are compared one by one in some 30 ms."""
_GRAPH_BYTES = 400
"""What building an index takes for a vector beside its numbers."""


class PgVectors(Vectors):
    def __init__(self, mirrored: bool | None = None) -> None:
        super().__init__(mirrored)
        self._seen: dict[int, tuple[int, int]] = {}
        """By model: up to this memory none that was visible was without one, and the next transaction's number then."""

    def put(self, db: Transaction, model: str, vectors: Sequence[tuple[bytes, Sequence[float]]]) -> None:
        # Who mirrors reads on from the highest id it saw: none may become visible behind a higher one.
        db.lock_vectors()
        number, dimensions = known_model(db, model, len(vectors[0][1]))
        for _, vector in vectors:
            check_length(model, dimensions, len(vector))
        # One row must not be written twice by a statement: the last one told stays.
        last = [(handle, _text(vector)) for handle, vector in dict(vectors).items()]
        for start in range(0, len(last), MOST_VARIABLES):
            part = last[start : start + MOST_VARIABLES]
            handles = [handle for handle, _ in part]
            had = "SELECT v.memory FROM vectors v JOIN memories m ON m.id = v.memory WHERE m.handle = ANY (?)"
            again = [row for (row,) in db.rows(had, handles)]
            self._take_out(db, vectors_of(db, again, number) if again else ())
            # Reading the memory locks it: it cannot be deleted before its vector is there to go with it.
            db.run(
                """INSERT INTO vectors (memory, model, tenant, scope, access, data)
                SELECT m.id, ?, m.tenant, m.scope, m.access, given.data::vector
                FROM unnest(?::bytea[], ?::text[]) given (handle, data) JOIN memories m ON m.handle = given.handle
                FOR KEY SHARE OF m""",
                number,
                handles,
                [text for _, text in part],
            )

    def missing(self, db: Transaction, model: str, limit: int) -> list[Row]:
        if limit <= 0:
            return []
        number, _ = find_model(db, model)
        ((oldest, next_one),) = db.rows(
            "SELECT pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint FROM pg_current_snapshot() s"
        )
        sql = """SELECT m.id, m.handle, m.packed, m.data FROM memories m WHERE m.id > ? AND NOT EXISTS
            (SELECT 1 FROM vectors v WHERE v.memory = m.id AND v.model = ?) ORDER BY m.id LIMIT ?"""
        rows = db.rows(sql, self._whole.get(number, 0), number, limit)
        if number:
            last = rows[0][0] - 1 if rows else db.rows("SELECT coalesce(max(id), 0) FROM memories")[0][0]
            self._settle(number, int(last), oldest, next_one)
        return [row[1:] for row in rows]

    def _settle(self, number: int, last: int, oldest: int, next_one: int) -> None:
        """Up to `last` none that this transaction sees is without a vector; a lower one may be committed later.

        What was so far is whole once all who had taken a number when it was seen are through, and it is still so.
        A writer has its transaction's number before it takes a memory's: see `PgTransaction.enter`.
        """
        seen, began = self._seen.get(number, (0, 0))
        if began and oldest >= began:
            self._whole[number] = max(self._whole.get(number, 0), min(seen, last))
            self._seen.pop(number, None)
        self._seen.setdefault(number, (last, next_one))

    def nearest(
        self, db: Transaction, among: Sequence[Scope], model: str, vector: Sequence[float], limit: int
    ) -> list[tuple[int, float]]:
        number, dimensions = find_model(db, model)
        if not number or limit <= 0:
            return []
        check_length(model, dimensions, len(vector))
        text = _text(vector)
        found: list[tuple[int, float]] = []
        for scope in among:
            large = not _is_small(db, scope)
            if large and scope.number > 0 and self._mirrors is not None:
                found += self._mirrors.nearest(db, scope, number, vector, limit)
            else:
                found += _nearest(db, scope, number, dimensions, text, limit, large=large)
        return nlargest(limit, found, key=lambda each: (each[1], each[0]))

    def mirrored_scopes(self, db: Transaction) -> list[int]:
        """Owners' own: of a pool a reader may see a part only, so no mirror of it would serve the next reader."""
        large = "SELECT scope FROM memory_scopes WHERE scope > 0 AND memories > ? ORDER BY scope"
        return [scope for (scope,) in db.rows(large, INDEX_ABOVE)]

    @property
    def mirrors(self) -> bool:
        """Whether this process mirrors large owners' vectors; then these need no index."""
        return self._mirrors is not None


def index_of(model: int, scope: int, dimensions: int) -> tuple[str, str, int]:
    """An index's name, its definition, and the bytes that building it takes for a vector."""
    name = f"vectors_near_{model}_{scope}".replace("-", "n")
    definition = f"""ON vectors USING hnsw ((data::vector({dimensions})) vector_cosine_ops)
        WHERE model = {model} AND scope = {scope}"""
    return name, definition, 4 * dimensions + _GRAPH_BYTES


def _nearest(
    db: Transaction, scope: Scope, model: int, dimensions: int, vector: str, limit: int, *, large: bool
) -> list[tuple[int, float]]:
    if large and dimensions <= MOST_INDEXED_NUMBERS and not _leaves_few(db, scope):
        found = _by_index(db, scope, model, dimensions, vector, limit)
        if len(found) >= limit:
            return found
    return _one_by_one(db, scope, model, vector, limit)


def _is_small(db: Transaction, scope: Scope) -> bool:
    rows = db.rows("SELECT memories FROM memory_scopes WHERE scope = ?", scope.number)
    return not rows or rows[0][0] <= INDEX_ABOVE


def _leaves_few(db: Transaction, scope: Scope) -> bool:
    if not scope.selective:
        return False
    counted = f"SELECT count(*) FROM (SELECT 1 FROM memories m WHERE {scope.condition} LIMIT ?) few"
    return bool(db.rows(counted, *scope.values, FEW + 1)[0][0] <= FEW)


def _one_by_one(db: Transaction, scope: Scope, model: int, vector: str, limit: int) -> list[tuple[int, float]]:
    if not scope.filtered:
        sql = """SELECT v.memory, v.data <=> ?::vector AS distance FROM vectors v
            WHERE v.scope = ? AND v.model = ? ORDER BY distance, v.memory DESC LIMIT ?"""
        return _cosines(db.rows(sql, vector, scope.number, model, limit))
    # MATERIALIZED: the filter comes first, whatever the planner thinks.
    sql = f"""WITH few AS MATERIALIZED (SELECT m.id FROM memories m WHERE {scope.condition})
        SELECT v.memory, v.data <=> ?::vector AS distance FROM few JOIN vectors v ON v.memory = few.id
        WHERE v.model = ? ORDER BY distance, v.memory DESC LIMIT ?"""
    return _cosines(db.rows(sql, *scope.values, vector, model, limit))


def _by_index(
    db: Transaction, scope: Scope, model: int, dimensions: int, vector: str, limit: int
) -> list[tuple[int, float]]:
    # Model, scope and length stand in the text, as they do in the index.
    distance = f"v.data::vector({dimensions}) <=> ?::vector({dimensions})"
    joined = f"JOIN memories m ON m.id = v.memory AND {scope.condition}" if scope.filtered else ""
    sql = f"""SELECT v.memory, {distance} AS distance FROM vectors v {joined}
        WHERE v.model = {model} AND v.scope = {scope.number} ORDER BY {distance} LIMIT ?"""
    return _cosines(db.rows(sql, vector, *(scope.values if scope.filtered else ()), vector, limit))


def _cosines(rows: Sequence[Row]) -> list[tuple[int, float]]:
    return [(row, round(1 - distance, 7)) for row, distance in rows]


def _text(vector: Sequence[float]) -> str:
    return "[" + ",".join(map(repr, map(float, vector))) + "]"
