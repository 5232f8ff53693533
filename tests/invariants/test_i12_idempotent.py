"""I12: fitting the same history twice changes nothing; two processes with one history make one log."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway import MemoryStore, Session, fit
from foldaway.settings.parts import policy_names
from foldaway.testing.histories import FORMATS, working_session
from foldaway.testing.walks import GROWING, Move, Walk, dumped

MOVE_LISTS = st.lists(
    st.tuples(st.sampled_from((*GROWING, "recall", "pin", "undo", "restart")), st.integers(0, 59)),
    min_size=1,
    max_size=8,
)
BUDGETS = st.sampled_from((900, 1500, 3000))


@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=6, deadline=None)
@given(moves=MOVE_LISTS, format=st.sampled_from(FORMATS), budget=BUDGETS)
def test_syncing_the_same_history_again_changes_neither_view_nor_ledger(
    policy: str, moves: list[Move], format: str, budget: int
) -> None:
    walk = Walk(format=format, policy=policy, budget=budget, warm_steps=8)
    for _, view in walk.play(moves):
        if view is None:
            continue
        ledger = walk.session.ledger
        assert walk.session.sync(walk.writer.messages) == 0
        assert dumped(walk.session.view().messages) == dumped(view.messages)
        assert walk.session.ledger == ledger


@pytest.mark.parametrize("policy", policy_names())
@pytest.mark.parametrize("format", FORMATS)
def test_fit_is_a_function(policy: str, format: str) -> None:
    history = working_session(format, 20)
    one, two = (fit(history, budget=1500, policy=policy, format=format) for _ in range(2))
    assert dumped(one.messages) == dumped(two.messages)
    assert history == working_session(format, 20)


@pytest.mark.parametrize("format", FORMATS)
def test_what_already_fits_goes_out_as_it_came(format: str) -> None:
    history = working_session(format, 4)
    assert dumped(fit(history, budget=50_000, policy="window", format=format).messages) == dumped(history)


def test_two_processes_that_send_the_same_history_make_one_log() -> None:
    store = MemoryStore()
    one, two = (Session(budget=1500, policy="window", store=store) for _ in range(2))
    history = working_session("openai_chat", 6)
    one.sync(history)
    two.sync(history)
    two.sync([*history, {"role": "user", "content": "go on"}])
    third = Session(budget=1500, policy="window", store=store)
    assert [m for m in third.engine.log.raws if m["role"] == "user"][-1]["content"] == "go on"
    assert len(third.engine.log.raws) == len(history) + 1
