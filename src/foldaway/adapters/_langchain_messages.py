"""LangChain's messages as Chat Completions and back; LangChain's and LangGraph's adapters share it.

Messages are never changed: a rewritten one is a copy with other content, so ids, names, artifacts and metadata stay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
)
from langchain_core.messages.block_translators.openai import convert_to_openai_data_block

from foldaway.model.wire import Message

CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call", "input_json_delta", "tool_call_chunk"})
"""Content blocks that repeat a call of `tool_calls`."""
MEDIA_BLOCKS = frozenset({"image", "audio", "file"})


class LangChainMessages:
    """The codec."""

    format = "openai_chat"

    def to_wire(self, message: BaseMessage) -> list[Message]:
        content = _content(message.content)
        match message:
            case AIMessage():
                return [_assistant(message, content)]
            case ToolMessage():
                named = {"name": message.name} if message.name else {}
                return [{"role": "tool", **named, "tool_call_id": message.tool_call_id, "content": content}]
            case FunctionMessage():
                return [{"role": "function", "name": message.name, "content": content}]
        role = {"human": "user", "system": "system"}.get(message.type)
        if role is None:
            role = message.role if isinstance(message, ChatMessage) else ""
        # Removals and the like are no words to a model.
        return [{"role": role, **({"name": message.name} if message.name else {}), "content": content}] if role else []

    def from_wire(self, messages: Sequence[Message], like: BaseMessage | None) -> list[BaseMessage]:
        if like is not None and len(messages) == 1:
            return [_rewritten(messages[0], like)]
        names = {c.get("id"): c["function"]["name"] for m in messages for c in m.get("tool_calls") or ()}
        return [_made(message, names) for message in messages]


def wire_usage(usage: Any) -> Mapping[str, Any] | None:
    """LangChain's usage, whose input tokens hold the cached ones, as Responses tell it."""
    tokens = usage.get("input_tokens") if isinstance(usage, Mapping) else None
    return {"input_tokens": tokens, "input_tokens_details": {}} if tokens else None


def _assistant(message: AIMessage, content: Any) -> Message:
    out: Message = {"role": "assistant", "content": content}
    if isinstance(content, list):
        out["content"] = [block for block in content if block.get("type") not in CALL_BLOCKS] or None
    if message.name:
        out["name"] = message.name
    reasoning = message.additional_kwargs.get("reasoning_content")
    if isinstance(reasoning, str) and reasoning:
        out["reasoning_content"] = reasoning
    if message.tool_calls:
        out["content"] = out["content"] or None
        out["tool_calls"] = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["args"])}}
            for c in message.tool_calls
        ]
    return out


def _content(content: Any) -> Any:
    return content if isinstance(content, str) else [_block(block) for block in content]


def _block(block: Any) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if block.get("type") in MEDIA_BLOCKS and ("base64" in block or "url" in block or "data" in block):
        try:
            return dict(convert_to_openai_data_block(block))
        except ValueError:
            pass
    return dict(block)


def _rewritten(message: Message, like: BaseMessage) -> BaseMessage:
    """A copy of the original that says what the view says."""
    content = _content_back(message.get("content"), like.content)
    if not isinstance(like, AIMessage):
        return like.model_copy(update={"content": content})
    whole = message_chunk_to_message(like) if isinstance(like, AIMessageChunk) else like
    known = {call["id"]: call for call in like.tool_calls}
    calls = [_call(call, known) for call in message.get("tool_calls") or ()]
    if isinstance(content, list):
        content += _call_blocks(like.content, calls)
    more = dict(like.additional_kwargs)
    if calls != like.tool_calls:
        # The provider's own form of the calls would be sent instead.
        more.pop("tool_calls", None)
        more.pop("function_call", None)
    if "reasoning_content" not in message:
        more.pop("reasoning_content", None)
    return whole.model_copy(update={"content": content, "tool_calls": calls, "additional_kwargs": more})


def _content_back(content: Any, original: Any) -> Any:
    if not isinstance(content, list) or isinstance(original, str):
        return content or ""
    came = {json.dumps(_block(block), sort_keys=True, default=repr): block for block in original}
    return [came.get(json.dumps(block, sort_keys=True, default=repr), block) for block in content]


def _call(call: Mapping[str, Any], known: Mapping[Any, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = json.loads(function["arguments"])
    before = known.get(call.get("id"))
    if before is not None and before["args"] == arguments:
        return dict(before)
    return {"name": function["name"], "args": arguments, "id": call.get("id"), "type": "tool_call"}


def _call_blocks(original: Any, calls: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The original's blocks of calls that are still there, with the arguments as they are now."""
    now = {call["id"]: call for call in calls}
    kept: list[Any] = []
    for block in original if isinstance(original, list) else ():
        if not isinstance(block, dict) or block.get("type") not in CALL_BLOCKS:
            continue
        call = now.get(block.get("call_id") or block.get("id"))
        if call is None:
            continue
        for field in ("input", "args"):
            if isinstance(block.get(field), dict) and block[field] != call["args"]:
                block = {**block, field: call["args"]}
        if isinstance(block.get("arguments"), str):
            block = {**block, "arguments": json.dumps(call["args"])}
        kept.append(block)
    return kept


def _made(message: Message, names: Mapping[Any, str]) -> BaseMessage:
    content = message.get("content") or ""
    match message.get("role"):
        case "assistant":
            return AIMessage(content=content, tool_calls=[_call(c, {}) for c in message.get("tool_calls") or ()])
        case "tool":
            called = message.get("tool_call_id")
            return ToolMessage(content=content, tool_call_id=called, name=message.get("name") or names.get(called))
        case "system" | "developer":
            return SystemMessage(content=content)
        case _:
            return HumanMessage(content=content)
