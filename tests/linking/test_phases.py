from __future__ import annotations

from itertools import pairwise

import pytest

from foldaway import Session
from foldaway.linking.phases import SHORTEST_TURNS, Phase, Phases
from foldaway.testing.histories import FORMATS, Writer


def phases(writer: Writer) -> Phases:
    session = Session(format=writer.format, budget=1_000_000, policy="window")
    session.append(writer.messages)
    return session.engine.log.phases


def read(writer: Writer, n: int) -> None:
    writer.call("read_file", f"text {n}", path=f"{n}.py")


def edit(writer: Writer, n: int) -> None:
    writer.call("edit_file", "ok", path=f"{n}.py", text="x")


def run(writer: Writer, command: str = "pytest -q") -> None:
    writer.call("bash", "3 passed", command=command)


@pytest.mark.parametrize("format", FORMATS)
def test_reading_then_editing_then_testing_are_three_phases(format: str) -> None:
    writer = Writer(format)
    writer.user("Mend it.")
    for doing in (read, edit):
        for n in range(6):
            doing(writer, n)
    for _ in range(6):
        run(writer)
    found = phases(writer)
    assert [c.phase for c in found.changes] == [Phase.EXPLORE, Phase.ACT, Phase.VERIFY]
    assert found.current is Phase.VERIFY
    assert [found.at(t) for t in (0, 1, 5, 10, 18)] == [None, Phase.EXPLORE, Phase.EXPLORE, Phase.ACT, Phase.VERIFY]
    assert all(c.why for c in found.changes)


def test_single_reads_between_edits_change_nothing() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    for n in range(24):
        (read if n % 4 == 3 else edit)(writer, n)
    assert [c.phase for c in phases(writer).changes] == [Phase.ACT]


def test_turns_that_alternate_do_not_make_the_phase_flicker() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    for n in range(40):
        (edit, read)[n % 2](writer, n)
    changes = phases(writer).changes
    assert all(b.turn - a.turn >= SHORTEST_TURNS for a, b in pairwise(changes))
    assert len(changes) <= 2


@pytest.mark.parametrize(
    "command",
    ["pytest -q", "cd /x && go test ./...", "npm run build", "python reproduce_issue.py", "make check", "cargo clippy"],
)
def test_tests_builds_and_own_scripts_verify(command: str) -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    for _ in range(3):
        run(writer, command)
    assert phases(writer).current is Phase.VERIFY


def test_words_that_a_person_answers_are_conversation_and_remarks_between_calls_are_not() -> None:
    talk, work = Writer("openai_responses"), Writer("openai_responses")
    for n in range(5):
        talk.user(f"Question {n}?")
        talk.say("Answer.")
    talk.user("Thanks.")
    work.user("Mend it.")
    for n in range(8):
        work.say("Next I look at the file.")
        read(work, n)
    assert phases(talk).current is Phase.CONVERSE
    assert [c.phase for c in phases(work).changes] == [Phase.EXPLORE]


def test_a_new_plan_is_a_planning_phase_and_an_update_of_it_is_not() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    for n in range(5):
        read(writer, n)
    writer.call("update_plan", "ok", plan=[{"step": "a", "status": "in_progress"}, {"step": "b", "status": "pending"}])
    for n in range(5):
        edit(writer, n)
    writer.call("update_plan", "ok", plan=[{"step": "a", "status": "completed"}, {"step": "b", "status": "pending"}])
    for n in range(5):
        edit(writer, n)
    assert [c.phase for c in phases(writer).changes] == [Phase.EXPLORE, Phase.PLAN, Phase.ACT]


def test_an_episode_that_the_agent_declared_counts_for_its_type() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("delimiter", "ok", action="start", name="mend", type="act")
    for n in range(6):
        writer.call("bash", "ok", command=f"./step {n}")
        (read if n % 2 else edit)(writer, n)
    assert [c.phase for c in phases(writer).changes] == [Phase.ACT]
