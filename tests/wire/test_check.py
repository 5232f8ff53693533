from __future__ import annotations

from typing import Any

import pytest

from foldaway.errors import SettingsError
from foldaway.model.wire import Message, Quirks
from foldaway.wire import FORMATS, detect_format, get_wire, problems

CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "function": {"name": "t"}}]}
RESULT = {"role": "tool", "tool_call_id": "a", "content": ""}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]}
ANSWER = {"type": "tool_result", "tool_use_id": "a"}
HI = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([CALL, RESULT], ""),
        ([CALL], "has no result"),
        ([RESULT], "without a call"),
        ([CALL, RESULT, RESULT], "second result"),
        ([CALL, HI, RESULT], "has no result"),
        ([{"role": "user", "content": " "}], "no content"),
        ([{"role": "user", "content": [{"type": "text", "text": ""}]}], "blank"),
    ],
)
def test_chat_problems_are_found(messages: list[Message], found: str) -> None:
    listed = problems("openai_chat", messages)
    assert any(found in line for line in listed) if found else listed == []


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([HI, USE, {"role": "user", "content": [ANSWER]}], ""),
        ([{"role": "assistant", "content": "hi"}], "first message"),
        ([HI, USE], "have no result"),
        ([HI, {"role": "user", "content": [ANSWER]}], "for the calls []"),
        ([HI, USE, {"role": "user", "content": [{"type": "text", "text": "x"}, ANSWER]}], "front"),
        ([HI, USE, HI, {"role": "user", "content": [ANSWER]}], "for the calls"),
        ([{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"a": 1}}] * 5}], "cache marks"),
    ],
)
def test_anthropic_problems_are_found(messages: list[Message], found: str) -> None:
    listed = problems("anthropic_messages", messages)
    assert any(found in line for line in listed) if found else listed == []


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ([{"type": "custom_tool_call", "call_id": "a"}, {"type": "custom_tool_call_output", "call_id": "a"}], ""),
        ([{"type": "custom_tool_call", "call_id": "a"}, {"type": "function_call_output", "call_id": "a"}], "its type"),
        ([{"type": "reasoning"}], "nothing behind"),
        ([{"type": "reasoning"}, HI], "not its follower"),
        ([{"type": "function_call", "call_id": "a"}, HI], "between a call and its output"),
    ],
)
def test_responses_problems_are_found(items: list[Message], found: str) -> None:
    listed = problems("openai_responses", items)
    assert any(found in line for line in listed) if found else listed == []


def test_roles_in_turn_and_the_last_role_count_only_where_demanded() -> None:
    messages = [HI, HI, {"role": "assistant", "content": "a"}]
    assert problems("openai_chat", messages) == []
    assert len(problems("openai_chat", messages, Quirks(strict_alternation=True, no_prefill=True))) == 2


@pytest.mark.parametrize(
    ("messages", "body", "format"),
    [
        ([HI], None, "openai_chat"),
        ([HI, CALL], None, "openai_chat"),
        ([HI, USE], None, "anthropic_messages"),
        ([HI], {"system": "x", "messages": [HI]}, "anthropic_messages"),
        ([HI], {"tools": [{"name": "t", "input_schema": {}}]}, "anthropic_messages"),
        ([HI], {"input": [HI]}, "openai_responses"),
        ([{"type": "reasoning", "summary": []}], None, "openai_responses"),
        ([{"role": "user", "content": [{"type": "input_text", "text": "x"}]}], None, "openai_responses"),
    ],
)
def test_the_format_is_told_by_its_signs(messages: list[Message], body: Any, format: str) -> None:
    assert detect_format(messages, body) == format


def test_an_unknown_format_is_named_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="openai_chat"):
        get_wire("gemini")
    assert [get_wire(name).name for name in FORMATS] == list(FORMATS)
