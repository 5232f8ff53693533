from __future__ import annotations

from typing import Any

from foldaway.model.wire import Edit, Message, PartType, Quirks, TurnKind
from foldaway.wire import count_marks, get_wire, limit_marks, problems

WIRE = get_wire("anthropic_messages")
MARK = {"cache_control": {"type": "ephemeral"}}


def use(*ids: str) -> list[Message]:
    return [{"type": "tool_use", "id": i, "name": f"tool_{i}", "input": {}} for i in ids]


def result(call_id: str, content: Any = "ok", **fields: Any) -> Message:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def text(words: str) -> Message:
    return {"type": "text", "text": words}


def user(*blocks: Message) -> Message:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Message) -> Message:
    return {"role": "assistant", "content": list(blocks)}


def shown(messages: list[Message]) -> list[Message]:
    return [message for turn in WIRE.parse(messages).turns for message in turn.messages]


def test_results_split_over_several_messages_are_gathered_in_front_of_the_text() -> None:
    slow = text("(the second one was slow)")
    messages = [
        assistant(*use("x", "y", "z")),
        user(result("x")),
        user(slow, result("y")),
        user(result("z")),
    ]
    parsed = WIRE.parse(messages)
    assert [turn.sources for turn in parsed.turns] == [(0, 1, 2, 3)]
    assert list(parsed.turns[0].messages) == [messages[0], user(result("x"), result("y"), result("z"), slow)]
    assert [part.role for part in parsed.turns[0].parts if part.type is PartType.TEXT] == ["user"]


def test_a_loose_result_becomes_text_and_the_users_words_stay() -> None:
    turn = WIRE.parse([user(result("gone", "PORT=8080"), text("please check"))]).turns[0]
    assert turn.kind is TurnKind.USER
    assert [part.role for part in turn.parts] == ["tool", "user"]
    assert "PORT=8080" in turn.parts[0].text
    assert problems("anthropic_messages", list(turn.messages)) == []


def test_empty_messages_and_blank_blocks_are_left_out_but_an_empty_result_stays() -> None:
    messages = [
        user(text("Run.")),
        assistant(text(""), *use("q")),
        user(result("q", "")),
        {"role": "assistant", "content": ""},
        user(text(" \n")),
        {"role": "assistant", "content": []},
        user(text("What?"), text("")),
    ]
    assert shown(messages) == [messages[0], assistant(*use("q")), messages[2], user(text("What?"))]


def test_assistant_messages_in_a_row_with_calls_are_read_as_one() -> None:
    messages = [assistant(*use("a")), assistant(*use("b")), user(result("a"), result("b"))]
    assert shown(messages) == [assistant(*use("a", "b")), messages[2]]


def test_the_users_words_keep_their_order_when_a_later_message_with_results_is_joined() -> None:
    messages = [assistant(*use("a", "b")), user(result("a")), user(text("one")), user(result("b"), text("two"))]
    assert shown(messages)[1:] == [user(result("a"), result("b"), text("one"), text("two"))]


def test_text_behind_results_stays_when_the_results_go() -> None:
    turn = WIRE.parse([assistant(*use("a")), user(result("a"), text("and this"))]).turns[0]
    assert WIRE.render(turn, {0: Edit(drop=True)}) == [user(text("and this"))]


def test_thinking_is_dropped_whole_or_kept_as_it_is() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    turn = WIRE.parse([assistant(thinking, text("so"), *use("a")), user(result("a"))]).turns[0]
    assert WIRE.render(turn, {0: Edit(text="shorter")})[0]["content"][0] == thinking
    assert WIRE.render(turn, {0: Edit(drop=True)})[0] == assistant(text("so"), *use("a"))
    # Thinking does not stay alone.
    assert WIRE.render(turn, {1: Edit(drop=True), 2: Edit(drop=True)}) == []


def test_a_message_of_thinking_alone_goes_with_what_follows() -> None:
    thinking = assistant({"type": "thinking", "thinking": "hm", "signature": "c2ln"})
    waiting = WIRE.parse([thinking]).turns
    assert [(turn.open, turn.messages, turn.sources) for turn in waiting] == [(True, (), (0,))]
    (turn,) = WIRE.parse([thinking, assistant(*use("a")), user(result("a"))]).turns
    assert turn.kind is TurnKind.EXCHANGE
    assert turn.messages[0] is thinking


def test_an_edited_result_keeps_its_error_mark_and_its_cache_mark() -> None:
    blocks = [text("long"), {"type": "image", "source": {}}]
    turn = WIRE.parse([assistant(*use("a")), user(result("a", blocks, is_error=True, **MARK))]).turns[0]
    assert turn.parts[1].is_error
    edited = WIRE.render(turn, {1: Edit(text="short")})[1]["content"][0]
    assert edited == result("a", [text("short")], is_error=True, **MARK)
    assert "cache_control" not in WIRE.render(turn, {1: Edit(text="")})[1]["content"][0]


def test_of_too_many_cache_marks_the_last_ones_stay() -> None:
    messages = [user({**text(f"{n}"), **MARK}) for n in range(6)]
    view = WIRE.finish(messages)
    assert [count_marks([message]) for message in view] == [0, 0, 1, 1, 1, 1]
    assert count_marks(limit_marks(messages, 2)) == 2
    assert count_marks(messages) == 6


def test_the_first_message_is_made_the_users_and_with_no_prefill_the_last_too() -> None:
    hello = {"role": "assistant", "content": "Welcome."}
    view = WIRE.finish([hello], Quirks(no_prefill=True))
    assert [message["role"] for message in view] == ["user", "assistant", "user"]
    assert view[1] is hello


def test_input_that_is_no_object_is_always_sent_as_one() -> None:
    call = {"type": "tool_use", "id": "a", "name": "t", "input": '{"path": "b"}'}
    assert shown([assistant(call), user(result("a"))])[0]["content"][0]["input"] == {"path": "b"}


def test_the_providers_own_tools_are_kept_or_dropped_as_a_pair() -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    turn = WIRE.parse([assistant(search, found, text("found"))]).turns[0]
    assert turn.kind is TurnKind.ASSISTANT
    assert WIRE.render(turn, {1: Edit(drop=True)}) == [assistant(text("found"))]
