"""I9: when anything inside fails, the call goes out with a view that is valid, and the failure is visible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest

from foldaway import MemoryStore, Session, StoreError, WireError
from foldaway.engine.snapshot import Snapshot
from foldaway.linking.anchors import AnchorKind
from foldaway.model.items import Level
from foldaway.model.plan import Change
from foldaway.testing.histories import FORMATS, working_session
from foldaway.wire import problems


class FailsAtOnce:
    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        raise RuntimeError("the policy is broken")


class FailsHalfWay:
    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        yield Change(item=snapshot.foldable[0].id, level=Level.STUB, reason="first")
        raise RuntimeError("the policy is broken")


class TalksNonsense:
    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        yield Change(item=10_000, level=Level.HIDDEN, reason="no such item")
        yield Change(item=-1, level=Level.STUB, reason="no such item")
        for item in sorted(snapshot.protected):
            yield Change(item=item, level=Level.HIDDEN, reason="may not")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("broken", [FailsAtOnce, FailsHalfWay])
def test_a_broken_policy_does_not_stop_the_call(format: str, broken: type[FailsAtOnce]) -> None:
    session = Session(format=format, budget=1500, policy=broken())
    session.append(working_session(format, 20))
    view = session.view()
    assert view.tokens <= 1500
    assert problems(format, view.messages) == []
    assert any("the policy is broken" in warning for warning in (*view.warnings, *session.warnings))


@pytest.mark.parametrize("format", FORMATS)
def test_a_policy_that_wants_what_it_may_not_is_refused_with_reasons(format: str) -> None:
    session = Session(format=format, budget=1500, policy=TalksNonsense())
    session.append(working_session(format, 20))
    view = session.view()
    assert view.tokens <= 1500
    assert view.commit is not None
    assert {r.code for r in view.commit.refused} >= {"unknown-item", "protected"}
    assert all(refusal.why for refusal in view.commit.refused)


def test_a_ledger_that_cannot_be_written_does_not_stop_the_call() -> None:
    class FullDisk(MemoryStore):
        def write_ledger(self, session: str, branch: int, entries: Sequence[str]) -> None:
            raise StoreError("the disk is full")

    session = Session(budget=1500, policy="window", store=FullDisk())
    session.append(working_session("openai_chat", 20))
    view = session.view()
    assert view.tokens <= 1500
    assert any("the disk is full" in warning for warning in (*view.warnings, *session.warnings))


def test_a_broken_anchor_finder_does_not_stop_the_call() -> None:
    def broken(text: str) -> Mapping[str, AnchorKind]:
        raise RuntimeError("the finder is broken")

    session = Session(budget=1500, policy="window", find_anchors=broken)
    session.append(working_session("openai_chat", 20))
    assert session.view().tokens <= 1500
    assert any("the finder is broken" in warning for warning in session.warnings)


def test_a_message_that_cannot_be_read_leaves_the_session_as_it_was() -> None:
    store = MemoryStore()
    session = Session(budget=1500, store=store)
    session.append([{"role": "user", "content": "one"}])
    with pytest.raises(WireError):
        session.append([{"role": "user", "content": 5}])
    session.append([{"role": "user", "content": "two"}])
    assert [m["content"] for m in Session(budget=1500, store=store).view().messages] == ["one", "two"]
