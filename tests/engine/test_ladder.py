"""S4.8: when time runs short or a policy fails, something simpler decides, the call goes out, the ledger tells why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from foldaway import MemoryStore, Session, SettingsError, StoreError
from foldaway.engine.planner import Proposal
from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Level
from foldaway.model.plan import Change
from foldaway.testing.histories import FORMATS, working_session
from foldaway.testing.walks import dumped
from foldaway.wire import problems

BUDGET = 1500


class Clock:
    """A timer that moves only when told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Slow:
    """Takes a second for each proposal."""

    def __init__(self, clock: Clock, seconds: float = 1.0) -> None:
        self.clock, self.seconds = clock, seconds

    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        for item in snapshot.foldable:
            self.clock.seconds += self.seconds
            yield Change(item=item.id, level=Level.STUB, reason="slow and sure")


class SlowWithDigests:
    """Quick, but for digests."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        for item in snapshot.foldable:
            if snapshot.digest_tokens(item) is not None:
                self.clock.seconds += 1
            yield Change(item=item.id, level=Level.STUB, reason="oldest by stub")


class NeverEnds:
    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        while True:
            yield Change(item=snapshot.foldable[0].id, level=Level.STUB, reason="again")


class AsksForever:
    """Yields nothing, asks and asks."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        while self.clock.seconds < 1000:
            self.clock.seconds += 1
            snapshot.text(snapshot.foldable[0])
        yield Change(item=snapshot.foldable[0].id, level=Level.STUB, reason="nobody stopped it")


class Raises:
    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        yield Change(item=snapshot.foldable[0].id, level=Level.STUB, reason="first")
        raise RuntimeError("the policy is broken")


class AllBroken(MemoryStore):
    """A store that is down."""

    def append(self, session: str, branch: int, position: int, records: Sequence[str]) -> bool:
        raise StoreError("the store is down")

    def write_ledger(self, session: str, branch: int, entries: Sequence[str]) -> None:
        raise StoreError("the store is down")


def session_with(policy: Any, clock: Clock, *, limit: float | None = 10.0, words: int = 60, **settings: Any) -> Session:
    session = Session(budget=BUDGET, policy=policy, time_limit_seconds=limit, timer=clock, **settings)
    session.append(working_session(settings.get("format", "openai_chat"), 20, words=words))
    return session


def test_a_policy_in_time_is_left_alone() -> None:
    clock = Clock()
    commit = session_with(Slow(clock, 0.01), clock).view().commit
    assert commit is not None
    assert (commit.policy, commit.trigger, commit.remark) == ("Slow", "high-watermark", "")


@pytest.mark.parametrize("format", FORMATS)
def test_a_slow_policy_gives_way_to_the_plain_window(format: str) -> None:
    clock = Clock()
    session = session_with(Slow(clock), clock, format=format)
    view = session.view()
    assert view.commit is not None
    assert view.commit.policy == "plain-window"
    assert view.commit.trigger == "high-watermark, fell to plain-window"
    assert "full policy (Slow) fell: out of time" in view.commit.remark
    assert {c.reason for c in view.commit.changes} == {"plain recent window: oldest first"}
    assert view.tokens <= BUDGET
    assert problems(format, view.messages) == []
    assert any("out of time" in warning for warning in session.warnings)


def test_a_policy_slow_by_its_digests_goes_on_without_them() -> None:
    clock = Clock()
    session = session_with(SlowWithDigests(clock), clock, words=900)
    session.set_budget(budget=9000)
    commit = session.view().commit
    assert commit is not None
    assert commit.policy == "SlowWithDigests without digests"
    assert {c.reason for c in commit.changes} == {"oldest by stub"}


def test_with_no_time_left_at_all_the_oldest_go_and_the_call_goes_out() -> None:
    clock = Clock()

    def ticking() -> float:
        clock.seconds += 100
        return clock.seconds

    session = Session(budget=BUDGET, policy=Slow(clock), time_limit_seconds=10.0, timer=ticking)
    session.append(working_session("openai_chat", 20))
    view = session.view()
    assert view.commit is not None
    assert view.commit.policy == "last-resort"
    assert view.commit.remark.count("fell: out of time") == 3
    assert view.tokens <= BUDGET


