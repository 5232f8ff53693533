"""Vectors mirrored in memory, one matrix a scope and model; needs numpy.

A mirror is read when its scope is first searched and reads on from there: rows only ever come after those it has, and
what is gone is told by a list of its own. Halves (float16) are kept, as rounding them moves a cosine of unit vectors
by about 0.0001. Up to `FEW` memories all are compared. Above, every vector is first judged by a sketch of few numbers,
its part along the directions in which the vectors of the scope vary most, and only the best
are compared in full. What is found is compared once more as it is stored.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldaway.stores._memory_rows import Scope
from foldaway.stores._memory_words import FEW, few
from foldaway.stores._tables import Transaction
from foldaway.stores._vectors import of_memories

MOST_BYTES = 3 << 30
"""All mirrors of a store together; the one used longest ago makes room. One that is larger is kept while it is used."""
SKETCH_NUMBERS = 48
SHORTLIST = 4096
_SAMPLE = 16_384
_PIECE = 8_192
_Floats = NDArray[np.float32]


class Mirrors:
    """The mirrors of one store."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._held: OrderedDict[tuple[int, int], Mirror] = OrderedDict()

    def nearest(
        self, db: Transaction, scope: Scope, model: int, vector: Sequence[float], limit: int
    ) -> list[tuple[int, float]]:
        mirror = self._held.setdefault((model, scope.number), Mirror(model, scope.number))
        self._held.move_to_end((model, scope.number))
        mirror.follow(db)
        query = np.asarray(vector, dtype=np.float32)
        found = _exactly(db, model, query, _search(db, mirror, scope, query, 2 * limit))[:limit]
        while len(self._held) > 1 and sum(each.bytes for each in self._held.values()) > self._most_bytes:
            self._held.popitem(last=False)
        return found

    def forget(self) -> None:
        """Let go of everything: the next search reads anew what is still there."""
        self._held.clear()

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self._held.values())


def _search(db: Transaction, mirror: Mirror, scope: Scope, query: _Floats, limit: int) -> list[tuple[int, float]]:
    rows = few(db, scope)
    if rows is not None:
        return mirror.best(query, limit, mirror.positions(rows))
    near = mirror.best(query, max(limit, SHORTLIST) if scope.filtered else limit, None)
    if not scope.filtered:
        return near
    kept: list[tuple[int, float]] = []
    for start in range(0, len(near), 8 * limit):
        part = near[start : start + 8 * limit]
        allowed = scope.among(db, [row for row, _ in part])
        kept += [each for each in part if each[0] in allowed]
        if len(kept) >= limit:
            return kept[:limit]
    # What is near does not pass: the filter must come first, however much it leaves.
    left = sorted(row for (row,) in scope.rows(db, "m.id"))
    return mirror.best(query, limit, mirror.positions(left))


def _exactly(
    db: Transaction, model: int, query: _Floats, found: Sequence[tuple[int, float]]
) -> list[tuple[int, float]]:
    """The same by their cosines as stored: halves may swap two that are nearly equal."""
    stored = of_memories(db, model, [row for row, _ in found])
    cosines = [(row, round(float(np.frombuffer(data, dtype="<f4") @ query), 7)) for row, data in stored]
    return sorted(cosines, key=lambda each: (-each[1], -each[0]))


