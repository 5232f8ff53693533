"""I3: every view obeys the provider's rules; arguments are whole or replaced whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.settings.parts import policy_names
from foldaway.testing.histories import FORMATS
from foldaway.testing.walks import MOVES, Move, Walk
from foldaway.wire import problems

MOVE_LISTS = st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 59)), min_size=1, max_size=8)
BUDGETS = st.sampled_from((900, 1500, 3000))


@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=6, deadline=None)
@given(moves=MOVE_LISTS, format=st.sampled_from(FORMATS), budget=BUDGETS)
def test_every_view_of_any_walk_is_legal(policy: str, moves: list[Move], format: str, budget: int) -> None:
    walk = Walk(format=format, policy=policy, budget=budget, warm_steps=8)
    for move, view in walk.play(moves):
        if view is not None:
            assert problems(format, view.messages) == [], move


@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=6, deadline=None)
@given(moves=MOVE_LISTS, format=st.sampled_from(FORMATS), budget=BUDGETS)
def test_arguments_are_the_agents_own_or_say_that_they_were_replaced(
    policy: str, moves: list[Move], format: str, budget: int
) -> None:
    walk = Walk(format=format, policy=policy, budget=budget, warm_steps=8)
    for _, view in walk.play(moves):
        written = {json.dumps(a, sort_keys=True) for a in arguments(walk.writer.messages)}
        for shown in arguments(view.messages if view is not None else ()):
            own = set(shown) == {"foldaway"} or shown.keys() == {"ids"}
            assert own or json.dumps(shown, sort_keys=True) in written


def arguments(messages: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        for call in message.get("tool_calls") or ():
            yield json.loads(call["function"]["arguments"])
        if message.get("type") == "function_call":
            yield json.loads(message["arguments"])
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use":
                yield block["input"]


@pytest.mark.parametrize("policy", policy_names())
def test_unknown_fields_of_what_is_shown_pass_through(policy: str) -> None:
    walk = Walk(format="openai_chat", policy=policy, budget=1500, warm_steps=10)
    odd = walk.writer.user("look at this")
    odd[0]["x_trace"] = {"b": 1, "a": [None, 2.5]}
    walk.add(odd)
    assert odd[0] in walk.session.view().messages
