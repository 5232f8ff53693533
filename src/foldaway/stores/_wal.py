"""The write-ahead log of SQLite seen from outside: enough to notice a write that was cut short.

SQLite drops such a tail without a word. Its file format: https://sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
_SALTS = slice(16, 24)
_FRAME_SALTS = slice(8, 16)


def wal_path(path: str) -> str:
    return path + "-wal"


def size(path: str) -> int:
    """Bytes of the log beside the database `path`; 0 when there is none."""
    try:
        return os.stat(wal_path(path)).st_size
    except OSError:
        return 0


def cut_torn_tail(path: str, frames: int) -> int:
    """Take off what stands behind the first `frames` frames if it is an unfinished write; its bytes, or 0.

    Call it with the write lock held: then nobody else is just writing that tail. Whole frames of an earlier
    generation of the log carry other salts and are not a tail.
    """
    with open(wal_path(path), "rb") as log:
        header = log.read(HEADER_BYTES)
        if len(header) < HEADER_BYTES:
            before, end = header, 0
        else:
            end = HEADER_BYTES + frames * _frame_bytes(header)
            log.seek(end - (_frame_bytes(header) if frames else HEADER_BYTES))
            before = log.read(FRAME_HEADER_BYTES if frames else HEADER_BYTES)
            log.seek(end)
        tail = log.read()
    if end and not _is_unfinished(header, before, tail):
        return 0
    torn = len(tail) if end else len(header)
    os.truncate(wal_path(path), end)
    return torn


def _is_unfinished(header: bytes, before: bytes, tail: bytes) -> bool:
    """Whether the tail is of this generation of the log, and no transaction in it is whole."""
    whole_salts = len(tail) >= _FRAME_SALTS.stop
    if not tail or (whole_salts and tail[_FRAME_SALTS] != header[_SALTS]):
        return False
    step, order = _frame_bytes(header), ">" if header[3] & 1 else "<"
    sums = struct.unpack(">II", before[-8:])
    for start in range(0, len(tail) - step + 1, step):
        frame = tail[start : start + step]
        sums = _checksum(frame[:8] + frame[FRAME_HEADER_BYTES:], order, sums)
        if frame[_FRAME_SALTS] != header[_SALTS] or struct.pack(">II", *sums) != frame[16:FRAME_HEADER_BYTES]:
            return True
        if frame[4:8] != bytes(4):
            # A commit mark: SQLite would have counted this one. Whatever it is, it is not ours to cut.
            return False
    return True


def _checksum(data: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    first, second = start
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


def last_transaction(log: bytes) -> tuple[int, int, list[tuple[int, bytes]]]:
    """Start and end of the newest transaction in the log, and its pages as (page number, content).

    Raises ValueError when the log holds none. Does not verify checksums: for logs whose writer is alive.
    """
    if len(log) < HEADER_BYTES:
        raise ValueError("the log holds no transaction")
    step = _frame_bytes(log)
    start = end = HEADER_BYTES
    pages: list[tuple[int, bytes]] = []
    newest = start, end, pages
    while (frame := log[end : end + step]) and len(frame) == step and frame[_FRAME_SALTS] == log[_SALTS]:
        number, commit = struct.unpack(">II", frame[:8])
        pages.append((number, frame[FRAME_HEADER_BYTES:]))
        end += step
        if commit:
            newest = start, end, pages
            start, pages = end, []
    if newest[0] == newest[1]:
        raise ValueError("the log holds no transaction")
    return newest


def page_bytes(log: bytes) -> int:
    (pages,) = struct.unpack(">I", log[8:12])
    return 65536 if pages == 1 else int(pages)


def _frame_bytes(header: bytes) -> int:
    return FRAME_HEADER_BYTES + page_bytes(header)


def read(path: str) -> bytes:
    file = Path(wal_path(path))
    return file.read_bytes() if file.exists() else b""
