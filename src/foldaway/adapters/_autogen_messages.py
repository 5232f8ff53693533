"""AutoGen's messages as Chat Completions and back. Messages are never changed: a rewritten one is a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autogen_core import FunctionCall, Image
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)

from foldaway.model.wire import Message

SOURCE = "foldaway"
"""Who said a message of our own making."""


class AutoGenMessages:
    """The codec."""

    format = "openai_chat"

    def to_wire(self, message: LLMMessage) -> list[Message]:
        match message:
            case SystemMessage():
                return [{"role": "system", "content": message.content}]
            case UserMessage():
                content = message.content
                parts = content if isinstance(content, str) else [_part(part) for part in content]
                return [{"role": "user", "name": message.source, "content": parts}]
            case AssistantMessage():
                return [_assistant(message)]
        # One message holds the results of several calls.
        return [{"role": "tool", "tool_call_id": r.call_id, "content": r.content} for r in message.content]

    def from_wire(self, messages: Sequence[Message], like: LLMMessage | None) -> list[LLMMessage]:
        if isinstance(like, FunctionExecutionResultMessage):
            came = {result.call_id: result for result in like.content}
            return [FunctionExecutionResultMessage(content=[_result(m, came[m["tool_call_id"]]) for m in messages])]
        if like is not None and len(messages) == 1:
            return [_rewritten(messages[0], like)]
        names = {c["id"]: c["function"]["name"] for m in messages for c in m.get("tool_calls") or ()}
        return [_made(message, names) for message in messages]


def _assistant(message: AssistantMessage) -> Message:
    if isinstance(message.content, str):
        # Clients send no thought beside a text.
        return {"role": "assistant", "content": message.content}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.content
    ]
    return {"role": "assistant", "content": message.thought or None, "tool_calls": calls}


def _part(part: str | Image) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": part.data_uri}}


def _part_back(part: Mapping[str, Any], came: Mapping[str, Image]) -> str | Image:
    if part.get("type") != "image_url":
        return str(part.get("text", ""))
    url = part["image_url"]["url"]
    return came.get(url) or Image.from_uri(url)


def _calls(message: Message) -> list[FunctionCall]:
    return [
        FunctionCall(id=call["id"], name=call["function"]["name"], arguments=call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]


def _result(message: Message, like: FunctionExecutionResult) -> FunctionExecutionResult:
    return like.model_copy(update={"content": _text(message.get("content"))})


def _rewritten(message: Message, like: LLMMessage) -> LLMMessage:
    content = message.get("content")
    if isinstance(like, AssistantMessage):
        calls = _calls(message)
        if calls:
            return like.model_copy(update={"content": calls, "thought": _text(content) or None})
        return like.model_copy(update={"content": _text(content)})
    if isinstance(like, UserMessage) and isinstance(content, list):
        came = {p.data_uri: p for p in like.content if isinstance(p, Image)}
        return like.model_copy(update={"content": [_part_back(part, came) for part in content]})
    return like.model_copy(update={"content": _text(content)})


def _made(message: Message, names: Mapping[str, str]) -> LLMMessage:
    content = message.get("content")
    match message.get("role"):
        case "assistant":
            calls = _calls(message)
            thought = _text(content) or None
            if calls:
                return AssistantMessage(content=calls, thought=thought, source=SOURCE)
            return AssistantMessage(content=_text(content), source=SOURCE)
        case "tool":
            called = message["tool_call_id"]
            result = FunctionExecutionResult(content=_text(content), name=names.get(called, ""), call_id=called)
            return FunctionExecutionResultMessage(content=[result])
        case "system" | "developer":
            return SystemMessage(content=_text(content))
        case _:
            parts = [_part_back(part, {}) for part in content] if isinstance(content, list) else content or ""
            return UserMessage(content=parts, source=SOURCE)


def _text(content: Any) -> str:
    """A content's text; of parts, those joined."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return content or ""
