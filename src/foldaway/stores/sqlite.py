"""SQLite in one file: no server, safe under several processes at once and under `kill -9`.

What an append or a note acknowledged is in the write-ahead log, so it survives the death of the process. Power
loss is another matter: without `sync_each` the last moments before it may be gone (the file stays sound), with it
every call waits for the disk.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from foldaway.errors import StoreError
from foldaway.stores import _wal
from foldaway.stores._memory_rows import MOST_VARIABLES
from foldaway.stores._migrations import MIGRATIONS, PIECE_OF_WORDS
from foldaway.stores._sql import SqlStore
from foldaway.stores._tables import BLOCK_ROWS, Holders, Row, Transaction
from foldaway.stores._times import Clock
from foldaway.stores._vectors import BlobVectors

BUSY_SECONDS = 30.0
"""How long a call waits for other processes before it gives up with a StoreError."""
APPLICATION_ID = 0x466F6C64
_MEMORY = ":memory:"
_T = TypeVar("_T")
_MAKING = threading.Lock()

_CHECKPOINT_PAGES = 250
_LOG_BYTES = 1 << 20
_RETRY_SECONDS = 0.02
_SETTINGS = (
    # Frames are written at commit only: a log's unfinished tail then means a process that died.
    "cache_spill = OFF",
    "cache_size = -32768",
    "secure_delete = ON",
    "temp_store = MEMORY",
    "trusted_schema = OFF",
)
_WAITABLE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_ADVICE = {
    sqlite3.SQLITE_NOTADB: "is not an SQLite database; move it away or choose another path",
    sqlite3.SQLITE_CORRUPT: "is damaged; bring it back from a copy, or save what is left with `sqlite3 FILE .recover`",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check the folder and its permissions",
    sqlite3.SQLITE_PERM: "may not be opened; check its permissions",
    sqlite3.SQLITE_READONLY: "cannot be written; check the permissions of the file and of its folder",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full; make room and try again",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk or file system reports an error",
    sqlite3.SQLITE_BUSY: f"was held by another process for over {BUSY_SECONDS:.0f} s; end that process or try again",
    sqlite3.SQLITE_TOOBIG: "cannot hold a text that large; cut it up",
}


def translate(error: Exception, path: str) -> StoreError:
    """What an exception of the driver means for the caller."""
    code = getattr(error, "sqlite_errorcode", None)
    advice = _ADVICE.get(code & 0xFF) if isinstance(code, int) else None
    if advice is None and "no such module: fts5" in str(error):
        advice = f"needs full text search, which this Python's SQLite {sqlite3.sqlite_version} lacks; use another build"
    return StoreError(f"store {path} {advice} ({error})" if advice else f"store {path}: {error}")


class _SqliteTransaction(Transaction):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *values: object) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def run(self, sql: str, *values: object) -> None:
        self._connection.execute(sql, values)

    def insert(self, sql: str, *values: object) -> int:
        return self._connection.execute(sql, values).lastrowid or 0

    def run_many(self, sql: str, values: Iterable[Sequence[object]]) -> None:
        self._connection.executemany(sql, values)

    def by_index(self, index: str) -> str:
        return f"INDEXED BY {index}"

    def by_row(self) -> str:
        return "NOT INDEXED"

    def index_words(self, index: str, row: int, words: Sequence[str]) -> None:
        self.index_words_of(index, [(row, words)])

    def index_words_of(self, index: str, rows: Iterable[tuple[int, Sequence[str]]]) -> None:
        made: set[str] = set()
        for row, words in rows:
            piece = piece_of(index, row)
            if piece != index and piece not in made:
                self.run(PIECE_OF_WORDS.format(piece))
                made.add(piece)
            self.run(f"INSERT INTO {piece} (rowid, terms) VALUES (?, ?)", row, " ".join(words))

    def unindex_words(self, index: str, row: int, words: Sequence[str]) -> None:
        piece = piece_of(index, row)
        self.run(f"INSERT INTO {piece} ({piece}, rowid, terms) VALUES ('delete', ?, ?)", row, " ".join(words))
        # Traces of the words stay in the index until it is merged.
        self.run("INSERT OR IGNORE INTO unindexed VALUES (?)", piece)

    def rows_with(
        self, index: str, words: Sequence[str], *, prefix: bool = False, most: int | None = None
    ) -> list[int]:
        # Terms hold no double quote, so inside a pair of them nothing is an operator.
        query = " ".join(f'"{word}"*' if prefix else f'"{word}"' for word in words)
        found: list[int] = []
        for piece in pieces_of(self._connection, index):
            if most is not None and len(found) >= most:
                break
            sql = f"SELECT rowid FROM {piece} WHERE {piece} MATCH ? ORDER BY rowid LIMIT ?"
            found += [row for (row,) in self.rows(sql, query, -1 if most is None else most - len(found))]
        return found

    def holders(self, index: str, words: Sequence[tuple[str, bool]], most: int, blocks: Sequence[int]) -> list[Holders]:
        pieces = [piece_of(index, block * BLOCK_ROWS) for block in blocks]
        return [self._holders(pieces, f'"{word}"*' if prefix else f'"{word}"', most) for word, prefix in words]

    def _holders(self, pieces: Sequence[str], query: str, most: int) -> Holders:
        # Counting takes a tenth of the time that handing rows over takes: a common word's are not needed.
        seen, holding = 0, []
        for piece in pieces:
            first = f"SELECT rowid FROM {piece} WHERE {piece} MATCH ? ORDER BY rowid LIMIT ?"
            counted = f"SELECT count(*), max(rowid) FROM ({first})"
            ((count, last),) = self.rows(counted, query, most + 1 - seen)
            seen += count
            if seen > most:
                return Holders([], last)
            holding += [piece] if count else []
        sql = "SELECT rowid FROM {0} WHERE {0} MATCH ? ORDER BY rowid"
        return Holders([row for piece in holding for (row,) in self.rows(sql.format(piece), query)])

    def together(
        self, index: str, words: Sequence[tuple[str, bool]], most: int, blocks: Sequence[int]
    ) -> list[tuple[int, int]]:
        quoted = [f'"{word}"*' if prefix else f'"{word}"' for word, prefix in words]
        found: list[tuple[int, int]] = []
        for piece in (piece_of(index, block * BLOCK_ROWS) for block in blocks):
            held: dict[int, int] = {}
            for number, one in enumerate(quoted):
                others = " OR ".join(other for other in quoted if other is not one)
                sql = f"SELECT rowid FROM {piece} WHERE {piece} MATCH ? ORDER BY rowid LIMIT ?"
                for (row,) in self.rows(sql, f"{one} AND ({others})", most):
                    held[row] = held.get(row, 0) | 1 << number
            found += sorted(held.items())
            if len(found) >= most:
                break
        return found

    def rows_of(self, sql: str, column: str, wanted: Sequence[int] | Sequence[bytes], *values: object) -> list[Row]:
        found: list[Row] = []
        for start in range(0, len(wanted), MOST_VARIABLES):
            part = wanted[start : start + MOST_VARIABLES]
            marks = ", ".join("?" * len(part))
            found += self.rows(sql.replace("{}", f"{column} IN ({marks})", 1), *part, *values)
        return found

    def memories_in_order(
        self, columns: str, rows: Sequence[int], condition: str, values: Sequence[object], most: int
    ) -> list[Row]:
        found: list[Row] = []
        for start in range(0, len(rows), MOST_VARIABLES):
            part = rows[start : start + MOST_VARIABLES]
            sql = f"SELECT {columns} FROM memories m NOT INDEXED WHERE {{}} AND {condition}"
            read = {row[0]: row for row in self.rows_of(sql, "m.id", part, *values)}
            found += [read[row] for row in part if row in read]
            if len(found) >= most:
                break
        return found[:most]


def piece_of(index: str, row: int) -> str:
    """The table that indexes this row.

    Deleting for good means merging a whole index, so that of memories is cut into pieces of `BLOCK_ROWS` rows.
    """
    number = row // BLOCK_ROWS if index == "memory_words" else 0
    return f"{index}_{number}" if number else index


def pieces_of(connection: sqlite3.Connection, index: str) -> list[str]:
    """All tables of an index, lowest rows first."""
    if index != "memory_words":
        return [index]
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'memories'").fetchone()
    return [piece_of(index, number * BLOCK_ROWS) for number in range((found[0] if found else 0) // BLOCK_ROWS + 1)]


class SqliteStore(SqlStore):
    """A store in one file, made when it is not there (for the owner's eyes only). Also a context manager.

    Raises StoreError when the file cannot be used, is not a store, or is of a newer release.
    """

    migrations = MIGRATIONS

    def __init__(self, path: str | os.PathLike[str], *, clock: Clock | None = None, sync_each: bool = False) -> None:
        super().__init__(clock)
        self.recovered: list[str] = []
        """What opening found left behind by a killed process, each reported by one opening only."""
        self._sync_each = sync_each
        self._connection: sqlite3.Connection | None = None
        self._vectors = BlobVectors()
        self._start(_usable(path))

    def close(self) -> None:
        """Again: nothing. Afterwards every other call raises StoreError."""
        with self._lock, self._border():
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Newer Pythons warn about a connection that is not closed; being garbage is a fine way to close a store.
        if getattr(self, "_connection", None) is not None and self._process == os.getpid():
            self.close()

    # Opening

    def _start(self, path: str) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._inherited: sqlite3.Connection | None = None
        self._connect()

    def _connect(self) -> None:
        with self._border():
            connection = sqlite3.connect(
                self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
            )
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        patiently(lambda: self._check_kind(connection))
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        mode = patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        if mode not in ("wal", "memory"):
            raise StoreError(f"store {self._path}: its file system has no shared memory; put the file on a local disk")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._sync_each else 'NORMAL'}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        if mode == "wal":
            self._report_torn_tail(connection)
        if _version(connection) < len(self.migrations):
            with _begun(connection, "BEGIN IMMEDIATE"):
                migrate(connection, self.migrations)
            # The log starts with what is kept, not with the tables.
            patiently(lambda: connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone())
        self._check_version(connection)
        ((self._secret,),) = patiently(lambda: connection.execute("SELECT value FROM secret").fetchall())

    def _check_kind(self, connection: sqlite3.Connection) -> None:
        # One snapshot: between two of them another opener may have made the tables.
        with _begun(connection, "BEGIN"):
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != APPLICATION_ID and (tables or application):
            raise StoreError(f"store {self._path} is an SQLite database of another program; choose another path")
        self._check_version(connection)

    def _check_version(self, connection: sqlite3.Connection) -> None:
        version, known = _version(connection), len(self.migrations)
        if version > known:
            raise StoreError(
                f"store {self._path}: schema is version {version}, this release reads up to {known}; upgrade foldaway"
            )

    def _report_torn_tail(self, connection: sqlite3.Connection) -> None:
        """SQLite leaves out a write that was cut short, and says nothing; say it once."""
        if not _wal.size(self._path):
            return
        # While one connection keeps writers out, the other asks how far the log is whole.
        guard = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            with _begun(guard, "BEGIN IMMEDIATE"):
                frames = patiently(lambda: _whole_frames(connection))
                torn = _wal.cut_torn_tail(self._path, frames) if _wal.size(self._path) else 0
        finally:
            guard.close()
        if torn:
            self.recovered.append(
                f"store {self._path}: an unfinished write of {torn} bytes was left out (its process was killed)"
            )

    # Transactions

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreError(f"store {self._path} is closed")
        return self._connection

    def _leave_parent(self) -> None:
        """A connection does not survive fork(). The parent's is kept unused: closing it could harm the parent."""
        self._lock, self._process = threading.RLock(), os.getpid()
        if self._connection is not None and self._path != _MEMORY:
            self._inherited = self._connection
            self._connect()

    @contextmanager
    def _border(self) -> Iterator[None]:
        """The one place where exceptions of driver and system become ours."""
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OSError, OverflowError) as error:
            raise translate(error, self._path) from error

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        if self._process != os.getpid():
            self._leave_parent()
        with self._lock, self._border():
            connection = self._connected()
            with _begun(connection, begin):
                yield _SqliteTransaction(connection)

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        with self._transaction("BEGIN") as transaction:
            yield transaction

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        with self._transaction("BEGIN IMMEDIATE") as transaction:
            yield transaction

    def _total_bytes(self, db: Transaction) -> int:
        ((pages, each),) = db.rows("SELECT page_count, page_size FROM pragma_page_count(), pragma_page_size()")
        return int(pages * each) + _wal.size(self._path)

    def _purge(self) -> None:
        with self._lock, self._border():
            connection = self._connected()
            # The word index keeps deleted words until its segments are merged into one, and the log keeps old
            # pages until it is emptied.
            with _begun(connection, "BEGIN IMMEDIATE"):
                for (index,) in connection.execute("SELECT piece FROM unindexed ORDER BY piece").fetchall():
                    connection.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
                connection.execute("DELETE FROM unindexed")
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                raise StoreError(
                    f"store {self._path}: deleted, but its log cannot be emptied while another process reads; "
                    "delete again later"
                )


