"""A system prompt that is another at each call: the time of day, rules looked up, a mode that was switched.

Where prompts stand among the messages, a changed one is no edit of the history. The session goes on with the prompt it
knows, so that its decisions stay; the model sees the prompt as it is now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from foldaway.model.view import View
from foldaway.model.wire import Message

ROLES = frozenset({"system", "developer"})


def as_known(known: Sequence[Message], wire: list[Message]) -> list[Message]:
    """This history behind the prompt that `known` begins with; the very list where nothing is to change.

    A prompt of more or fewer messages than before is another history.
    """
    size = _prompts(wire)
    if not size or size != _prompts(known) or list(known[:size]) == wire[:size]:
        return wire
    return [*known[:size], *wire[size:]]


def surplus(system: Any, known: Sequence[Message], wire: Sequence[Message]) -> Any:
    """`system`, and behind it what the prompt of `wire` is longer than the known one, so that it counts."""
    more = _text(wire)[len(_text(known)) :]
    if not more:
        return system
    if isinstance(system, list):
        return [*system, {"type": "text", "text": more}]
    return f"{system}\n{more}" if system else more


def as_now(view: View, wire: Sequence[Message]) -> View:
    """The view behind the prompt that `wire` begins with."""
    size = min(_prompts(wire), _prompts(view.messages))
    return replace(view, messages=[*wire[:size], *view.messages[size:]])


def _prompts(messages: Sequence[Message]) -> int:
    """How many messages at the front are prompts."""
    return next((n for n, m in enumerate(messages) if m.get("role") not in ROLES), len(messages))


def _text(messages: Sequence[Message]) -> str:
    parts: list[str] = []
    for message in messages[: _prompts(messages)]:
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"text": content}]
        parts += [str(block.get("text") or "") for block in blocks if isinstance(block, dict)]
    return "\n".join(parts)
