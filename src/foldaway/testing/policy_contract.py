"""What every policy must keep. Subclass it in a test module and say how to make one:

class TestMine(PolicyContract):
    make = Mine
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from foldaway.engine.planner import Policy, Proposal
from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Level
from foldaway.model.plan import Change
from foldaway.session import Session
from foldaway.testing.histories import FORMATS, SYSTEM, working_session
from foldaway.wire import problems

BUDGET = 1500


class Recording:
    """A policy that passes everything on and remembers what was proposed."""

    def __init__(self, inner: Policy) -> None:
        self.inner = inner
        self.proposed: list[Proposal] = []
        self.plans_whole = getattr(inner, "plans_whole", False)

    def propose(self, snapshot: Snapshot) -> Iterable[Proposal]:
        for change in self.inner.propose(snapshot):
            self.proposed.append(change)
            yield change


class PolicyContract:
    """Pure, deterministic, finite, with reasons; what it may not touch is refused; the ceiling holds with it."""

    make: Callable[[], Policy]

    def session(self, format: str = "openai_chat", *, steps: int = 20, budget: int = BUDGET) -> Session:
        """A working session that holds more than the budget, not yet viewed."""
        session = Session(format=format, budget=budget, policy=type(self).make(), system=SYSTEM)
        session.append(working_session(format, steps))
        return session

    def proposals(self, session: Session) -> list[Proposal]:
        return list(type(self).make().propose(session.engine.snapshot()))

    def test_the_same_snapshot_gives_the_same_proposals(self) -> None:
        for format_ in FORMATS:
            session = self.session(format_)
            assert self.proposals(session) == self.proposals(session)
            assert self.proposals(session) == self.proposals(self.session(format_))

    def test_proposing_changes_nothing(self) -> None:
        session = self.session()
        session.view()
        before = _state(session)
        self.proposals(session)
        session.preview()
        assert _state(session) == before

    def test_every_proposal_has_a_reason_and_a_known_item(self) -> None:
        session = self.session()
        known = {item.id for item in session.items()}
        changes = [c for c in self.proposals(session) if isinstance(c, Change)]
        assert changes
        assert all(c.reason.strip() for c in changes)
        assert {c.item for c in changes} <= known

    def test_nothing_protected_is_proposed_or_it_is_refused_with_a_reason(self) -> None:
        for format_ in FORMATS:
            session = self.session(format_)
            session.pin(5)
            snapshot = session.engine.snapshot()
            recording = Recording(type(self).make())
            session.engine.planner.policy = recording
            view = session.view()
            assert view.commit is not None
            forbidden = {
                c.item
                for c in recording.proposed
                if isinstance(c, Change) and (c.item in snapshot.protected or snapshot.item(c.item).pinned)
            }
            assert forbidden <= {r.item for r in view.commit.refused}
            assert all(r.code and r.why for r in view.commit.refused)
            assert session.level(5) is Level.RAW

    def test_it_only_lowers_what_it_was_not_asked_to_raise(self) -> None:
        session = self.session()
        session.view()
        session.append(working_session("openai_chat", 12)[1:])
        snapshot = session.engine.snapshot()
        changes = [c for c in self.proposals(session) if isinstance(c, Change)]
        visible = {i.id for i in snapshot.foldable}
        # A policy that decides anew at each commit says so.
        raises = getattr(type(self).make(), "raises", False)
        assert raises or all(c.level <= snapshot.level(c.item) for c in changes if c.item in visible)

    def test_the_planner_keeps_the_ceiling_with_it(self) -> None:
        for format_ in FORMATS:
            session = self.session(format_, steps=1)
            history = working_session(format_, 40)
            for at in range(len(session.engine.log.raws), len(history), 9):
                session.append(history[at : at + 9])
                if session.engine.log.open:
                    continue
                view = session.view()
                assert view.tokens <= BUDGET or view.missing_tokens
                assert problems(format_, view.messages) == []

    def test_a_commit_explains_each_change(self) -> None:
        session = self.session()
        commit = session.view().commit
        assert commit is not None
        assert commit.changes
        assert all(c.reason and c.before is not c.after for c in commit.changes)
        assert all(session.explain(c.item).reason == c.reason for c in commit.changes)

    def test_a_history_of_the_users_words_alone_is_no_trouble(self) -> None:
        session = Session(budget=BUDGET, policy=type(self).make())
        session.append([{"role": "user", "content": "Only a question."}])
        assert not [c for c in self.proposals(session) if isinstance(c, Change)]
        assert len(session.view().messages) == 1


def _state(session: Session) -> tuple[Any, ...]:
    shown = session.engine.shown
    note = None if shown.note is None else asdict(shown.note)
    index = session.engine.log.anchors
    seen = [(a.literal, a.seen, a.used, a.last_seen_step, a.last_used_step, tuple(a.items)) for a in index.active()]
    return (
        dict(shown.levels), dict(shown.texts), dict(shown.lines), shown.mention, note, list(shown.turns),
        session.ledger, seen, session.engine.log.graph.links(), dict(session.engine.guards),
    )  # fmt: skip
