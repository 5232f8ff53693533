"""Microsoft Agent Framework's messages as Chat Completions and back, by copies: the originals never change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from agent_framework import Content, Message

from foldaway.model.wire import Message as WireMessage


class AgentFrameworkMessages:
    """The codec. Ids of messages and what stands beside the contents are no part of the wire form."""

    format = "openai_chat"

    def to_wire(self, message: Message) -> list[WireMessage]:
        if message.role == "tool":
            # One message may hold the results of several calls.
            results = [c for c in message.contents if c.type == "function_result"]
            return [{"role": "tool", "tool_call_id": c.call_id or "", "content": _result(c)} for c in results]
        if message.role != "assistant":
            return [{"role": message.role, "content": _content(message.contents)}] if message.contents else []
        calls = [c for c in message.contents if _is_call(c)]
        thoughts = [c.text for c in message.contents if c.type == "text_reasoning" and c.text]
        others = [c for c in message.contents if not _is_call(c) and c.type != "text_reasoning"]
        out: WireMessage = {"role": "assistant", "content": _content(others)}
        if thoughts:
            out["reasoning_content"] = "\n".join(thoughts)
        if calls:
            out["content"] = out["content"] or None
            out["tool_calls"] = [_call(c) for c in calls]
        return [out] if message.contents else []

    def from_wire(self, messages: Sequence[WireMessage], like: Message | None) -> list[Message]:
        if like is None:
            return [_made(message) for message in messages]
        if like.role == "tool":
            now = {message["tool_call_id"]: message["content"] for message in messages}
            kept = [c for c in like.contents if c.type != "function_result" or (c.call_id or "") in now]
            return [_like(like, [_result_back(c, now) for c in kept])]
        return [_like(like, _contents_back(message, like)) for message in messages]


def _is_call(content: Content) -> bool:
    """Whether a call waits for a result of ours; what the provider did itself is carried along."""
    return content.type == "function_call" and not content.informational_only and not content.hosted


def _call(content: Content) -> dict[str, Any]:
    given = content.arguments
    text = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False)
    return {"id": content.call_id, "type": "function", "function": {"name": content.name, "arguments": text or "{}"}}


def _content(contents: Sequence[Content]) -> Any:
    if len(contents) == 1 and contents[0].type == "text":
        return contents[0].text
    return [_part(content) for content in contents] or ""


def _part(content: Content) -> dict[str, Any]:
    if content.type == "text":
        return {"type": "text", "text": content.text}
    if content.type in ("data", "uri") and (content.media_type or "").startswith("image/"):
        return {"type": "image_url", "image_url": {"url": content.uri}}
    plain = json.loads(json.dumps(content.to_dict(), default=repr))
    return {"type": content.type, content.type: plain}


def _result(content: Content) -> Any:
    items = content.items or ()
    if any(item.type != "text" for item in items):
        return [_part(item) for item in items]
    given = content.result
    if given is None:
        return ""
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=repr)


def _result_back(content: Content, now: Mapping[str, Any]) -> Content:
    if content.type != "function_result" or now[content.call_id or ""] == _result(content):
        return content
    given = now[content.call_id or ""]
    parts = [{"type": "text", "text": given}] if isinstance(given, str) else given
    came = {_key(_part(item)): item for item in content.items or ()}
    made = copy(content)
    made.items = [came.get(_key(part)) or _content_of(part) for part in parts]
    made.result = "\n".join(item.text for item in made.items if item.type == "text" and item.text)
    return made


def _content_of(part: Mapping[str, Any]) -> Content:
    kind = str(part.get("type"))
    if kind == "image_url":
        url = part["image_url"]["url"]
        return Content.from_uri(url, media_type=None if url.startswith("data:") else "image/*")
    return Content.from_dict(part[kind]) if kind in part and kind != "text" else Content.from_text(part.get("text", ""))


def _contents_back(message: WireMessage, like: Message) -> list[Content]:
    content = message.get("content") or []
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    came = {_key(_part(c)): c for c in like.contents if not _is_call(c) and c.type != "text_reasoning"}
    out = [c for c in like.contents if c.type == "text_reasoning"] if "reasoning_content" in message else []
    out += [came.get(_key(part)) or _content_of(part) for part in parts]
    now = {call["id"]: call["function"]["arguments"] for call in message.get("tool_calls") or ()}
    for call in (c for c in like.contents if _is_call(c) and c.call_id in now):
        if now[call.call_id] == _call(call)["function"]["arguments"]:
            out.append(call)
        else:
            out.append(changed := copy(call))
            changed.arguments = now[call.call_id]
    return out


def _like(like: Message, contents: list[Content]) -> Message:
    made = copy(like)
    made.contents, made.additional_properties = contents, dict(like.additional_properties)
    return made


def _made(message: WireMessage) -> Message:
    content = message.get("content") or ""
    text = content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)
    if message["role"] == "tool":
        return Message("tool", [Content.from_function_result(message["tool_call_id"], result=text)])
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    contents: list[Any] = [_content_of(part) for part in parts if part.get("text") != ""]
    for call in message.get("tool_calls") or ():
        function = call["function"]
        contents.append(Content.from_function_call(call["id"], function["name"], arguments=function["arguments"]))
    return Message(message["role"], contents)


def _key(part: Mapping[str, Any]) -> str:
    return json.dumps(part, sort_keys=True, default=repr)
