from __future__ import annotations

from typing import Any

import pytest

from foldaway import Session
from foldaway.linking.subgoals import RETURN_TURNS
from foldaway.model.items import Kind, Level
from foldaway.model.plan import Action, Change, Commit, Section
from foldaway.policies.self_gc import INDEX, SelfGc
from foldaway.scoring.value import Weights
from foldaway.testing.histories import FORMATS, Writer, prose


def session_of(writer: Writer, budget: int, **parameters: Any) -> Session:
    session = Session(format=writer.format, budget=budget, policy="self-gc", policy_parameters=parameters)
    session.append(writer.messages)
    return session


def committed(session: Session) -> Commit:
    commit = session.view().commit
    assert commit is not None
    return commit


def plan(writer: Writer, *states: str) -> list[dict[str, Any]]:
    rows = [{"content": f"part {n}", "status": s} for n, s in enumerate(states)]
    return writer.call("TodoWrite", "ok", todos=rows)


def look(writer: Writer, file: str, words: int = 150, seed: int = 0) -> list[dict[str, Any]]:
    return writer.call("read_file", prose(words, seed), path=file)


def two_parts(format: str = "openai_chat") -> Writer:
    """Part 0 is finished, part 1 is being worked on; then enough to fill a room."""
    writer = Writer(format)
    writer.user("Mend the berth planner.")
    plan(writer, "in_progress", "pending")
    for n in range(5):
        look(writer, f"src/old_{n}.py", seed=n)
    plan(writer, "completed", "in_progress")
    for n in range(5):
        look(writer, f"src/new_{n}.py", seed=9 + n)
    return writer


@pytest.mark.parametrize("format", FORMATS)
def test_work_on_the_active_sub_goal_outlives_that_on_a_finished_one(format: str) -> None:
    session = session_of(two_parts(format), 2000, newest=0, raw_share=0.9, note_share=0.1)
    committed(session)
    by_title = {i.title: i for i in session.engine.log.items.values()}
    raw = {title for title, item in by_title.items() if session.level(item.id) is Level.RAW and "src/" in title}
    assert any("new_" in title for title in raw)
    assert not any("old_" in title for title in raw)


def test_what_is_filed_under_a_finished_sub_goal_is_archived_and_the_index_tells_of_it() -> None:
    session = session_of(two_parts(), 2000, index_share=0.1)
    commit = committed(session)
    archived = [c for c in commit.changes if c.action is Action.ARCHIVE]
    assert archived
    assert all("done with: part 0" in c.reason for c in archived)
    assert all(c.after is Level.HIDDEN for c in archived)
    assert INDEX in str(session.view().messages)
    assert "done: part 0 (#" in str(session.view().messages)


def test_only_what_is_provably_obsolete_is_pruned() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("bash", f"Error: E1\n{prose(60)}", command="pytest -x", failed=True)
    for n in range(9):
        look(writer, f"src/{n}.py", seed=n)
    writer.call("bash", "3 passed", command="pytest -x")
    session = session_of(writer, 2000)
    commit = committed(session)
    pruned = [c for c in commit.changes if c.action is Action.PRUNE]
    assert [session.engine.log.items[c.item].title for c in pruned] == ["pytest -x"]
    assert "failed path" in pruned[0].reason
    assert not [r for r in commit.refused if r.code == "not-obsolete"]
    assert set(session.engine.log.obsolete.of) >= {c.item for c in pruned}


def test_an_error_nobody_answered_stays_longer_than_one_of_its_age_that_was() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    for command in ("pytest -x", "mypy src"):
        writer.call("bash", f"Error: E1\n{prose(60)}", command=command, failed=True)
    for n in range(6):
        look(writer, f"src/{n}.py", words=350, seed=n)
    writer.call("bash", "fine", command="mypy src")
    session = session_of(writer, 1900, newest=0, raw_share=0.9, note_share=0.1)
    committed(session)
    levels = {i.title: session.level(i.id) for i in session.engine.log.items.values() if i.kind is Kind.ERROR}
    assert levels == {"pytest -x": Level.RAW, "mypy src": Level.HIDDEN}


def test_digests_stand_in_place_where_a_share_of_the_room_is_given_to_them() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    for n in range(12):
        look(writer, f"src/{n}.py", words=400, seed=n)
    none = committed(session_of(writer, 5000, mask_share=0.0))
    some = committed(session_of(writer, 5000, mask_share=0.3, note_share=0.2))
    assert not [c for c in none.changes if c.action is Action.MASK]
    masked = [c for c in some.changes if c.action is Action.MASK]
    assert masked
    assert all(c.after is Level.ABSTRACT for c in masked)


def test_every_change_says_what_it_is_meant_as_and_what_the_item_was_worth() -> None:
    session = session_of(two_parts(), 2000)
    changes = [c for c in SelfGc().propose(session.engine.snapshot()) if isinstance(c, Change)]
    assert {c.action for c in changes} >= {Action.FOLD, Action.ARCHIVE}
    assert all(c.reason for c in changes)
    assert any("value 0." in c.reason for c in changes)


def test_a_second_look_proposes_nothing_new() -> None:
    session = session_of(two_parts(), 2000)
    committed(session)
    assert session.engine.view(force="call")[2] is None


def test_a_reopened_sub_goal_wakes_what_was_worth_most_in_it() -> None:
    writer = Writer("openai_chat")
    writer.user("First.")
    look(writer, "src/berth.py", words=200)
    writer.call("edit_file", "ok", path="src/berth.py", text="quay")
    writer.user("Last.")
    for n in range(RETURN_TURNS + 8):
        look(writer, f"src/other_{n}.py", seed=n)
    session = session_of(writer, 1800)
    committed(session)
    first = next(i for i in session.engine.log.items.values() if i.targets == ("src/berth.py",) and i.kind is Kind.READ)
    assert not session.engine.snapshot().in_sight(first.id)
    session.append(writer.call("bash", "ok", command="cat -n src/berth.py | tail -3"))
    asked = SelfGc().bring_back(session.engine.snapshot())
    assert first.id in [w.item.id for w in asked]
    spent = sum(w.tokens for w in asked)
    snapshot = session.engine.snapshot()
    assert spent <= 0.2 * (snapshot.budget_tokens - snapshot.floor_tokens)


def test_its_index_is_a_section_with_sources() -> None:
    session = session_of(two_parts(), 2000, index_share=0.1)
    (section,) = [s for s in SelfGc(index_share=0.1).propose(session.engine.snapshot()) if isinstance(s, Section)]
    assert section.title == INDEX
    assert section.sources
    assert all(n in session.engine.log.items for n in section.sources)


def test_weights_learned_elsewhere_change_what_stays() -> None:
    def raw(weights: Weights) -> set[str]:
        writer = Writer("openai_chat")
        writer.user("Mend it.")
        for n in range(6):
            look(writer, f"src/{n}.py", words=60, seed=n)
            writer.call("grep", prose(60, 20 + n), pattern=f"berth_{n}")
        session = session_of(writer, 900, newest=0, raw_share=0.8, note_share=0.1, weights=weights)
        committed(session)
        items = session.engine.log.items.values()
        return {i.kind.value for i in items if session.level(i.id) is Level.RAW and i.turn < 11}

    assert "search" not in raw(Weights(learned={"search": 0.1}))
    assert "read" not in raw(Weights(learned={"read": 0.02, "search": 2.0}))
