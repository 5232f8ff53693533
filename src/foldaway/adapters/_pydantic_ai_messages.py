"""Pydantic AI's messages as Chat Completions and back.

A `ModelRequest` is several wire messages, one for each part that a model reads; a `ModelResponse` is one. Messages and
parts are never changed: what a view rewrote is a copy with other content, beside the very parts that it left alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
    VideoUrl,
)

from foldaway.model.wire import Message

_RESPONSE: TypeAdapter[Any] = TypeAdapter(list[ModelMessage])
_CONTENT: TypeAdapter[Any] = TypeAdapter(list[UserContent])


class PydanticMessages:
    """The codec."""

    format = "openai_chat"

    def to_wire(self, message: ModelMessage) -> list[Message]:
        if isinstance(message, ModelResponse):
            return [_assistant(message)] if message.parts else []
        return [wire for part in message.parts if (wire := _request_part(part)) is not None]

    def from_wire(self, messages: Sequence[Message], like: ModelMessage | None) -> list[ModelMessage]:
        if isinstance(like, ModelRequest):
            return [replace(like, parts=_request_parts(messages, like))]
        if isinstance(like, ModelResponse) and len(messages) == 1:
            return [replace(like, parts=_response_parts(messages[0], like))]
        names = {c.get("id"): c["function"]["name"] for m in messages for c in m.get("tool_calls") or ()}
        return [_made(message, names) for message in messages]


def wire_usage(usage: Any) -> Mapping[str, Any] | None:
    """Pydantic AI's usage, whose input tokens hold the cached ones, as Responses tell it."""
    tokens = getattr(usage, "input_tokens", 0)
    return {"input_tokens": tokens, "input_tokens_details": {}} if tokens else None


# -- requests


def _request_part(part: Any) -> Message | None:
    """What a model reads of it; None: bookkeeping of the framework's."""
    match part:
        case SystemPromptPart():
            return {"role": "system", "content": part.content}
        case UserPromptPart():
            return {"role": "user", "content": _user_content(part.content)}
        case ToolReturnPart():
            text, files = part.model_response_str(wrap_if_error=False), part.files
            blocks = [*([text] if text else ()), *files]
            return _result(part.tool_call_id, _user_content(blocks) if files else text)
        case RetryFeedbackPart():
            return {"role": "user", "content": part.model_response()}
    if getattr(part, "part_kind", "") == "retry-prompt":
        # Deprecated in 2.x; kept histories hold them.
        said = part.model_response()
        return _result(part.tool_call_id, said) if part.tool_name else {"role": "user", "content": said}
    return None


def _result(call: str, content: Any) -> Message:
    return {"role": "tool", "tool_call_id": call, "content": content}


def _user_content(content: Any) -> Any:
    return content if isinstance(content, str) else [_block(item) for item in content]


def _block(item: Any) -> dict[str, Any]:
    match item:
        case str():
            return {"type": "text", "text": item}
        case TextContent():
            return {"type": "text", "text": item.content}
        case ImageUrl():
            return {"type": "image_url", "image_url": {"url": item.url}}
        case BinaryContent() if item.is_image:
            return {"type": "image_url", "image_url": {"url": item.data_uri}}
        case BinaryContent() if item.is_audio:
            return {"type": "input_audio", "input_audio": {"data": item.base64, "format": item.format}}
        case BinaryContent():
            return {"type": "file", "file": {"file_data": item.data_uri}}
        case AudioUrl() | DocumentUrl() | VideoUrl():
            return {"type": "file", "file": {"file_url": item.url}}
    return {"type": item.kind, **_CONTENT.dump_python([item], mode="json")[0]}


def _request_parts(messages: Sequence[Message], like: ModelRequest) -> list[Any]:
    """The parts that these wire messages stand for, with the bookkeeping ones between them."""
    told = [(part, _request_part(part)) for part in like.parts]
    kept: list[Any] = []
    at = 0
    for message in messages:
        found = next((i for i in range(at, len(told)) if _speaks_of(message, told[i][1])), None)
        if found is None:
            kept += _made(message, {}).parts
            continue
        kept += [part for part, wire in told[at:found] if wire is None]
        part, wire = told[found]
        kept.append(part if wire == message else _rewritten(part, message))
        at = found + 1
    if all(wire is None for _, wire in told[at:]):
        kept += [part for part, _ in told[at:]]
    return kept


