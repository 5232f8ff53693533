"""LlamaIndex's chat messages as Chat Completions and back. Messages are never changed: a rewritten one is a copy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)

from foldaway.model.wire import Message

ROLES = {MessageRole.CHATBOT: "assistant", MessageRole.MODEL: "assistant"}
CALLS = "tool_calls"


class LlamaIndexMessages:
    """The codec. Calls are read from blocks, or from `additional_kwargs` where older integrations keep them."""

    format = "openai_chat"

    def to_wire(self, message: ChatMessage) -> list[Message]:
        role = ROLES.get(message.role, message.role.value)
        out: Message = {"role": role, "content": _content(message)}
        more = message.additional_kwargs
        if role in ("tool", "function"):
            named = {"name": more["name"]} if more.get("name") else {}
            called = {"tool_call_id": str(more.get("tool_call_id") or "")} if role == "tool" else {}
            return [{"role": role, **named, **called, "content": out["content"]}]
        if role == "assistant":
            thoughts = [b.content for b in message.blocks if isinstance(b, ThinkingBlock) and b.content]
            if thoughts:
                out["reasoning_content"] = "\n".join(thoughts)
            if calls := _calls(message):
                out["content"], out[CALLS] = out["content"] or None, calls
        return [out]

    def from_wire(self, messages: Sequence[Message], like: ChatMessage | None) -> list[ChatMessage]:
        if like is not None and len(messages) == 1:
            return [_rewritten(messages[0], like)]
        names = {c["id"]: c["function"]["name"] for m in messages for c in m.get(CALLS) or ()}
        return [_made(message, names) for message in messages]


def _content(message: ChatMessage) -> Any:
    blocks = [b for b in message.blocks if not isinstance(b, ToolCallBlock | ThinkingBlock)]
    if len(blocks) == 1 and isinstance(blocks[0], TextBlock):
        return blocks[0].text
    return [_part(block) for block in blocks] or ""


def _part(block: Any) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, ImageBlock):
        data = block.image if isinstance(block.image, bytes) else None
        url = f"data:{block.image_mimetype};base64,{data.decode()}" if data else str(block.url or block.path or "")
        return {"type": "image_url", "image_url": {"url": url}}
    kind = block.block_type
    return {"type": kind, kind: json.loads(json.dumps(block.model_dump(exclude_none=True), default=_as_text))}


def _as_text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _calls(message: ChatMessage) -> list[dict[str, Any]]:
    blocks = [b for b in message.blocks if isinstance(b, ToolCallBlock)]
    if blocks:
        return [_call(b.tool_call_id or b.tool_name, b.tool_name, b.tool_kwargs) for b in blocks]
    made = []
    for call in message.additional_kwargs.get(CALLS) or ():
        given = call if isinstance(call, Mapping) else call.model_dump()
        function = given.get("function")
        if isinstance(function, Mapping):
            made.append(_call(given.get("id") or function["name"], function["name"], function["arguments"]))
        elif "tool_name" in given:
            made.append(_call(given.get("tool_id") or given["tool_name"], given["tool_name"], given["tool_kwargs"]))
    return made


def _call(name_of_call: str, name: str, arguments: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": name_of_call, "type": "function", "function": {"name": name, "arguments": text}}


def _rewritten(message: Message, like: ChatMessage) -> ChatMessage:
    now = {call["id"]: call["function"]["arguments"] for call in message.get(CALLS) or ()}
    before = {call["id"]: call["function"]["arguments"] for call in _calls(like)}
    blocks: list[Any] = []
    if "reasoning_content" in message:
        blocks += [b for b in like.blocks if isinstance(b, ThinkingBlock)]
    blocks += _content_back(message.get("content"), like)
    for block in like.blocks:
        called = (block.tool_call_id or block.tool_name) if isinstance(block, ToolCallBlock) else None
        if called in now:
            same = now[called] == before[called]
            blocks.append(block if same else block.model_copy(update={"tool_kwargs": json.loads(now[called])}))
    more = like.additional_kwargs
    if more.get(CALLS) and now != before:
        kept = [call for call, key in zip(more[CALLS], before, strict=False) if key in now]
        more = {**more, CALLS: [_call_back(call, now) for call in kept]}
    return like.model_copy(update={"blocks": blocks, "additional_kwargs": more})


def _call_back(call: Any, now: Mapping[str, str]) -> Any:
    given = dict(call) if isinstance(call, Mapping) else call.model_dump()
    function = given.get("function")
    if isinstance(function, Mapping):
        given["function"] = {**function, "arguments": now[given.get("id") or function["name"]]}
    else:
        given["tool_kwargs"] = json.loads(now[given.get("tool_id") or given["tool_name"]])
    return given if isinstance(call, Mapping) else type(call).model_validate(given)


def _content_back(content: Any, like: ChatMessage) -> list[Any]:
    if not isinstance(content, list):
        return [TextBlock(text=content)] if content else []
    came = {_key(_part(b)): b for b in like.blocks if not isinstance(b, ToolCallBlock | ThinkingBlock)}
    return [came.get(_key(part)) or _block(part) for part in content]


def _block(part: Mapping[str, Any]) -> Any:
    kind = str(part.get("type"))
    if kind == "image_url":
        return ImageBlock(url=part["image_url"]["url"])
    if kind != "text" and kind in part:
        # ChatMessage makes a block of what `_part` wrote down.
        return ChatMessage(blocks=[part[kind]]).blocks[0]
    return TextBlock(text=str(part.get("text", "")))


def _key(part: Mapping[str, Any]) -> str:
    return json.dumps(part, sort_keys=True, default=repr)


def _made(message: Message, names: Mapping[str, str]) -> ChatMessage:
    content = message.get("content") or ""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks: list[Any] = [_block(part) for part in parts if part.get("text") != ""]
    for call in message.get(CALLS) or ():
        arguments = json.loads(call["function"]["arguments"])
        blocks.append(ToolCallBlock(tool_call_id=call["id"], tool_name=call["function"]["name"], tool_kwargs=arguments))
    more: dict[str, Any] = {}
    if message.get("role") == "tool":
        called = message["tool_call_id"]
        more = {"tool_call_id": called, "name": names.get(called) or message.get("name") or ""}
    return ChatMessage(role=MessageRole(message["role"]), blocks=blocks, additional_kwargs=more)
