"""Google ADK's contents (Gemini's parts) as Anthropic Messages and back, one content one message.

Gemini's calls often have no ids: they are answered in order, by name. A wire format needs ids, so each content goes
with those that its parts have here; where a part had none, it gets none back.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.genai import types

from foldaway.model.wire import Message

Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Numbered:
    """A content, and for each part the id of its call; "" where it is none."""

    content: types.Content
    ids: tuple[str, ...]


def numbered(contents: Iterable[types.Content]) -> list[Numbered]:
    """Ids for a whole history: those that are there, else by position, which stays the same as the history grows."""
    open_calls: dict[str, list[str]] = {}
    count, out = 0, []
    for content in contents:
        ids = []
        for part in content.parts or ():
            made = ""
            if part.function_call is not None:
                count += 1
                made = part.function_call.id or f"call_{count}"
                open_calls.setdefault(part.function_call.name or "", []).append(made)
            elif part.function_response is not None:
                made = _answered(part.function_response, open_calls) or f"call_{count}_loose"
            ids.append(made)
        out.append(Numbered(content, tuple(ids)))
    return out


class AdkContents:
    """The codec."""

    format = "anthropic_messages"

    def to_wire(self, message: Numbered) -> list[Message]:
        role = "assistant" if message.content.role == "model" else "user"
        blocks = [_block(part, made) for part, made in _parts(message)]
        return [{"role": role, "content": blocks}] if blocks else []

    def from_wire(self, messages: Sequence[Message], like: Numbered | None) -> list[Numbered]:
        parts = [] if like is None else _parts(like)
        came = {_key(_block(part, made)): part for part, made in parts}
        by_id = {made: part for part, made in parts if made}
        names = {b["id"]: b["name"] for m in messages for b in _blocks(m) if b.get("type") == "tool_use"}
        out = []
        for message in messages:
            made = [_part(block, came, by_id, names) for block in _blocks(message)]
            if like is not None:
                out.append(Numbered(like.content.model_copy(update={"parts": made}), ()))
            else:
                role = "model" if message["role"] == "assistant" else "user"
                out.append(Numbered(types.Content(role=role, parts=made), ()))
        return out


def _answered(response: types.FunctionResponse, open_calls: Mapping[str, list[str]]) -> str:
    waiting = open_calls.get(response.name or "", [])
    if response.id:
        if response.id in waiting:
            waiting.remove(response.id)
        return str(response.id)
    return waiting.pop(0) if waiting else ""


def _parts(message: Numbered) -> list[tuple[types.Part, str]]:
    return list(zip(message.content.parts or (), message.ids, strict=True))


def _blocks(message: Message) -> list[Block]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _block(part: types.Part, made: str) -> Block:
    if part.function_call is not None:
        call = part.function_call
        return {"type": "tool_use", "id": made, "name": call.name or "", "input": _plain(call.args or {})}
    if part.function_response is not None:
        return _result(part.function_response, made)
    if part.text is not None and part.thought:
        return {"type": "thinking", "thinking": part.text, "signature": _base64(part.thought_signature)}
    if part.text is not None:
        return {"type": "text", "text": part.text}
    blob = part.inline_data
    if blob is not None and (blob.mime_type or "").startswith("image/"):
        source = {"type": "base64", "media_type": blob.mime_type, "data": _base64(blob.data)}
        return {"type": "image", "source": source}
    return {"type": "part", "part": part.model_dump(mode="json", exclude_none=True)}


def _result(response: types.FunctionResponse, made: str) -> Block:
    given = response.response or {}
    text = given.get("result") if set(given) == {"result"} else None
    if not isinstance(text, str):
        text = json.dumps(_plain(given), ensure_ascii=False)
    block: Block = {"type": "tool_result", "tool_use_id": made, "content": text}
    if response.parts:
        more = [{"type": "part", "part": part.model_dump(mode="json", exclude_none=True)} for part in response.parts]
        block["content"] = [{"type": "text", "text": text}, *more]
    return {**block, "is_error": True} if "error" in given else block


def _part(
    block: Block, came: Mapping[str, types.Part], by_id: Mapping[str, types.Part], names: Mapping[str, str]
) -> types.Part:
    known = came.get(_key(block))
    if known is not None:
        return known
    match block.get("type"):
        case "tool_use":
            like = by_id.get(block["id"])
            if like is None or like.function_call is None:
                call = types.FunctionCall(id=block["id"], name=block["name"], args=block["input"])
                return types.Part(function_call=call)
            # A signature of the model's thinking stands on the part and stays.
            return like.model_copy(
                update={"function_call": like.function_call.model_copy(update={"args": block["input"]})}
            )
        case "tool_result":
            return _response(block, by_id.get(block["tool_use_id"]), names)
        case "image":
            source = block["source"]
            blob = types.Blob(data=base64.b64decode(source["data"]), mime_type=source["media_type"])
            return types.Part(inline_data=blob)
        case "part":
            return types.Part.model_validate_json(json.dumps(block["part"]))
    return types.Part(text=str(block.get("text", "")))


def _response(block: Block, like: types.Part | None, names: Mapping[str, str]) -> types.Part:
    content = block.get("content", "")
    texts = [b.get("text", "") for b in content if b.get("type") == "text"] if isinstance(content, list) else [content]
    given = {"result": "\n".join(texts)}
    if like is None or like.function_response is None:
        called = block["tool_use_id"]
        response = types.FunctionResponse(id=called, name=names.get(called, ""), response=given)
        return types.Part(function_response=response)
    others = isinstance(content, list) and any(b.get("type") == "part" for b in content)
    update = {"response": given, "parts": like.function_response.parts if others else None}
    return like.model_copy(update={"function_response": like.function_response.model_copy(update=update)})


def _base64(data: bytes | None) -> str:
    return base64.b64encode(data or b"").decode()


def _plain(value: Any) -> Any:
    """The value as JSON has it."""
    return json.loads(json.dumps(value, default=repr))


def _key(block: Mapping[str, Any]) -> str:
    return json.dumps(block, sort_keys=True, default=repr)
