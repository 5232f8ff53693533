"""Provider JSON to turns and back, one module a format. Unknown fields pass through untouched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from foldaway.errors import SettingsError
from foldaway.model.wire import Message
from foldaway.protocols import Wire
from foldaway.wire._anthropic_blocks import MARKS_ALLOWED, count_marks, limit_marks
from foldaway.wire.anthropic import AnthropicMessages
from foldaway.wire.check import problems
from foldaway.wire.openai_chat import OpenAIChat
from foldaway.wire.responses import OpenAIResponses

__all__ = [
    "FORMATS",
    "MARKS_ALLOWED",
    "count_marks",
    "detect_format",
    "get_wire",
    "limit_marks",
    "problems",
]

_WIRES: dict[str, Wire] = {wire.name: wire for wire in (OpenAIChat(), AnthropicMessages(), OpenAIResponses())}
FORMATS = tuple(_WIRES)

_ANTHROPIC_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
_RESPONSES_BLOCKS = frozenset({"input_text", "output_text", "input_image", "input_file"})


def get_wire(name: str) -> Wire:
    """The wire of a format. Wires hold no state: one object serves everybody.

    Raises:
        SettingsError: no such format.
    """
    wire = _WIRES.get(name)
    if wire is None:
        raise SettingsError(f"unknown format {name!r}; choose from {', '.join(FORMATS)}")
    return wire


def detect_format(messages: Sequence[Message], body: Mapping[str, Any] | None = None) -> str:
    """The format these messages are most likely in; `body` is the request around them, when there is one.

    The first sure sign decides. A plain talk of user and assistant texts looks alike in all formats: then it is
    `openai_chat`.
    """
    return next(chain(_signs_of_body(body or {}), _signs_of_messages(messages)), OpenAIChat.name)


def _signs_of_body(body: Mapping[str, Any]) -> Iterator[str]:
    if "input" in body or "instructions" in body:
        yield OpenAIResponses.name
    if "system" in body or "anthropic_version" in body:
        yield AnthropicMessages.name
    for tool in body.get("tools") or ():
        if isinstance(tool, dict) and "input_schema" in tool:
            yield AnthropicMessages.name


def _signs_of_messages(messages: Sequence[Any]) -> Iterator[str]:
    for message in messages:
        if not isinstance(message, dict):
            continue
        if message.get("type") not in (None, "message") or (message.get("type") and "role" in message):
            yield OpenAIResponses.name
        if message.get("role") in ("tool", "function") or message.get("tool_calls") or message.get("function_call"):
            yield OpenAIChat.name
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            kind = block.get("type") if isinstance(block, dict) else None
            if kind in _ANTHROPIC_BLOCKS or (kind == "image" and "source" in block):
                yield AnthropicMessages.name
            if kind in _RESPONSES_BLOCKS:
                yield OpenAIResponses.name
