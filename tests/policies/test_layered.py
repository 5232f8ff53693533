"""S3.1, S3.2, S3.5, layered memory: recent steps raw, a state, a running digest, the rest by its route; quotas hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foldaway import Session
from foldaway.model.items import Kind, Level
from foldaway.model.wire import Message
from foldaway.policies.layered import ROUTES, Layered, Route
from foldaway.policies.quotas import DEFAULT_SHARES, Scheduler, Stage
from foldaway.testing.histories import FORMATS, Writer, prose, working_session

BUDGET = 6_000


def play(session: Session, messages: list[Message]) -> list[Any]:
    """Message by message, a view before each assistant message; the views."""
    views = []
    for message in messages:
        if message.get("role") == "assistant" and session.engine.log.raws:
            views.append(session.view())
        session.append([message])
    return views


def played(steps: int = 60, *, budget: int = BUDGET, **settings: Any) -> tuple[Session, list[Any]]:
    session = Session(budget=budget, policy="layered", **settings)
    return session, play(session, working_session("openai_chat", steps, words=90))


def note_of(session: Session) -> str:
    note = session.engine.shown.note
    return "" if note is None else note.text


def test_the_peak_stays_below_85_percent_of_the_budget() -> None:
    session, views = played(120)
    assert max(v.tokens for v in views) <= 0.85 * BUDGET
    assert len([v for v in views if v.commit]) > 3
    assert session.warnings == []


@pytest.mark.parametrize("format", FORMATS)
def test_it_works_in_each_format(format: str) -> None:
    session = Session(format=format, budget=BUDGET, policy="layered")
    session.append(working_session(format, 60, words=90))
    view = session.view()
    assert view.tokens <= 0.85 * BUDGET
    assert "goal (#1): Repair the berth planner" in note_of(session)


def test_the_last_steps_stay_raw() -> None:
    session, _ = played()
    commit = session.compact()
    assert commit is not None
    snapshot = session.engine.snapshot()
    newest = [i for i in snapshot.recent_items(3) if i.id > 0]
    assert newest
    assert all(session.level(i.id) is Level.RAW for i in newest)


def test_the_note_opens_with_state_and_digest_and_names_their_sources() -> None:
    session, _ = played()
    session.compact()
    note = note_of(session)
    assert note.index("state:") < note.index("so far:")
    assert "constraint (#1): Repair the berth planner in src/plan.py; never change the rates." in note
    assert "files written" in note
    assert any(line.startswith("[#") for line in note.splitlines())
    assert session.state.goal is not None
    assert session.state.goal.item == 1


def test_a_section_handed_in_from_outside_takes_the_place_of_its_own() -> None:
    session, _ = played()
    session.set_section("so far", "A model's own words about the work.", made_by="model")
    session.compact()
    note = note_of(session)
    assert "A model's own words about the work." in note
    assert note.count("so far:") == 1


def test_every_kind_has_a_route_or_is_never_folded_by_it() -> None:
    pinned = {Kind.INSTRUCTION, Kind.GOAL, Kind.USER}
    assert set(Kind) - set(ROUTES) == pinned
    assert set(ROUTES.values()) == set(Route)


def test_what_is_forgotten_has_no_line_and_is_still_there_word_for_word() -> None:
    session, _ = played()
    session.compact()
    thoughts = [i for i in session.items() if i.kind is Kind.THOUGHT and session.level(i.id) is Level.HIDDEN]
    assert thoughts
    lines = session.engine.shown.lines
    assert not {i.id for i in thoughts} & set(lines)
    assert session.recall(str(thoughts[0].id)).text == "Look at src/part_0.py."


def test_a_large_result_of_middle_age_stands_as_a_digest() -> None:
    writer = Writer("openai_chat")
    writer.user("Find the slow berth.")
    table = json.dumps([{"berth": f"B{n}", "hours": n, "vessel": f"V-{n}"} for n in range(60)])
    writer.call("get_berths", table, harbour="north")
    for n in range(14):
        writer.call("read_file", prose(90, n), path=f"src/part_{n}.py")
    session = Session(budget=BUDGET, policy="layered", policy_parameters={"abstract_share": 0.6})
    play(session, writer.messages)
    session.compact()
    item = next(i for i in session.items() if i.name == "get_berths")
    assert session.level(item.id) is Level.ABSTRACT


def test_the_same_history_gives_the_same_bytes_after_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    history = working_session("openai_chat", 50, words=90)
    with Session(budget=BUDGET, policy="layered", store=store) as session:
        play(session, history)
        before = session.view().messages
    with Session(budget=BUDGET, policy="layered", store=store) as session:
        assert session.view().messages == before
        assert session.view().commit is None


def test_a_layer_over_its_quota_asks_for_a_commit_before_the_limit() -> None:
    _, views = played(80)
    triggers = {v.commit.trigger for v in views if v.commit}
    assert "policy" in triggers
    early = [v.commit for v in views if v.commit and v.commit.trigger == "policy"]
    assert all(c.tokens_before < BUDGET for c in early)
    assert all(c.tokens_after < c.tokens_before for c in early)


def test_it_asks_for_no_commit_that_could_free_nothing() -> None:
    session = Session(budget=BUDGET, policy="layered")
    session.append(working_session("openai_chat", 2, words=90))
    assert Layered().due(session.engine.snapshot()) is False


def test_a_pinned_floor_over_the_limit_goes_out_and_says_so() -> None:
    session = Session(budget=BUDGET, policy="layered", system="Rule. " * 2_350)
    session.append(working_session("openai_chat", 12, words=90))
    view = session.view()
    assert 0.85 * BUDGET < view.tokens <= BUDGET
    assert any("reserve" in warning for warning in view.warnings)
    assert view.missing_tokens == 0


def test_a_recall_brings_back_at_most_top_k_items() -> None:
    writer = Writer("openai_chat")
    writer.user("Edit.")
    for n in range(9):
        writer.call("read_file", f"line {n} of the berth plan\n{prose(20, n)}", path="src/plan.py", start=n)
    for n in range(40):
        writer.call("grep", prose(60, n), pattern=f"part_{n}")
    writer.call("edit_file", "ok", path="src/plan.py", text="line 3 of the berth plan")
    session = Session(budget=3_000, policy="window")
    session.append(writer.messages)
    session.compact()
    snapshot = session.engine.snapshot()
    assert len(Layered(top_k=2).bring_back(snapshot)) == 2
    assert len(Layered(top_k=4).bring_back(snapshot)) == 4


def test_the_reserve_follows_the_unevenness_of_the_steps_within_its_bounds() -> None:
    scheduler = Scheduler()
    assert scheduler.reserve([100] * 50, 1_500, 10_000) == 1_500
    assert scheduler.reserve([100] * 90 + [1_800] * 10, 1_500, 10_000) == 1_700
    assert scheduler.reserve([100] * 90 + [9_000] * 10, 1_500, 10_000) == 2_000
    assert scheduler.reserve([], 0, 10_000) == 0


def test_quotas_share_out_the_room_and_change_at_the_end_of_a_sub_goal_alone() -> None:
    session = Session(budget=20_000, policy="layered")
    session.append(working_session("openai_chat", 40, words=30))
    before = Scheduler().quotas(session.engine.snapshot())
    assert before.working + before.state + before.short_term + before.retrieved <= before.limit_tokens
    ends = len([e for e in session.engine.log.subgoals.events if e.happening.value == "finished"])
    session.append(Writer("openai_chat").call("read_file", prose(3_000, 1), path="src/part_0.py"))
    after = Scheduler().quotas(session.engine.snapshot())
    assert len([e for e in session.engine.log.subgoals.events if e.happening.value == "finished"]) == ends
    assert (after.stage, after.reserve_tokens, after.working) == (before.stage, before.reserve_tokens, before.working)


def todo(*done: bool) -> dict[str, Any]:
    states = ["completed" if d else "pending" for d in done]
    return {"todos": [{"content": f"Part {n} of the work", "status": s} for n, s in enumerate(states)]}


@pytest.mark.parametrize(("done", "stage"), [(0, Stage.EARLY), (2, Stage.MIDDLE), (3, Stage.LATE)])
def test_the_stage_follows_the_share_of_the_plan_that_is_done(done: int, stage: Stage) -> None:
    writer = Writer("openai_chat")
    writer.user("Do all four parts.")
    for n in range(done + 1):
        writer.call("TodoWrite", "ok", **todo(*(k < n for k in range(4))))
        writer.call("read_file", prose(20, n), path=f"src/part_{n}.py")
    session = Session(budget=20_000, policy="layered")
    session.append(writer.messages)
    assert Scheduler().quotas(session.engine.snapshot()).stage is stage


def test_shares_of_the_layers_leave_working_memory_its_part() -> None:
    assert all(0.3 < shares.working < 0.6 for shares in DEFAULT_SHARES.values())
    assert DEFAULT_SHARES[Stage.EARLY].working > DEFAULT_SHARES[Stage.LATE].working


def test_a_giant_last_turn_does_not_cost_the_state() -> None:
    session, _ = played()
    session.append(Writer("openai_chat").call("read_file", prose(20_000, 3), path="src/giant.py"))
    view = session.view()
    assert view.tokens <= 0.85 * BUDGET
    assert "goal (#1): Repair the berth planner" in note_of(session)
    assert "never change the rates" in note_of(session)
