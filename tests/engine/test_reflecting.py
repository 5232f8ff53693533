"""A pass over the archive distils, merges and links; it decides nothing and takes nothing away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foldaway import Level, Session
from foldaway.engine.reflecting import TITLE, Reflection
from foldaway.model.items import Kind
from foldaway.testing.histories import FORMATS, Writer, prose, working_session

TABLE = "\n".join(f"berth {n}: crane limit {n * 7}" for n in range(40))


def archived(format: str = "openai_chat", **fields: Any) -> Session:
    """Three tasks one after the other; what is old is folded."""
    writer = Writer(format)
    for task in range(3):
        writer.user(f"Task {task}: see to quay {task}.")
        # All but one line is the same each time.
        writer.call("read_file", f"state of {task}\n{TABLE}", path=f"quay_{task}.md")
        writer.call("bash", f"E40{task}1 in quay_code_{task}\n{prose(50, task)}", command=f"check {task}")
        writer.call("fetch", f"case quay_code_{task} of E40{task}1\n{prose(50, task + 9)}", url=f"u{task}")
        writer.call("edit_file", "ok", path=f"quay_{task}.py", text=prose(30, task))
        writer.say(f"Quay {task} is done.")
    writer.user("Now quay 9.")
    writer.call("bash", prose(300, 4), command="make")
    writer.say("It runs.")
    session = Session(**{"format": format, "budget": 1_200, "policy": "window", **fields})
    session.append(writer.messages)
    session.view()
    return session


def by_title(session: Session, title: str) -> int:
    return next(i.id for i in session.items() if title in i.title)


@pytest.mark.parametrize("format", FORMATS)
def test_results_that_are_nearly_the_same_point_to_the_newest_and_stay_in_the_log(format: str) -> None:
    session = archived(format)
    first, second, third = (by_title(session, f"quay_{n}.md") for n in range(3))
    assert session.level(first) <= Level.STUB
    texts = [session.recall(str(i)).text for i in (first, second)]
    found = session.reflect()
    assert found.merged == ((first, second), (second, third))
    log = session.engine.log
    assert (log.superseded_by(first), log.superseded_by(second), log.superseded_by(third)) == (third, third, 0)
    assert [session.recall(str(i)).text for i in (first, second)] == texts
    assert first not in log.obsolete.of


def test_nearly_the_same_output_of_a_command_is_another_result() -> None:
    writer = Writer("openai_chat")
    writer.user("Test it.")
    for n in range(3):
        writer.call("bash", f"{TABLE}\n{n} failed", command=f"pytest -x {n}")
    writer.user("Thanks.")
    writer.call("bash", prose(300, 4), command="make")
    session = Session(budget=900, policy="window")
    session.append(writer.messages)
    session.view()
    assert session.level(2) <= Level.STUB
    assert session.reflect().merged == ()


def test_finished_work_out_of_sight_is_told_in_a_line_with_its_ids() -> None:
    assert len(archived().reflect(room_tokens=400).distilled) == 2
    session = archived()
    found = session.reflect(room_tokens=130)
    [newest] = found.distilled
    assert newest.text.startswith("Task 1: see to quay 1.")
    assert "1 edit" in newest.text
    ids = {i.id: i for i in session.items()}
    assert all(session.level(i) <= Level.STUB and not ids[i].pinned for one in found.distilled for i in one.items)
    session.compact()
    text = str(session.view().messages)
    assert TITLE in text
    assert newest.text in text
    assert set(found.section.sources) <= ids.keys()


def test_no_room_no_lines() -> None:
    session = archived()
    assert session.reflect(room_tokens=0).distilled == ()
    assert not [e for e in session.ledger if e["type"] == "section"]
    assert len(archived().reflect(room_tokens=130).distilled) == 1


def test_what_shares_two_rare_values_is_linked_with_the_reason() -> None:
    session = archived()
    found = session.reflect()
    pairs = {(k.source, k.target): k for k in found.links}
    for task in range(3):
        link = pairs[by_title(session, f"u{task}"), by_title(session, f"check {task}")]
        assert link.provenance.value == "inferred"
        assert link.weight == 0.75
        assert f"quay_code_{task}" in link.why
    needs = session.explain(by_title(session, "u1")).needs
    assert (by_title(session, "check 1"), 0.75, "inferred") in [n[:3] for n in needs]
    assert all(k.target < k.source for k in found.links)


def test_a_second_look_finds_nothing_more_and_writes_nothing() -> None:
    session = archived()
    session.reflect()
    before = session.ledger
    again = session.reflect()
    assert (again.merged, again.links) == ((), ())
    assert session.ledger == before


def test_it_is_all_there_after_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 's.db'}"
    with archived(store=store) as session:
        session.reflect()
        log = session.engine.log
        links, merged = log.graph.links(), dict(log.merged)
        session.compact()
        messages = session.view().messages
    with Session(store=store, budget=1_200, policy="window") as session:
        log = session.engine.log
        assert (log.graph.links(), log.merged) == (links, merged)
        assert session.view().messages == messages
        assert session.reflect().merged == ()


def test_the_view_changes_at_the_next_commit_and_not_before() -> None:
    session, twin = archived(), archived()
    session.reflect()
    assert session.view().messages == twin.view().messages


def test_a_merged_result_that_comes_again_later_points_to_what_the_log_says() -> None:
    session = archived()
    first, third = by_title(session, "quay_0.md"), by_title(session, "quay_2.md")
    session.reflect()
    writer = Writer("openai_chat")
    writer._calls = 90
    session.append(writer.call("read_file", f"state of 0\n{TABLE}", path="quay_0.md"))
    newest = max(i.id for i in session.items())
    assert session.engine.log.superseded_by(first) == newest
    assert session.engine.log.superseded_by(third) == 0


@pytest.mark.parametrize("format", FORMATS)
def test_with_nothing_folded_there_is_nothing_to_find(format: str) -> None:
    session = Session(format=format, budget=1_000_000)
    assert session.reflect() == Reflection()
    session.append(working_session(format, 30))
    session.view()
    assert session.reflect() == Reflection()
    assert session.ledger == []


def test_pins_and_the_users_words_are_no_part_of_it() -> None:
    session = archived()
    session.pin(by_title(session, "quay_0.md"))
    found = session.reflect()
    told = {i for one in found.distilled for i in one.items} | {i for pair in found.merged for i in pair[:1]}
    assert by_title(session, "quay_0.md") not in told
    assert not any(session.engine.log.items[i].kind in (Kind.USER, Kind.GOAL) for i in told)
