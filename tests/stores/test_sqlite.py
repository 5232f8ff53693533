"""The store in one SQLite file: what it says when it cannot be used, and what stands in it."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
from pathlib import Path

import pytest

from foldaway.errors import StoreError
from foldaway.protocols import SessionKey, Store
from foldaway.stores.sqlite import SqliteStore, translate
from foldaway.testing.store_contract import Clock, StoreContract, refusal

KEY = SessionKey(user="u", name="n")


class TestSqliteStore(StoreContract):
    def make(self, folder: Path, clock: Clock) -> Store:
        return SqliteStore(folder / "store.db", clock=clock)


def every_byte(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


# What cannot be opened


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    assert "make" in (said := refusal(lambda: SqliteStore(tmp_path / "missing" / "store.db")))
    assert str(tmp_path / "missing") in said
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("path", ["", "nul\0name", ":memory:"])
def test_what_is_no_path_is_refused(path: str) -> None:
    assert "no path" in refusal(lambda: SqliteStore(path))


def test_a_directory_is_no_store(tmp_path: Path) -> None:
    assert "directory" in refusal(lambda: SqliteStore(tmp_path))


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("These are my notes, do not touch them. " * 20)
    assert "not an SQLite database" in refusal(lambda: SqliteStore(file))
    assert file.read_text().startswith("These are my notes")


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = file.read_bytes()
    assert "another program" in refusal(lambda: SqliteStore(file))
    assert file.read_bytes() == before


def test_a_newer_schema_is_refused_with_both_versions(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    SqliteStore(file).close()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    said = refusal(lambda: SqliteStore(file))
    assert "version 7" in said
    assert f"up to {len(SqliteStore.migrations)}" in said
    assert "upgrade" in said


def test_a_damaged_file_is_an_error_of_ours(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with SqliteStore(file) as store:
        session = store.open(KEY)
        store.append(session, 0, 0, [f"record {number} " * 50 for number in range(200)])
    content = bytearray(file.read_bytes())
    content[8192:] = random.Random(1).randbytes(len(content) - 8192)
    file.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"), SqliteStore(file) as store:
        store.read(store.open(KEY), 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    SqliteStore(file).close()
    file.chmod(0)
    assert "permissions" in refusal(lambda: SqliteStore(file))


def test_every_exception_of_the_driver_is_translated() -> None:
    kinds = [
        kind
        for kind in vars(sqlite3).values()
        if isinstance(kind, type) and issubclass(kind, sqlite3.Error | sqlite3.Warning)
    ]
    assert len(kinds) >= 10
    for kind in kinds:
        store = SqliteStore.__new__(SqliteStore)
        store._path, store._connection = "x.db", None
        with pytest.raises(StoreError, match=r"x\.db: why"), store._border():
            raise kind("why")


def test_every_code_that_has_advice_gives_it() -> None:
    for code, word in {
        sqlite3.SQLITE_FULL: "disk is full",
        sqlite3.SQLITE_READONLY_DIRECTORY: "permissions",
        sqlite3.SQLITE_CORRUPT_VTAB: "copy",
        sqlite3.SQLITE_BUSY_RECOVERY: "another process",
        sqlite3.SQLITE_IOERR_READ: "disk",
    }.items():
        error = sqlite3.OperationalError("why")
        error.sqlite_errorcode = code
        assert word in str(translate(error, "x.db"))


# What stands in the file


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.db") as store:
        store.open(KEY)
        assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_one_message_is_stored_once_per_user(tmp_path: Path) -> None:
    message = random.Random(2).randbytes(100_000).hex()
    with SqliteStore(tmp_path / "store.db") as store:
        for name in ("one", "two"):
            session = store.open(SessionKey(user="u", name=name))
            store.append(session, 0, 0, [message])
            for _ in range(5):
                branch = store.fork(session, store.head(session), 0)
                store.append(session, branch, 0, [message])
        (count,) = store._connected().execute("SELECT count(*) FROM contents").fetchone()
        assert count == 1
        store.append(store.open(SessionKey(user="other", name="one")), 0, 0, [message])
        (count,) = store._connected().execute("SELECT count(*) FROM contents").fetchone()
        assert count == 2


def test_rows_can_be_neither_changed_nor_taken_out(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.db") as store:
        session = store.open(KEY)
        store.append(session, 0, 0, ["a"])
        store.write_ledger(session, 0, ["b"])
        store.put_note(session, key="k", text="c", at=None)
        connection = store._connected()
        for table in ("contents", "branches", "records", "ledger", "notes"):
            column = connection.execute(f"SELECT name FROM pragma_table_info('{table}')").fetchone()[0]
            for statement in (f"UPDATE {table} SET {column} = 9", f"DELETE FROM {table}"):
                with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                    connection.execute(statement)


def test_a_deleted_session_leaves_no_trace_in_any_file(tmp_path: Path) -> None:
    rng = random.Random(3)
    with SqliteStore(tmp_path / "store.db") as store:
        kept, gone = (store.open(SessionKey(user=f"{name}user", name=f"{name}name")) for name in ("kept", "gone"))
        for position in range(60):
            for session, mark in ((kept, "kept"), (gone, "gone")):
                words = " ".join(f"{mark}{rng.randrange(10**6)}" for _ in range(rng.randrange(1, 12)))
                store.append(session, 0, position, [words])
                store.write_ledger(session, 0, [f"{words} ledger"])
                store.index(session, [(str(position % 40), words)])
                store.put_note(session, key=f"{mark}{position % 7}", text=words, at=None)
        assert b"gone" in every_byte(tmp_path)
        store.delete(gone)
        assert b"gone" not in every_byte(tmp_path)
        assert len(store.notes(kept)) == 60
        assert store.search(kept, store.notes(kept)[5].text)[0].text == store.notes(kept)[5].text
        store._connected().execute("INSERT INTO words (words) VALUES ('integrity-check')")
    assert b"gone" not in every_byte(tmp_path)
    assert b"kept" in every_byte(tmp_path)


def test_the_files_stay_within_four_times_what_was_put_in(tmp_path: Path) -> None:
    rng = random.Random(4)
    vocabulary = [f"{rng.choice('bcdfglmnprst')}{rng.choice('aeiou')}{number:x}" for number in range(4000)]
    put_in = 0
    with SqliteStore(tmp_path / "store.db") as store:
        session = store.open(KEY)
        for position in range(300):
            text = " ".join(rng.choice(vocabulary) for _ in range(rng.choice((40, 400, 800))))
            put_in += len(text)
            store.append(session, 0, position, [f'{{"role": "tool", "content": "{text}"}}'])
            store.index(session, [(str(position), text)])
        # With the log, whose size does not grow with the store.
        assert len(every_byte(tmp_path)) < 4 * put_in
    assert len(every_byte(tmp_path)) < 3 * put_in


def test_a_failed_write_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.db") as store:
        session = store.open(KEY)
        with pytest.raises(AttributeError):
            store.append(session, 0, 0, ["whole", None])  # type: ignore[list-item]
        assert store.read(session, 0) == []
        assert store.append(session, 0, 0, ["whole"])
