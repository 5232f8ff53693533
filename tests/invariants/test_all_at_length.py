"""All that can be checked at once, on long walks: what the quick properties sample, in breadth."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway import Level
from foldaway.settings.parts import policy_names
from foldaway.testing.histories import FORMATS
from foldaway.testing.walks import MOVES, Move, Walk, dumped
from foldaway.wire import problems

MOVE_LISTS = st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 199)), min_size=5, max_size=40)


@pytest.mark.slow
@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=150, deadline=None)
@given(moves=MOVE_LISTS, format=st.sampled_from(FORMATS), budget=st.sampled_from((900, 1500, 3000, 6000)))
def test_long_walks_keep_every_invariant(policy: str, moves: list[Move], format: str, budget: int) -> None:
    walk = Walk(format=format, policy=policy, budget=budget, warm_steps=6)
    before: list[str] = []
    epoch = walk.epoch()
    for move, view in walk.play(moves):
        if view is None:
            continue
        now = dumped(view.messages)
        assert problems(format, view.messages) == [], move
        assert view.missing_tokens == max(0, view.tokens - budget), move
        assert walk.epoch() != epoch or now[: len(before)] == before, move
        assert all(walk.session.level(pin) is Level.RAW for pin in walk.pins), move
        with walk.open() as other:
            assert dumped(other.view().messages) == now, move
        before, epoch = now, walk.epoch()
