"""Messages as a provider takes them: a list, a request body, or one message a line. They come through untouched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.readers._build import Draft
from foldaway.readers._source import DocumentFormat, LineFormat, Log

ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
RESPONSE_ONLY = {"reasoning", "item_reference", "compaction", "input_text", "output_text", "input_image", "input_file"}
ANTHROPIC_ONLY = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document"}


def is_item(value: Any) -> bool:
    """Whether this is one message, or one input item of the Responses protocol."""
    if not isinstance(value, Mapping):
        return False
    if value.get("role") in ROLES:
        return bool({"content", "tool_calls", "function_call"} & value.keys())
    return _is_response_type(value.get("type"))


def is_messages(value: Any) -> bool:
    return isinstance(value, list) and any(is_item(item) for item in value[:20])


def wire_format(messages: Sequence[Any], body: Mapping[str, Any]) -> str:
    """Which provider format this is; openai_chat where nothing tells."""
    if "input" in body or "instructions" in body:
        return "openai_responses"
    blocks: set[Any] = set()
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        if "role" not in message or message.get("type") == "message":
            return "openai_responses"
        if "tool_calls" in message or message["role"] in ("tool", "system", "developer", "function"):
            return "openai_chat"
        content = message.get("content")
        if isinstance(content, list):
            blocks.update(str(block.get("type")) for block in content if isinstance(block, Mapping))
    tools = body.get("tools")
    if "system" in body or blocks & ANTHROPIC_ONLY or (isinstance(tools, list) and _has_schema(tools)):
        return "anthropic_messages"
    return "openai_responses" if blocks & RESPONSE_ONLY else "openai_chat"


def _has_schema(tools: Sequence[Any]) -> bool:
    return any(isinstance(tool, Mapping) and "input_schema" in tool for tool in tools)


def _is_response_type(kind: Any) -> bool:
    return isinstance(kind, str) and (kind in RESPONSE_ONLY or kind.endswith(("_call", "_call_output")))


def _knows_document(value: Any) -> bool:
    if isinstance(value, Mapping):
        listed = value.get("messages", value.get("input"))
        return is_messages(listed) or ("messages" not in value and "model" in value and isinstance(listed, str))
    return is_messages(value)


def _read_document(value: Any, log: Log) -> Iterator[Recorded]:
    body: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    listed: Any = body.get("messages", body.get("input")) if body else value
    if isinstance(listed, str):
        listed = [{"role": "user", "content": listed}]
    yield _session(listed, body, log)


def _session(listed: Sequence[Any], body: Mapping[str, Any], log: Log) -> Recorded:
    draft = Draft()
    for position, message in enumerate(listed):
        if isinstance(message, dict):
            draft.add(message)
        else:
            log.problem(0, f"element {position} is a {type(message).__name__}; expected a message object")
    format = wire_format(draft.messages, body)
    system = body.get("instructions") if format == "openai_responses" else body.get("system")
    tools = body.get("tools")
    draft.model = str(body.get("model") or "")
    return draft.recorded(log.name(), "plain", format, system=system, tools=tools if isinstance(tools, list) else None)


def _read_lines(records: Iterable[tuple[int, dict[str, Any]]], log: Log) -> Iterator[Recorded]:
    messages: list[Message] = []
    for line, record in records:
        with log.guard(line, "a message with role and content"):
            if not is_item(record):
                raise ValueError("an object with " + (", ".join(sorted(record)[:5]) or "nothing in it"))
            messages.append(record)
    yield _session(messages, {}, log)


DOCUMENT = DocumentFormat("plain", _knows_document, _read_document)
LINES = LineFormat("plain", is_item, _read_lines)