class Mirror:
    """The vectors of one scope and model; position n of each array is about the same memory."""

    def __init__(self, model: int, scope: int) -> None:
        self._model, self._scope = model, scope
        self._last = self._gone = 0
        self._count = 0
        self._rows = np.empty(0, dtype=np.int64)
        self._halves = np.empty((0, 0), dtype=np.float16)
        self._order: NDArray[np.int64] | None = None
        self._sketch: _Sketch | None = None

    @property
    def bytes(self) -> int:
        sketch = self._sketch.numbers.nbytes if self._sketch is not None else 0
        return self._rows.nbytes + self._halves.nbytes + sketch

    def follow(self, db: Transaction) -> None:
        """Take in what changed since the last time."""
        first = not self._count
        gone = db.rows("SELECT id, memory FROM forgotten WHERE id > ?", self._gone) if not first else []
        self._gone = db.rows("SELECT coalesce(max(id), 0) FROM forgotten")[0][0]
        ((newest,),) = db.rows(
            "SELECT coalesce(max(id), 0) FROM vectors WHERE model = ? AND scope = ?", self._model, self._scope
        )
        fresh: list[int] = []
        sql = "SELECT id, memory, data FROM vectors WHERE model = ? AND scope = ? AND id > ? ORDER BY id LIMIT ?"
        while self._last < newest:
            piece = db.rows(sql, self._model, self._scope, self._last, _PIECE)
            if not piece:
                break
            self._last = piece[-1][0]
            fresh += [row for _, row, _ in piece]
            self._add(piece)
        if not first:
            # A vector that was made anew stands further back now.
            self._remove([row for _, row in gone], fresh)

    def _add(self, piece: Sequence[tuple[Any, ...]]) -> None:
        data = np.frombuffer(b"".join(data for _, _, data in piece), dtype="<f4").reshape(len(piece), -1)
        end = self._count + len(piece)
        if end > len(self._rows):
            room = max(end, 2 * len(self._rows)) if self._count else end
            self._rows = _grown(self._rows, (room,), self._count)
            self._halves = _grown(self._halves, (room, data.shape[1]), self._count)
        self._rows[self._count : end] = [row for _, row, _ in piece]
        self._halves[self._count : end] = data
        self._count, self._order = end, None

    def _remove(self, gone: Sequence[int], fresh: Sequence[int]) -> None:
        rows = self._rows[: self._count]
        before = self._count - len(fresh)
        dead = np.isin(rows, np.asarray(gone, dtype=np.int64)) if gone else np.zeros(self._count, dtype=bool)
        if fresh and before:
            dead[:before] |= np.isin(rows[:before], np.asarray(fresh, dtype=np.int64))
        if dead.any():
            live = ~dead
            # New arrays: nothing of the old ones may stay in memory.
            self._rows, self._halves = rows[live], self._halves[: self._count][live]
            self._count, self._order, self._sketch = int(live.sum()), None, None

    def positions(self, rows: Sequence[int]) -> NDArray[np.int64]:
        """Where these memories stand, those that have a vector; `rows` sorted."""
        if self._order is None:
            self._order = np.argsort(self._rows[: self._count], kind="stable")
        ordered = self._rows[self._order]
        wanted = np.asarray(rows, dtype=np.int64)
        at = np.searchsorted(ordered, wanted)
        at = at[at < len(ordered)] if not len(wanted) else np.minimum(at, max(len(ordered) - 1, 0))
        return self._order[at[ordered[at] == wanted]] if len(ordered) else self._order

    def best(self, query: _Floats, limit: int, positions: NDArray[np.int64] | None) -> list[tuple[int, float]]:
        """(row, cosine) of the nearest, best first, among all or these positions."""
        count = self._count if positions is None else len(positions)
        if not count:
            return []
        if count > FEW:
            positions = self._shortlist(query, max(limit, SHORTLIST), positions)
        halves = self._halves[: self._count] if positions is None else self._halves[positions]
        rows = self._rows[: self._count] if positions is None else self._rows[positions]
        cosines = halves.astype(np.float32) @ query
        top = _largest(cosines, limit)
        # Equal cosines: the later row first.
        order = np.lexsort((-rows[top], -cosines[top]))
        return [(int(rows[n]), round(float(cosines[n]), 7)) for n in top[order]]

    def _shortlist(self, query: _Floats, most: int, positions: NDArray[np.int64] | None) -> NDArray[np.int64]:
        if self._sketch is None or self._count > 2 * self._sketch.made_for:
            self._sketch = _Sketch(self._halves[: self._count])
        self._sketch.add(self._halves[: self._count])
        numbers = self._sketch.numbers[: self._count]
        judged = (numbers if positions is None else numbers[positions]) @ (self._sketch.directions.T @ query)
        top = _largest(judged, most)
        return top if positions is None else positions[top]


class _Sketch:
    """Each vector's part along the few directions that carry most of all of them."""

    def __init__(self, halves: NDArray[np.float16]) -> None:
        self.made_for = len(halves)
        # Evenly spread and not drawn: the same rows give the same sketch.
        sample = halves[:: max(1, len(halves) // _SAMPLE)].astype(np.float32)
        _, vectors = np.linalg.eigh(sample.T @ sample)
        self.directions: _Floats = np.ascontiguousarray(vectors[:, ::-1][:, :SKETCH_NUMBERS], dtype=np.float32)
        self.numbers: _Floats = np.empty((len(halves), self.directions.shape[1]), dtype=np.float32)
        self._count = 0

    def add(self, halves: NDArray[np.float16]) -> None:
        if len(halves) > len(self.numbers):
            self.numbers = _grown(
                self.numbers, (max(len(halves), 2 * len(self.numbers)), self.numbers.shape[1]), self._count
            )
        for start in range(self._count, len(halves), _PIECE):
            part = halves[start : start + _PIECE].astype(np.float32)
            self.numbers[start : start + len(part)] = part @ self.directions
        self._count = len(halves)


def _grown(old: NDArray[Any], shape: tuple[int, ...], count: int) -> NDArray[Any]:
    new = np.empty(shape, dtype=old.dtype)
    if count:
        new[:count] = old[:count]
    return new


def _largest(values: _Floats, most: int) -> NDArray[np.int64]:
    """Where the largest stand, in no order."""
    if most >= len(values):
        return np.arange(len(values))
    if len(values) > _SAMPLE and most < len(values) // 8:
        # Sorting out a million takes longer than comparing them: a sample tells about where the cut is.
        step = len(values) // _SAMPLE
        sample = values[::step]
        share = 2 * most / len(values)
        cut = np.partition(sample, -max(int(share * len(sample)), 1))[-max(int(share * len(sample)), 1)]
        above = np.flatnonzero(values >= cut)
        if len(above) >= most:
            return above[_largest(values[above], most)] if len(above) < len(values) // 2 else _cut(values, most)
    return _cut(values, most)


def _cut(values: _Floats, most: int) -> NDArray[np.int64]:
    return np.argpartition(values, len(values) - most)[len(values) - most :]
