from __future__ import annotations

import json
from typing import Any

import pytest

from foldaway import Session, SettingsError
from foldaway.engine.triggers import Triggers, boundary, boundary_of, happened, named
from foldaway.testing.histories import Writer, prose

ROOMY: dict[str, Any] = {"budget": 40_000, "policy": "window", "low_share": 0.05, "prices": "no-cache"}


def todo(writer: Writer, *states: str) -> list[dict[str, Any]]:
    entries = [{"content": f"Step {n} of the berth plan", "status": state} for n, state in enumerate(states)]
    return writer.call("todo_write", "ok", todos=entries)


def working(writer: Writer, calls: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for n in range(calls):
        made += writer.call("read_file", prose(600, n), path=f"src/{n}.py")
    return made


def started(**settings: Any) -> tuple[Session, Writer]:
    writer = Writer("openai_chat")
    writer.user("Repair the berth planner.")
    todo(writer, "in_progress", "pending")
    working(writer, 8)
    made = Session(**{**ROOMY, **settings})
    made.append(writer.messages)
    assert made.view().commit is None
    return made, writer


def test_nothing_but_ceiling_and_watermark_counts_by_default() -> None:
    made, writer = started()
    made.append(todo(writer, "completed", "in_progress"))
    made.append(writer.user("And now the tide gauge."))
    assert made.view().commit is None


@pytest.mark.parametrize("event", ["subgoal_finished", "new_plan", "user_turn"])
def test_an_event_starts_a_commit_that_names_it(event: str) -> None:
    made, writer = started(triggers=Triggers(**{event: True}))
    made.append(working(writer, 1))
    assert made.view().commit is None
    match event:
        case "subgoal_finished":
            made.append(todo(writer, "completed", "in_progress"))
        case "new_plan":
            fresh = [{"content": "Another thing entirely", "status": "pending"}]
            made.append(writer.call("todo_write", "ok", todos=fresh))
        case _:
            made.append(writer.user("And now the tide gauge."))
    commit = made.view().commit
    assert commit is not None
    assert commit.trigger.startswith(event.replace("_", "-"))
    assert commit.tokens_after < commit.tokens_before


def test_a_finished_sub_goal_is_named_by_its_text() -> None:
    made, writer = started(triggers=Triggers(subgoal_finished=True))
    made.append(todo(writer, "completed", "in_progress"))
    commit = made.view().commit
    assert commit is not None
    assert commit.trigger == "subgoal-finished: Step 0 of the berth plan"


def test_a_phase_change_starts_a_commit() -> None:
    made, writer = started(triggers=Triggers(phase_change=True))
    triggers = []
    for n in range(8):
        made.append(writer.call("edit_file", "ok", path=f"src/{n}.py", text=prose(20, n)))
        commit = made.view().commit
        if commit is not None:
            triggers.append(commit.trigger)
    assert triggers == ["phase-change: explore to act"]


def test_a_share_of_the_window_starts_a_commit_before_the_ceiling() -> None:
    made, writer = started(triggers=Triggers(window_share=0.2))
    made.append(working(writer, 8))
    commit = made.view().commit
    assert commit is not None
    assert commit.trigger == "window-share 0.2"
    assert 8_000 < commit.tokens_before < 40_000


def test_events_count_from_a_share_of_the_budget_on() -> None:
    made, writer = started(triggers=Triggers(user_turn=True, from_share=0.5))
    made.append(writer.user("And now the tide gauge."))
    assert made.view().commit is None
    made.append(working(writer, 24))
    made.append(writer.user("Now?"))
    assert made.view().commit is not None


def test_the_same_history_asks_once() -> None:
    made, writer = started(triggers=Triggers(user_turn=True))
    made.append(writer.user("And now the tide gauge."))
    first = made.view()
    assert first.commit is not None
    again = made.view()
    assert again.commit is None
    assert again.messages == first.messages


def test_an_event_is_asked_for_after_a_restart_too(tmp_path: Any) -> None:
    stored = {"store": f"sqlite:///{tmp_path / 'a.db'}", "triggers": Triggers(user_turn=True)}
    settings: dict[str, Any] = {**ROOMY, **stored}
    made, writer = started(**settings)
    made.append(writer.user("And now the tide gauge."))
    made.close()
    with Session(**settings) as again:
        commit = again.view().commit
        assert commit is not None
        assert commit.trigger == "user-turn"


def test_a_user_turn_and_a_finished_sub_goal_are_boundaries_and_the_first_words_are_none() -> None:
    made, writer = started()
    assert boundary(made.engine.log) == ""
    made.append(todo(writer, "completed", "in_progress"))
    assert boundary(made.engine.log) == "task boundary, subgoal-finished: Step 0 of the berth plan"
    made.append(writer.user("Go on."))
    assert "user-turn" in dict(happened(made.engine.log))
    first = Session(budget=1_000)
    first.append([{"role": "user", "content": "Begin."}])
    assert boundary(first.engine.log) == ""


def test_words_of_a_plan_stay_one_short_line() -> None:
    assert named("new-plan", f"a\nb {'c' * 200}") == f"new-plan: a b {'c' * 76}"
    assert boundary_of("new-plan: x") == "new-plan: x"
    assert boundary_of("window-share 0.8") == ""


def test_shares_out_of_range_are_refused() -> None:
    for name in ("window_share", "from_share", "at_once_share"):
        with pytest.raises(SettingsError, match=name):
            Triggers(**{name: 1.5})  # type: ignore[arg-type]


def test_the_commit_entry_is_json_with_its_benefit() -> None:
    made, writer = started(triggers=Triggers(user_turn=True))
    made.append(writer.user("And now the tide gauge."))
    made.view()
    entry = json.loads(json.dumps(made.ledger[-1]))
    assert entry["benefit"]["why"]
