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
from foldaway.protocols import MOST_NAME_BYTES

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


@dataclass(frozen=True, slots=True)
class Holders:
    """The rows that hold a word, lowest first; of a common word none."""

    rows: list[int]
    reach: int = 0
    """Of a common word: the last of the first rows that hold it."""


BLOCK_ROWS = 1 << 17
"""Rows of memories whose words are indexed together."""
NOBODY = -1
"""The tenant's number of a reader who never told anything; 0 is the upkeep's."""
DUE = "SELECT 1 FROM memories WHERE expires_at <= ? ORDER BY expires_at LIMIT 1"
"""Ordered: a server that knows nothing of the table yet would read all of it."""


class Transaction(ABC):
    """What a verb may do with the database between begin and commit."""

    @abstractmethod
    def rows(self, sql: str, *values: object) -> list[Row]: ...

    @abstractmethod
    def run(self, sql: str, *values: object) -> None: ...

    @abstractmethod
    def insert(self, sql: str, *values: object) -> int:
        """The id of the row that this inserts."""

    @abstractmethod
    def run_many(self, sql: str, values: Iterable[Sequence[object]]) -> None: ...

    def insert_many(self, sql: str, values: Iterable[Sequence[object]]) -> list[int]:
        """The ids of the rows that this inserts, in order."""
        return [self.insert(sql, *each) for each in values]

    @abstractmethod
    def index_words(self, index: str, row: int, words: Sequence[str]) -> None: ...

    def index_words_of(self, index: str, rows: Iterable[tuple[int, Sequence[str]]]) -> None:
        """The same for several."""
        for row, words in rows:
            self.index_words(index, row, words)

    @abstractmethod
    def unindex_words(self, index: str, row: int, words: Sequence[str]) -> None:
        """`words` must be those the row was indexed with."""

    @abstractmethod
    def rows_with(
        self, index: str, words: Sequence[str], *, prefix: bool = False, most: int | None = None
    ) -> list[int]:
        """Rows that hold all of these words, lowest first; `prefix`: that hold a word that starts like it."""

    @abstractmethod
    def rows_of(self, sql: str, column: str, wanted: Sequence[int] | Sequence[bytes], *values: object) -> list[Row]:
        """`rows` of a query that asks at `{}`, before any value, that `column` is one of `wanted`, however many."""

    @abstractmethod
    def holders(self, index: str, words: Sequence[tuple[str, bool]], most: int, blocks: Sequence[int]) -> list[Holders]:
        """Where each of these words stands (True: as the beginning of one) in these blocks of rows, in their order.

        Of a word in more than `most` rows not the rows are told, but how far the first `most` reach.
        """

    @abstractmethod
    def together(
        self, index: str, words: Sequence[tuple[str, bool]], most: int, blocks: Sequence[int]
    ) -> list[tuple[int, int]]:
        """Rows of these blocks that hold at least two of these words, and which: bit n for the n-th. About `most`."""

    @abstractmethod
    def memories_in_order(
        self, columns: str, rows: Sequence[int], condition: str, values: Sequence[object], most: int
    ) -> list[Row]:
        """`columns` (the id first) of the first `most` of these memories `m` that the condition admits, in order."""

    vector_column = "v.data"
    """How a query says the numbers of a row `v` of `vectors` as bytes, and `vector_type` what numpy calls these."""
    vector_type = "<f4"

    def last_vector(self) -> int:
        """The highest id of a vector; one that is gone may have had it."""
        return int(self.rows("SELECT coalesce(max(id), 0) FROM vectors")[0][0])

    def lock_vectors(self) -> None:  # noqa: B027
        """From here on nobody else writes vectors: ids become visible in the order they are given."""

    def lock_scope(self, scope: int) -> None:  # noqa: B027
        """From here on nobody else deletes memories of this owner."""

    def by_index(self, index: str) -> str:
        """How a query says that this index is the one to use; "" where the database knows best."""
        return ""

    def by_row(self) -> str:
        """How a query says to look rows up by their ids, whatever else is asked of them."""
        return ""

    def is_taken(self, handle: bytes) -> bool:
        """Whether any memory, whoever's, has this handle."""
        return bool(self.rows("SELECT 1 FROM memories WHERE handle = ?", handle))

    # A database that checks by itself whose rows are touched is told by these; by default none does.

    def enter_user(self, user: bytes) -> None:  # noqa: B027
        """What follows looks for the tenant of this name."""

    def enter_reader(self, name: bytes, access: Sequence[bytes], now: int) -> tuple[int, bool]:
        """What follows reads for the tenant of this name and with these rights: its number (0: there is none), and
        whether a memory that it may see has expired by `now` (microseconds).
        """
        self.enter_user(name)
        rows = self.rows("SELECT id FROM tenants WHERE name = ?", name)
        tenant = int(rows[0][0]) if rows else 0
        self.enter(tenant or NOBODY, access)
        return tenant, bool(self.rows(DUE, now))

    def enter_session(self, handle: str) -> None:  # noqa: B027
        """What follows looks for the session of this handle."""

    def hold_pool(self, pool: int, *, alone: bool) -> bool:
        """Until the end of this writing nobody else has the pool `alone`, and nobody at all where this one has.

        True: somebody else may have changed who is in it meanwhile.
        """
        return False

    def enter(self, tenant: int, access: Sequence[bytes] = ()) -> bool:
        """What follows touches rows of this tenant, and reads pools with these rights; tenant 0: of all, for upkeep.

        True: somebody else may have written since the transaction began; what was read before must be read again.
        """
        return False


def content_id(db: Transaction, secret: bytes, tenant: int, text: str) -> int:
    """The id of this content, stored now if the tenant does not have it yet."""
    data = blob(text)
    name = blake2b(data, key=secret, digest_size=16).digest()
    rows = db.rows("SELECT id FROM contents WHERE tenant = ? AND hash = ?", tenant, name)
    if rows:
        return int(rows[0][0])
    insert = "INSERT INTO contents (tenant, hash, packed, data) VALUES (?, ?, ?, ?)"
    return db.insert(insert, tenant, name, *pack(data))


def pack(data: bytes) -> tuple[int, bytes]:
    """Whether it is compressed, and the bytes to keep."""
    packed = zlib.compress(data, _PACK_LEVEL) if len(data) > PACK_ABOVE_BYTES else data
    return (1, packed) if len(packed) < len(data) else (0, data)


def blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def name_of(what: str, name: str) -> bytes:
    """A name as it is kept. Raises StoreError for one that not every store can look up."""
    data = blob(name)
    if len(data) > MOST_NAME_BYTES:
        raise StoreError(
            f"{what} {name[:30]!r}... takes {len(data):,} bytes; a name takes at most {MOST_NAME_BYTES:,}: shorten it"
        )
    return data


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