def migrate(connection: sqlite3.Connection, migrations: Sequence[Sequence[str]]) -> None:
    """Bring the schema up to the last of `migrations`; inside a transaction, so that it is all or nothing."""
    for version in range(_version(connection), len(migrations)):
        for statement in migrations[version]:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {version + 1}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _whole_frames(connection: sqlite3.Connection) -> int:
    """How many frames of the log are whole. A checkpoint is the one statement that tells."""
    busy, frames, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if frames < 0:
        # Another process is just making a checkpoint; then the count is not -1 but unknown.
        error = sqlite3.OperationalError(f"the log cannot be read (busy: {busy})")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        raise error
    return int(frames)


@contextmanager
def _begun(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    patiently(lambda: _begin(connection, begin))
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _begin(connection: sqlite3.Connection, begin: str) -> None:
    connection.execute(begin)
    try:
        # A plain BEGIN takes its snapshot with the first read: do it here, where waiting is possible.
        connection.execute("PRAGMA schema_version").fetchone()
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def patiently(call: Callable[[], _T]) -> _T:
    """The call's result, tried again for as long as another process is in the way.

    SQLite's own busy timeout does not cover all: changing the journal mode, recovery after a crash, clean-up of
    the log by the last one to leave.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return call()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _WAITABLE or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


def _usable(path: str | os.PathLike[str]) -> str:
    """The absolute path, after what can be said about it in plain words; makes the file when it is not there."""
    given = os.fspath(path)
    if not given or "\0" in given or given == _MEMORY:
        raise StoreError(f"{given!r} is no path for a store; give a file, or use MemoryStore")
    file = Path(given).absolute()
    try:
        if file.is_dir():
            raise StoreError(f"store {file} is a directory; give the path of a file in it")
        if not file.parent.is_dir():
            raise StoreError(f"store {file}: its directory does not exist; make {file.parent} or choose another path")
        # Closing any descriptor of a file drops all POSIX locks its process has on it, SQLite's included: while a
        # file is made, no other thread may get as far as opening it. SQLite gives its log this file's permissions.
        with _MAKING:
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        if not os.access(file, os.R_OK | os.W_OK):
            raise StoreError(f"store {file} cannot be read and written; check its permissions") from None
    except OSError as error:
        raise StoreError(f"store {file} cannot be made: {error.strerror}; choose another path") from error
    return str(file)
