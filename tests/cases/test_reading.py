from __future__ import annotations

from typing import Any

import pytest

from foldaway.testing.cases.outcome import Order
from foldaway.testing.cases.reading import pair_faults, plain_estimate, texts_by_role

Messages = list[dict[str, Any]]


def chat_calls(*ids: str) -> dict[str, Any]:
    calls = [{"id": each, "type": "function", "function": {"name": "f", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def chat_result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def uses(*ids: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": each, "name": "f", "input": {}} for each in ids],
    }


def given(*ids: str, text: str = "", text_first: bool = False) -> dict[str, Any]:
    blocks: Messages = [{"type": "tool_result", "tool_use_id": each, "content": "ok"} for each in ids]
    words: Messages = [{"type": "text", "text": text}] if text else []
    return {"role": "user", "content": words + blocks if text_first else blocks + words}


def call(kind: str, call_id: str) -> dict[str, Any]:
    return {"type": kind, "call_id": call_id, "output": "ok"}


USER = {"role": "user", "content": "go on"}


@pytest.mark.parametrize(
    ("format", "messages"),
    [
        ("openai_chat", [USER, chat_calls("a", "b"), chat_result("b"), chat_result("a"), USER]),
        ("openai_chat", [chat_calls("a"), chat_result("a"), chat_calls("a"), chat_result("a")]),
        ("anthropic_messages", [USER, uses("a", "b"), given("a", "b", text="and?")]),
        ("openai_responses", [call("function_call", "a"), call("shell_call", "b"), call("function_call_output", "a"),
                              call("shell_call_output", "b")]),
        ("openai_responses", [{"type": "web_search_call", "id": "ws"}, USER]),
    ],
)  # fmt: skip
def test_whole_pairs_have_no_fault(format: str, messages: Messages) -> None:
    assert pair_faults(format, messages) == []


@pytest.mark.parametrize(
    ("format", "messages"),
    [
        ("openai_chat", [chat_result("a")]),
        ("openai_chat", [chat_calls("a")]),
        ("openai_chat", [chat_calls("a"), USER, chat_result("a")]),
        ("openai_chat", [chat_calls("a", "b"), chat_result("a")]),
        ("openai_chat", [chat_calls("a"), chat_result("a"), chat_result("a")]),
        ("openai_chat", [chat_calls("a"), chat_result("a"), chat_result("b")]),
        ("anthropic_messages", [given("a")]),
        ("anthropic_messages", [uses("a")]),
        ("anthropic_messages", [uses("a"), given("a", text="first", text_first=True)]),
        ("anthropic_messages", [uses("a", "b"), given("a"), given("b")]),
        ("anthropic_messages", [uses("a"), given("a", "b")]),
        ("anthropic_messages", [uses("a"), {"role": "assistant", "content": "hm"}, given("a")]),
        ("openai_responses", [call("function_call_output", "a")]),
        ("openai_responses", [call("function_call", "a")]),
        ("openai_responses", [call("function_call", "a"), call("custom_tool_call_output", "a")]),
        ("openai_responses", [call("function_call_output", "a"), call("function_call", "a")]),
        ("openai_responses", [call("function_call", "a"), *[call("function_call_output", "a")] * 2]),
    ],
)
def test_broken_pairs_are_found(format: str, messages: Messages) -> None:
    assert pair_faults(format, messages)


def test_results_count_as_tool_and_calls_as_assistant() -> None:
    assert ("tool", "ok") in texts_by_role(chat_result("a"))
    assert ("assistant", "{}") in texts_by_role(chat_calls("a"))
    assert texts_by_role(given("a", text="hello")) == [("tool", "ok"), ("user", "text"), ("user", "hello")]


def test_the_plain_estimate_is_a_quarter_of_ascii_one_for_the_rest_and_a_flat_price_for_pictures() -> None:
    assert plain_estimate("x" * 398) == 100
    assert plain_estimate("\u4ed3" * 50 + "xx") == 51
    picture = {"type": "image", "source": {"type": "base64", "data": "A" * 1_000_000}}
    assert 1500 <= plain_estimate([picture]) <= 1510


def ordered(history: Messages, sent: Messages) -> bool:
    order = Order()
    order.extend(history)
    return order.faults(sent) == []


def says(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_what_is_kept_must_be_in_its_old_order() -> None:
    history = [says("a"), says("b"), says("a"), says("c")]
    assert ordered(history, [says("b"), says("note"), says("a"), says("c")])
    assert not ordered(history, [says("c"), says("b")])
    assert not ordered(history, [says("a"), says("a"), says("a")])


def test_a_message_between_a_call_and_its_result_may_move() -> None:
    history = [chat_calls("a"), says("stop"), chat_result("a"), says("and?")]
    assert ordered(history, [says("stop"), chat_calls("a"), chat_result("a"), says("and?")])
    assert ordered(history, [chat_calls("a"), chat_result("a"), says("stop"), says("and?")])
    assert not ordered(history, [says("and?"), chat_calls("a"), chat_result("a")])


def test_a_call_whose_text_was_shortened_is_still_known_by_its_id() -> None:
    history = [chat_calls("a"), chat_result("a"), chat_calls("b"), chat_result("b")]
    other = {**chat_calls("b"), "content": "shortened"}
    assert not ordered(history, [other, chat_result("b"), chat_calls("a"), chat_result("a")])
