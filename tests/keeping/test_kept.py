"""What other processes decide about a session is seen with the next view."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldaway import Level, Session, SqliteStore
from foldaway.errors import StoreError
from foldaway.testing.histories import Writer, prose


def history() -> Writer:
    told = Writer("openai_chat")
    told.user("Look through the harbour pages.")
    for number in range(12):
        told.call("fetch", f"page {number}\n{prose(1_500)}", page=f"p{number}")
    told.say("Read.")
    told.user("Go on.")
    return told


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Session]:
    def make(**settings: Any) -> Session:
        store = SqliteStore(tmp_path / "a.db")
        return Session(**{"budget": 3_000, "store": store, "user": "ann", "name": "one", **settings})

    return make


def test_a_pin_of_another_process_is_seen_with_the_next_view(opened: Callable[..., Session]) -> None:
    told = history()
    here = opened()
    here.sync(told.messages)
    here.view()
    there = opened()
    folded = next(i.id for i in there.items() if there.level(i.id) < Level.RAW)
    there.pin(folded)
    view = here.view()
    assert here.level(folded) is Level.RAW
    assert [e["item"] for e in here.ledger if e["type"] == "pin"] == [folded]
    assert view.messages == there.view().messages
    # Whoever opens it from the store sees the same bytes, and nothing is told twice.
    assert opened().view().messages == here.view().messages
    assert [e["item"] for e in opened().ledger if e["type"] == "pin"] == [folded]
    there.unpin(folded)
    here.sync([*told.messages, {"role": "assistant", "content": "ok"}])
    here.view()
    assert folded not in here.engine.pins


def test_links_digests_and_recalls_of_another_process_are_taken_over(opened: Callable[..., Session]) -> None:
    told = history()
    here, there = opened(), None
    here.sync(told.messages)
    here.view()
    there = opened()
    there.link(12, [2])
    there.recall("#2")
    there.infer_link(11, 3, 0.9)
    there.set_section("Plan", "Read all pages.")
    there.declare("fetch", reads=["page"])  # builds anew: what was sent stays known
    before = here.view().messages
    assert {k.target for k in here.engine.log.graph.needs(12)} >= {2}
    assert here.sync(before) == 0
    assert here.branch == 0
    here.compact()
    assert "Read all pages." in str(here.view().messages)
    assert opened().view().messages == here.view().messages


def test_two_that_decide_at_once_come_to_one_ledger(opened: Callable[..., Session]) -> None:
    told = history()
    here, there = opened(), opened()
    here.sync(told.messages)
    here.view()
    there.sync(told.messages)
    for number in range(2, 8):
        # Neither has seen the other's newest when it writes.
        here.pin(number)
        there.pin(number + 4)
        here.view()
    there.view()
    assert here.engine.pins == there.engine.pins == set(range(2, 12))
    stored = [e for e in opened().ledger if e["type"] == "pin"]
    assert len(stored) == 12
    assert [e for e in here.ledger if e["type"] == "pin"] == stored


def test_nothing_new_costs_one_look_and_a_store_that_fails_stops_no_view(
    opened: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = opened()
    here.sync(history().messages)
    here.view()
    seen: list[int] = []
    store = here._kept.store
    assert store is not None
    real = store.read_ledger

    def counted(session: str, branch: int, start: int = 0) -> list[str]:
        seen.append(start)
        return real(session, branch, start)

    monkeypatch.setattr(store, "read_ledger", counted)
    before = here.view().messages
    assert len(seen) == 1

    def failing(*_: Any) -> list[str]:
        raise StoreError("the disk is gone")

    monkeypatch.setattr(store, "read_ledger", failing)
    assert here.view().messages == before
    assert any("the disk is gone" in text for text in here.warnings)


def test_a_branch_of_ones_own_is_nobody_elses_decision(opened: Callable[..., Session]) -> None:
    told = history()
    here = opened()
    here.sync(told.messages)
    here.view()
    edited = [*told.messages[:9], {"role": "user", "content": "No: the other pages."}]
    here.sync(edited)
    assert here.branch == 1
    here.view()
    here.pin(3)
    assert here._kept.decided_elsewhere() == []
    there = opened()
    there.pin(5)
    here.view()
    assert here.engine.pins == {3, 5}
    assert [e["item"] for e in here.ledger if e["type"] == "pin"] == [3, 5]
    # One that stays on the old branch hears nothing of it.
    old = opened(branch=0)
    there.pin(4)
    old.view()
    assert 4 not in old.engine.pins
