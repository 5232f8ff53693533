"""The commands about stores, from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foldaway.protocols import Memory, Reader, SessionKey
from foldaway.stores.sqlite import SqliteStore


def filled(path: Path) -> str:
    with SqliteStore(path) as store:
        for user, name in (("ann", "one"), ("ann", "two"), ("bob", "one")):
            session = store.open(SessionKey(user=user, name=name))
            store.append(session, 0, 0, [f"{user} {name} " * 500])
            store.put_note(session, key="k", text="a note", at=None)
        store.put_memories(Reader(owner="ann"), [Memory(text="kept"), Memory(text="gone", expires_at="2001-01-01")])
    return f"sqlite:///{path}"


def sessions(path: Path, user: str) -> list[str]:
    with SqliteStore(path) as store:
        return store.sessions(user)


def test_one_session_is_copied_and_stays(tmp_path: Path, foldaway: Any) -> None:
    source, target = filled(tmp_path / "a.db"), f"sqlite:///{tmp_path / 'b.db'}"
    ran = foldaway("move", "--from", source, "--to", target, "--user", "ann", "--session", "one")
    assert (ran.code, ran.text) == (0, "session 'one' of 'ann': 1 records, 1 notes copied\n")
    assert (sessions(tmp_path / "a.db", "ann"), sessions(tmp_path / "b.db", "ann")) == (["one", "two"], ["one"])
    again = foldaway("move", "--from", source, "--to", target, "--user", "ann", "--session", "one", "--delete")
    assert (again.code, again.text) == (0, "session 'one' of 'ann': 1 records, 1 notes moved\n")
    assert sessions(tmp_path / "a.db", "ann") == ["two"]


def test_everything_of_everybody_moves(tmp_path: Path, foldaway: Any) -> None:
    source, target = filled(tmp_path / "a.db"), f"sqlite:///{tmp_path / 'b.db'}"
    ran = foldaway("move", "--from", source, "--to", target, "--everybody", "--delete", "--json")
    assert ran.code == 0
    assert [(each["user"], each["session"], each["memories"], each["deleted"]) for each in ran.json] == [
        ("ann", "one", 0, True),
        ("ann", "two", 0, True),
        ("ann", "", 1, True),
        ("bob", "one", 0, True),
        ("bob", "", 0, False),
    ]
    with SqliteStore(tmp_path / "a.db") as old, SqliteStore(tmp_path / "b.db") as new:
        assert (old.users(), new.users()) == ([], ["ann", "bob"])


def test_what_cannot_be_moved_is_said_in_one_line(tmp_path: Path, foldaway: Any) -> None:
    source, target = filled(tmp_path / "a.db"), f"sqlite:///{tmp_path / 'b.db'}"
    both = ("--from", source, "--to", target)
    assert foldaway("move", *both).refused("--session", "--all")
    assert foldaway("move", *both, "--all", "--session", "one").refused("one of them")
    assert foldaway("move", "--from", source, "--to", source, "--all").refused("same store")
    assert foldaway("move", "--from", source, "--to", "memory:", "--all").refused("memory:")
    assert foldaway("move", "--from", source, "--to", "mysql://x", "--all").refused("postgresql://")
    for arguments, word in (
        (("--from", f"sqlite:///{tmp_path / 'none.db'}", "--to", target, "--all"), "no store at"),
        ((*both, "--user", "eve", "--all"), "has nothing"),
        ((*both, "--user", "eve", "--session", "x"), "no session 'x'"),
    ):
        ran = foldaway("move", *arguments)
        assert ran.code == 1
        assert word in ran.talk
    assert not (tmp_path / "none.db").exists()


def test_a_store_tells_what_it_holds(tmp_path: Path, foldaway: Any) -> None:
    url = filled(tmp_path / "a.db")
    found = foldaway("store", "stats", url, "--json").json
    assert (found["users"], found["sessions"], found["records"], found["notes"], found["memories"]) == (2, 3, 3, 3, 2)
    assert found["kept_bytes"] < found["raw_bytes"] / 10
    text = foldaway("store", "stats", url).text
    assert "bytes as they came in" in text
    assert foldaway("store", "expire", url).text == "1 memories deleted\n"
    assert foldaway("store", "expire", url, "--now", "soon").code == 1
