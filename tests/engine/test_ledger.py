from __future__ import annotations

from dataclasses import asdict

import pytest

from foldaway import Session
from foldaway.engine import ledger
from foldaway.engine.window import Shown
from foldaway.settings.parts import policy_names
from foldaway.testing.histories import working_session


@pytest.mark.parametrize("policy", policy_names())
def test_the_entries_alone_lead_to_the_same_levels_texts_and_note(policy: str) -> None:
    session = Session(budget=1500, policy=policy)
    history = working_session("openai_chat", 40)
    for at in range(0, len(history), 10):
        session.append(history[at : at + 10])
        if not session.engine.log.open:
            session.view()
    state = Shown()
    commits = [e for e in session.ledger if e["type"] == "commit"]
    assert len(commits) > 1
    for entry in commits:
        ledger.apply_commit(state, ledger.loads(ledger.dumps(entry)))
    shown = session.engine.shown
    assert state.levels == dict(shown.levels.items())
    assert state.lines == shown.lines
    assert state.mention == shown.mention
    assert {i: t for i, t in state.texts.items() if i in shown.texts} == shown.texts
    assert (state.note and asdict(state.note)) == (shown.note and asdict(shown.note))


def test_an_injected_message_keeps_the_order_of_its_keys() -> None:
    message = {"role": "user", "content": "x", "a": {"z": 1, "b": 2}}
    back = ledger.loads(ledger.dumps({"type": "inject", "messages": [message]}))["messages"][0]
    assert list(back) == list(message)
    assert list(back["a"]) == ["z", "b"]
