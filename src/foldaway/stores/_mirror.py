"""Vectors mirrored in memory, one matrix a scope and model; needs numpy.

A mirror is read when its scope is first searched (in pieces made beforehand, see `_sealed`) and reads on from there:
rows only ever come after those it has, and what is gone is told by a list of its own. Numbers are kept in a byte each,
which moves a cosine of unit vectors by about 0.001. Up to `FEW` memories all are compared. Above, every vector is first
judged by its signs (see `_signs`), and only the best are compared in full. What is found, and as much again, is
compared once more as it is stored.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldaway.stores import _sealed, _signs
from foldaway.stores._memory_rows import Scope
from foldaway.stores._memory_words import FEW, few
from foldaway.stores._tables import Transaction
from foldaway.stores._vectors import of_memories

MOST_BYTES = 3 << 30
"""All mirrors of a store together; the one used longest ago makes room. One that is larger is kept while it is used."""
SHORTLIST = 16_384
LEAST_SHORTLIST = 4_096
"""Of a scope a sixteenth is compared in full, but no more than the first and no less than the second."""
PASSING = 4_096
"""Put to a filter, the nearest first."""
_MORE = 50
"""Compared as they are stored, beyond twice what is asked for."""
_AT_ONCE = 256
"""Vectors compared in one go: they stay in the processor's cache."""
_NONE = -1
"""The row of a place whose memory is gone."""
_Floats = NDArray[np.float32]
_Positions = NDArray[np.int64]


