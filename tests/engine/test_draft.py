from __future__ import annotations

import pytest

from foldaway import Level, Session
from foldaway.engine.draft import Draft
from foldaway.engine.window import cost_of, render_turn
from foldaway.testing.histories import FORMATS, working_session


@pytest.fixture(params=FORMATS)
def session(request: pytest.FixtureRequest) -> Session:
    made = Session(format=request.param, budget=100_000, policy="window")
    made.append(working_session(request.param, 12))
    made.view()
    return made


def exact(draft: Draft) -> int:
    turns = (render_turn(draft.log, draft.shown, t, draft.stubs) for t in draft.shown.turns)
    return draft.fixed_tokens + sum(cost_of(messages, draft.log) for messages in turns)


def foldable(session: Session) -> list[int]:
    return [item.id for item in session.engine.snapshot().foldable]


@pytest.mark.parametrize("level", [Level.HIDDEN, Level.STUB, Level.ABSTRACT, Level.MASKED])
def test_what_finish_says_is_what_the_view_costs(session: Session, level: Level) -> None:
    draft = session.engine._draft()
    for item in foldable(session)[:9]:
        draft.set(draft.log.items[item], level, "test")
    assert draft.finish() == exact(draft)


def test_the_running_price_is_never_far_below_the_truth(session: Session) -> None:
    draft = session.engine._draft()
    for item in foldable(session)[:12]:
        draft.set(draft.log.items[item], Level.STUB, "test")
        estimate = draft.tokens()
    assert draft.finish() <= estimate + 100


def test_raising_again_gives_the_view_from_before(session: Session) -> None:
    before = session.engine.tokens()
    draft = session.engine._draft()
    chosen = foldable(session)[:6]
    for level in (Level.HIDDEN, Level.RAW):
        for item in chosen:
            draft.set(draft.log.items[item], level, "test")
    assert draft.finish() == before
    assert draft.shown.note is None
    assert not draft.shown.lines


def test_finishing_twice_changes_nothing_more(session: Session) -> None:
    draft = session.engine._draft()
    for item in foldable(session)[:9]:
        draft.set(draft.log.items[item], Level.STUB, "test")
    first = draft.finish()
    note = draft.shown.note
    assert draft.finish() == first
    assert draft.shown.note == note


def test_demoting_lines_takes_the_oldest_first_down_to_the_limit(session: Session) -> None:
    draft = session.engine._draft()
    for item in foldable(session)[:10]:
        draft.set(draft.log.items[item], Level.STUB, "test")
    lines = sorted(draft.shown.lines)
    draft.demote_lines(draft.lines_cost // 2, "room")
    left = sorted(draft.shown.lines)
    assert 0 < len(left) < len(lines)
    assert left == lines[-len(left) :]


def test_a_draft_leaves_the_session_alone(session: Session) -> None:
    before = session.view().messages
    draft = session.engine._draft()
    for item in foldable(session):
        draft.set(draft.log.items[item], Level.HIDDEN, "test")
    draft.finish()
    assert session.view().messages == before
