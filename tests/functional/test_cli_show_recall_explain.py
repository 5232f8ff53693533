"""`foldaway show`, `recall` and `explain` on recorded sessions and on stores."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from foldaway import Session
from foldaway.readers import read_sessions

Put = Callable[[str, Any], Path]
Chat = Callable[[int], list[dict[str, Any]]]


@pytest.fixture
def store(tmp_path: Path, chat: Chat) -> str:
    """A store with the session `work` of the user `ann`, most of it folded."""
    url = f"sqlite:///{tmp_path / 'agent.db'}"
    with Session(store=url, user="ann", name="work", budget=5_000) as session:
        session.append(chat(30))
        session.view()
    return url


def dump(url: str) -> list[object]:
    """All that was seen and decided, as the store has it."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        tables = ("sessions", "branches", "records", "contents", "ledger", "notes")
        return [connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall() for table in tables]


def test_show_lists_every_item_with_level_and_reason(foldaway: Any, coding: Path) -> None:
    shown = foldaway("show", coding, "--budget", 16_000, "--json").json
    levels = {item["level"] for item in shown["items"]}
    assert shown["tokens"] <= shown["budget"] == 16_000
    seen = [item["item"] for item in shown["items"] if item["item"] > 0]  # recalls put in by us count below 0
    assert seen == list(range(1, len(seen) + 1))
    assert {"raw", "stub", "hidden"} <= levels
    assert all(item["reason"] for item in shown["items"] if item["level"] != "raw")
    assert all(
        item["stub"] in shown["note"] for item in shown["items"] if item["level"] == "stub" and item["kind"] == "read"
    )


def test_show_at_an_early_call_has_nothing_folded(foldaway: Any, coding: Path) -> None:
    shown = foldaway("show", coding, "--call", 3, "--json").json
    assert (shown["call"], shown["note"]) == (3, None)
    assert {item["level"] for item in shown["items"]} == {"raw"}


def test_show_as_text_has_stubs_and_the_fold_note(foldaway: Any, coding: Path) -> None:
    text = foldaway("show", coding, "--level", "stub").text
    assert "\n    | #" in text
    assert "the fold note, as the model sees it:\n[foldaway: #" in text
    assert "hidden" not in text.split("the fold note")[0]


def test_perceive_adds_up_and_says_what_is_worth_most(foldaway: Any, coding: Path) -> None:
    told = foldaway("perceive", coding, "--budget", 16_000, "--policy", "ace", "--json").json
    assert sum(told["parts"].values()) == told["tokens"] <= told["budget_tokens"] == 16_000
    assert told["room_left"] == 16_000 - told["tokens"]
    assert {value["item"] for value in told["values"] if value["kind"] == "goal"}
    text = foldaway("perceive", coding, "--budget", 16_000, "--policy", "ace", "--items", 3).text
    assert f"{told['tokens']} of 16000 tokens" in text
    assert all(f"\n{part} " in text for part in told["parts"])
    assert len(text.split("worth most per token\n")[1].split("\n\n")[0].split("\n")) == 2 + 3
    assert "worth most" not in foldaway("perceive", coding, "--items", 0).text


def test_perceive_looks_into_a_store_and_changes_nothing(foldaway: Any, store: str) -> None:
    before = dump(store)
    told = foldaway("perceive", "--store", store, "--session", "work", "--user", "ann", "--json").json
    assert told["parts"]["fold note"] > 0
    assert dump(store) == before


def test_recall_gives_back_the_recorded_bytes(foldaway: Any, coding: Path) -> None:
    recorded = next(read_sessions(coding))
    texts = {m["content"] for m in recorded.messages if isinstance(m["content"], str)}
    items = foldaway("show", coding, "--json").json["items"]
    folded = [item["item"] for item in items if item["level"] in ("stub", "hidden") and item["kind"] == "read"]
    assert len(folded) > 5
    for item in folded[:3]:
        assert foldaway("recall", coding, f"#{item}").text in texts


def test_recall_takes_lines_and_words(foldaway: Any, put: Put, chat: Chat) -> None:
    path = put("list.json", chat(12))
    assert foldaway("recall", path, "4:2-3").text == "rate_2_1 = 7  # per year\nrate_2_2 = 14  # per year"
    assert "rate_5_9 = 63" in foldaway("recall", path, "rate_5_9").text
    assert "rate_5_9 = 63" in foldaway("recall", path, "7", "--find", "rate_5_9").text


def test_recall_keeps_surrogates_and_adds_no_line_break(foldaway: Any) -> None:
    data = b'[{"role": "user", "content": "a \\ud83d\\r\\n\\u0007b"}]'
    assert foldaway("recall", "-", "1", stdin=data).data == b"a \xed\xa0\xbd\r\n\x07b"