class Mirrors:
    """The mirrors of one store. Safe between threads: a server runs transactions side by side, a mirror serves one."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.RLock()
        self._held: OrderedDict[tuple[int, int], Mirror] = OrderedDict()

    def nearest(
        self, db: Transaction, scope: Scope, model: int, vector: Sequence[float], limit: int
    ) -> list[tuple[int, float]]:
        query = np.asarray(vector, dtype=np.float32)
        with self._lock:
            mirror = self._held.setdefault((model, scope.number), Mirror(model, scope.number))
            self._held.move_to_end((model, scope.number))
            mirror.follow(db)
            near = _search(db, mirror, scope, query, 2 * limit + _MORE)
            while len(self._held) > 1 and self.bytes > self._most_bytes:
                self._held.popitem(last=False)
        return _exactly(db, model, query, near)[:limit]

    def passing(self, scope: Scope, rows: Sequence[int]) -> Sequence[int]:
        """These rows but for some that the filter surely does not admit."""
        with self._lock:
            for (_, number), mirror in self._held.items():
                if number == scope.number and scope.coded:
                    return mirror.passing(scope, rows)
        return rows

    def forget(self, rows: Sequence[int] | None = None) -> None:
        """Let go of these memories; None: of everything, so that the next search reads anew what is still there."""
        with self._lock:
            if rows is None:
                self._held.clear()
            for mirror in self._held.values():
                mirror.erase(rows or ())

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self._held.values())


def _search(db: Transaction, mirror: Mirror, scope: Scope, query: _Floats, limit: int) -> list[tuple[int, float]]:
    if not scope.filtered:
        return mirror.best(query, limit)
    if scope.uncoded:
        rows = few(db, scope)
        if rows is not None:
            return mirror.best(query, limit, positions=mirror.positions(rows))
    allowed = mirror.admitted(scope)
    near = mirror.best(query, max(limit, PASSING) if scope.uncoded else limit, allowed=allowed)
    kept: list[tuple[int, float]] = []
    for start in range(0, len(near), 2 * limit):
        part = near[start : start + 2 * limit]
        found = scope.among(db, [row for row, _ in part])
        kept += [each for each in part if each[0] in found]
        if len(kept) >= limit:
            return kept[:limit]
    if not scope.uncoded and len(near) < limit:
        return kept
    # What is near does not pass: the filter must come first, however much it leaves.
    left = sorted(row for (row,) in scope.rows(db, "m.id"))
    return mirror.best(query, limit, positions=mirror.positions(left))


def _exactly(
    db: Transaction, model: int, query: _Floats, found: Sequence[tuple[int, float]]
) -> list[tuple[int, float]]:
    """The same by their cosines as stored: bytes may swap two that are nearly equal."""
    stored = of_memories(db, model, [row for row, _ in found])
    if not stored:
        return []
    vectors = np.frombuffer(b"".join(data for _, data in stored), dtype=db.vector_type).reshape(len(stored), -1)
    cosines = np.round(np.einsum("ij,j->i", vectors.astype(np.float64), query.astype(np.float64)), 7).tolist()
    return sorted(zip((row for row, _ in stored), cosines, strict=True), key=lambda each: (-each[1], -each[0]))


class Mirror:
    """The vectors of one scope and model; position n of each array is about the same memory."""

    def __init__(self, model: int, scope: int) -> None:
        self._model, self._scope = model, scope
        self._last = self._gone = 0
        self._count = self._holes = self._coming = 0
        self._rows = np.empty(0, dtype=np.int64)
        self._steps = np.empty(0, dtype=np.float32)
        self._codes = np.empty((len(_sealed.CODED), 0), dtype=np.uint32)
        self._numbers = np.empty((0, 0), dtype=np.int8)
        self._signs = np.empty((_signs.WORDS, 0), dtype=np.uint64)
        self._signed = 0
        """Up to this position signs are worked out."""
        self._order: _Positions | None = None
        self._ordered = self._rows

    @property
    def bytes(self) -> int:
        arrays = (self._rows, self._steps, self._codes, self._numbers, self._signs)
        return sum(array.nbytes for array in arrays)

    # What changes

    def follow(self, db: Transaction) -> None:
        """Take in what changed since the last time."""
        first = not self._last
        gone = db.rows("SELECT id, memory FROM forgotten WHERE id > ?", self._gone) if not first else []
        self._gone = db.rows("SELECT coalesce(max(id), 0) FROM forgotten")[0][0]
        newest = "SELECT coalesce(max(id), 0) FROM vectors WHERE model = ? AND scope = ?"
        if db.rows(newest, self._model, self._scope)[0][0] > self._last:
            before = self._count
            if first:
                counted = "SELECT count(*) FROM vectors WHERE model = ? AND scope = ?"
                self._coming = int(db.rows(counted, self._model, self._scope)[0][0])
            for piece in _sealed.pieces(db, self._model, self._scope, self._last):
                self._add(piece)
            if before:
                # A vector that was made anew stands further back now.
                self._erase(self._rows[before : self._count], before)
        if gone:
            self.erase([row for _, row in gone])

    def _add(self, piece: _sealed.Piece) -> None:
        start, end = self._count, self._count + len(piece.rows)
        if end > len(self._rows):
            room = max(end, self._coming, len(self._rows) * 3 // 2 if start else 0)
            self._rows, self._steps = _signs.grown(self._rows, room, start), _signs.grown(self._steps, room, start)
            self._codes, self._signs = _signs.grown(self._codes, room, start), _signs.grown(self._signs, room, start)
            numbers = np.empty((room, piece.numbers.shape[1]), dtype=np.int8)
            if start:
                numbers[:start] = self._numbers[:start]
            self._numbers = numbers
        self._rows[start:end], self._steps[start:end] = piece.rows, piece.steps
        self._codes[:, start:end], self._numbers[start:end] = piece.codes, piece.numbers
        if piece.signs is not None:
            self._sign(start)
            self._signs[:, start:end] = piece.signs.T
            self._signed = end
        self._count, self._order, self._last = end, None, piece.last

    def erase(self, rows: Sequence[int]) -> None:
        """Nothing of these memories stays in memory."""
        if len(rows):
            self._erase(np.asarray(rows, dtype=np.int64), self._count)

    def _erase(self, rows: NDArray[np.int64], end: int) -> None:
        """Of those before the position `end`."""
        dead = np.flatnonzero(np.isin(self._rows[:end], rows))
        if len(dead):
            self._rows[dead], self._numbers[dead], self._signs[:, dead], self._codes[:, dead] = _NONE, 0, 0, 0
            self._holes += len(dead)
            self._order = None
        if self._holes > self._count // 4:
            self._close_holes()

    def _close_holes(self) -> None:
        live = np.flatnonzero(self._rows[: self._count] != _NONE)
        self._rows, self._steps, self._numbers = self._rows[live], self._steps[live], self._numbers[live]
        self._codes, self._signs = self._codes[:, live], np.ascontiguousarray(self._signs[:, live])
        self._count, self._holes, self._order = len(live), 0, None
        self._signed = int(np.searchsorted(live, self._signed))

    # What is asked

    def positions(self, rows: Sequence[int]) -> _Positions:
        """Where these memories stand, those that have a vector; `rows` sorted."""
        places = self._places(np.asarray(rows, dtype=np.int64))
        return places[places >= 0]

    def _places(self, rows: NDArray[np.int64]) -> _Positions:
        """Where these memories stand; -1: nowhere."""
        if self._order is None:
            self._order = np.argsort(self._rows[: self._count], kind="stable")
            self._ordered = self._rows[self._order]
        if not len(self._order):
            return np.full(len(rows), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._ordered, rows), len(self._order) - 1)
        return np.where(self._ordered[at] == rows, self._order[at], -1)

    def admitted(self, scope: Scope) -> NDArray[np.bool_]:
        """For each position whether the columns that a mirror knows pass; what else is asked may still fail."""
        passed: NDArray[np.bool_] = self._rows[: self._count] != _NONE
        for column, wanted in scope.coded:
            codes = self._codes[_sealed.CODED.index(column), : self._count]
            passed &= _one_of(codes, wanted)
        return passed

    def passing(self, scope: Scope, rows: Sequence[int]) -> Sequence[int]:
        places = self._places(np.asarray(rows, dtype=np.int64))
        kept = places < 0
        codes = self._codes[:, np.maximum(places, 0)]
        passed = np.ones(len(places), dtype=bool)
        for column, wanted in scope.coded:
            of_column = codes[_sealed.CODED.index(column)]
            passed &= _one_of(of_column, wanted)
        return [row for row, passes in zip(rows, (kept | passed).tolist(), strict=True) if passes]

    def best(
        self,
        query: _Floats,
        limit: int,
        *,
        positions: _Positions | None = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> list[tuple[int, float]]:
        """(row, cosine) of the nearest, best first, among these positions, those allowed, or all."""
        positions = self._shortlist(query, limit, positions, allowed)
        positions = positions[self._rows[positions] != _NONE]
        rows = self._rows[positions]
        cosines = np.round(self._products(positions, query) * self._steps[positions], 7)
        top = _largest(cosines, limit)
        # Equal cosines: the later row first.
        top = top[np.lexsort((-rows[top], -cosines[top]))]
        return list(zip(rows[top].tolist(), cosines[top].tolist(), strict=True))

    def _shortlist(
        self, query: _Floats, limit: int, positions: _Positions | None, allowed: NDArray[np.bool_] | None
    ) -> _Positions:
        count = self._count if allowed is None else int(np.count_nonzero(allowed))
        count = count if positions is None else len(positions)
        if count <= FEW:
            if positions is not None:
                return positions
            return np.arange(self._count) if allowed is None else np.flatnonzero(allowed)
        compared = max(2 * limit, LEAST_SHORTLIST, min(SHORTLIST, count // 16))
        numbers, _ = _sealed.quantised(query[None, :])
        asked = _signs.signs_of_one(numbers[0])
        self._sign(self._count)
        words = self._signs[:, : self._count]
        if positions is not None:
            return positions[_signs.nearest(words[:, positions], asked, compared, None)]
        return _signs.nearest(words, asked, compared, allowed)

    def _sign(self, upto: int) -> None:
        """Work out the signs that are missing before this position."""
        for start in range(self._signed, upto, _sealed.PIECE):
            end = min(start + _sealed.PIECE, upto)
            self._signs[:, start:end] = _signs.signs_of(self._numbers[start:end]).T
        self._signed = max(self._signed, upto)

    def _products(self, positions: _Positions, query: _Floats) -> _Floats:
        """Of the query and these vectors' bytes."""
        found = np.empty(len(positions), dtype=np.float32)
        for start in range(0, len(positions), _AT_ONCE):
            part = self._numbers[positions[start : start + _AT_ONCE]].astype(np.float32)
            # Not a product of matrices: that would wake threads, which then spin for longer than it takes.
            np.einsum("ij,j->i", part, query, out=found[start : start + _AT_ONCE])
        return found


def _one_of(codes: NDArray[np.uint32], wanted: Sequence[bytes]) -> NDArray[np.bool_]:
    # One comparison a value: for a few of them far cheaper than a general test of membership.
    passed = np.zeros(len(codes), dtype=bool)
    for each in wanted:
        passed |= codes == _sealed.code(each)
    return passed


def _largest(values: NDArray[Any], most: int) -> _Positions:
    """Where the largest stand, in no order."""
    return np.arange(len(values)) if most >= len(values) else np.argpartition(values, len(values) - most)[-most:]
