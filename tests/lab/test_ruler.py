from __future__ import annotations

import copy

import pytest

from foldaway.lab.replay import make_ruler
from foldaway.lab.ruler import Meter
from foldaway.model.recorded import Recorded


def test_a_grown_view_is_read_up_to_where_the_one_before_ended(small: Recorded) -> None:
    meter = Meter(make_ruler(small))
    first = meter.read(small.messages[:4], None, None)
    second = meter.read(small.messages[:6], None, None)
    assert (first.prefix_tokens, first.broken) == (0, False)
    assert (second.prefix_tokens, second.broken) == (first.tokens, False)
    assert second.tokens > first.tokens


def test_equal_copies_count_as_the_same_prefix(small: Recorded) -> None:
    meter = Meter(make_ruler(small))
    first = meter.read(small.messages[:4], None, None)
    assert meter.read(copy.deepcopy(small.messages[:5]), None, None).prefix_tokens == first.tokens


def test_a_changed_message_breaks_the_prefix_there(small: Recorded) -> None:
    meter = Meter(make_ruler(small))
    meter.read(small.messages[:6], None, None)
    front = Meter(make_ruler(small)).read(small.messages[:3], None, None).tokens
    changed = [*small.messages[:3], {**small.messages[3], "content": "gone"}, *small.messages[4:6]]
    reading = meter.read(changed, None, None)
    assert reading.broken
    assert reading.prefix_tokens == front


def test_another_system_prompt_breaks_the_whole_prefix(small: Recorded) -> None:
    meter = Meter(make_ruler(small))
    meter.read(small.messages[:4], "one", None)
    reading = meter.read(small.messages[:6], "two", None)
    assert (reading.broken, reading.prefix_tokens) == (True, 0)


def test_what_stands_beside_the_messages_is_counted(small: Recorded) -> None:
    plain = Meter(make_ruler(small)).read(small.messages, None, None)
    tools = [{"type": "function", "function": {"name": "f", "description": "does a lot " * 20}}]
    assert Meter(make_ruler(small)).read(small.messages, None, tools).tokens > plain.tokens + 20


@pytest.mark.parametrize("order", [(4, 6, 11), (11, 6, 4), (6, 11, 4, 11)])
def test_reading_view_after_view_gives_what_reading_each_alone_gives(small: Recorded, order: tuple[int, ...]) -> None:
    ruler = make_ruler(small)
    meter = Meter(ruler)
    for end in order:
        # Not only tails grow: every second message goes away as well.
        messages = list(small.messages[:end]) if end != 6 else list(small.messages[:end:2])
        got = meter.read(messages, None, None)
        alone = Meter(make_ruler(small)).read(messages, None, None)
        assert (got.tokens, got.plain_tokens, set(got.literals)) == (
            alone.tokens,
            alone.plain_tokens,
            set(alone.literals),
        )


def test_literals_are_those_that_stand_in_the_view(small: Recorded) -> None:
    ruler = make_ruler(small)
    names = ruler.labels.literals
    found = {names[i] for i in Meter(ruler).read(small.messages[:4], None, None).literals}
    assert found == {"src/tool_box.py"}
