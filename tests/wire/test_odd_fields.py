"""Any field of a message may hold anything: it is taken as it is, or refused in one line."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from foldaway import Session
from foldaway.errors import FoldawayError

ODD: tuple[Any, ...] = (5, 1.5, True, "x", {}, [], [5], [None], [{}], [["a"]], {"a": 1}, None)
DATA = "data:image/png;base64,aaaa"
MESSAGES: dict[str, list[dict[str, Any]]] = {
    "openai_chat": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant", "content": "a", "name": "n", "refusal": "no", "reasoning": "r", "audio": {"id": "a"},
            "reasoning_details": [{"type": "t", "text": "x"}], "function_call": {"name": "f", "arguments": "{}"},
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "t"}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "t"},
                {"type": "image_url", "image_url": {"url": DATA}},
                {"type": "input_audio", "input_audio": {"data": "aaaa", "format": "wav"}},
                {"type": "file", "file": {"file_data": "aaaa", "filename": "f"}},
            ],
        },
    ],
    "anthropic_messages": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "x", "signature": "s"},
                {"type": "text", "text": "t", "citations": [{"cited_text": "x"}]},
                {"type": "tool_use", "id": "c", "name": "f", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result", "tool_use_id": "c", "is_error": False,
                    "content": [
                        {"type": "text", "text": "t"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}},
                    ],
                },
                {"type": "document", "source": {"type": "text", "data": "x"}, "title": "t", "context": "c"},
            ],
        },
    ],
    "openai_responses": [
        {
            "type": "message", "role": "user",
            "content": [
                {"type": "input_text", "text": "hi"},
                {"type": "input_image", "image_url": DATA},
                {"type": "input_file", "file_data": "x", "filename": "n"},
            ],
        },
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "x"}], "encrypted_content": "e"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "o"},
        {"type": "custom_tool_call", "call_id": "d", "name": "f", "input": "x"},
        {"type": "custom_tool_call_output", "call_id": "d", "output": [{"type": "input_text", "text": "x"}]},
        {"type": "web_search_call", "id": "w", "action": {"query": "q"}},
        {
            "type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": "x", "annotations": [{}]}],
        },
    ],
}  # fmt: skip
Path = tuple[str | int, ...]


def paths(value: Any, above: Path = ()) -> Iterator[Path]:
    """Of all fields and elements, however deep."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*above, key)
        yield from paths(each, (*above, key))


def with_odd(messages: list[dict[str, Any]], path: Path, odd: Any) -> list[dict[str, Any]]:
    changed = copy.deepcopy(messages)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = copy.deepcopy(odd)
    return changed


def taken(session: Session, messages: list[dict[str, Any]]) -> str:
    """What was refused; "" where all was taken, viewed and recalled."""
    try:
        session.append(messages)
        session.view()
        for item in session.items():
            session.recall(f"#{item.id}")
    except FoldawayError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("format", MESSAGES)
def test_whatever_stands_in_a_field_is_taken_or_refused_in_one_line(format: str, odd: Any) -> None:
    given = MESSAGES[format]
    assert not taken(Session(budget=300, format=format), given)
    for path in paths(given):
        refused = taken(Session(budget=300, format=format), with_odd(given, path, odd))
        assert "\n" not in refused, path
