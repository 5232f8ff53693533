"""Vectors mirrored in memory, one matrix a scope and model; needs numpy.

A mirror is read when its scope is first searched and reads on from there: rows only ever come after those it has, and
what is gone is told by a list of its own. Numbers are kept in a byte each, which moves a cosine of unit vectors by
about 0.001. Up to `FEW` memories all are compared. Above, every vector is first judged by `BITS` signs of its products
with fixed directions, as the share of signs that two vectors have in common tells the angle between them, and only the
best are compared in full. What is found, and as much again, is compared once more as it is stored.

Directions that follow the data (principal components) were tried and lose: of hashed texts 48 of them carry a third of
all, and of the ten nearest among 150,000 found 76 % where as many signs as cost the same find 99 %.

Source: Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldaway.stores._memory_rows import Scope
from foldaway.stores._memory_words import FEW, few
from foldaway.stores._tables import Transaction
from foldaway.stores._vectors import of_memories

MOST_BYTES = 3 << 30
"""All mirrors of a store together; the one used longest ago makes room. One that is larger is kept while it is used."""
BITS = 512
SHORTLIST = 16_384
LEAST_SHORTLIST = 4_096
"""Of a scope a sixteenth is compared in full, but no more than the first and no less than the second."""
PASSING = 4_096
"""Put to a filter, the nearest first."""
_MORE = 50
"""Compared as they are stored, beyond twice what is asked for."""
_PIECE = 8_192
_MOST = 127
_Floats = NDArray[np.float32]
_Words = NDArray[np.uint64]


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
        found = _exactly(db, model, query, _search(db, mirror, scope, query, 2 * limit + _MORE))[:limit]
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
    near = mirror.best(query, max(limit, PASSING) if scope.filtered else limit, None)
    if not scope.filtered:
        return near
    kept: list[tuple[int, float]] = []
    for start in range(0, len(near), 4 * limit):
        part = near[start : start + 4 * limit]
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
    """The same by their cosines as stored: bytes may swap two that are nearly equal."""
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
        self._numbers = np.empty((0, 0), dtype=np.int8)
        self._steps = np.empty(0, dtype=np.float32)
        """What one unit of a vector's bytes is worth."""
        self._order: NDArray[np.int64] | None = None
        self._signs: _Signs | None = None

    @property
    def bytes(self) -> int:
        signs = self._signs.bytes if self._signs is not None else 0
        return self._rows.nbytes + self._numbers.nbytes + self._steps.nbytes + signs

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
        start, end = self._count, self._count + len(piece)
        if end > len(self._rows):
            room = max(end, len(self._rows) + len(self._rows) // 2) if self._count else end
            self._rows = _grown(self._rows, (room,), self._count)
            self._steps = _grown(self._steps, (room,), self._count)
            self._numbers = _grown(self._numbers, (room, data.shape[1]), self._count)
        steps = np.abs(data).max(axis=1) / _MOST
        self._rows[start:end] = [row for _, row, _ in piece]
        self._steps[start:end] = steps
        self._numbers[start:end] = np.rint(data / np.maximum(steps, 1e-30)[:, None])
        self._count, self._order = end, None
        if end > FEW or self._signs is not None:
            if self._signs is None:
                self._signs = _Signs(data.shape[1])
                for at in range(0, start, _PIECE):
                    self._signs.add(self._as_floats(np.arange(at, min(at + _PIECE, start))))
            self._signs.add(data)

    def _as_floats(self, positions: NDArray[np.int64]) -> _Floats:
        """Their numbers as multiples of each one's step."""
        return self._numbers[positions].astype(np.float32)

    def _remove(self, gone: Sequence[int], fresh: Sequence[int]) -> None:
        rows = self._rows[: self._count]
        before = self._count - len(fresh)
        dead = np.isin(rows, np.asarray(gone, dtype=np.int64)) if gone else np.zeros(self._count, dtype=bool)
        if fresh and before:
            dead[:before] |= np.isin(rows[:before], np.asarray(fresh, dtype=np.int64))
        if dead.any():
            live = ~dead
            # New arrays: nothing of the old ones may stay in memory.
            self._rows, self._steps = rows[live], self._steps[: self._count][live]
            self._numbers = self._numbers[: self._count][live]
            self._count, self._order = int(live.sum()), None
            if self._signs is not None:
                self._signs.keep(live)

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
        if count > FEW and self._signs is not None:
            compared = max(2 * limit, LEAST_SHORTLIST, min(SHORTLIST, count // 16))
            positions = self._signs.nearest(query, compared, positions)
        elif positions is None:
            positions = np.arange(self._count)
        rows = self._rows[positions]
        cosines = np.round((self._as_floats(positions) @ query) * self._steps[positions], 7)
        top = _largest(cosines, limit)
        # Equal cosines: the later row first.
        top = top[np.lexsort((-rows[top], -cosines[top]))]
        return list(zip(rows[top].tolist(), cosines[top].tolist(), strict=True))


class _Signs:
    """On which side of `BITS` directions each vector lies, 64 a word: position [word, vector]."""

    def __init__(self, numbers: int) -> None:
        self._directions = _directions(numbers)
        self._words: _Words = np.empty((BITS // 64, 0), dtype=np.uint64)
        self._count = 0

    @property
    def bytes(self) -> int:
        return self._words.nbytes

    def add(self, vectors: _Floats) -> None:
        end = self._count + len(vectors)
        if end > self._words.shape[1]:
            wider = np.empty((len(self._words), max(end, self._words.shape[1] * 3 // 2)), dtype=np.uint64)
            wider[:, : self._count] = self._words[:, : self._count]
            self._words = wider
        self._words[:, self._count : end] = self._of(vectors).T
        self._count = end

    def keep(self, live: NDArray[np.bool_]) -> None:
        self._words = np.ascontiguousarray(self._words[:, : self._count][:, live])
        self._count = self._words.shape[1]

    def _of(self, vectors: _Floats) -> _Words:
        return np.packbits(vectors @ self._directions > 0, axis=1).view(np.uint64)

    def nearest(self, query: _Floats, most: int, positions: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Positions of at least `most` (where there are as many) with the fewest signs that differ, in order."""
        asked = self._of(query[None, :])[0]
        words = self._words[:, : self._count] if positions is None else self._words[:, positions]
        differ = np.zeros(words.shape[1], dtype=np.uint16)
        for word, mine in zip(words, asked, strict=True):
            differ += np.bitwise_count(word ^ mine)
        cut = np.searchsorted(np.cumsum(np.bincount(differ, minlength=BITS + 1)), most)
        near = np.flatnonzero(differ <= cut)
        return near if positions is None else positions[near]


@lru_cache(maxsize=8)
def _directions(numbers: int) -> _Floats:
    """Plus and minus ones, hashed and not drawn: the same on every machine."""
    data = b"".join(blake2b(b"%d" % number, digest_size=BITS // 8).digest() for number in range(numbers))
    signs = np.unpackbits(np.frombuffer(data, dtype=np.uint8)).reshape(numbers, BITS)
    return signs.astype(np.float32) * 2 - 1


def _grown(old: NDArray[Any], shape: tuple[int, ...], count: int) -> NDArray[Any]:
    new = np.empty(shape, dtype=old.dtype)
    if count:
        new[:count] = old[:count]
    return new


def _largest(values: _Floats, most: int) -> NDArray[np.int64]:
    """Where the largest stand, in no order."""
    return np.arange(len(values)) if most >= len(values) else np.argpartition(values, len(values) - most)[-most:]