def test_what_is_not_there_is_exit_code_1(foldaway: Any, put: Put, chat: Chat) -> None:
    path = put("list.json", chat(3))
    nothing = foldaway("recall", path, "#99999")
    partly = foldaway("recall", path, "2,99999")
    assert (nothing.code, nothing.data) == (1, b"")
    assert nothing.talk.startswith("error: no item #99999")
    assert (partly.code, partly.data != b"") == (1, True)
    assert "warning: no item #99999" in partly.talk
    assert foldaway("explain", path, "99999").code == 1


def test_explain_names_the_reason_and_both_ends_of_a_link(foldaway: Any, put: Put, chat: Chat) -> None:
    messages = chat(30)
    messages[-1:-1] = [{"role": "assistant", "content": "rate_3_44 in src/rates_3.py is too high."}]
    path = put("list.json", messages)
    [told] = foldaway("explain", path, "#5", "--budget", 6_000, "--json").json
    user = next(link for link in told["needed_by"] if "rate_3_44" in link["why"])
    [other] = foldaway("explain", path, user["item"], "--budget", 6_000, "--json").json
    assert told["level"] in ("stub", "hidden")
    assert told["reason"] != "never changed"
    assert told["commit"] is not None
    assert 5 in [link["item"] for link in other["needs"]]
    assert f"needed by: #{user['item']}" in foldaway("explain", path, "5", "--budget", 6_000).text


def test_a_store_is_shown_as_it_was_left_and_stays_so(foldaway: Any, store: str, chat: Chat) -> None:
    where = ("--store", store, "--user", "ann", "--session", "work")
    before = dump(store)
    shown = foldaway("show", *where, "--json").json
    text = foldaway("recall", "#2", *where).text
    [told] = foldaway("explain", "2", *where, "--json").json
    assert shown["tokens"] <= 5_000
    assert sum(item["level"] in ("stub", "hidden") for item in shown["items"]) > 10
    assert text == chat(30)[2]["content"]
    assert told["level"] == shown["items"][1]["level"] != "raw"
    assert dump(store) == before


def test_a_store_shows_no_user_the_session_of_another(foldaway: Any, store: str) -> None:
    for user, session in (("bob", "work"), ("ann", "play")):
        ran = foldaway("show", "--store", store, "--user", user, "--session", session)
        assert (ran.code, ran.data) == (1, b"")
        assert f"no session {session!r} of user {user!r}" in ran.talk


def test_a_store_that_is_not_there_is_not_made(foldaway: Any, tmp_path: Path) -> None:
    ran = foldaway("show", "--store", f"sqlite:///{tmp_path / 'none.db'}", "--session", "work")
    assert ran.code == 1
    assert "no store at" in ran.talk
    assert list(tmp_path.iterdir()) == []


def test_control_characters_of_a_recording_do_not_reach_the_terminal(foldaway: Any, put: Put) -> None:
    path = put(
        "esc.json",
        [{"role": "user", "content": "\u001b[2Jgone"}, {"role": "assistant", "content": "\u001b]0;x"}],
    )
    assert b"\x1b" not in foldaway("show", path).data
    assert b"\x1b" not in foldaway("explain", path, "1").data


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "F", "--call", "99"), ["no call 99", "0 to 2"]),
        (("show", "F", "--call", "-1"), ["no call -1"]),
        (("show", "F", "--level", "nix"), ["no level 'nix'", "raw"]),
        (("show", "F", "--policy", "nix"), ["no policy 'nix'"]),
        (("show", "F", "--budget", "0"), ["--budget"]),
        (("show",), ["--store"]),
        (("show", "F", "--store", "sqlite:///x.db"), ["not both"]),
        (("show", "--store", "sqlite:///x.db"), ["--session"]),
        (("show", "--store", "redis://x", "--session", "a"), ["sqlite:///PATH"]),
        (("show", "--store", "sqlite:///x.db", "--session", "a", "--call", "1"), ["--call"]),
        (("recall", "F"), ["what to recall"]),
        (("explain", "F"), ["item to explain"]),
        (("explain", "F", "abc"), ["item 'abc'"]),
    ],
)
def test_usage_that_cannot_be_meant_is_refused(
    foldaway: Any, put: Put, chat: Chat, arguments: tuple[str, ...], words: list[str]
) -> None:
    path = str(put("list.json", chat(3)))
    assert foldaway(*(path if argument == "F" else argument for argument in arguments)).refused(*words)


def test_of_several_sessions_one_must_be_named(foldaway: Any, talks: Path) -> None:
    assert foldaway("show", talks).refused("12 sessions", "task-40", "--session")
    assert foldaway("show", "-", stdin=talks.read_bytes()).refused("stdin holds 12 sessions")
    assert foldaway("show", talks, "--session", "task-12", "--json").json["session"].endswith("task-12")
