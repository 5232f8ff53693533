"""Strands' messages (Bedrock's blocks) as Anthropic Messages and back.

Blocks of kinds that are only carried along go as `{"type": KIND, KIND: ...}`, with bytes as `{"base64": ...}`; what
stays of a message is the very block that came.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from foldaway.model.wire import Message

Block = dict[str, Any]


class StrandsMessages:
    """The codec. A message's metadata and tracking id are no part of the wire form and stay as they are."""

    format = "anthropic_messages"

    def to_wire(self, message: Mapping[str, Any]) -> list[Message]:
        return [{"role": message["role"], "content": [_block(block) for block in message["content"]]}]

    def from_wire(self, messages: Sequence[Message], like: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        came = {} if like is None else {_key(_block(block)): block for block in like["content"]}
        made = []
        for message in messages:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            made.append({**(like or {}), "role": message["role"], "content": [_back(b, came) for b in blocks]})
        return made


def _block(block: Mapping[str, Any]) -> Block:
    if "text" in block:
        return {"type": "text", "text": block["text"]}
    if "toolUse" in block:
        use = block["toolUse"]
        return {"type": "tool_use", "id": use["toolUseId"], "name": use["name"], "input": use["input"]}
    if "toolResult" in block:
        return _result(block["toolResult"])
    if "reasoningContent" in block:
        return _reasoning(block["reasoningContent"])
    if "image" in block and "bytes" in block["image"].get("source", {}):
        image = block["image"]
        data = base64.b64encode(image["source"]["bytes"]).decode()
        source = {"type": "base64", "media_type": f"image/{image['format']}", "data": data}
        return {"type": "image", "source": source}
    kind = next(iter(block), "text")
    return {"type": kind, kind: _plain(block.get(kind, ""))}


def _result(result: Mapping[str, Any]) -> Block:
    content = [_result_part(part) for part in result["content"]]
    made: Block = {"type": "tool_result", "tool_use_id": result["toolUseId"], "content": content}
    return {**made, "is_error": True} if result.get("status") == "error" else made


def _result_part(part: Mapping[str, Any]) -> Block:
    if "json" in part:
        # As the providers' adapters of Strands write it.
        return {"type": "text", "text": json.dumps(part["json"], ensure_ascii=False)}
    return _block(part)


def _reasoning(content: Mapping[str, Any]) -> Block:
    said = content.get("reasoningText")
    if said is None:
        return {"type": "redacted_thinking", "data": base64.b64encode(content.get("redactedContent", b"")).decode()}
    return {"type": "thinking", "thinking": said.get("text", ""), "signature": said.get("signature") or ""}


def _plain(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, bytes | bytearray):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def _revived(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"base64"}:
            return base64.b64decode(value["base64"])
        return {key: _revived(part) for key, part in value.items()}
    return [_revived(part) for part in value] if isinstance(value, list) else value


def _back(block: Block, came: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    known = came.get(_key(block))
    if known is not None:
        return known
    match block.get("type"):
        case "tool_use":
            # What stood beside the call, such as a signature of the model's reasoning, stays.
            uses = (b["toolUse"] for b in came.values() if "toolUse" in b)
            like = next((use for use in uses if use["toolUseId"] == block["id"]), None) or {}
            return {"toolUse": {**like, "toolUseId": block["id"], "name": block["name"], "input": block["input"]}}
        case "tool_result":
            return {"toolResult": _result_back(block, came)}
        case "thinking":
            return {"reasoningContent": {"reasoningText": {"text": block["thinking"], "signature": block["signature"]}}}
        case "image":
            source = block["source"]
            kind = str(source["media_type"]).rpartition("/")[2]
            return {"image": {"format": kind, "source": {"bytes": base64.b64decode(source["data"])}}}
    kind = str(block.get("type"))
    if kind != "text" and kind in block:
        return {kind: _revived(block[kind])}
    return {"text": str(block.get("text", ""))}


def _result_back(block: Block, came: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    content = block.get("content", "")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    results = (b["toolResult"] for b in came.values() if "toolResult" in b)
    like = next((result for result in results if result["toolUseId"] == block["tool_use_id"]), None) or {}
    inside = {_key(_result_part(part)): part for part in like.get("content", ())}
    status = like.get("status", "error" if block.get("is_error") else "success")
    return {
        **like, "toolUseId": block["tool_use_id"], "status": status,
        "content": [inside.get(_key(part)) or _back(part, {}) for part in parts],
    }  # fmt: skip


def _key(block: Mapping[str, Any]) -> str:
    return json.dumps(block, sort_keys=True, default=repr)
