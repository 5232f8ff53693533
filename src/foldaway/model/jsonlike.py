"""JSON values as Python has them: copies, comparable forms, text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from foldaway.errors import WireError
from foldaway.model.wire import Message


def unmarked(value: Any) -> Any:
    """A copy without cache marks, which clients move about: for telling whether two messages are the same."""
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [unmarked(v) for v in value] if isinstance(value, list) else value


def copy(value: Any) -> Any:
    """A deep copy of JSON; several times faster than copy.deepcopy."""
    if isinstance(value, dict):
        return {k: copy(v) for k, v in value.items()}
    return [copy(v) for v in value] if isinstance(value, list | tuple) else value


_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(value: Any) -> Any:
    """A deep copy that can be sent: halves of surrogate pairs become U+FFFD, as every UTF-8 encoder demands."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {clean(k): clean(v) for k, v in value.items()}
    return [clean(v) for v in value] if isinstance(value, list | tuple) else value


def copy_messages(messages: Sequence[Message]) -> list[Message]:
    """Deep copies of messages from outside. Raises WireError when they are no list of objects, or nested too deeply."""
    if isinstance(messages, Mapping | str | bytes):
        raise WireError(f"expected a list of messages, got one {type(messages).__name__}")
    messages = list(messages)
    for number, message in enumerate(messages):
        if not isinstance(message, dict):
            raise WireError(f"message {number} is a {type(message).__name__}; expected an object")
    try:
        copied: list[Message] = copy(messages)
    except RecursionError:
        raise WireError("a message is nested too deeply to be read") from None
    return copied


def dumps(value: Any) -> str:
    """JSON as short as it gets, in ASCII, keys in their order: the form that is stored."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
