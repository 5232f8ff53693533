"""What a request costs: its messages, system prompt and tools, in one provider's format for one model.

Providers do not publish how they lay out calls and tools for the model. The figures here were fitted on the usage
that they reported in recorded sessions; what stays off is what `Calibration` is for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.model.wire import Message
from foldaway.protocols import TokenCounter
from foldaway.tokens.media import (
    PicturePrice,
    document_tokens,
    picture_price,
    pixel_size,
    sound_tokens,
    split_data_url,
    video_tokens,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marks:
    """What the layout of one format costs beside the texts."""

    frame: int = 3
    """What opens the answer (OpenAI's own figure)."""
    message: int = 4
    call: int = 8
    call_field: int = 0
    """For each top-level field of a call's arguments."""
    result: int = 4
    tools: int = 0
    """What the provider adds to the system prompt once there are tools."""


_MARKS = _Marks()
# Calls and results: least squares over 3,900 calls recorded with Claude 4.5 to 4.8, 50 to 80 tokens a pair.
# Tools: Anthropic's published figure for Claude 4.
_ANTHROPIC_MARKS = _Marks(call=35, call_field=14, result=15, tools=346)

_CHARS_PER_HIDDEN_TOKEN = 4.0
"""Base64 characters of sealed reasoning for one token of it: 3.5 to 4.5 with Claude 4.8, taken for all."""
_LONG_STRING = 1_000

_TEXT_FIELDS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "summary_text": "text",
    "reasoning_text": "text",
    "refusal": "refusal",
    "thinking": "thinking",
}
_CHAT_TEXTS = ("refusal", "reasoning_content", "reasoning")
_CACHE_MARK = frozenset({"cache_control"})
_PLUMBING = frozenset({"type", "id", "call_id", "status", "cache_control", "annotations", "logprobs", "index"})
"""Fields of a block that the model never sees."""


