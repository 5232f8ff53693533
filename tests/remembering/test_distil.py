"""What a session leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import foldaway
from foldaway import Session
from foldaway.protocols import Memory
from foldaway.readers import read_sessions
from foldaway.remembering import distil
from foldaway.testing.histories import FORMATS, Writer

BUNDLED = Path(foldaway.__file__).parent / "data" / "sessions"
Made = Callable[..., Writer]
Opened = Callable[..., Session]


def only(memories: tuple[Memory, ...], kind: str, word: str = "") -> Memory:
    (found,) = [m for m in memories if m.kind == kind and word in m.text]
    return found


@pytest.mark.parametrize("format", FORMATS)
def test_each_kind_is_found_with_session_item_and_source(working: Made, opened: Opened, format: str) -> None:
    session = opened(working(format))
    left = distil(session, task="deploy")
    assert {m.session for m in left} == {"one"}
    assert {m.task for m in left} == {"deploy"}
    told = only(left, "fact", "staging port")
    assert (told.text, told.key, told.source) == ("The user's staging port: 8081", "user · staging port", "user")
    assert only(left, "preference").text == "I prefer tabs over spaces."
    assert only(left, "constraint").text == "Never touch production."
    assert "3ab12cd" in only(left, "fact", "Made commit").text
    assert only(left, "decision", "Fix the berth plan").text.startswith("Done: ")
    answered = only(left, "decision", "Asked")
    assert answered.text.endswith("the user said yes.")
    assert session.engine.log.text_of(session.engine.log.items[answered.item]) == "Yes, go ahead."
    digest = only(left, "digest")
    assert "Deploy the planner." in digest.text
    assert "pytest -q: 4 passed" in digest.text


def test_a_pitfall_tells_what_failed_and_what_helped(working: Made, opened: Opened) -> None:
    pitfall = only(distil(opened(working())), "pitfall")
    failed, helped = pitfall.text.splitlines()
    assert failed.startswith("pytest -q failed: ")
    assert "KeyError" in failed
    assert helped == "It passed (#4) after changes to src/plan.py"
    assert pitfall.item == 2


def test_a_command_spelled_otherwise_is_a_pitfall_too(opened: Opened) -> None:
    told = Writer("openai_chat")
    told.user("Start the server.")
    told.call(
        "bash", "bash: python: command not found\nexit code: 127", failed=True, command="python serve.py --port 80"
    )
    told.call("bash", "serving", command="python3 serve.py --port 80")
    left = distil(opened(told))
    assert only(left, "pitfall").text.endswith("This worked (#3): python3 serve.py --port 80")


def test_what_never_passed_is_no_pitfall(opened: Opened) -> None:
    told = Writer("openai_chat")
    told.user("Run the tests.")
    told.call("bash", "2 failed\nKeyError: 'x'\nexit code: 1", failed=True, command="pytest")
    told.call("edit_file", "ok", path="a.py", old="a", new="b")
    # A pipe hides the exit code; the figures do not lie.
    told.call("bash", "1 failed, 1 passed", command="pytest")
    assert not [m for m in distil(opened(told)) if m.kind == "pitfall"]


def test_a_value_is_a_fact_only_when_the_agent_used_it_later(opened: Opened) -> None:
    told = Writer("openai_chat")
    told.user("Connect to the harbour database.")
    told.call("read_file", "host: 10.4.0.7:5432\nbackup: 10.4.0.9:5432\n", path="conf/db.yaml")
    told.call("bash", "connected", command="psql -h 10.4.0.7:5432")
    facts = [m for m in distil(opened(told)) if m.kind == "fact"]
    assert [m.text for m in facts] == ["conf/db.yaml: host is 10.4.0.7:5432"]
    assert facts[0].item == 2


def test_a_listing_of_pages_made_none_of_them(opened: Opened) -> None:
    told = Writer("openai_chat")
    told.user("Which changes are open? Then open ours.")
    told.call("bash", "https://forge.example/team/planner/pull/7", command="gh pr list")
    told.call("bash", "https://forge.example/team/planner/pull/9", command="gh pr create --fill")
    made = [m.key for m in distil(opened(told)) if m.kind == "fact"]
    assert made == ["url https://forge.example/team/planner/pull/9"]


def test_tasks_questions_and_leave_are_no_wishes(opened: Opened) -> None:
    told = Writer("openai_chat")
    told.user(
        "Fix the tests. Must we never deploy on Fridays? You don't have to update the docs. 以后请不要改测试文件。"
    )
    wishes = [m.text for m in distil(opened(told)) if m.kind in ("preference", "constraint")]
    assert wishes == ["以后请不要改测试文件。"]


def test_open_calls_are_left_out_and_a_branch_is_named(working: Made, opened: Opened) -> None:
    session = opened(working())
    whole = distil(session)
    edited = working(port=9090)
    session.sync(edited.messages)
    assert session.branch == 1
    told = only(distil(session), "fact", "staging port")
    assert told.text.endswith("9090")
    assert told.source == "user (branch 1)"
    assert "branch" not in only(whole, "fact", "staging port").source


def test_it_is_a_pure_function_of_the_session(working: Made, opened: Opened) -> None:
    assert distil(opened(working())) == distil(opened(working(), store=None))


def test_a_real_session_leaves_little_and_every_item_is_there() -> None:
    (recorded,) = read_sessions(BUNDLED / "claude-code-context-evaluator.jsonl.gz")
    session = Session(budget=1_000_000, format=recorded.format, system=recorded.system, name="real")
    session.append(recorded.messages, recorded.origins)
    left = distil(session)
    assert 8 <= len(left) <= 40
    assert sum(len(m.text) for m in left) < 6_000
    assert all(m.item in session.engine.log.items for m in left)
    assert "It passed (#146) after running bun run lint:fix" in only(left, "pitfall", "bun run lint failed").text
    assert "7238eaa" in only(left, "digest").text
