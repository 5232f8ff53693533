"""Every format: legal histories come back untouched, broken ones come out legal, piece by piece or whole."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.model.wire import Edit, Message, PartType, Quirks, Turn, TurnKind
from foldaway.wire import FORMATS, get_wire, problems

TEXTS = st.sampled_from(["look", "done.", "rate = 97", "  two\n lines ", "é 表"])
IDS = st.sampled_from(["call_0", "call_1", "call_2", "call_3"])
ANY_QUIRKS = st.builds(Quirks, no_prefill=st.booleans(), strict_arguments=st.booleans())
Draw = Callable[[st.SearchStrategy[Any]], Any]


def chat_exchange(draw: Draw) -> list[Message]:
    if draw(st.integers(0, 5)) == 0:
        legacy = {"name": "old", "arguments": "{}"}
        return [
            {"role": "assistant", "content": None, "function_call": legacy},
            {"role": "function", "name": "old", "content": draw(TEXTS)},
        ]
    ids = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    calls = [{"id": i, "type": "function", "function": {"name": f"t{i}", "arguments": '{"a": 1}'}} for i in ids]
    assistant: Message = {
        "role": "assistant",
        "content": draw(st.sampled_from([None, "", "text"])),
        "tool_calls": calls,
    }
    if draw(st.booleans()):
        assistant["reasoning_content"] = draw(st.sampled_from(["", "hm"]))
    contents = st.one_of(TEXTS, st.just(""), st.just([{"type": "text", "text": "x"}, {"type": "odd", "n": 1}]))
    results = [{"role": "tool", "tool_call_id": i, "content": draw(contents)} for i in draw(st.permutations(ids))]
    return [assistant, *results]


def chat_plain(draw: Draw) -> list[Message]:
    parts = [{"type": "text", "text": draw(TEXTS)}, {"type": "image_url", "image_url": {"url": "u"}}]
    return [
        draw(
            st.sampled_from(
                [
                    {"role": "user", "content": "hi", "name": "desk"},
                    {"role": "user", "content": parts},
                    {"role": "assistant", "content": "text", "refusal": None},
                    {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
                    {"role": "assistant", "content": None, "refusal": "no"},
                    {"role": "developer", "content": "short"},
                    {"role": "critic", "content": "who knows"},
                ]
            )
        )
    ]


def anthropic_exchange(draw: Draw) -> list[Message]:
    ids = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    blocks: list[Any] = [{"type": "tool_use", "id": i, "name": f"t{i}", "input": {"a": 1}} for i in ids]
    if draw(st.booleans()):
        blocks.insert(0, {"type": "text", "text": "reading"})
    if draw(st.booleans()):
        blocks.insert(0, {"type": "thinking", "thinking": "", "signature": "c2ln"})
    contents = st.one_of(TEXTS, st.just(""), st.just([{"type": "text", "text": "x"}, {"type": "image", "source": {}}]))
    results: list[Any] = [
        {"type": "tool_result", "tool_use_id": i, "content": draw(contents), "is_error": False}
        for i in draw(st.permutations(ids))
    ]
    if draw(st.booleans()):
        results.append({"type": "text", "text": "and this"})
    return [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]


def anthropic_plain(draw: Draw) -> list[Message]:
    search = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "text", "text": "found"},
    ]
    thought = [{"type": "redacted_thinking", "data": "eA=="}, {"type": "text", "text": "so"}]
    if draw(st.integers(0, 6)) == 0:
        return [{"role": "assistant", "content": thought[:1]}, {"role": "assistant", "content": thought[1:]}]
    return [
        draw(
            st.sampled_from(
                [
                    {"role": "user", "content": "hi"},
                    {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
                    {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]},
                    {"role": "assistant", "content": "text"},
                    {"role": "assistant", "content": search},
                    {"role": "assistant", "content": thought},
                ]
            )
        )
    ]


CALL_TYPES: dict[str, dict[str, Any]] = {
    "function_call": {"name": "f", "arguments": "{}"},
    "custom_tool_call": {"name": "edit", "input": "row"},
    "local_shell_call": {"id": "lsh", "action": {"type": "exec", "command": ["ls"]}},
    "shell_call": {"action": {"commands": ["ls"]}},
    "apply_patch_call": {"operation": {"type": "delete_file", "path": "a"}},
    "computer_call": {"action": {"type": "screenshot"}},
    "tool_search_call": {"arguments": {"query": "q"}},
}
OUTPUT_FIELDS: dict[str, Any] = {
    "shell_call": {"output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
    "computer_call": {"output": {"type": "computer_screenshot", "image_url": "u"}},
    "tool_search_call": {"tools": [{"type": "function", "name": "g"}]},
    "apply_patch_call": {"status": "completed", "output": "ok"},
}


def responses_exchange(draw: Draw) -> list[Message]:
    ids = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    kinds = [draw(st.sampled_from(sorted(CALL_TYPES))) for _ in ids]
    items: list[Message] = []
    for kind, call_id in zip(kinds, ids, strict=True):
        if draw(st.integers(0, 2)) == 0:
            items.append({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"})
        items.append({"type": kind, "call_id": call_id, **CALL_TYPES[kind]})
    if draw(st.integers(0, 4)) == 0:
        items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "wait"}]})
    outputs = st.one_of(
        TEXTS, st.just([{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": "u"}])
    )
    for kind, call_id in draw(st.permutations(list(zip(kinds, ids, strict=True)))):
        type_ = "tool_search_output" if kind == "tool_search_call" else f"{kind}_output"
        items.append({"type": type_, "call_id": call_id, **OUTPUT_FIELDS.get(kind, {"output": draw(outputs)})})
    return items


def responses_plain(draw: Draw) -> list[Message]:
    said: Message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}
    thought: Message = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}]}
    options: list[list[Message]] = [
        [{"role": "user", "content": "hi"}],
        [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
        [{"role": "developer", "content": "short"}],
        [said],
        [thought, said],
        [thought, dict(thought), said],
        [thought, {"type": "web_search_call", "id": "ws", "action": {"query": "q"}}],
        [{"type": "mcp_call", "id": "mcp", "name": "m", "arguments": "{}", "output": "got", "error": None}],
        [{"type": "item_reference", "id": "fc_1"}, {"type": "function_call_output", "call_id": "gone", "output": "x"}],
        [{"type": "compaction", "encrypted_content": "e"}],
    ]
    return draw(st.sampled_from(options))  # type: ignore[no-any-return]


PLAIN = {"openai_chat": chat_plain, "anthropic_messages": anthropic_plain, "openai_responses": responses_plain}
EXCHANGE = {
    "openai_chat": chat_exchange,
    "anthropic_messages": anthropic_exchange,
    "openai_responses": responses_exchange,
}
EMPTY: dict[str, list[Message]] = {
    "openai_chat": [
        {"role": "user", "content": " "},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "x"}]},
    ],
    "anthropic_messages": [
        {"role": "user", "content": []},
        {"role": "assistant", "content": [{"type": "text", "text": ""}]},
        {"role": "user", "content": [{"type": "text", "text": "\n"}, {"type": "text", "text": "x"}]},
    ],
    "openai_responses": [
        {"role": "user", "content": ""},
        {"type": "message", "role": "assistant", "content": []},
        {"type": "reasoning", "id": "rs", "summary": []},
        {"type": "function_call_output", "call_id": "call_0", "output": "of another type, perhaps"},
    ],
}


@st.composite
def legal(draw: Draw, format: str) -> list[Message]:
    messages: list[Message] = [get_wire(format).user_message("start")]
    for is_exchange in draw(st.lists(st.booleans(), max_size=6)):
        messages += copy.deepcopy((EXCHANGE if is_exchange else PLAIN)[format](draw))
    return messages


@st.composite
def broken(draw: Draw, format: str) -> list[Message]:
    messages: list[Message] = draw(legal(format))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(messages) - 1)) if messages else 0
        match draw(st.sampled_from(["delete", "swap", "double", "empty", "plain", "split"])):
            case "delete" if messages:
                del messages[at]
            case "swap" if messages:
                other = draw(st.integers(0, len(messages) - 1))
                messages[at], messages[other] = messages[other], messages[at]
            case "double" if messages:
                messages.insert(draw(st.integers(0, len(messages))), copy.deepcopy(messages[at]))
            case "empty":
                messages.insert(at, copy.deepcopy(draw(st.sampled_from(EMPTY[format]))))
            case "plain":
                messages[at:at] = copy.deepcopy(PLAIN[format](draw))
            case "split" if messages:
                messages[at : at + 1] = split(messages[at])
    return messages


def split(message: Message) -> list[Message]:
    content = message.get("content")
    if not isinstance(content, list) or len(content) < 2:
        return [message]
    return [{**message, "content": content[1:]}, {**message, "content": content[:1]}]


def shown(turns: Sequence[Turn]) -> list[Message]:
    return [message for turn in turns for message in turn.messages]


def in_pieces(format: str, messages: list[Message], cuts: Sequence[int], quirks: Quirks) -> list[Turn]:
    """As the engine does it: each piece starts at the first source of the last open turn."""
    wire = get_wire(format)
    turns: list[Turn] = []
    done = 0
    for cut in [*sorted(cuts), len(messages)]:
        if cut <= done and turns:
            continue
        open_at = next((i for i in range(len(turns) - 1, -1, -1) if turns[i].open), None)
        start = done if open_at is None else turns[open_at].sources[0]
        kept = turns if open_at is None else turns[:open_at]
        turns = [*kept, *wire.parse(messages[start:cut], start=start, quirks=quirks).turns]
        done = cut
    return turns


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_legal_history_comes_back_as_it_was(format: str, data: st.DataObject) -> None:
    messages = data.draw(legal(format))
    assert problems(format, messages) == []
    before = copy.deepcopy(messages)
    parsed = get_wire(format).parse(messages)
    assert parsed.repairs == ()
    assert [id(message) for message in shown(parsed.turns)] == [id(message) for message in messages]
    # References at the end wait for outputs of calls that only the server knows.
    assert not any(turn.repaired or (turn.open and turn.kind is not TurnKind.OTHER) for turn in parsed.turns)
    assert messages == before
    assert [at for turn in parsed.turns for at in turn.sources] == list(range(len(messages)))


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_a_broken_history_comes_out_legal_and_is_itself_left_alone(format: str, data: st.DataObject) -> None:
    messages = data.draw(broken(format))
    quirks = data.draw(ANY_QUIRKS)
    before = copy.deepcopy(messages)
    wire = get_wire(format)
    parsed = wire.parse(messages, quirks=quirks)
    view = wire.finish(shown(parsed.turns), quirks)
    assert problems(format, view, quirks) == []
    assert messages == before
    sources = [at for turn in parsed.turns for at in turn.sources]
    assert len(sources) == len(set(sources))
    assert all(list(turn.sources) == sorted(turn.sources) for turn in parsed.turns)
    # What came out is legal: reading it again mends nothing.
    again = wire.parse(view, quirks=quirks)
    assert shown(again.turns) == view


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_piece_by_piece_gives_the_same_turns_as_in_one_go(format: str, data: st.DataObject) -> None:
    messages = data.draw(st.one_of(legal(format), broken(format)))
    cuts = data.draw(st.lists(st.integers(0, len(messages)), max_size=4))
    quirks = data.draw(ANY_QUIRKS)
    whole = get_wire(format).parse(messages, quirks=quirks)
    assert in_pieces(format, messages, cuts, quirks) == list(whole.turns)
    assert sum(turn.open for turn in whole.turns) <= 1


@st.composite
def edits_of(draw: Draw, turn: Turn) -> dict[int, Edit]:
    edits = {}
    for index, part in enumerate(turn.parts):
        change = draw(st.sampled_from(["keep", "drop", "edit", "blank"]))
        if change == "drop":
            edits[index] = Edit(drop=True)
        elif change == "edit" and part.type is PartType.CALL:
            edits[index] = Edit(arguments={"left_out": "…"})
        elif change in ("edit", "blank") and part.type is not PartType.CALL:
            edits[index] = Edit(text="digest" if change == "edit" else "")
    return edits


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_whatever_is_edited_or_dropped_the_view_stays_legal(format: str, data: st.DataObject) -> None:
    messages = data.draw(st.one_of(legal(format), broken(format)))
    wire = get_wire(format)
    turns = wire.parse(messages).turns
    before = copy.deepcopy([turn.messages for turn in turns])
    view: list[Message] = []
    for turn in turns:
        # Turns of items that nobody knows stay as they are.
        edits = {} if turn.kind is TurnKind.OTHER else data.draw(edits_of(turn))
        view += wire.render(turn, edits)
    assert problems(format, wire.finish(view)) == []
    assert [turn.messages for turn in turns] == before


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_turn_without_edits_is_its_messages_and_with_all_parts_dropped_nothing(
    format: str, data: st.DataObject
) -> None:
    wire = get_wire(format)
    for turn in wire.parse(data.draw(broken(format))).turns:
        assert wire.render(turn, {}) == list(turn.messages)
        assert wire.render(turn, dict.fromkeys(range(len(turn.parts)), Edit(drop=True))) == []


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_with_strict_alternation_roles_take_turns_and_more_messages_change_only_the_last(
    format: str, data: st.DataObject
) -> None:
    wire = get_wire(format)
    quirks = Quirks(strict_alternation=True)
    turns = wire.parse(data.draw(broken(format))).turns
    shorter = wire.finish(shown(turns[:-1]), quirks)
    longer = wire.finish(shown(turns), quirks)
    assert problems(format, longer, quirks) == []
    assert longer[: len(shorter) - 1] == shorter[:-1] or not shorter
