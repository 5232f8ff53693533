"""Pieces of mirrors as they are kept in the file: what a mirror would work out anew from thousands of vectors.

A piece holds up to `PIECE` vectors of one scope and model, in the order of their ids, each as bytes, signs and what
filters ask for. It is made when no memory is without a vector, and is only a copy: where none covers a vector, the
vector itself is read. What is deleted is taken out of its piece in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from foldaway.stores._signs import WORDS, Numbers, SignWords, signs_of
from foldaway.stores._tables import Row, Transaction

PIECE = 8_192
LEAST = 1_024
"""Fewer vectors of a scope are read about as fast one by one."""
FORM = 1
"""Of the bytes of a piece; pieces of another form are as good as none."""
CODED = ("kind", "source", "task", "session")
"""Columns of a memory that never change, kept as 32 bits of a hash to pass over what a filter does not admit."""
_MOST = 127
_COLUMNS = ", ".join(f"m.{column}" for column in CODED)
_WHERE = "WHERE v.model = ? AND v.scope = ? AND v.id > ? AND v.id <= ? ORDER BY v.id LIMIT ?"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some vectors in the order of their ids; position n of each array is about the same one."""

    rows: NDArray[np.int64]
    """Of the memories."""
    steps: NDArray[np.float32]
    """What one unit of a vector's bytes is worth."""
    codes: NDArray[np.uint32]
    """Position [column, vector]."""
    numbers: Numbers
    signs: SignWords | None
    """Position [vector, word]; None: not worked out yet, as few vectors are compared without."""
    last: int
    """The highest id of a vector in it, or of one that was in it."""

    def without(self, rows: Sequence[int]) -> Piece:
        live = ~np.isin(self.rows, np.asarray(rows, dtype=np.int64))
        signs = None if self.signs is None else self.signs[live]
        return Piece(self.rows[live], self.steps[live], self.codes[:, live], self.numbers[live], signs, self.last)

    def packed(self) -> bytes:
        parts = (self.rows.astype("<i8"), self.steps.astype("<f4"), self.codes.astype("<u4"), self.numbers)
        signs = signs_of(self.numbers) if self.signs is None else self.signs
        return b"".join(part.tobytes() for part in (*parts, signs.astype("<u8")))


def code(value: bytes) -> int:
    return crc32(value)


def quantised(vectors: NDArray[np.float32]) -> tuple[Numbers, NDArray[np.float32]]:
    """A byte for each number of these vectors, and what one unit of each vector's bytes is worth."""
    steps = np.maximum(np.abs(vectors).max(axis=1) / _MOST, np.float32(1e-30))
    return np.rint(vectors / steps[:, None]).astype(np.int8), steps


def _rows(db: Transaction, model: int, scope: int, after: int, end: int) -> list[Row]:
    columns = f"v.id, v.memory, {db.vector_column}, {_COLUMNS}"
    sql = f"SELECT {columns} FROM vectors v JOIN memories m ON m.id = v.memory {_WHERE}"
    return db.rows(sql, model, scope, after, end, PIECE)


def _piece(db: Transaction, read: Sequence[Row]) -> Piece:
    """Of rows as `_rows` reads them."""
    vectors = np.frombuffer(b"".join(row[2] for row in read), dtype=db.vector_type).reshape(len(read), -1)
    numbers, steps = quantised(vectors.astype(np.float32))
    known: dict[bytes, int] = {}
    codes = [[known.get(row[at]) or known.setdefault(row[at], code(row[at])) for row in read] for at in range(3, 7)]
    rows = np.fromiter((row[1] for row in read), dtype=np.int64, count=len(read))
    return Piece(rows, steps, np.array(codes, dtype=np.uint32), numbers, None, read[-1][0])


def _unpacked(data: bytes, count: int, last: int) -> Piece:
    numbers = len(data) // count - 8 - 4 - 4 * len(CODED) - 8 * WORDS
    at = 0
    parts: list[NDArray[Any]] = []
    shapes = (("<i8", 1, 8), ("<f4", 1, 4), ("<u4", len(CODED), 4), ("<i1", numbers, 1), ("<u8", WORDS, 8))
    for kind, each, size in shapes:
        parts.append(np.frombuffer(data, dtype=kind, count=count * each, offset=at))
        at += count * each * size
    rows, steps, codes, quantities, signs = parts
    return Piece(
        rows,
        steps,
        codes.reshape(len(CODED), count),
        quantities.reshape(count, numbers),
        signs.reshape(count, WORDS),
        last,
    )


def pieces(db: Transaction, model: int, scope: int, after: int) -> Iterator[Piece]:
    """All vectors of a scope with a higher id than `after`, in the order of their ids."""
    sealed = (
        "SELECT id, first, last FROM mirrors WHERE model = ? AND scope = ? AND form = ? AND first > ? ORDER BY first"
    )
    for piece, first, last in db.rows(sealed, model, scope, FORM, after):
        yield from _unsealed(db, model, scope, after, first - 1)
        for count, data in db.rows("SELECT count, data FROM mirrors WHERE id = ? AND count > 0", piece):
            yield _unpacked(data, count, last)
        after = last
    ((newest,),) = db.rows("SELECT coalesce(max(id), 0) FROM vectors WHERE model = ? AND scope = ?", model, scope)
    yield from _unsealed(db, model, scope, after, newest)


def _unsealed(db: Transaction, model: int, scope: int, after: int, end: int) -> Iterator[Piece]:
    while after < end and (read := _rows(db, model, scope, after, end)):
        after = read[-1][0]
        yield _piece(db, read)


def seal(db: Transaction, model: int, scopes: Sequence[int], most: int = 8) -> bool:
    """Make up to `most` pieces of what none covers yet, where it is enough; whether there may be more to make.

    Some 10 microseconds a vector.
    """
    db.lock_vectors()
    db.run("DELETE FROM mirrors WHERE model = ? AND form <> ?", model, FORM)
    reach = "SELECT coalesce(max(last), 0) FROM mirrors WHERE model = ? AND scope = ?"
    enough = "SELECT 1 FROM vectors v WHERE v.model = ? AND v.scope = ? AND v.id > ? LIMIT 1 OFFSET ?"
    insert = "INSERT INTO mirrors (model, scope, form, first, last, count, data) VALUES (?, ?, ?, ?, ?, ?, ?)"
    for scope in scopes:
        ((after,),) = db.rows(reach, model, scope)
        while db.rows(enough, model, scope, after, LEAST - 1):
            if not most:
                return True
            db.lock_scope(scope)
            read = _rows(db, model, scope, after, 2**62)
            if not read:
                break
            piece = _piece(db, read)
            db.run(insert, model, scope, FORM, read[0][0], piece.last, len(read), piece.packed())
            after, most = piece.last, most - 1
    return False


def take_out(db: Transaction, vectors: Sequence[tuple[int, int, int, int]]) -> None:
    """Of these vectors (id, model, scope, memory) nothing stays in any piece."""
    found: dict[int, list[int]] = {}
    covering = """SELECT id FROM mirrors WHERE model = ? AND scope = ? AND first <= ? AND last >= ?"""
    for number, model, scope, memory in vectors:
        for (piece,) in db.rows(covering, model, scope, number, number):
            found.setdefault(piece, []).append(memory)
    for piece in sorted(found):
        for count, last, data in db.rows("SELECT count, last, data FROM mirrors WHERE id = ?", piece):
            left = _unpacked(data, count, last).without(found[piece]) if count else None
            rest = (len(left.rows), left.packed()) if left is not None else (0, b"")
            db.run("UPDATE mirrors SET count = ?, data = ? WHERE id = ?", *rest, piece)