@dataclass(slots=True)
class RequestCounter:
    """A `protocols.MessageCounter` for any of the three formats. Never raises on what JSON can hold.

    Blocks of a type that this release does not know count by their JSON, without ids and cache marks. `system(None)`
    is the frame of the request, a few tokens; so `system + tools + sum of messages` is the size of the request.
    Message fields that providers ignore (a framework's own notes) cost nothing.
    """

    counter: TokenCounter
    format: str
    model: str = ""
    """Decides the price of pictures only."""
    _picture: PicturePrice = field(init=False, repr=False)
    _marks: _Marks = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._marks = _ANTHROPIC_MARKS if self.format == "anthropic_messages" else _MARKS
        self._picture = picture_price(self.model, self.format)

    def message(self, message: Message) -> int:
        if self.format == "openai_responses" and message.get("type", "message") != "message":
            return self._item(message)
        tokens = self._marks.message + self._content(message.get("content"))
        name = message.get("name")
        if isinstance(name, str) and name:
            tokens += 1 + self.counter.count(name)
        if self.format == "openai_chat":
            tokens += self._chat_fields(message)
        return tokens

    def system(self, system: Any) -> int:
        marks = self._marks
        return marks.frame if system is None else marks.frame + marks.message + self._content(system)

    def tools(self, tools: Sequence[Mapping[str, Any]] | None) -> int:
        if not tools:
            return 0
        return self._marks.tools + sum(self._json(_without(tool, _CACHE_MARK)) for tool in tools)

    def _chat_fields(self, message: Message) -> int:
        tokens = 0
        for key in _CHAT_TEXTS:
            if isinstance(value := message.get(key), str):
                tokens += self.counter.count(value)
        if not isinstance(message.get("reasoning"), str) and (details := message.get("reasoning_details")):
            tokens += self._json(details)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            tokens += self._chat_call(call)
        if isinstance(call := message.get("function_call"), dict):
            tokens += self._call(call.get("name"), call.get("arguments"))
        return tokens

    def _chat_call(self, call: Any) -> int:
        if isinstance(call, dict):
            if isinstance(function := call.get("function"), dict):
                return self._call(function.get("name"), function.get("arguments"))
            if isinstance(custom := call.get("custom"), dict):
                return self._call(custom.get("name"), custom.get("input"))
        return self._marks.call + self._json(call)

    def _call(self, name: Any, arguments: Any) -> int:
        fields = len(arguments) if isinstance(arguments, Mapping) else 0
        tokens = self._marks.call + self._marks.call_field * fields + self._text_or_json(arguments)
        return tokens + (self.counter.count(name) if isinstance(name, str) else 0)

    def _text_or_json(self, value: Any) -> int:
        if value is None:
            return 0
        return self.counter.count(value) if isinstance(value, str) else self._json(value)

    def _item(self, item: Message) -> int:
        """A Responses input item that is no message."""
        match item.get("type"):
            case "function_call":
                return self._call(item.get("name"), item.get("arguments"))
            case "custom_tool_call":
                return self._call(item.get("name"), item.get("input"))
            case "function_call_output" | "custom_tool_call_output":
                return self._marks.message + self._content(item.get("output"))
            case "reasoning":
                return self._marks.message + self._reasoning(item)
            case "computer_call_output":
                return self._marks.message + self._content([item.get("output")])
        return self._marks.message + self._json(_without(item, _PLUMBING))

    def _reasoning(self, item: Message) -> int:
        # The sealed text is the reasoning itself; summary and content are only shown to people.
        if isinstance(sealed := item.get("encrypted_content"), str) and sealed:
            return _hidden(sealed)
        return self._content(item.get("content")) + self._content(item.get("summary"))

    def _content(self, content: Any) -> int:
        if content is None:
            return 0
        if isinstance(content, str):
            return self.counter.count(content)
        if isinstance(content, dict):
            return self._block(content)
        if isinstance(content, list):
            return sum(self._block(block) for block in content)
        return self._json(content)

    def _block(self, block: Any) -> int:
        if isinstance(block, str):
            return self.counter.count(block)
        if not isinstance(block, dict):
            return self._json(block)
        kind = block.get("type")
        if isinstance(kind, str):
            text = block.get(_TEXT_FIELDS.get(kind, ""))
            if isinstance(text, str):
                # Thinking that a provider keeps to itself comes empty, with a signature that holds it sealed.
                sealed = block.get("signature") if kind == "thinking" and not text else None
                return _hidden(sealed) if isinstance(sealed, str) else self.counter.count(text)
            if (count := _BLOCKS.get(kind)) is not None:
                return count(self, block)
        return self._json(_without(block, _PLUMBING))

    def _tool_use(self, block: Mapping[str, Any]) -> int:
        return self._call(block.get("name"), block.get("input"))

    def _tool_result(self, block: Mapping[str, Any]) -> int:
        return self._marks.result + self._content(block.get("content"))

    def _redacted(self, block: Mapping[str, Any]) -> int:
        return _hidden(str(block.get("data") or ""))

    def _image(self, block: Mapping[str, Any]) -> int:
        """Any of the shapes: image_url string or object, Anthropic source, MCP data."""
        holder = block.get("image_url", block.get("source", block))
        detail = block.get("detail")
        url, data = holder, None
        if isinstance(holder, dict):
            url, data, detail = holder.get("url"), holder.get("data"), holder.get("detail", detail)
        if found := split_data_url(url):
            data = found[1]
        size = pixel_size(data) if isinstance(data, str) else None
        return self._picture.tokens(size, detail if isinstance(detail, str) else "")

    def _document(self, block: Mapping[str, Any]) -> int:
        """Anthropic documents, chat and Responses files: text by its tokens, everything else flat by size."""
        holder = block.get("source", block.get("file", block))
        if not isinstance(holder, dict):
            return document_tokens(None)
        tokens = sum(self._text_or_json(block.get(key)) for key in ("title", "context"))
        if holder.get("type") == "content":
            return tokens + self._content(holder.get("content"))
        data = holder.get("data", holder.get("file_data"))
        if not isinstance(data, str):
            return tokens + document_tokens(None)
        if holder.get("type") == "text":
            return tokens + self.counter.count(data)
        return tokens + document_tokens(len(data))

    def _sound(self, block: Mapping[str, Any]) -> int:
        holder = block.get("input_audio", block)
        data = holder.get("data") if isinstance(holder, dict) else None
        return sound_tokens(len(data) if isinstance(data, str) else None)

    def _sound_at(self, block: Mapping[str, Any]) -> int:
        return sound_tokens(_size_at(block.get("audio_url")))

    def _video_at(self, block: Mapping[str, Any]) -> int:
        return video_tokens(_size_at(block.get("video_url")))

    def _json(self, value: Any) -> int:
        """Tokens of a value's JSON; pictures, files and sealed texts found inside at their own price."""
        extra: list[int] = []
        try:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
            if len(text) >= _LONG_STRING:
                value = self._light(value, extra)
                text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
        except (RecursionError, ValueError, TypeError):
            text = _flat_text(value)
        return self.counter.count(text) + sum(extra)

    def _light(self, value: Any, extra: list[int]) -> Any:
        """The value without its heavy strings, whose prices go into `extra`."""
        if isinstance(value, Mapping):
            light = {}
            for key, inner in value.items():
                if key == "encrypted_content" and isinstance(inner, str):
                    extra.append(_hidden(inner))
                else:
                    light[key] = self._light(inner, extra)
            return light
        if isinstance(value, list | tuple):
            return [self._light(inner, extra) for inner in value]
        if isinstance(value, str) and len(value) >= _LONG_STRING and (found := split_data_url(value)):
            media, data = found
            extra.append(
                self._picture.tokens(pixel_size(data)) if media.startswith("image/") else document_tokens(len(data))
            )
            return ""
        return value


