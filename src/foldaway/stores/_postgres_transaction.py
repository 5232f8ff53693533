"""A transaction on PostgreSQL: the shared statements in its dialect, and whose rows it may touch."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from foldaway.stores._postgres_schema import ROLE
from foldaway.stores._tables import BLOCK_ROWS, Holders, Row, Transaction

if TYPE_CHECKING:
    from psycopg import Connection

_TERM_BYTES = 400_000
"""Words in one row of the index; a tsvector holds 1 MB with what it keeps beside them."""
_ALL = 2**62


@lru_cache(maxsize=1024)
def _spelled(sql: str) -> str:
    # No statement of ours has a question mark or a percent sign that is not a place for a value.
    return sql.replace("?", "%s")


class PgTransaction(Transaction):
    # As it is sent: two numbers of two bytes each before the numbers of the vector.
    vector_column = "substring(vector_send(v.data) FROM 5)"
    vector_type = ">f4"

    def __init__(self, connection: Connection[Row], *, writing: bool) -> None:
        self._connection = connection
        self._writing = writing

    def rows(self, sql: str, *values: object) -> list[Row]:
        # Binary: bytes come as they are and not as twice as many digits.
        return self._connection.execute(_spelled(sql), values, binary=True).fetchall()

    def run(self, sql: str, *values: object) -> None:
        self._connection.execute(_spelled(sql), values)

    def insert(self, sql: str, *values: object) -> int:
        ((number,),) = self.rows(f"{sql} RETURNING id", *values)
        return int(number)

    def run_many(self, sql: str, values: Iterable[Sequence[object]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(_spelled(sql), values)

    def insert_many(self, sql: str, values: Iterable[Sequence[object]]) -> list[int]:
        with self._connection.cursor() as cursor:
            cursor.executemany(f"{_spelled(sql)} RETURNING id", values, returning=True)
            return [int(row[0]) for _ in cursor.results() for row in cursor.fetchall()]

    def as_owner(self, sql: str) -> None:
        """For what the role of the queries may not do."""
        for statement in ("RESET ROLE", sql, f"SET ROLE {ROLE}"):
            self._connection.execute(statement)

    def is_taken(self, handle: bytes) -> bool:
        ((taken,),) = self.rows("SELECT handle_is_taken(?)", handle)
        return bool(taken)

    def last_vector(self) -> int:
        return int(self.rows("SELECT last_value FROM vectors_id_seq")[0][0])

    def lock_vectors(self) -> None:
        self.run("SELECT pg_advisory_xact_lock(hashtextextended('foldaway vectors', 0))")

    def lock_scope(self, scope: int) -> None:
        # As `enter` does for those who write for this tenant.
        self.run("SELECT pg_advisory_xact_lock(?)", scope)

    # Words

    def index_words(self, index: str, row: int, words: Sequence[str]) -> None:
        self.index_words_of(index, [(row, words)])

    def index_words_of(self, index: str, rows: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Words of memories stand under their scope and block: see `_postgres_schema`."""
        if index == "words":
            sql = "INSERT INTO words (id, terms) VALUES (?, array_to_tsvector(?::text[]))"
            self.run_many(sql, [(row, part) for row, words in rows for part in _parts(words)])
        else:
            sql = f"""INSERT INTO {index} (id, tenant, scope, access, terms)
                SELECT id, tenant, scope, access, array_to_tsvector(?::text[]) FROM memories WHERE id = ?"""
            in_blocks = ((row, _in_block(row, words)) for row, words in rows)
            self.run_many(sql, [(part, row) for row, words in in_blocks for part in _parts(words)])

    def holders(self, index: str, words: Sequence[tuple[str, bool]], most: int, blocks: Sequence[int]) -> list[Holders]:
        heads, tails = zip(*(_parted(word, prefix) for word, prefix in words), strict=True)
        sql = f"SELECT ids, reach FROM holders_in_{index}(?, ?, ?::bigint[], ?)"
        rows = self.rows(sql, list(heads), list(tails), list(blocks), most)
        return [Holders(_ids(found), reach) for found, reach in rows]

    def together(
        self, index: str, words: Sequence[tuple[str, bool]], most: int, blocks: Sequence[int]
    ) -> list[tuple[int, int]]:
        heads, tails = zip(*(_parted(word, prefix) for word, prefix in words), strict=True)
        sql = f"SELECT together_in_{index}(?, ?, ?::bigint[], ?)"
        ((found,),) = self.rows(sql, list(heads), list(tails), list(blocks), most)
        return sorted(struct.iter_unpack(">qi", found))

    def rows_of(self, sql: str, column: str, wanted: Sequence[int] | Sequence[bytes], *values: object) -> list[Row]:
        if not wanted:
            return []
        # One value, however many there are: the statement stays the same and is planned once.
        kind = "bytea" if isinstance(wanted[0], bytes) else "bigint"
        return self.rows(sql.replace("{}", f"{column} = ANY (?::{kind}[])", 1), list(wanted), *values)

    def memories_in_order(
        self, columns: str, rows: Sequence[int], condition: str, values: Sequence[object], most: int
    ) -> list[Row]:
        # One look-up after the other, in this order, until there are enough.
        sql = f"""SELECT read.* FROM unnest(?::bigint[]) WITH ORDINALITY wanted (id, place) CROSS JOIN LATERAL
            (SELECT {columns} FROM memories m WHERE m.id = wanted.id AND {condition} OFFSET 0) read LIMIT ?"""
        return self.rows(sql, list(rows), *values, most)

    def unindex_words(self, index: str, row: int, words: Sequence[str]) -> None:
        self.run(f"DELETE FROM {index} WHERE id = ?", row)

    def rows_with(
        self, index: str, words: Sequence[str], *, prefix: bool = False, most: int | None = None
    ) -> list[int]:
        sql = f"SELECT rows_of_{index}(?::tsquery, ?)"
        found: set[int] = set()
        for block in range(self._blocks(index)):
            wanted = " & ".join(
                _quoted(word) + (":*" if prefix else "") for word in _in_block(block * BLOCK_ROWS, words)
            )
            left = _ALL if most is None else most - len(found)
            found.update(row for (row,) in self.rows(sql, wanted, left))
            if most is not None and len(found) >= most:
                break
        return sorted(found)

    def _blocks(self, index: str) -> int:
        if index == "words":
            return 1
        ((last,),) = self.rows("SELECT coalesce(max(last), 0) FROM memory_scopes")
        return int(last) // BLOCK_ROWS + 1

    # Whose rows

    def enter_user(self, user: bytes) -> None:
        self._set("user", user.hex())
        if self._writing:
            # Names are made one at a time.
            self.run("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", "foldaway user " + user.hex())

    def enter_reader(self, name: bytes, access: Sequence[bytes], now: int) -> tuple[int, bool]:
        rights = ",".join(right.hex() for right in access)
        ((tenant, due),) = self.rows("SELECT tenant, due FROM enter_reader(?, ?, ?)", name.hex(), rights, now)
        return int(tenant), bool(due)

    def enter_session(self, handle: str) -> None:
        self._set("session", handle)

    def enter(self, tenant: int, access: Sequence[bytes] = ()) -> bool:
        both = "SELECT set_config('foldaway.tenant', ?, true), set_config('foldaway.access', ?, true)"
        self.run(both, str(tenant), ",".join(right.hex() for right in access))
        if self._writing and tenant > 0:
            # One writer a tenant: the shared statements read, decide and write. The transaction takes its number
            # before it takes any row's: see `PgVectors.missing`.
            self.run("SELECT pg_current_xact_id(), pg_advisory_xact_lock(?)", tenant)
            return True
        return False

    def hold_pool(self, pool: int, *, alone: bool) -> bool:
        lock = "pg_advisory_xact_lock" if alone else "pg_advisory_xact_lock_shared"
        self.run(f"SELECT {lock}(hashtextextended(?, 0))", f"foldaway pool {pool}")
        return True

    def _set(self, name: str, value: str) -> None:
        self.run("SELECT set_config(?, ?, true)", f"foldaway.{name}", value)


def _in_block(row: int, words: Sequence[str]) -> list[str]:
    """Words under their scope as they are indexed for this row."""
    block = row // BLOCK_ROWS
    return [word.replace("/", f".{block}/", 1) for word in words] if block else list(words)


def _parted(word: str, prefix: bool) -> tuple[str, str]:
    """A word to look up, in two parts: between them stands the block."""
    scope, _, said = _quoted(word).partition("/")
    return scope, f"/{said}" + (":*" if prefix else "")


def _ids(found: bytes) -> list[int]:
    numbers = array("q", found)
    if sys.byteorder == "little":
        numbers.byteswap()
    return sorted(numbers)


def _parts(words: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    room = _TERM_BYTES
    for word in words:
        room -= len(word.encode())
        if room < 0:
            parts.append([])
            room = _TERM_BYTES
        parts[-1].append(word)
    return parts


def _quoted(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"
