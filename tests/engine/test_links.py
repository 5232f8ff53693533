"""Links that a model inferred: kept in the ledger, counted from a threshold on, never a reason to let anything go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foldaway import RecallError, Session, SettingsError
from foldaway.testing.histories import Writer, prose


def opened(**fields: Any) -> Session:
    """A task, two reads and an edit that quotes neither."""
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("read_file", prose(40, 1), path="a.py")
    writer.call("read_file", prose(40, 2), path="b.py")
    writer.call("edit_file", "ok", path="c.py", text="x")
    session = Session(**{"budget": 100_000, "policy": "cwl", **fields})
    session.append(writer.messages)
    return session


def told(session: Session, item: int) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    found = session.explain(item)
    return [(t, w) for t, w, _, _ in found.needs], [(t, w) for t, w, _, _ in found.guesses]


def test_a_link_counts_from_the_threshold_on_and_is_told_below_it() -> None:
    session = opened()
    assert not session.infer_link(4, 2, 0.69, "perhaps")
    assert session.infer_link(4, 3, 0.7, "it says how")
    assert told(session, 4) == ([(3, 0.7)], [(2, 0.69)])
    assert session.explain(4).needs[0][2:] == ("inferred", "it says how")
    assert opened(infer_from=0.9).infer_link(4, 3, 0.8) is False


def test_it_is_there_after_a_restart_and_gone_on_a_branch_from_before(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 's.db'}"
    with opened(store=store) as session:
        session.infer_link(4, 3, 0.9, "it says how", made_by="small-model")
        session.infer_link(4, 2, 0.3)
    with Session(store=store, policy="cwl", budget=100_000) as session:
        assert told(session, 4) == ([(3, 0.9)], [(2, 0.3)])
        [one, _] = [e for e in session.ledger if e["type"] == "infer"]
        assert (one["item"], one["needs"], one["source"]) == (4, 3, "small-model")
        session.sync([*session.messages[:5], {"role": "assistant", "content": "Otherwise then."}])
        assert told(session, 4) == ([], [])


def test_the_same_again_or_less_is_no_record() -> None:
    session = opened()
    for confidence in (0.8, 0.8, 0.5, 0.9):
        session.infer_link(4, 3, confidence)
    assert [e["weight"] for e in session.ledger if e["type"] == "infer"] == [0.8, 0.9]
    assert told(session, 4) == ([(3, 0.9)], [])


def test_what_was_declared_has_the_better_word() -> None:
    session = opened()
    session.link(4, [3], weight=0.3)
    session.infer_link(4, 3, 0.9)
    assert [(w, by) for _, w, by, _ in session.explain(4).needs] == [(0.3, "declared")]


def test_nonsense_is_refused_and_changes_nothing() -> None:
    session = opened()
    for confidence in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="expected 0 to 1"):
            session.infer_link(4, 3, confidence)
    for source, target in ((3, 4), (3, 3), (2, 3)):
        with pytest.raises(ValueError, match="with it or after it"):
            session.infer_link(source, target, 0.9)
    with pytest.raises(RecallError, match="no item #99"):
        session.infer_link(99, 3, 0.9)
    with pytest.raises(SettingsError, match="infer_from"):
        Session(infer_from=1.5)
    assert not [e for e in session.ledger if e["type"] == "infer"]


def test_a_links_target_is_valued_anew() -> None:
    session = opened()
    item = session.items()[2]
    snapshot = session.engine.snapshot()
    assert snapshot.standing(item).uses == 0
    session.infer_link(4, 3, 0.5)
    assert session.engine.snapshot().standing(item).uses == 0
    session.infer_link(4, 3, 0.9)
    assert session.engine.snapshot().standing(item).uses == 1
