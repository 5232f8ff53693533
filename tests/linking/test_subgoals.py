from __future__ import annotations

from typing import Any

import pytest

from foldaway import Session
from foldaway.engine.log import Log
from foldaway.linking.subgoals import RETURN_TURNS, STALE_TURNS, Happening, Source, State, SubGoals
from foldaway.testing.histories import FORMATS, Writer


def log_of(writer: Writer, **settings: Any) -> Log:
    session = Session(format=writer.format, budget=1_000_000, policy="window", **settings)
    session.append(writer.messages)
    return session.engine.log


def plan(writer: Writer, **states: str) -> None:
    rows = [{"content": text.replace("_", " "), "status": state} for text, state in states.items()]
    writer.call("TodoWrite", "ok", todos=rows)


def look(writer: Writer, file: str) -> None:
    writer.call("read_file", "text", path=file)


def states(found: SubGoals) -> list[tuple[str, str]]:
    return [(goal.text, goal.state.value) for goal in found.all]


@pytest.mark.parametrize("format", FORMATS)
def test_the_agents_plan_says_what_is_active_and_what_is_finished(format: str) -> None:
    writer = Writer(format)
    writer.user("Mend it.")
    plan(writer, find_it="in_progress", mend_it="pending")
    look(writer, "a.py")
    plan(writer, find_it="completed", mend_it="in_progress")
    look(writer, "b.py")
    log = log_of(writer)
    found = log.subgoals
    assert states(found) == [("find it", "finished"), ("mend it", "active")]
    assert [g.text for g in found.active] == ["mend it"]
    assert [g.text for g in found.finished] == ["find it"]
    # The turn that says so belongs to what comes next.
    assert [[g.text for g in found.of_turn(t)] for t in range(1, 5)] == [
        ["find it"], ["find it"], ["mend it"], ["mend it"],
    ]  # fmt: skip
    assert list(found.all[0].files) == ["a.py"]


def test_events_tell_what_happened_in_which_turn() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    plan(writer, find_it="in_progress", mend_it="pending")
    look(writer, "a.py")
    plan(writer, find_it="completed", mend_it="in_progress")
    found = log_of(writer).subgoals
    told = [(e.turn, e.step, e.happening, e.subgoal) for e in found.events]
    assert told == [
        (1, 0, Happening.STARTED, 0), (1, 0, Happening.NEW_PLAN, 0),
        (3, 2, Happening.FINISHED, 0), (3, 2, Happening.STARTED, 1),
    ]  # fmt: skip
    assert [e.happening for e in found.since(3)] == [Happening.FINISHED, Happening.STARTED]
    assert found.since(4) == ()


def test_an_entry_that_goes_back_to_work_is_reopened() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    plan(writer, find_it="completed", mend_it="in_progress")
    plan(writer, find_it="in_progress", mend_it="pending")
    found = log_of(writer).subgoals
    assert states(found) == [("find it", "reopened"), ("mend it", "open")]
    assert [g.text for g in found.active] == ["find it"]


def test_a_plan_with_nothing_of_the_old_one_drops_what_was_unfinished() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    plan(writer, find_it="completed", mend_it="in_progress")
    plan(writer, write_docs="in_progress", publish="pending")
    found = log_of(writer).subgoals
    assert [s for _, s in states(found)] == ["finished", "dropped", "active", "open"]
    assert [e.happening for e in found.events].count(Happening.NEW_PLAN) == 2


def test_an_entry_reworded_in_case_and_space_is_the_same_entry() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("update_plan", "ok", plan=[{"step": "Find it.", "status": "in_progress"}])
    writer.call("update_plan", "ok", plan=[{"step": "find  IT", "status": "completed"}])
    found = [g for g in log_of(writer).subgoals.all if g.source is Source.PLAN]
    assert [(g.text, g.state) for g in found] == [("Find it.", State.FINISHED)]


def test_ids_that_start_again_mean_another_task() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("TaskCreate", "Task #1 created", subject="Find it")
    writer.call("TaskUpdate", "Updated", taskId="1", status="completed")
    writer.call("TaskCreate", "Task #1 created", subject="Write docs")
    writer.call("TaskUpdate", "Updated", taskId="1", status="in_progress")
    found = [(g.text, g.state) for g in log_of(writer).subgoals.all if g.source is Source.PLAN]
    assert found == [("Find it", State.FINISHED), ("Write docs", State.ACTIVE)]