def _speaks_of(message: Message, wire: Message | None) -> bool:
    if wire is None or wire["role"] != message.get("role"):
        return False
    return wire == message if wire["role"] != "tool" else wire["tool_call_id"] == message.get("tool_call_id")


def _rewritten(part: Any, message: Message) -> Any:
    content = message.get("content")
    if isinstance(part, ToolReturnPart):
        return replace(part, content=_content_back(content, part.content))
    # A retry prompt says more than its content.
    return ToolReturnPart(part.tool_name, content, part.tool_call_id)


def _content_back(content: Any, original: Any) -> Any:
    """A view's content as the framework's; the very items that came where they are the same."""
    if not isinstance(content, list):
        return content or ""
    items = [original] if isinstance(original, str) or not isinstance(original, Sequence) else original
    came = {_key(_block(item)): item for item in items if isinstance(item, str) or hasattr(item, "kind")}
    return [came.get(_key(block)) or block.get("text", "") for block in content]


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


# -- responses


def _assistant(message: ModelResponse) -> Message:
    calls, blocks, thoughts = [], [], []
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            calls.append(_call(part))
        elif isinstance(part, ThinkingPart) and not part.signature:
            thoughts.append(part.content)
        else:
            blocks.append(_response_block(part))
    plain = len(blocks) == 1 and blocks[0]["type"] == "text"
    out: Message = {"role": "assistant", "content": blocks[0]["text"] if plain else blocks or None}
    if thoughts:
        out["reasoning_content"] = "\n".join(thoughts)
    if calls:
        out["tool_calls"] = calls
    return out


def _call(part: ToolCallPart) -> dict[str, Any]:
    # Not the framework's compact form where a string came: what a view made comes back as it was.
    arguments = part.args if isinstance(part.args, str) and part.args else part.args_as_json_str()
    return {
        "id": part.tool_call_id, "type": "function", "function": {"name": part.tool_name, "arguments": arguments},
    }  # fmt: skip


def _response_block(part: Any) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.content}
    if isinstance(part, ThinkingPart):
        return {"type": "thinking", "thinking": part.content, "signature": part.signature}
    # Native calls, files, speech: whole, under the framework's own name for them.
    dumped = _RESPONSE.dump_python([ModelResponse(parts=[part])], mode="json")[0]["parts"][0]
    return {"type": part.part_kind, **dumped}


def _response_parts(message: Message, like: ModelResponse) -> list[Any]:
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) and content else list(content or ())
    calls = {call["id"]: call for call in message.get("tool_calls") or ()}
    kept: list[Any] = []
    for part in like.parts:
        if isinstance(part, ToolCallPart):
            call = calls.pop(part.tool_call_id, None)
            if call is not None:
                kept.append(part if call == _call(part) else replace(part, args=_arguments(call, part)))
        elif isinstance(part, ThinkingPart) and not part.signature:
            if "reasoning_content" in message:
                kept.append(part)
        elif (block := _response_block(part)) in blocks:
            blocks.remove(block)
            kept.append(part)
    # Text that a view wrote itself stands before the calls.
    said = [TextPart(block["text"]) for block in blocks if block.get("text")]
    at = next((i for i, part in enumerate(kept) if isinstance(part, ToolCallPart)), len(kept))
    return [*kept[:at], *said, *kept[at:], *(_made_call(call) for call in calls.values())]


def _arguments(call: Mapping[str, Any], part: ToolCallPart) -> Any:
    text = call["function"]["arguments"]
    return text if isinstance(part.args, str) else json.loads(text)


# -- of our own


def _made_call(call: Mapping[str, Any]) -> ToolCallPart:
    return ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"])


def _made(message: Message, names: Mapping[Any, str]) -> ModelMessage:
    content = message.get("content") or ""
    match message.get("role"):
        case "assistant":
            said = [TextPart(text) for text in _texts(content)]
            return ModelResponse(parts=[*said, *(_made_call(call) for call in message.get("tool_calls") or ())])
        case "tool":
            call = message.get("tool_call_id") or ""
            return ModelRequest(parts=[ToolReturnPart(names.get(call, ""), "\n".join(_texts(content)), call)])
        case "system" | "developer":
            return ModelRequest(parts=[SystemPromptPart("\n".join(_texts(content)))])
        case _:
            return ModelRequest(parts=[UserPromptPart(_content_back(content, ()))])


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content] if content else []
    return [block["text"] for block in content if block.get("text")]
