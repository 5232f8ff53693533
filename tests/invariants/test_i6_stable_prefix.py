"""I6: between commits each view extends the one before byte for byte, recalls included."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.settings.parts import policy_names
from foldaway.testing.histories import FORMATS
from foldaway.testing.walks import MOVES, Move, Walk, dumped

MOVE_LISTS = st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 59)), min_size=1, max_size=8)
BUDGETS = st.sampled_from((900, 1500, 3000))


@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=6, deadline=None)
@given(moves=MOVE_LISTS, format=st.sampled_from(FORMATS), budget=BUDGETS)
def test_between_decisions_views_only_grow_at_the_tail(
    policy: str, moves: list[Move], format: str, budget: int
) -> None:
    walk = Walk(format=format, policy=policy, budget=budget, warm_steps=6)
    before, epoch = dumped(walk.session.view().messages), walk.epoch()
    for move, view in walk.play(moves):
        if view is None:
            continue
        now = dumped(view.messages)
        if walk.epoch() == epoch:
            assert now[: len(before)] == before, move
        before, epoch = now, walk.epoch()


@pytest.mark.parametrize("format", FORMATS)
def test_an_injected_recall_joins_the_tail_and_stays_there(format: str) -> None:
    walk = Walk(format=format, policy="window", budget=4000, warm_steps=4)
    before = dumped(walk.session.view().messages)
    walk.add(walk.writer.say("Show it again. [RETRIEVE: #3]"))
    for n in range(3):
        view = walk.session.view()
        now = dumped(view.messages)
        assert view.commit is None
        assert now[: len(before)] == before
        assert sum("foldaway recall #3" in message for message in now) == 1
        before = now
        walk.add(walk.writer.user(f"and {n}?"))


@pytest.mark.parametrize("policy", policy_names())
def test_looking_at_a_session_breaks_nothing(policy: str) -> None:
    walk = Walk(format="openai_chat", policy=policy, budget=1500, warm_steps=12)
    before = dumped(walk.session.view().messages)
    walk.session.preview()
    walk.session.explain(3)
    walk.session.search("load_part_1")
    walk.session.engine.snapshot()
    assert dumped(walk.session.view().messages) == before
