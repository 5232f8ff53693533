"""A transaction on PostgreSQL: the shared statements in its dialect, and whose rows it may touch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from foldaway.stores._postgres_schema import ROLE
from foldaway.stores._tables import Row, Transaction

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
    def __init__(self, connection: Connection[Row], *, writing: bool) -> None:
        self._connection = connection
        self._writing = writing

    def rows(self, sql: str, *values: object) -> list[Row]:
        return self._connection.execute(_spelled(sql), values).fetchall()

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

    # Words

    def index_words(self, index: str, row: int, words: Sequence[str]) -> None:
        self.index_words_of(index, [(row, words)])

    def index_words_of(self, index: str, rows: Iterable[tuple[int, Sequence[str]]]) -> None:
        if index == "words":
            sql = "INSERT INTO words (id, terms) VALUES (?, array_to_tsvector(?::text[]))"
            self.run_many(sql, [(row, part) for row, words in rows for part in _parts(words)])
        else:
            sql = f"""INSERT INTO {index} (id, tenant, scope, access, terms)
                SELECT id, tenant, scope, access, array_to_tsvector(?::text[]) FROM memories WHERE id = ?"""
            self.run_many(sql, [(part, row) for row, words in rows for part in _parts(words)])

    def unindex_words(self, index: str, row: int, words: Sequence[str]) -> None:
        self.run(f"DELETE FROM {index} WHERE id = ?", row)

    def rows_with(
        self, index: str, words: Sequence[str], *, prefix: bool = False, most: int | None = None
    ) -> list[int]:
        wanted = " & ".join(_quoted(word) + (":*" if prefix else "") for word in words)
        sql = f"SELECT rows_of_{index}(?::tsquery, ?)"
        return sorted({row for (row,) in self.rows(sql, wanted, _ALL if most is None else most)})

    # Whose rows

    def enter_user(self, user: bytes) -> None:
        self._set("user", user.hex())
        if self._writing:
            # Names are made one at a time.
            self.run("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", "foldaway user " + user.hex())

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

    def _set(self, name: str, value: str) -> None:
        self.run("SELECT set_config(?, ?, true)", f"foldaway.{name}", value)


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
