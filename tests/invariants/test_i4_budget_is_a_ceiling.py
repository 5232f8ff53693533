"""I4: nothing above the budget goes out unless it says what is missing, nothing above the window at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway import Kind, Level, OverBudget, fit
from foldaway.settings.parts import policy_names
from foldaway.testing.histories import FORMATS, prose
from foldaway.testing.walks import MOVES, Move, Walk
from foldaway.tokens import RequestCounter, get_counter

MOVE_LISTS = st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 59)), min_size=1, max_size=8)
BUDGETS = st.sampled_from((900, 1500, 3000))


@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=6, deadline=None)
@given(moves=MOVE_LISTS, format=st.sampled_from(FORMATS), budget=BUDGETS)
def test_a_view_fits_by_a_count_of_its_own_or_says_what_is_missing(
    policy: str, moves: list[Move], format: str, budget: int
) -> None:
    counter = RequestCounter(get_counter("", format), format)
    walk = Walk(format=format, policy=policy, budget=budget, warm_steps=8)
    for move, view in walk.play(moves):
        if view is None:
            continue
        tokens = counter.system(view.system) + counter.tools(view.tools) + sum(map(counter.message, view.messages))
        assert view.tokens == tokens, move
        assert view.missing_tokens == max(0, tokens - budget), move


@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=6, deadline=None)
@given(moves=MOVE_LISTS, format=st.sampled_from(FORMATS), budget=BUDGETS)
def test_tokens_are_missing_only_when_nothing_is_left_to_fold(
    policy: str, moves: list[Move], format: str, budget: int
) -> None:
    walk = Walk(format=format, policy=policy, budget=budget, warm_steps=8)
    for move, view in walk.play(moves):
        if view is None or not view.missing_tokens:
            continue
        assert view.largest, move
        assert view.warnings, move
        session = walk.session
        newest = max(item.turn for item in session.items() if item.kind in (Kind.THOUGHT, *SPANS))
        kept = {i.turn for i in session.items() if i.pinned or i.id in session.engine.pins or i.turn >= newest}
        left = [i for i in session.items() if i.turn not in kept and session.level(i.id) > Level.STUB]
        assert not left, (move, left[:3])


SPANS = frozenset(Kind) - {Kind.USER, Kind.GOAL, Kind.PASTE, Kind.ATTACHMENT, Kind.INSTRUCTION, Kind.THOUGHT}


@pytest.mark.parametrize("policy", policy_names())
@pytest.mark.parametrize("format", FORMATS)
def test_a_giant_last_result_is_stored_whole_and_shown_by_head_and_tail(policy: str, format: str) -> None:
    walk = Walk(format=format, policy=policy, budget=1500, warm_steps=4)
    giant = "\n".join(f"line {n}" for n in range(20_000))
    walk.add(walk.writer.call("bash", giant, command="cat big.log"))
    view = walk.session.view()
    item = walk.session.items()[-1].id
    shown = str(view.messages[-1])
    assert view.tokens <= 1500
    assert "line 0" in shown
    assert "line 19999" in shown
    assert f"#{item}" in shown
    assert walk.session.recall(f"#{item}").text == giant


@pytest.mark.parametrize("policy", policy_names())
def test_a_pinned_minimum_over_the_budget_goes_out_flagged_and_over_the_window_does_not(policy: str) -> None:
    words = [{"role": "user", "content": prose(900)}]
    chosen = {"budget": 600, "policy": policy, "strict": True}
    view = fit(words, window=4000, **chosen)  # type: ignore[arg-type]
    assert view.messages == words
    assert view.missing_tokens == view.tokens - 600 > 0
    assert view.largest[0][0].startswith("goal #1")
    with pytest.raises(OverBudget) as error:
        fit(words, window=700, **chosen)  # type: ignore[arg-type]
    assert error.value.missing_tokens > 0
    assert error.value.largest