def test_without_a_plan_each_episode_is_a_sub_goal_named_by_request_and_files() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend the berth planner.")
    look(writer, "src/a.py")
    writer.call("edit_file", "ok", path="src/a.py", text="x")
    writer.user("Now the docs.")
    look(writer, "docs/b.md")
    found = log_of(writer).subgoals
    assert [(g.text, g.source, g.state) for g in found.all] == [
        ("Mend the berth planner. (a.py)", Source.EPISODE, State.FINISHED),
        ("Now the docs. (b.md)", Source.EPISODE, State.ACTIVE),
    ]


def test_episodes_the_agent_declares_are_sub_goals_of_their_own_name() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("delimiter", "ok", action="start", name="scout", type="explore")
    look(writer, "a.py")
    writer.call("delimiter", "ok", action="end", description="found")
    found = log_of(writer).subgoals
    assert [(g.text, g.source, g.state) for g in found.all] == [("scout", Source.DECLARED, State.FINISHED)]


def test_a_plan_nobody_speaks_of_any_more_gives_way_to_episodes() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    plan(writer, find_it="in_progress")
    for n in range(STALE_TURNS + 2):
        look(writer, f"{n}.py")
    log = log_of(writer)
    assert log.subgoals.all[-1].source is Source.EPISODE
    assert log.subgoals.of_turn(STALE_TURNS - 1) == (log.subgoals.all[0],)


@pytest.mark.parametrize("others", [0, 3])
def test_work_that_comes_back_to_the_file_of_few_reopens_its_sub_goal(others: int) -> None:
    writer = Writer("openai_chat")
    writer.user("First.")
    look(writer, "src/berth.py")
    for n in range(others):
        writer.user(f"Another {n}.")
        look(writer, "src/berth.py")
    writer.user("Last.")
    for n in range(RETURN_TURNS + 1):
        look(writer, f"src/other_{n}.py")
    look(writer, "/repo/src/berth.py")
    found = log_of(writer).subgoals
    reopened = [e for e in found.events if e.happening is Happening.REOPENED]
    # A file of many sub-goals tells none of them apart.
    assert [(e.subgoal, e.why) for e in reopened] == (
        [(0, "the work is back at /repo/src/berth.py")] if others == 0 else []
    )
    if others == 0:
        assert found.all[0] in found.active


def test_a_file_of_the_same_name_elsewhere_is_not_the_same_file() -> None:
    writer = Writer("openai_chat")
    writer.user("First.")
    look(writer, "a/index.ts")
    writer.user("Last.")
    for n in range(RETURN_TURNS + 1):
        look(writer, f"src/other_{n}.py")
    look(writer, "b/index.ts")
    assert not [e for e in log_of(writer).subgoals.events if e.happening is Happening.REOPENED]


def test_an_item_that_holds_a_rare_word_of_a_sub_goal_belongs_to_it() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    look(writer, "src/tide_gauge.py")
    look(writer, "src/rates.py")
    writer.call("update_plan", "ok", plan=[{"step": "repair src/tide_gauge.py", "status": "in_progress"}])
    log = log_of(writer)
    about, other = (i for i in log.items.values() if i.targets)
    assert "repair src/tide_gauge.py" in {g.text for g in log.subgoals.of_item(about)}
    assert "repair src/tide_gauge.py" not in {g.text for g in log.subgoals.of_item(other)}


def test_piece_by_piece_gives_the_same_sub_goals_as_all_at_once() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    for n in range(30):
        if n % 7 == 3:
            plan(writer, **{f"part_{k}": ("completed", "in_progress", "pending")[(k > n // 7) + (k > n // 7 + 1)]
                            for k in range(5)})  # fmt: skip
        look(writer, f"src/{n % 11}.py")
    whole = log_of(writer).subgoals
    session = Session(format="openai_chat", budget=1_000_000, policy="window")
    for message in writer.messages:
        session.append([message])
    pieces = session.engine.log.subgoals
    assert [(g.text, g.state, g.turns, list(g.files)) for g in pieces.all] == [
        (g.text, g.state, g.turns, list(g.files)) for g in whole.all
    ]
    assert pieces.events == whole.events
