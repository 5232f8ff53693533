"""What the verbs of a store are made of: transactions, contents under their hash, and the views of branches.

Texts are kept as bytes: UTF-8 that also holds NUL and lone surrogates, which JSON can bring in.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from foldaway.errors import StoreError

PACK_ABOVE_BYTES = 200
"""Shorter contents gain nothing from compression."""
_PACK_LEVEL = 3

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Session:
    id: int
    tenant: int


@dataclass(frozen=True, slots=True)
class Span:
    """Positions `start` to `end` (None: open) of a branch's view that stand in rows of `branch` itself."""

    branch: int
    start: int
    end: int | None


class Transaction(ABC):
    """What a verb may do with the database between begin and commit."""

    @abstractmethod
    def rows(self, sql: str, *values: object) -> list[Row]: ...

    @abstractmethod
    def run(self, sql: str, *values: object) -> int:
        """The id of the row inserted last."""

    @abstractmethod
    def run_many(self, sql: str, values: Iterable[Sequence[object]]) -> None: ...

    @abstractmethod
    def index_words(self, text: int, words: Sequence[str]) -> None: ...

    @abstractmethod
    def unindex_words(self, text: int, words: Sequence[str]) -> None:
        """`words` must be those the text was indexed with."""

    @abstractmethod
    def texts_with(self, word: str, *, prefix: bool) -> list[int]: ...


def content_id(db: Transaction, secret: bytes, tenant: int, text: str) -> int:
    """The id of this content, stored now if the tenant does not have it yet."""
    data = blob(text)
    name = blake2b(data, key=secret, digest_size=16).digest()
    rows = db.rows("SELECT id FROM contents WHERE tenant = ? AND hash = ?", tenant, name)
    if rows:
        return int(rows[0][0])
    packed = zlib.compress(data, _PACK_LEVEL) if len(data) > PACK_ABOVE_BYTES else data
    smaller = len(packed) < len(data)
    insert = "INSERT INTO contents (tenant, hash, packed, data) VALUES (?, ?, ?, ?)"
    return db.run(insert, tenant, name, smaller, packed if smaller else data)


def blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def unpack(packed: int, data: bytes) -> str:
    try:
        return text_of(zlib.decompress(data) if packed else data)
    except (zlib.error, UnicodeDecodeError) as error:
        raise StoreError("a record in the store is damaged; bring the file back from a copy") from error


def spans(db: Transaction, table: str, found: Session, branch: int, start: int) -> list[Span]:
    """Where the rows of a branch's view stand, oldest first: a view is the parent's up to the fork, then its own."""
    found_spans: list[Span] = []
    end: int | None = None
    while True:
        parent, forked_at = _branch(db, table, found, branch)
        if end is None or forked_at < end:
            found_spans.append(Span(branch, max(start, forked_at), end))
            end = forked_at
        if parent < 0 or end <= start:
            return found_spans[::-1]
        branch = parent


def length(db: Transaction, table: str, found: Session, branch: int) -> int:
    """How many records (or ledger entries) a branch's view has."""
    _, forked_at = _branch(db, table, found, branch)
    last = db.rows(f"SELECT max(position) FROM {table} WHERE session = ? AND branch = ?", found.id, branch)[0][0]
    return forked_at if last is None else int(last) + 1


def _branch(db: Transaction, table: str, found: Session, branch: int) -> tuple[int, int]:
    """A branch's parent (-1: none) and where it was forked off."""
    query = f"SELECT parent, {table}_at FROM branches WHERE session = ? AND branch = ?"
    for parent, forked_at in db.rows(query, found.id, branch):
        return int(parent), int(forked_at)
    raise StoreError(f"the session has no branch {branch}; its newest is head()")
