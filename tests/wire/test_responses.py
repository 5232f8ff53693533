from __future__ import annotations

from typing import Any

import pytest

from foldaway.model.wire import Edit, Message, TurnKind
from foldaway.wire import get_wire, problems

WIRE = get_wire("openai_responses")
THOUGHT: Message = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gA=="}
SAID: Message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}


def call(call_id: str) -> Message:
    return {"type": "function_call", "call_id": call_id, "name": "read", "arguments": "{}"}


def output(call_id: str, text: Any = "ok") -> Message:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def shown(items: list[Message]) -> list[Message]:
    return [item for turn in WIRE.parse(items).turns for item in turn.messages]


def test_reasoning_goes_with_the_item_behind_it_and_never_alone() -> None:
    (turn,) = WIRE.parse([THOUGHT, call("a"), call("b"), output("a"), output("b")]).turns
    assert WIRE.render(turn, {0: Edit(drop=True)}) == list(turn.messages)
    assert WIRE.render(turn, {1: Edit(drop=True)}) == [call("b"), output("b")]
    assert WIRE.render(turn, {2: Edit(drop=True)}) == [THOUGHT, call("a"), output("a")]


def test_a_call_turn_ends_with_its_last_output() -> None:
    turns = WIRE.parse([THOUGHT, call("a"), output("a"), THOUGHT, SAID, call("b"), output("b")]).turns
    assert [turn.kind for turn in turns] == [TurnKind.EXCHANGE, TurnKind.ASSISTANT, TurnKind.EXCHANGE]
    assert [turn.sources for turn in turns] == [(0, 1, 2), (3, 4), (5, 6)]


def test_reasoning_at_the_end_waits_and_in_front_of_the_user_it_is_left_out() -> None:
    (waiting,) = WIRE.parse([THOUGHT], start=4).turns
    assert waiting.open
    assert (waiting.messages, waiting.sources) == ((), (4,))
    parsed = WIRE.parse([THOUGHT, user("hi")])
    assert shown([THOUGHT, user("hi")]) == [user("hi")]
    assert "reasoning" in parsed.repairs[0].what


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("custom_tool_call", {"name": "edit", "input": "row"}, "custom_tool_call_output"),
        ("local_shell_call", {"action": {"command": ["ls"]}}, "local_shell_call_output"),
        ("apply_patch_call", {"operation": {}}, "apply_patch_call_output"),
        ("shell_call", {"action": {}}, "shell_call_output"),
        ("tool_search_call", {"arguments": {}}, "tool_search_output"),
    ],
)
def test_a_call_without_output_gets_one_of_its_own_type(kind: str, fields: Message, expected: str) -> None:
    turn = WIRE.parse([{"type": kind, "call_id": "a", **fields}]).turns[0]
    assert turn.messages[-1]["type"] == expected
    assert turn.parts[-1].stand_in
    assert problems("openai_responses", list(turn.messages)) == []


def test_an_output_of_another_type_is_given_the_right_one() -> None:
    shell = {"type": "local_shell_call", "id": "lsh", "call_id": "a", "action": {"command": ["ls"]}}
    view = shown([shell, output("a", "files")])
    assert (view[1]["type"], view[1]["call_id"], view[1]["output"]) == ("local_shell_call_output", "a", "files")


def test_an_unanswered_computer_call_is_taken_out_with_its_reasoning() -> None:
    items = [THOUGHT, {"type": "computer_call", "call_id": "a", "action": {"type": "click"}}, user("stop")]
    assert shown(items) == [user("stop")]


def test_outputs_behind_references_stay_with_them() -> None:
    items = [{"type": "item_reference", "id": "fc_1"}, output("stored"), user("hi")]
    turns = WIRE.parse(items).turns
    assert [turn.kind for turn in turns] == [TurnKind.OTHER, TurnKind.USER]
    assert shown(items) == items


def test_edits_are_made_in_the_shape_of_each_type() -> None:
    patch = {"type": "custom_tool_call", "call_id": "a", "name": "edit", "input": "a long patch"}
    done = {"type": "custom_tool_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "long"}]}
    turn = WIRE.parse([patch, done]).turns[0]
    assert turn.parts[0].arguments is None
    edited = WIRE.render(turn, {0: Edit(arguments={"left_out": 1}), 1: Edit(text="short")})
    assert edited[0]["input"] == '{"left_out": 1}'
    assert edited[1]["output"] == [{"type": "input_text", "text": "short"}]


def test_arguments_that_are_not_free_text_are_left_whole() -> None:
    shell = {"type": "local_shell_call", "call_id": "a", "action": {"command": ["ls"]}}
    answer = {"type": "local_shell_call_output", "call_id": "a", "output": "files"}
    turn = WIRE.parse([shell, answer]).turns[0]
    assert WIRE.render(turn, {0: Edit(arguments={"x": 1})}) == [shell, answer]


def test_a_call_the_provider_answered_itself_is_an_exchange_of_one_item() -> None:
    mcp = {"type": "mcp_call", "id": "m", "name": "find", "arguments": "{}", "output": "long", "error": None}
    (turn,) = WIRE.parse([mcp]).turns
    assert turn.kind is TurnKind.EXCHANGE
    assert [part.name for part in turn.parts] == ["find", "find"]
    assert WIRE.render(turn, {1: Edit(text="short")}) == [{**mcp, "output": "short"}]


def test_unknown_items_pass_untouched() -> None:
    odd = {"type": "compaction", "encrypted_content": "e"}
    (turn,) = WIRE.parse([odd]).turns
    assert turn.kind is TurnKind.OTHER
    assert turn.messages[0] is odd
