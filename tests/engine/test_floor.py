from __future__ import annotations

from typing import Any

import pytest

from foldaway import Session
from foldaway.engine.floor import Floor
from foldaway.testing.histories import FORMATS, SYSTEM, working_session


def fresh(session: Session) -> int:
    return Floor(session.engine.log).tokens(session.engine.shown, frozenset(session.engine.pins))


@pytest.mark.parametrize("format", FORMATS)
def test_the_floor_added_up_step_by_step_is_the_floor_counted_at_once(format: str) -> None:
    session = Session(format=format, budget=1500, policy="auto", system=SYSTEM)
    history = working_session(format, 40)
    for at, message in enumerate(history):
        session.append([message])
        if at % 3 == 0:
            session.view()
        if at == 30:
            session.pin(session.items()[4].id)
        engine = session.engine
        kept = engine.planner.watermarks(engine.shown, 0, engine.budget, frozenset(engine.pins))[0]
        assert kept == fresh(session)


def test_asking_again_looks_only_at_turns_that_are_new(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(budget=100_000, policy="window")
    looked: list[int] = []
    whole = Floor._of_turn

    def counting(self: Floor, shown: Any, turn: int, pins: frozenset[int]) -> int:
        looked.append(turn)
        return whole(self, shown, turn, pins)

    monkeypatch.setattr(Floor, "_of_turn", counting)
    history = working_session("openai_chat", 120)
    for at in range(0, len(history), 10):
        looked.clear()
        session.append(history[at : at + 10])
        session.view()
        assert len(set(looked)) <= 12
