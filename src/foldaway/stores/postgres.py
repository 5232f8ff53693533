"""PostgreSQL with pgvector: one store for several machines; needs the extra `postgres`.

What a call acknowledged is on the server's disk. Every transaction runs as the role `foldaway_app` and names its
tenant, and the server shows it that tenant's rows only: see `_postgres_schema`. The user of the URL owns the tables;
it must be able to make that role (or find it made, and be a member of it) and the extension `vector`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from foldaway.errors import MissingExtra, StoreError
from foldaway.protocols import Memory, Reader
from foldaway.stores import _postgres_vectors
from foldaway.stores._base import named
from foldaway.stores._memories import access_of
from foldaway.stores._memory_rows import as_memory, handle_of
from foldaway.stores._postgres_schema import MIGRATIONS, ROLE
from foldaway.stores._postgres_transaction import PgTransaction
from foldaway.stores._postgres_vectors import MOST_INDEXED_NUMBERS, PgVectors, index_of
from foldaway.stores._sql import SqlStore
from foldaway.stores._tables import Row, Transaction, blob
from foldaway.stores._times import Clock

try:
    import psycopg
    import psycopg_pool
except ImportError as error:
    raise MissingExtra("a store in PostgreSQL needs the extra: pip install 'foldaway[postgres]'") from error

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

WAIT_SECONDS = 30.0
"""How long a call waits for a free connection before it gives up with a StoreError."""
_MOST_BUILD_BYTES = 1 << 30
"""Memory that the server may take for building an index; beyond, it builds more slowly."""
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
_PURGED = (
    *("words", "memory_words", "memories", "vectors", "mirrors"),
    *("contents", "records", "ledger", "texts", "notes"),
)
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_ADVICE: tuple[tuple[type[Exception], str], ...] = (
    (psycopg_pool.PoolClosed, "is closed"),
    (psycopg_pool.PoolTimeout, f"gave no connection for {WAIT_SECONDS:.0f} s; check the server, or allow more of them"),
    (psycopg.errors.UndefinedFile, "lacks the extension pgvector; install it on the server"),
    (psycopg.errors.FeatureNotSupported, "lacks the extension pgvector; install it on the server"),
    (psycopg.errors.InsufficientPrivilege, "refuses the user of the URL a right it needs; see docs/how-to/stores.md"),
    (psycopg.errors.DiskFull, "cannot grow: its disk is full; make room and try again"),
    (psycopg.errors.DeadlockDetected, "had two writers wait for each other; try again"),
    (psycopg.errors.ReadOnlySqlTransaction, "takes no writes, as a standby does; give the URL of the primary server"),
    (psycopg.errors.AdminShutdown, "is being shut down; try again later"),
    (psycopg.OperationalError, "cannot be reached or failed; check the URL and the server"),
)
_CONNECTING = {
    # What fails while connecting comes without a class of its own.
    "password authentication failed": "refuses the user or the password of the URL",
    "no password supplied": "refuses the user or the password of the URL",
    "does not exist": "has no such database or user; make it with createdb or createuser",
}


class PostgresStore(SqlStore):
    """A store in one schema of a database, made when it is not there. Also a context manager; safe between threads.

    Raises StoreError when the server cannot be used, or the schema is of a newer release, or is no store.
    """

    migrations = MIGRATIONS
    _vectors: PgVectors

    def __init__(
        self, url: str, *, clock: Clock | None = None, schema: str = "foldaway", most_connections: int = 8
    ) -> None:
        super().__init__(clock)
        if not _SCHEMA.fullmatch(schema):
            raise StoreError(f"{schema!r} is no name for a schema; use small letters, digits and _")
        self.recovered: list[str] = []
        """Always empty: the server recovers by itself."""
        self._vectors = PgVectors()
        self._url, self._schema, self._most = url, schema, most_connections
        self._name = _without_password(url)
        with self._border(), psycopg.connect(url, autocommit=True) as connection:
            self._prepare(connection)
        self._open_pool()

    def close(self) -> None:
        """Again: nothing. Afterwards every other call raises StoreError."""
        if self._process == os.getpid():
            self._pool.close()

    def __enter__(self) -> PostgresStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Opening

    def _open_pool(self) -> None:
        self._process = os.getpid()
        with self._border():
            self._pool = psycopg_pool.ConnectionPool(
                self._url,
                kwargs={"autocommit": True},
                min_size=1,
                max_size=self._most,
                timeout=WAIT_SECONDS,
                configure=self._configure,
                name="foldaway",
                open=True,
            )

    def _configure(self, connection: Connection[Any]) -> None:
        for statement in (
            f"SET search_path = {self._schema}, public",
            "SET hnsw.ef_search = 100",
            "SET hnsw.iterative_scan = relaxed_order",
            f"SET ROLE {ROLE}",
        ):
            connection.execute(statement)

    def _prepare(self, connection: Connection[Any]) -> None:
        def run(sql: str) -> list[Row]:
            done = connection.execute(sql)
            return done.fetchall() if done.description else []

        run("SET client_min_messages = warning")
        run(f"SET search_path = {self._schema}, public")
        with connection.transaction():
            # Of several processes that start at once, one makes the tables.
            run("SELECT pg_advisory_xact_lock(hashtextextended('foldaway schema', 0))")
            version, known = self._version(run), len(self.migrations)
            if version > known:
                raise StoreError(
                    f"store {self._name}: schema is version {version}, this release reads up to {known}; "
                    "upgrade foldaway"
                )
            for number in range(version, known):
                for statement in (*(_foundations(self._schema) if number == 0 else ()), *self.migrations[number]):
                    run(statement)
                run(f"UPDATE schema_version SET version = {number + 1}")
            self._secret = bytes(run("SELECT value FROM secret")[0][0])

    def _version(self, run: Any) -> int:
        found = run(f"SELECT count(*) FROM pg_tables WHERE schemaname = '{self._schema}'")[0][0]
        ours = run(f"SELECT 1 FROM pg_tables WHERE schemaname = '{self._schema}' AND tablename = 'schema_version'")
        if ours:
            return int(run("SELECT version FROM schema_version")[0][0])
        if found:
            raise StoreError(
                f"store {self._name}: schema {self._schema} holds tables of another program; choose another database"
            )
        if not run("SELECT 1 FROM pg_extension WHERE extname = 'vector'"):
            run("CREATE EXTENSION vector SCHEMA public")
        if not run(f"SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}'"):
            run(f"CREATE ROLE {ROLE} NOLOGIN")
            run(f"GRANT {ROLE} TO CURRENT_USER")
        elif not run(f"SELECT pg_has_role('{ROLE}', 'MEMBER')")[0][0]:
            run(f"GRANT {ROLE} TO CURRENT_USER")
        return 0

    # Transactions

    @contextmanager
    def _border(self) -> Iterator[None]:
        """The one place where the driver's exceptions become ours."""
        try:
            yield
        except (psycopg.Error, psycopg.Warning, OSError, OverflowError) as error:
            raise translate(error, self._name) from error

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        if self._process != os.getpid():
            # Connections do not survive fork(); the parent's pool stays the parent's.
            self._open_pool()
        with self._border():
            connection = self._first(begin)[0]
            try:
                try:
                    yield PgTransaction(connection, writing=begin is _WRITE)
                except BaseException:
                    with suppress(psycopg.Error):
                        connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
            finally:
                self._pool.putconn(connection)

    def _first(self, sql: str, *values: object) -> tuple[Connection[Any], Cursor[Any]]:
        """A connection of the pool, to be put back, and what came of its first statement.

        A connection that broke while it was not used has done nothing yet: the next one is tried.
        """
        for left in range(self._most, -1, -1):
            connection = self._pool.getconn()
            try:
                return connection, connection.execute(sql, values or None, binary=True)
            except BaseException as error:
                again = isinstance(error, psycopg.OperationalError) and connection.closed and left
                self._pool.putconn(connection)
                if not again:
                    raise
        raise AssertionError("unreachable")

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        with self._transaction(_READ) as transaction:
            yield transaction

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        with self._transaction(_WRITE) as transaction:
            yield transaction

    def memories(self, reader: Reader, ids: Sequence[str]) -> list[Memory]:
        """One round trip."""
        wanted = {handle: public for public in ids if (handle := handle_of(public)) is not None}
        owner, rights = named("owner", reader.owner), ",".join(right.hex() for right in access_of(reader))
        if self._process != os.getpid():
            self._open_pool()
        with self._border():
            sql = "SELECT * FROM memories_at_once(%s, %s, %s, %s)"
            connection, done = self._first(sql, owner.hex(), rights, list(wanted), self._now())
            try:
                rows = done.fetchall()
            finally:
                self._pool.putconn(connection)
        if rows and rows[0][0]:
            # Something has expired: it goes first.
            return super().memories(reader, ids)
        found = {wanted[bytes(row[2])]: as_memory(row[1:-2], row[-2], row[-1] or ()) for row in rows}
        return [found[public] for public in ids if public in found]

    def _total_bytes(self, db: Transaction) -> int:
        sizes = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'"""
        return int(db.rows(sizes, self._schema)[0][0])

    def without_vector(self, model: str, limit: int) -> list[tuple[str, str]]:
        """Where none is left without one, large scopes whose vectors have no index yet get it first: minutes for a
        million, during which everybody else goes on reading and writing.
        """
        found = super().without_vector(model, limit)
        if not found and limit > 0:
            self._index_large_scopes(model)
        return found

    def _index_large_scopes(self, model: str) -> None:
        with self._border(), self._pool.connection() as connection:
            connection.execute("RESET ROLE")
            try:
                self._make_indexes(connection, model)
            finally:
                connection.execute("RESET maintenance_work_mem")
                connection.execute(f"SET ROLE {ROLE}")

    def _make_indexes(self, connection: Connection[Any], model: str) -> None:
        large = """SELECT m.id, m.dimensions, s.scope, s.memories FROM models m, memory_scopes s
            WHERE m.name = %s AND m.dimensions <= %s AND s.memories > %s AND s.scope < %s"""
        below = 0 if self._vectors.mirrors else 2**62
        limits = (blob(model), MOST_INDEXED_NUMBERS, _postgres_vectors.INDEX_ABOVE, below)
        for number, dimensions, scope, memories in connection.execute(large, limits).fetchall():
            name, definition, bytes_each = index_of(number, scope, dimensions)
            found = """SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass(%s)"""
            if any(valid for (valid,) in connection.execute(found, (f"{self._schema}.{name}",)).fetchall()):
                continue
            # One process builds; who comes meanwhile goes without.
            ((mine,),) = connection.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (name,)).fetchall()
            if not mine:
                continue
            try:
                # What a killed builder left is not valid.
                connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
                room = min(_MOST_BUILD_BYTES, max(memories * bytes_each, 64 << 20)) >> 10
                connection.execute(f"SET maintenance_work_mem = {room}")
                connection.execute(f"CREATE INDEX CONCURRENTLY {name} {definition}")
            finally:
                connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (name,))

    def _purge(self) -> None:
        """Dead rows go as far as no running transaction of another process may still see them."""
        with self._border(), self._pool.connection() as connection:
            connection.execute("RESET ROLE")
            connection.execute(f"VACUUM {', '.join(_PURGED)}")
            connection.execute(f"SET ROLE {ROLE}")


def _foundations(schema: str) -> Sequence[str]:
    return (
        f"CREATE SCHEMA IF NOT EXISTS {schema}",
        f"GRANT USAGE ON SCHEMA {schema} TO {ROLE}",
        "CREATE TABLE schema_version (version INTEGER NOT NULL)",
        "INSERT INTO schema_version VALUES (0)",
    )


def translate(error: Exception, name: str) -> StoreError:
    """What an exception of the driver means for the caller."""
    said = " ".join(str(error).split())
    for words, advice in _CONNECTING.items():
        if type(error) is psycopg.OperationalError and words in said:
            return StoreError(f"store {name} {advice} ({said})")
    for kind, advice in _ADVICE:
        if isinstance(error, kind):
            return StoreError(f"store {name} {advice} ({said})")
    return StoreError(f"store {name}: {said}")


def _without_password(url: str) -> str:
    """The URL as it may stand in messages."""
    shown = re.sub(r"(?<=://)([^@/:]*):[^@]*@", r"\1@", url)
    return re.sub(r"(?i)(password=)[^\s&]*", r"\1***", shown)
