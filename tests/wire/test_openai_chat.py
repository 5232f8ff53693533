from __future__ import annotations

import json
from typing import Any

import pytest

from foldaway.errors import WireError
from foldaway.model.wire import Edit, Message, PartType, Quirks, TurnKind
from foldaway.wire import get_wire, problems

WIRE = get_wire("openai_chat")


def call(*ids: str, arguments: str = "{}", **fields: Any) -> Message:
    calls = [{"id": i, "type": "function", "function": {"name": f"tool_{i}", "arguments": arguments}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls, **fields}


def result(call_id: str, content: Any = "ok") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def user(text: Any) -> Message:
    return {"role": "user", "content": text}


def shown(messages: list[Message], quirks: Quirks = Quirks()) -> list[Message]:
    return [message for turn in WIRE.parse(messages, quirks=quirks).turns for message in turn.messages]


def test_late_results_move_up_to_their_calls_and_the_user_message_stands_behind() -> None:
    btw = user("By the way")
    messages = [call("m", "n"), btw, result("n", "width"), result("m", "length"), user("And?")]
    parsed = WIRE.parse(messages)
    assert shown(messages) == [messages[0], messages[2], messages[3], btw, messages[4]]
    assert [turn.sources for turn in parsed.turns] == [(0, 2, 3), (1,), (4,)]
    assert parsed.turns[0].repaired
    assert "moved up" in parsed.repairs[0].what


def test_an_interrupted_call_gets_a_stand_in_and_stays_open_until_the_model_answers() -> None:
    messages = [call("a", "b"), result("a"), user("Stop.")]
    turn = WIRE.parse(messages).turns[0]
    assert turn.open
    assert [part.stand_in for part in turn.parts] == [False, False, False, True]
    assert turn.messages[-1]["tool_call_id"] == "b"
    assert "no result" in turn.messages[-1]["content"]
    answered = WIRE.parse([*messages, {"role": "assistant", "content": "Stopped."}]).turns
    assert not any(turn.open for turn in answered)


def test_a_result_that_comes_after_the_models_next_answer_becomes_plain_text() -> None:
    messages = [call("a"), user("Stop."), {"role": "assistant", "content": "Ok."}, result("a", "late words")]
    last = WIRE.parse(messages).turns[-1]
    assert last.kind is TurnKind.OBSERVATION
    assert last.messages[0]["role"] == "user"
    assert "late words" in last.messages[0]["content"]
    assert last.parts[0].role == "tool"


def test_a_result_belongs_to_the_call_right_above_when_ids_are_used_again() -> None:
    messages = [m for n in range(3) for m in (call("call_0"), result("call_0", f"part {n}"))]
    turns = WIRE.parse(messages).turns
    assert [turn.parts[1].text for turn in turns] == ["part 0", "part 1", "part 2"]


def test_calls_in_two_assistant_messages_in_a_row_each_keep_their_results() -> None:
    messages = [call("a"), call("b"), result("a", "A"), result("b", "B")]
    assert shown(messages) == [messages[0], messages[2], messages[1], messages[3]]
    assert problems("openai_chat", shown(messages)) == []


def test_results_without_ids_are_matched_in_order() -> None:
    messages = [call("a", "b"), {"role": "tool", "content": "A"}, {"role": "tool", "name": "tool_b", "content": "B"}]
    assert [message.get("tool_call_id") for message in shown(messages)] == [None, "a", "b"]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"path": "a', {"_unparsed": '{"path": "a'}),
        ("", {}),
        ("null", {}),
        ('["b"]', {"_unparsed": '["b"]'}),
        ('"{\\"path\\": 1}"', {"path": 1}),
        ('{"text": "one\ntwo"}', {"text": "one\ntwo"}),
        ('{"n": NaN}', {"_unparsed": '{"n": NaN}'}),
        pytest.param("[" * 100_000, {"_unparsed": "[" * 100_000}, id="too-deep"),
    ],
)
def test_strict_arguments_are_sent_as_an_object_and_else_left_alone(arguments: str, sent: dict[str, Any]) -> None:
    messages = [call("a", arguments=arguments), result("a")]
    strict = shown(messages, Quirks(strict_arguments=True))
    assert json.loads(strict[0]["tool_calls"][0]["function"]["arguments"]) == sent
    assert shown(messages)[0] is messages[0]


