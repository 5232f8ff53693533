"""The parts of a chat message: where each stands, and how a message looks with some of them changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldaway.model.wire import Edit, Message, PartType
from foldaway.wire import _common as c
from foldaway.wire._common import Change, Place

TEXT_FIELDS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
IMAGES = frozenset({"image_url", "image", "input_image"})
DOCUMENTS = frozenset({"file", "input_file", "input_audio", "audio_url", "video_url", "document"})
REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")
RESULT_ROLES = frozenset({"tool", "function"})


def tool_calls(message: Message) -> list[dict[str, Any]]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def call_body(call: Mapping[str, Any]) -> Mapping[str, Any]:
    body = call.get("custom" if call.get("type") == "custom" else "function")
    return body if isinstance(body, dict) else {}


def has_calls(message: Message) -> bool:
    return bool(message.get("tool_calls") or message.get("function_call"))


def is_empty(message: Message) -> bool:
    """A user or assistant message that says nothing. Reasoning alone is nothing: servers ask for content or calls."""
    role = message.get("role")
    if role not in ("user", "assistant") or (role == "assistant" and has_calls(message)):
        return False
    content = message.get("content")
    if isinstance(content, list):
        if content:
            return False
    elif not c.is_blank(content):
        return False
    return not (role == "assistant" and (message.get("refusal") or message.get("audio")))


def block_count(message: Message) -> int:
    content = message.get("content")
    return len(content) if isinstance(content, list) else 0


def places(message: Message) -> list[Place]:
    role = c.as_str(message.get("role"))
    content = message.get("content")
    if role in RESULT_ROLES:
        call_id = c.as_str(message.get("tool_call_id")) if role == "tool" else ""
        name = c.as_str(message.get("name"))
        return [Place("result", -1, PartType.RESULT, "tool", content_text(content), call_id, name)]
    places: list[Place] = []
    if role == "assistant":
        reasoning = _reasoning_text(message)
        if reasoning is not None:
            places.append(Place("reasoning", -1, PartType.REASONING, role, reasoning))
    if isinstance(content, str):
        if content or role != "assistant":
            places.append(Place("content", -1, PartType.TEXT, role, content))
    elif content:
        places.extend(_block_place(index, block, role) for index, block in enumerate(content))
    if role == "assistant":
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal:
            places.append(Place("refusal", -1, PartType.TEXT, role, refusal))
        if message.get("audio"):
            places.append(Place("audio", -1, PartType.OTHER, role, c.dump(message["audio"])))
        _add_call_places(message, places)
    if not places:
        # Every message has a part, or nothing could say whether it is shown.
        places.append(Place("content", -1, PartType.TEXT, role, ""))
    return places


def _block_place(index: int, block: dict[str, Any], role: str) -> Place:
    kind = block.get("type")
    if isinstance(kind, str):
        text = block.get(TEXT_FIELDS.get(kind, ""))
        if isinstance(text, str):
            return Place("content", index, PartType.TEXT, role, text)
        if kind in IMAGES:
            return Place("content", index, PartType.IMAGE, role, "")
        if kind in DOCUMENTS:
            return Place("content", index, PartType.DOCUMENT, role, "")
        if kind in ("thinking", "reasoning"):
            return Place("content", index, PartType.REASONING, role, _thinking_text(block))
    return Place("content", index, PartType.OTHER, role, c.dump(block))


def _add_call_places(message: Message, places: list[Place]) -> None:
    calls = message.get("tool_calls")
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        if not isinstance(call, dict):
            continue
        body = call_body(call)
        raw = body.get("input") if call.get("type") == "custom" else body.get("arguments")
        places.append(_call_place("tool_calls", index, c.as_str(call.get("id")), body, raw))
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        places.append(_call_place("function_call", -1, "", legacy, legacy.get("arguments")))


def _call_place(where: str, index: int, call_id: str, body: Mapping[str, Any], raw: Any) -> Place:
    text = raw if isinstance(raw, str) else "" if raw is None else c.dump(raw)
    name = c.as_str(body.get("name"))
    return Place(where, index, PartType.CALL, "assistant", text, call_id, name, c.parse_arguments(raw))


def content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, list):
        return c.dump(content)
    texts = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        text = block.get(TEXT_FIELDS.get(kind, "")) if isinstance(kind, str) else None
        if isinstance(text, str):
            texts.append(text)
        elif str(kind) not in IMAGES and str(kind) not in DOCUMENTS:
            texts.append(c.dump(block))
    return "\n".join(texts)


def _reasoning_text(message: Message) -> str | None:
    found = False
    for key in REASONING_FIELDS:
        value = message.get(key)
        if not value:
            continue
        found = True
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            texts = [_thinking_text(entry) for entry in value if isinstance(entry, dict)]
            if any(texts):
                return "\n".join(text for text in texts if text)
    return "" if found else None


def _thinking_text(block: Mapping[str, Any]) -> str:
    for key in ("thinking", "text", "summary"):
        value = block.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return content_text(value)
    return ""


def rewrite(message: Message, changes: Sequence[Change]) -> Message | None:
    out = dict(message)
    blocks: list[Any] = []
    gone_calls: set[int] = set()
    for place, edit in changes:
        if place.where == "content" and place.at >= 0:
            block = _block_after(out["content"][place.at], place, edit)
            blocks += [] if block is None else [block]
        elif edit is not None:
            gone_calls |= _edit_field(out, place, edit)
    if isinstance(message.get("content"), list) and message.get("role") not in RESULT_ROLES:
        out["content"] = blocks or None
    if gone_calls:
        calls = [call for index, call in enumerate(out["tool_calls"]) if index not in gone_calls]
        out = {**out, "tool_calls": calls} if calls else c.without(out, ["tool_calls"])
    return None if is_empty(out) else out


def _is_gone(edit: Edit | None) -> bool:
    return edit is not None and (edit.drop or (edit.text is not None and c.is_blank(edit.text)))


def _block_after(block: dict[str, Any], place: Place, edit: Edit | None) -> dict[str, Any] | None:
    if edit is None:
        return block
    if _is_gone(edit):
        return None
    if edit.text is None or place.type in (PartType.REASONING, PartType.OTHER):
        return block
    if place.type is PartType.TEXT:
        return {**block, TEXT_FIELDS[block["type"]]: edit.text}
    marks = {key: value for key, value in block.items() if key == "cache_control"}
    return {"type": "text", "text": edit.text, **marks}


def _edit_field(out: Message, place: Place, edit: Edit) -> set[int]:
    """Apply an edit outside the content list, in `out`. Gives the index of a tool call that goes."""
    match place.where:
        case "result":
            out["content"] = _result_after(out.get("content"), edit.text or "")
        case "content" | "refusal":
            out[place.where] = None if _is_gone(edit) else edit.text
        case "reasoning" if edit.drop:
            for key in REASONING_FIELDS:
                out.pop(key, None)
        case "audio" | "function_call" if edit.drop:
            out.pop(place.where)
        case "function_call":
            out["function_call"] = {**out["function_call"], "arguments": c.dump(edit.arguments)}
        case "tool_calls" if edit.drop:
            return {place.at}
        case "tool_calls":
            out["tool_calls"] = [
                _call_after(call, edit) if index == place.at else call for index, call in enumerate(out["tool_calls"])
            ]
    return set()


def _result_after(content: Any, text: str) -> Any:
    if not isinstance(content, list) or c.is_blank(text):
        return text
    marks = [block["cache_control"] for block in content if "cache_control" in block]
    return [{"type": "text", "text": text, **({"cache_control": marks[-1]} if marks else {})}]


def _call_after(call: dict[str, Any], edit: Edit) -> dict[str, Any]:
    arguments = c.dump(edit.arguments)
    if call.get("type") == "custom":
        return {**call, "custom": {**call_body(call), "input": arguments}}
    return {**call, "function": {**call_body(call), "arguments": arguments}}


def alternate(messages: Sequence[Message]) -> list[Message]:
    """User and assistant in turn; messages with calls, results and system messages do not count."""
    out: list[Message] = []
    turn = "user"
    for message in messages:
        role = message.get("role")
        before = out[-1] if out else None
        side_by_side = before is not None and before.get("role") == role and role in ("user", "assistant")
        if before is not None and side_by_side and not has_calls(before):
            out[-1] = _joined(before, message)
            if has_calls(message):
                turn = "assistant"
            continue
        if role in ("user", "assistant") and not has_calls(message):
            if role != turn:
                out.append(
                    {"role": "user", "content": c.GO_ON if out else c.OPENING}
                    if role == "assistant"
                    else {"role": "assistant", "content": c.NO_ANSWER}
                )
            turn = "assistant" if role == "user" else "user"
        out.append(message)
    return out


def _joined(first: Message, second: Message) -> Message:
    content = c.joined_content(first.get("content"), second.get("content"), "text")
    return {
        **second,
        **first,
        **{k: second[k] for k in ("tool_calls", "function_call") if k in second},
        "content": content,
    }
