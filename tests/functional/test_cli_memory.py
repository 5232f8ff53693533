"""The commands about memories, from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foldaway import Session, SqliteStore
from foldaway.testing.histories import Writer


@pytest.fixture
def url(tmp_path: Path) -> str:
    path = tmp_path / "team.db"
    told = Writer("openai_chat")
    told.user("My staging port is 8081. I prefer tabs over spaces. Never push to main.")
    told.call("bash", "error: cannot find module 'left-pad'\nexit code: 1", failed=True, command="npm test")
    told.call("bash", "added 1 package", command="npm install left-pad")
    told.call("bash", "12 passed", command="npm test")
    told.say("All tests pass.")
    with SqliteStore(path) as store:
        session = Session(budget=8_000, store=store, user="ann", name="one")
        session.append(told.messages)
    return f"sqlite:///{path}"


def test_a_session_is_learned_listed_searched_corrected_and_forgotten(url: str, foldaway: Any) -> None:
    mine = ("--store", url, "--user", "ann")
    learned = foldaway("memory", "learn", *mine, "--session", "one", "--json").json
    by_kind = {row["kind"]: row for row in learned["learned"]}
    assert by_kind["fact"]["text"] == "The user's staging port: 8081"
    assert by_kind["preference"]["text"] == "I prefer tabs over spaces."
    assert by_kind["constraint"]["text"] == "Never push to main."
    assert "left-pad" in by_kind["pitfall"]["text"]
    assert all((row["session"], row["owner"]) == ("one", "ann") for row in learned["learned"])

    listed = foldaway("memory", "list", *mine)
    assert "one #1" in listed.text
    assert "I prefer tabs" in listed.text
    (found, *_) = foldaway("memory", "search", "which port is staging", *mine, "--json").json
    assert found["id"] == by_kind["fact"]["id"]
    assert foldaway("memory", "original", found["id"], *mine).data.startswith(b"My staging port is 8081.")

    (made,) = foldaway("memory", "correct", found["id"], "Staging is on 9090", *mine, "--json").json
    assert foldaway("memory", "list", *mine, "--kind", "fact").text.count("8081") == 0
    assert "[superseded]" in foldaway("memory", "list", *mine, "--kind", "fact", "--all").text
    again = foldaway("memory", "learn", *mine, "--session", "one")
    assert "0 memories learned" in again.talk
    assert "1 left out" in again.talk

    gone = foldaway("memory", "forget", made["id"], found["id"], *mine)
    assert (gone.code, gone.text) == (0, "2 memories deleted\n")
    assert foldaway("memory", "forget", made["id"], *mine).code == 1
    assert foldaway("memory", "list", *mine, "--kind", "fact", "--all").talk == "no memories\n"


def test_nobody_sees_corrects_or_forgets_what_is_anothers(url: str, foldaway: Any) -> None:
    foldaway("memory", "learn", "--store", url, "--user", "ann", "--session", "one")
    (row, *_) = foldaway("memory", "list", "--store", url, "--user", "ann", "--json").json
    eve = ("--store", url, "--user", "eve")
    assert foldaway("memory", "list", *eve).text == ""
    assert foldaway("memory", "search", "staging port tabs main", *eve).text == ""
    for command in (("original", row["id"]), ("correct", row["id"], "x"), ("forget", row["id"])):
        ran = foldaway("memory", *command, *eve)
        assert ran.code in (1, 2), command
        assert row["text"] not in ran.text + ran.talk
    assert foldaway("memory", "learn", *eve, "--session", "one").code == 1
    assert foldaway("memory", "list", "--store", url, "--user", "ann", "--json").json[0] == row


def test_what_cannot_be_used_is_said_in_one_line(tmp_path: Path, foldaway: Any) -> None:
    ran = foldaway("memory", "list", "--store", f"sqlite:///{tmp_path / 'none.db'}")
    assert (ran.code, "no store at" in ran.talk) == (1, True)
    assert not (tmp_path / "none.db").exists()
    assert foldaway("memory", "list", "--store", "memory:").refused("in its process only")


def test_what_was_forgotten_stays_out_until_it_is_lifted(url: str, foldaway: Any) -> None:
    mine = ("--store", url, "--user", "ann")
    learned = foldaway("memory", "learn", *mine, "--session", "one", "--json").json["learned"]
    wish = next(row for row in learned if row["kind"] == "preference")
    gone = foldaway("memory", "forget", wish["id"], *mine)
    assert (gone.code, gone.text) == (0, "1 memories deleted\n")
    assert "made from the same item, and still there" in gone.talk
    assert "Never push to main." in gone.talk
    again = foldaway("memory", "learn", *mine, "--session", "one", "--json").json
    (left_out,) = again["forgotten"]
    assert again["learned"] == []
    listed = foldaway("memory", "forgotten", *mine)
    assert listed.text.startswith(left_out["tombstone"])
    assert "tabs" not in listed.text
    assert foldaway("memory", "forgotten", "--store", url, "--user", "bob").talk == "nothing was forgotten\n"
    assert foldaway("memory", "lift", left_out["tombstone"], "--store", url, "--user", "bob").code == 1
    assert foldaway("memory", "lift", *mine).code == 2
    assert foldaway("memory", "lift", left_out["tombstone"], *mine).text == "1 tombstones lifted\n"
    back = foldaway("memory", "learn", *mine, "--session", "one", "--json").json["learned"]
    assert [row["text"] for row in back] == ["I prefer tabs over spaces."]
    foldaway("memory", "forget", wish["id"], *mine)
    assert foldaway("memory", "lift", "--all", *mine, "--json").json == {"lifted": 1}


def test_a_pool_is_looked_after_by_its_owner_alone(url: str, foldaway: Any) -> None:
    def ask(command: str, *words: str, user: str = "ann") -> Any:
        return foldaway("pool", command, *words, "--store", url, "--user", user)

    assert ask("create", "team").code == 0
    assert "already" in ask("create", "team", user="bob").talk
    assert ask("grant", "team", "bob", "group:crew", "--role", "writer").code == 0
    assert ask("members", "team", user="bob").text.split() == "writer group:crew owner user:ann writer user:bob".split()
    assert ask("list", "--json", user="bob").json == ["team"]
    for user in ("bob", "eve"):
        for command in (("grant", "team", "eve"), ("revoke", "team", "ann"), ("drop", "team")):
            refused = ask(*command, user=user)
            assert refused.code != 0
            assert refused.talk.startswith("error: pool 'team' is not")
            assert "Traceback" not in refused.talk
    assert ask("members", "team", user="eve").code == 1
    assert ask("revoke", "team", "bob").code == 0
    assert ask("list", "--json", user="bob").json == []
    assert ask("grant", "team", "bob", "--role", "boss").code == 2
    assert ask("drop", "team").text == "pool 'team' deleted, with 0 memories\n"
    assert ask("list", "--json").json == []


def test_a_session_is_deleted_with_what_it_left(url: str, foldaway: Any, tmp_path: Path) -> None:
    mine = ("--store", url, "--user", "ann")
    foldaway("memory", "learn", *mine, "--session", "one")
    assert foldaway("store", "delete", url, "--user", "bob", "--session", "one").code != 0
    assert foldaway("store", "delete", url, "--user", "ann", "--session", "one", "--session", "two").code != 0
    assert "I prefer tabs" in foldaway("memory", "list", *mine).text
    done = foldaway("store", "delete", url, "--user", "ann", "--session", "one", "--memories", "--json").json
    assert done["sessions"] == 1
    assert done["memories"] >= 4
    data = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
    for word in (b"left-pad", b"tabs over", b"8081", b"ann"):
        assert word not in data
