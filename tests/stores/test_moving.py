"""Moving sessions and memories between stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from foldaway.errors import StoreError
from foldaway.protocols import Memory, Reader, SessionCopy, SessionKey, Store
from foldaway.stores.memory import MemoryStore
from foldaway.stores.moving import move_memories, move_session
from foldaway.stores.sqlite import SqliteStore
from foldaway.testing.postgres_server import why_not

KEY = SessionKey(user="ann", name="main")
ANN = Reader(owner="ann")


def filled(store: Store) -> Store:
    session = store.open(KEY)
    store.append(session, 0, 0, ["a", "b"])
    branch = store.fork(session, 0, 1)
    store.append(session, branch, 1, ["c" * 1000])
    store.write_ledger(session, branch, ["entry"])
    store.put_note(session, key="gate", text="gate 4", at="2031-01-01T00:00:00Z")
    store.put_note(session, key="gate", text="gate 9", at="2031-01-01T00:00:00Z")
    ids = store.put_memories(ANN, [Memory(text=f"fact {number}", key=f"k{number % 7}") for number in range(1200)])
    store.mark_contradiction(ANN, ids[0], ids[1100])
    return store


def test_a_session_and_memories_move_and_then_are_gone_at_the_source(tmp_path: Path) -> None:
    source, target = filled(SqliteStore(tmp_path / "a.db")), MemoryStore()
    copy, memories = source.export_session(source.open(KEY)), source.export_memories(ANN, limit=9999)
    moved = move_session(source, target, KEY, delete=True)
    assert (moved.records, moved.notes, moved.deleted) == (3, 2, True)
    assert move_memories(source, target, "ann", delete=True).memories == 1200
    assert target.export_session(target.open(KEY)) == copy
    assert target.export_memories(ANN, limit=9999) == memories
    assert (source.users(), source.sessions("ann"), source.export_memories(ANN)) == ([], [], [])
    for store in (source, target):
        store.close()


def test_moving_again_changes_nothing_and_keeps_what_the_target_knows(tmp_path: Path) -> None:
    source, target = filled(MemoryStore()), MemoryStore()
    (own,) = target.put_memories(ANN, [Memory(text="fact 3", key="k3", at="2040-01-01T00:00:00Z")])
    for _ in range(2):
        assert not move_session(source, target, KEY).deleted
        assert move_memories(source, target, "ann").memories == 1200
    assert target.export_session(target.open(KEY)) == source.export_session(source.open(KEY))
    assert len(target.export_memories(ANN, limit=9999)) == 1200
    assert target.memories(ANN, [own])[0].superseded_by == ""


def test_another_session_of_that_name_is_not_overwritten() -> None:
    source, target = filled(MemoryStore()), MemoryStore()
    target.append(target.open(KEY), 0, 0, ["mine"])
    with pytest.raises(StoreError, match="is not moved: in the target"):
        move_session(source, target, KEY, delete=True)
    assert target.read(target.open(KEY), 0) == ["mine"]
    assert source.sessions("ann") == ["main"]
    with pytest.raises(StoreError, match="no session 'other'"):
        move_session(source, target, SessionKey(user="ann", name="other"))


def test_one_store_by_two_names_is_no_place_to_move_to(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "a.db")
    with filled(SqliteStore(tmp_path / "a.db")) as source, SqliteStore(tmp_path / "link.db") as target:  # type: ignore[attr-defined]
        before = source.export_session(source.open(KEY)), source.export_memories(ANN, limit=9999)
        with pytest.raises(StoreError, match="the same store"):
            move_session(source, target, KEY, delete=True)
        with pytest.raises(StoreError, match="the same store"):
            move_memories(source, target, "ann", delete=True)
        assert (source.export_session(source.open(KEY)), source.export_memories(ANN, limit=9999)) == before


def test_a_copy_of_the_file_is_another_store(tmp_path: Path) -> None:
    with filled(SqliteStore(tmp_path / "a.db")):  # type: ignore[attr-defined]
        pass
    (tmp_path / "b.db").write_bytes((tmp_path / "a.db").read_bytes())
    with SqliteStore(tmp_path / "a.db") as source, SqliteStore(tmp_path / "b.db") as target:
        assert move_session(source, target, KEY, delete=True).deleted
        assert move_memories(source, target, "ann", delete=True).memories == 1200
        assert (source.users(), target.sessions("ann")) == ([], ["main"])


class Adding(MemoryStore):
    """Adds a record that nobody wrote to every copy."""

    def import_session(self, session: str, copy: SessionCopy) -> None:
        super().import_session(session, copy)
        self.append(session, copy.head, len(self.read(session, copy.head)), ["strange"])


def test_nothing_is_deleted_when_the_copy_is_not_the_same() -> None:
    source, target = filled(MemoryStore()), Adding()
    with pytest.raises(StoreError, match="not the same; nothing was deleted"):
        move_session(source, target, KEY, delete=True)
    assert source.sessions("ann") == ["main"]
    assert target.sessions("ann") == []


@pytest.mark.skipif(bool(why_not()), reason=f"no PostgreSQL: {why_not()}")
def test_a_session_goes_to_postgresql_and_back(tmp_path: Path, postgres_url: str) -> None:
    from foldaway.stores.postgres import PostgresStore

    with SqliteStore(tmp_path / "a.db") as source, SqliteStore(tmp_path / "b.db") as back:
        filled(source)
        with PostgresStore(postgres_url, schema="moving") as server:
            for here, there in ((source, server), (server, back)):
                assert move_session(here, there, KEY, delete=here is server).records == 3
                assert move_memories(here, there, "ann", delete=here is server).memories == 1200
            assert server.users() == []
        assert back.export_session(back.open(KEY)) == source.export_session(source.open(KEY))
        assert back.export_memories(ANN, limit=9999) == source.export_memories(ANN, limit=9999)
