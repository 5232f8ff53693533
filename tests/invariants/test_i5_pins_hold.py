"""I5: user words, system prompt, pins and the last turn stay as they are, whatever a policy says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway import Level
from foldaway.settings.parts import policy_names
from foldaway.testing.histories import FORMATS, SYSTEM, prose
from foldaway.testing.walks import MOVES, Move, Walk, dumped

MOVE_LISTS = st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 59)), min_size=1, max_size=8)
BUDGETS = st.sampled_from((900, 1500, 3000))


@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=6, deadline=None)
@given(moves=MOVE_LISTS, format=st.sampled_from(FORMATS), budget=BUDGETS)
def test_what_was_pinned_is_shown_raw_after_every_move(
    policy: str, moves: list[Move], format: str, budget: int
) -> None:
    walk = Walk(format=format, policy=policy, budget=budget, warm_steps=8)
    walk.session.pin(3)
    walk.pins.add(3)
    for move, _ in walk.play(moves):
        for pin in walk.pins:
            assert walk.session.level(pin) is Level.RAW, (pin, move)


@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=6, deadline=None)
@given(moves=MOVE_LISTS, format=st.sampled_from(FORMATS), budget=BUDGETS)
def test_user_words_are_sent_as_they_are_in_order(policy: str, moves: list[Move], format: str, budget: int) -> None:
    walk = Walk(format=format, policy=policy, budget=budget, settings={"strict": True}, warm_steps=8)
    for move, view in walk.play(moves):
        if view is not None:
            said = [d for d, m in zip(dumped(walk.writer.messages), walk.writer.messages, strict=True) if words(m)]
            shown = dumped(view.messages)
            rest = iter(shown)
            assert all(message in rest for message in said), move  # each behind the one before it
            assert view.system == SYSTEM


def words(message: dict[str, Any]) -> bool:
    return message.get("role") == "user" and isinstance(message.get("content"), str)


@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=6, deadline=None)
@given(moves=MOVE_LISTS, format=st.sampled_from(FORMATS), budget=BUDGETS)
def test_the_last_turn_is_never_altered_when_it_fits(policy: str, moves: list[Move], format: str, budget: int) -> None:
    walk = Walk(format=format, policy=policy, budget=budget, warm_steps=8)
    for _ in walk.play(moves):
        pass
    last = walk.writer.call("read_file", "short answer 4711", path="src/last.py")
    walk.add(last)
    view = walk.session.view()
    assert dumped(view.messages[-len(last) :]) == dumped(last)


@pytest.mark.parametrize("policy", policy_names())
def test_undoing_the_commit_that_raised_a_pinned_item_leaves_it_raw(policy: str) -> None:
    walk = Walk(format="openai_chat", policy=policy, budget=1500, warm_steps=20)
    walk.session.view()
    item = next(i.id for i in walk.session.items() if walk.session.level(i.id) <= Level.ABSTRACT)
    walk.session.pin(item)
    walk.session.undo()
    walk.session.view()
    assert walk.session.level(item) is Level.RAW


@pytest.mark.parametrize("policy", policy_names())
def test_a_pinned_result_larger_than_the_budget_is_flagged_not_cut(policy: str) -> None:
    walk = Walk(format="openai_chat", policy=policy, budget=1500)
    walk.add(walk.writer.call("bash", prose(2000), command="cat rates"))
    item = walk.session.items()[-1].id
    walk.session.pin(item)
    walk.add(walk.writer.say("I see."))
    view = walk.session.view()
    assert walk.session.level(item) is Level.RAW
    assert view.missing_tokens > 0
    assert (f"command #{item}" in dict(view.largest)) or (f"read #{item}" in dict(view.largest))


@pytest.mark.parametrize("policy", policy_names())
def test_the_open_episode_that_the_agent_declared_stays_raw_while_there_is_room(policy: str) -> None:
    walk = Walk(format="openai_chat", policy=policy, budget=2000, settings={"low_share": 0.8}, warm_steps=12)
    walk.add(walk.writer.call("delimiter", "ok", action="start", name="slots", type="explore"))
    walk.add(walk.writer.call("read_file", "slot table 8123\n" + prose(100), path="slots.md"))
    held = [item.id for item in walk.session.items()[-2:]]
    for n in range(3):
        walk.add(walk.writer.call("grep", prose(100, n), pattern=f"slot {n}"))
        walk.session.view()
    assert [walk.session.level(item) for item in held] == [Level.RAW, Level.RAW]
    assert any(walk.session.level(i.id) < Level.RAW for i in walk.session.items())