def test_fields_of_the_providers_own_stay_on_an_edited_message() -> None:
    message = call("a", reasoning_content="", annotations=[], refusal=None)
    message["tool_calls"][0]["extra_content"] = {"signature": "s"}
    turn = WIRE.parse([message, result("a", "long")]).turns[0]
    assistant, tool = WIRE.render(turn, {0: Edit(arguments={"n": 1}), 1: Edit(text="short")})
    assert tool == result("a", "short")
    assert assistant["tool_calls"][0]["function"]["arguments"] == '{"n": 1}'
    assert assistant["tool_calls"][0]["extra_content"] == {"signature": "s"}
    assert {key: assistant[key] for key in ("reasoning_content", "annotations", "refusal")} == {
        "reasoning_content": "",
        "annotations": [],
        "refusal": None,
    }


def test_dropping_one_of_two_calls_takes_only_its_own_result() -> None:
    turn = WIRE.parse([call("a", "b", content="both"), result("b"), result("a")]).turns[0]
    index = next(i for i, part in enumerate(turn.parts) if part.type is PartType.CALL and part.call_id == "a")
    assistant, tool = WIRE.render(turn, {index: Edit(drop=True)})
    assert [c["id"] for c in assistant["tool_calls"]] == ["b"]
    assert tool["tool_call_id"] == "b"


def test_dropping_all_calls_leaves_the_text_without_an_empty_call_list() -> None:
    turn = WIRE.parse([call("a", content="Looking."), result("a")]).turns[0]
    edits = {i: Edit(drop=True) for i, part in enumerate(turn.parts) if part.type is not PartType.TEXT}
    assert WIRE.render(turn, edits) == [{"role": "assistant", "content": "Looking."}]


def test_a_result_in_blocks_is_replaced_by_one_text_block() -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]
    turn = WIRE.parse([call("a"), result("a", blocks)]).turns[0]
    assert WIRE.render(turn, {1: Edit(text="short")})[1] == result("a", [{"type": "text", "text": "short"}])


def test_an_observation_of_the_environment_is_not_the_users_word() -> None:
    turns = WIRE.parse([user("task"), user("output: 3")], origins=["", "environment"]).turns
    assert [turn.kind for turn in turns] == [TurnKind.USER, TurnKind.OBSERVATION]
    assert [turn.parts[0].role for turn in turns] == ["user", "tool"]


def test_strict_alternation_joins_user_messages_and_loses_no_word() -> None:
    view = WIRE.finish(
        [user("one"), user("two"), {"role": "assistant", "content": "a"}], Quirks(strict_alternation=True)
    )
    assert view == [user("one\n\ntwo"), {"role": "assistant", "content": "a"}]


@pytest.mark.parametrize(
    "message",
    [{}, "text", {"role": "user", "content": 3}, {"role": "user", "content": ["x"]}, {"role": "user", "content": {1}}],
)
def test_what_cannot_be_read_is_a_wire_error_with_its_position(message: Any) -> None:
    with pytest.raises(WireError, match="message 7"):
        WIRE.parse([message], start=7)


def test_a_message_nested_too_deeply_is_a_wire_error() -> None:
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    with pytest.raises(WireError, match="nested"):
        WIRE.parse([{"role": "user", "content": [{"type": "x", "x": deep}]}])


def test_edits_of_what_is_not_there_are_refused() -> None:
    turn = WIRE.parse([call("a"), result("a")]).turns[0]
    with pytest.raises(ValueError, match="only calls have arguments"):
        WIRE.render(turn, {1: Edit(arguments={})})
    with pytest.raises(ValueError, match="replaced as a whole"):
        WIRE.render(turn, {0: Edit(text="x")})


def test_an_exchange_made_here_is_legal_and_reads_back() -> None:
    messages = WIRE.exchange("id1", "recall", {"of": "12"}, "text")
    parsed = WIRE.parse(messages)
    assert parsed.repairs == ()
    assert parsed.turns[0].parts[0].arguments == {"of": "12"}
    assert parsed.turns[0].parts[1].name == "recall"
