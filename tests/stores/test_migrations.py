"""Opening a file of an older schema brings it forward, whole or not at all."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from foldaway.errors import StoreError
from foldaway.protocols import Filter, Memory, Reader, SessionKey
from foldaway.stores._memory_rows import Who
from foldaway.stores._memory_telling import tell
from foldaway.stores._migrations import _FIFTH, MIGRATIONS
from foldaway.stores.sqlite import SqliteStore

KEY = SessionKey(user="u", name="n")
COLOUR = ("ALTER TABLE sessions ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'",)
BROKEN = ("CREATE TABLE half (x)", "INSERT INTO nowhere VALUES (1)")


class First(SqliteStore):
    """As the first release made its files."""

    migrations = MIGRATIONS[:1]


class BeforePools(SqliteStore):
    migrations = MIGRATIONS[: MIGRATIONS.index(_FIFTH)]


class Later(SqliteStore):
    migrations = (*MIGRATIONS, COLOUR)


class Wrong(SqliteStore):
    migrations = (*MIGRATIONS, COLOUR, BROKEN)


def an_older_file(folder: Path) -> Path:
    file = folder / "store.db"
    with SqliteStore(file) as store:
        session = store.open(KEY)
        store.append(session, 0, 0, ["a record of version 1"])
        store.put_note(session, key="k", text="a note of version 1", at=None)
    return file


def version(file: Path) -> int:
    connection = sqlite3.connect(file)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def test_a_new_file_has_the_newest_version(tmp_path: Path) -> None:
    Later(tmp_path / "store.db").close()
    assert version(tmp_path / "store.db") == len(MIGRATIONS) + 1


def test_an_older_file_comes_forward_with_all_it_holds(tmp_path: Path) -> None:
    file = an_older_file(tmp_path)
    assert version(file) == len(MIGRATIONS)
    with Later(file) as store:
        session = store.open(KEY)
        assert store.read(session, 0) == ["a record of version 1"]
        assert [note.text for note in store.notes(session)] == ["a note of version 1"]
        assert [hit.text for hit in store.search(session, "note")] == ["a note of version 1"]
        assert store._connected().execute("SELECT colour FROM sessions").fetchall() == [("blue",)]
    assert version(file) == len(MIGRATIONS) + 1


def test_a_file_of_the_first_release_learns_to_keep_memories(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with First(file) as old:
        old.append(old.open(KEY), 0, 0, ["a record"])
        old.put_note(old.open(KEY), key="k", text="a note", at=None)
    assert version(file) == 1
    reader = Reader(owner="u")
    with SqliteStore(file) as store:
        store.put_memories(reader, [Memory(text="a memory")])
        store.delete(store.open(SessionKey(user="v", name="n")))
        assert store.read(store.open(KEY), 0) == ["a record"]
        assert [hit.text for hit in store.search(store.open(KEY), "note")] == ["a note"]
    with SqliteStore(file) as store:
        assert [memory.text for memory in store.find_memories(reader, Filter())] == ["a memory"]
    assert version(file) == len(MIGRATIONS)


def test_pools_of_an_older_file_belong_to_who_wrote_first_and_their_writers_stay_members(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    told = [
        ("ann", "team", "public"), ("bob", "team", "public"), ("ann", "team@zoe", "group:@zoe"),
        ("bob", "team@", "owner"), ("bob", "other", "public"), ("港", "港口@", "owner"),
    ]  # fmt: skip
    with BeforePools(file) as old:
        for number, (owner, pool, access) in enumerate(told):
            with old._writing() as db:
                tenant = old._tenant(db, owner.encode())
                who = Who(tenant, owner.encode(), ())
                memory = Memory(text=f"word {number}", pool=pool, access=access)
                tell(db, who, [old._draft(who, memory, number, None, None)])
    with SqliteStore(file) as store:
        ann, bob, zoe, port = (Reader(owner=name) for name in ("ann", "bob", "zoe", "港"))
        assert store.pool_members(ann, "team") == {"user:ann": "owner", "user:bob": "writer", "user:zoe": "reader"}
        assert store.pool_members(bob, "other") == {"user:bob": "owner"}
        assert store.pool_members(port, "港口") == {"user:港": "owner"}
        everywhere = Filter(pools=("team", "team@", "team@zoe", "other"))
        for reader, texts in ((ann, 3), (bob, 4), (zoe, 3), (Reader(owner="eve"), 0)):
            assert len(store.find_memories(reader, everywhere)) == texts, reader
        assert len(store.put_memories(bob, [Memory(text="still a writer", pool="team")])) == 1


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    file = an_older_file(tmp_path)
    with pytest.raises(StoreError, match="nowhere"):
        Wrong(file)
    assert version(file) == len(MIGRATIONS)
    with SqliteStore(file) as store:
        assert store.read(store.open(KEY), 0) == ["a record of version 1"]


def test_a_file_of_a_later_release_is_not_opened_by_an_older_one(tmp_path: Path) -> None:
    Later(tmp_path / "store.db").close()
    known = len(MIGRATIONS)
    with pytest.raises(StoreError, match=rf"version {known + 1}, this release reads up to {known}; upgrade"):
        SqliteStore(tmp_path / "store.db")