_BLOCKS: dict[str, Callable[[RequestCounter, Mapping[str, Any]], int]] = {
    "image": RequestCounter._image,
    "image_url": RequestCounter._image,
    "input_image": RequestCounter._image,
    "computer_screenshot": RequestCounter._image,
    "document": RequestCounter._document,
    "file": RequestCounter._document,
    "input_file": RequestCounter._document,
    "input_audio": RequestCounter._sound,
    "audio": RequestCounter._sound,
    "audio_url": RequestCounter._sound_at,
    "video_url": RequestCounter._video_at,
    "tool_use": RequestCounter._tool_use,
    "server_tool_use": RequestCounter._tool_use,
    "tool_result": RequestCounter._tool_result,
    "redacted_thinking": RequestCounter._redacted,
}


def _size_at(holder: Any) -> int | None:
    """Base64 characters of what stands in an address itself; None for what lies elsewhere."""
    found = split_data_url(holder.get("url") if isinstance(holder, Mapping) else holder)
    return None if found is None else len(found[1])


def _hidden(sealed: str) -> int:
    return math.ceil(len(sealed) / _CHARS_PER_HIDDEN_TOKEN)


def _without(value: Any, fields: frozenset[str]) -> Any:
    return {key: inner for key, inner in value.items() if key not in fields} if isinstance(value, Mapping) else value


def _flat_text(value: Any) -> str:
    """All strings of a value nested too deep for the JSON module, in no special order, each container once."""
    texts: list[str] = []
    seen: set[int] = set()
    stack = [value]
    while stack:
        inner = stack.pop()
        if isinstance(inner, Mapping | list | tuple):
            if id(inner) in seen:
                continue
            seen.add(id(inner))
            texts.append("[]")
            if isinstance(inner, Mapping):
                texts.extend(str(key) for key in inner)
                inner = inner.values()
            stack.extend(inner)
        else:
            texts.append(str(inner))
    return " ".join(texts)