def test_a_policy_that_never_ends_is_stopped_without_any_clock() -> None:
    clock = Clock()
    commit = session_with(NeverEnds(), clock, limit=None).view().commit
    assert commit is not None
    assert commit.policy == "plain-window"
    assert "still proposing after" in commit.remark


def test_a_policy_that_only_asks_is_stopped_at_its_questions() -> None:
    clock = Clock()
    commit = session_with(AsksForever(clock), clock).view().commit
    assert commit is not None
    assert commit.policy == "plain-window"
    assert clock.seconds < 1000


def test_a_policy_that_raises_is_told_of_in_commit_and_warnings() -> None:
    session = session_with(Raises(), Clock(), limit=None)
    commit = session.view().commit
    assert commit is not None
    assert commit.policy == "plain-window"
    assert "RuntimeError: the policy is broken" in commit.remark
    assert any("the policy is broken" in warning for warning in session.warnings)


def test_a_commit_that_nobody_needs_is_put_off_instead_of_made_worse() -> None:
    clock = Clock()
    session = session_with(Slow(clock), clock, low_share=0.3, high_share=0.5)
    session.set_budget(budget=4000)
    view = session.view()
    assert view.commit is None
    assert view.tokens <= 4000
    fall = session.ledger[-1]
    assert (fall["type"], fall["rung"]) == ("fall", "put off")
    session.view()
    assert [entry["type"] for entry in session.ledger].count("fall") == 1


@pytest.mark.parametrize("policy", [Slow, Raises, NeverEnds])
def test_a_restart_shows_the_same_bytes_whatever_the_time_was(policy: type) -> None:
    clock, store = Clock(), MemoryStore()
    made = Slow(clock) if policy is Slow else policy()
    first = session_with(made, clock, store=store)
    before = dumped(first.view().messages)
    again = Session(budget=BUDGET, policy=made, store=store, time_limit_seconds=10_000.0, timer=clock)
    assert dumped(again.view().messages) == before
    assert json.dumps(again.ledger) == json.dumps(first.ledger)


def test_a_store_that_is_down_and_a_policy_that_is_slow_still_let_the_call_out() -> None:
    clock = Clock()
    session = session_with(Slow(clock), clock, store=AllBroken())
    view = session.view()
    assert view.tokens <= BUDGET
    assert problems("openai_chat", view.messages) == []
    assert any("the store is down" in warning for warning in session.warnings)
    assert any("out of time" in warning for warning in session.warnings)


def test_looking_at_a_session_later_is_not_timed() -> None:
    clock = Clock()
    session = session_with("ace", clock)
    session.view()
    clock.seconds += 1_000_000
    assert session.perceive().tokens == session.view().tokens


def test_between_falls_the_view_only_grows_at_its_tail() -> None:
    clock = Clock()
    session = session_with(Slow(clock), clock)
    before = dumped(session.view().messages)
    session.append([{"role": "user", "content": "And now?"}])
    assert dumped(session.view().messages)[: len(before)] == before


@pytest.mark.parametrize("limit", [0, -1.0])
def test_a_time_limit_must_be_above_zero(limit: float) -> None:
    with pytest.raises(SettingsError, match="time_limit_seconds"):
        Session(budget=BUDGET, time_limit_seconds=limit)


def test_a_policy_asked_before_the_call_may_not_take_for_ever_either() -> None:
    class Dawdles:
        def __init__(self, clock: Clock) -> None:
            self.clock = clock

        def due(self, snapshot: Snapshot) -> bool:
            while True:
                self.clock.seconds += 1
                snapshot.text(next(iter(snapshot.foldable)))

        def propose(self, snapshot: Snapshot) -> Iterator[Proposal]:
            return iter(())

    clock = Clock()
    session = session_with(Dawdles(clock), clock)
    session.set_budget(budget=100_000)
    assert session.view().commit is None
    assert any("Dawdles.due failed" in warning for warning in session.warnings)
