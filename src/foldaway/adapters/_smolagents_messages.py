"""smolagents' messages as Chat Completions and back.

smolagents tells of calls and results in plain text messages of their own roles. Those of one step go together here: an
assistant message with a call, and its result, so that the engine sees a tool span and no words of a user's.
"""

from __future__ import annotations

import ast
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from smolagents.models import ChatMessage, MessageRole
from smolagents.utils import encode_image_base64

from foldaway.model.wire import Message

CALLING = "Calling tools:\n"
MOST_IMAGES = 64


@dataclass(frozen=True, slots=True)
class Turn:
    """Messages that belong together: what a step said, called and got; or one message of another kind."""

    messages: tuple[ChatMessage, ...]
    call: str = ""
    """The id of its call; "" where there is none."""

    def of(self, role: MessageRole) -> list[ChatMessage]:
        return [message for message in self.messages if message.role == role]


def turns(messages: Sequence[ChatMessage]) -> list[Turn]:
    """Messages by the steps they came from. Linear."""
    found: list[Turn] = []
    taken: set[str] = set()
    at = 0
    while at < len(messages):
        end = _step_end(messages, at)
        group = tuple(messages[at:end])
        call = ""
        if any(message.role == MessageRole.TOOL_RESPONSE for message in group):
            call = _id(group)
            # A model may repeat its ids, or give none; the place in the history does not.
            call = call if call and call not in taken else f"step_{len(found)}"
            taken.add(call)
        found.append(Turn(group, call))
        at = end
    return found


def _step_end(messages: Sequence[ChatMessage], at: int) -> int:
    """Where the step that begins here ends."""
    end = at
    if messages[end].role == MessageRole.ASSISTANT:
        end += 1
    if end < len(messages) and messages[end].role == MessageRole.TOOL_CALL:
        end += 1
    beyond = end
    while beyond < len(messages) and _only_images(messages[beyond]):
        beyond += 1
    if beyond < len(messages) and messages[beyond].role == MessageRole.TOOL_RESPONSE and (end > at or beyond == at):
        end = beyond
        while end < len(messages) and messages[end].role == MessageRole.TOOL_RESPONSE:
            end += 1
    return max(end, at + 1)


def _only_images(message: ChatMessage) -> bool:
    blocks = message.content
    return (
        message.role == MessageRole.USER and isinstance(blocks, list) and all(b.get("type") == "image" for b in blocks)
    )


def _id(group: Sequence[ChatMessage]) -> str:
    for message in group:
        if message.role == MessageRole.TOOL_CALL:
            calls = _calls(_text(message))
            return str(calls[0].get("id") or "") if len(calls) == 1 else ""
    return ""


class SmolMessages:
    """The codec, of turns."""

    format = "openai_chat"

    def __init__(self) -> None:
        self._images: OrderedDict[int, tuple[Any, str]] = OrderedDict()

    def to_wire(self, turn: Turn) -> list[Message]:
        if not turn.call:
            texts = [self._content(message) for message in turn.messages]
            role = "assistant" if len(turn.messages) > 1 else _ROLES[MessageRole(turn.messages[0].role)]
            return [{"role": role, "content": texts[0] if len(texts) == 1 else _joined(texts)}]
        said = [self._content(message) for message in turn.of(MessageRole.ASSISTANT)]
        got = [
            self._content(message)
            for message in turn.messages
            if message.role in (MessageRole.TOOL_RESPONSE, MessageRole.USER)
        ]
        call = {"id": turn.call, "type": "function", "function": _function(turn)}
        return [
            {"role": "assistant", "content": said[0] if said else None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": turn.call, "content": got[0] if len(got) == 1 else _joined(got)},
        ]

    def from_wire(self, messages: Sequence[Message], like: Turn | None) -> list[Turn]:
        if like is None or not like.call:
            return [Turn(tuple(_made(message, like))) for message in messages]
        now: list[ChatMessage] = []
        was = {wire["role"]: wire for wire in self.to_wire(like)}
        for message in messages:
            if message["role"] == "assistant":
                now += self._said(message, was["assistant"], like)
            elif message == was["tool"]:
                now += [m for m in like.messages if m.role in (MessageRole.TOOL_RESPONSE, MessageRole.USER)]
            else:
                now += _made(message, None)
        return [Turn(tuple(now), like.call)]

    def _said(self, message: Message, was: Message, like: Turn) -> list[ChatMessage]:
        said = like.of(MessageRole.ASSISTANT)
        if message.get("content") != was["content"]:
            said = [_message(MessageRole.ASSISTANT, message["content"])] if message.get("content") else []
        if message.get("tool_calls") == was["tool_calls"]:
            return [*said, *like.of(MessageRole.TOOL_CALL)]
        return [*said, *_calling(message)]

    def _content(self, message: ChatMessage) -> Any:
        if not isinstance(message.content, list):
            return message.content or ""
        if len(message.content) == 1 and message.content[0].get("type") == "text":
            return message.content[0]["text"]
        return [self._block(block) for block in message.content]

    def _block(self, block: dict[str, Any]) -> dict[str, Any]:
        image = block.get("image")
        if block.get("type") != "image" or image is None:
            return block
        known = self._images.pop(id(image), None)
        if known is None or known[0] is not image:
            text = image if isinstance(image, str) else encode_image_base64(image)
            known = (image, f"data:image/png;base64,{text}")
        self._images[id(image)] = known
        if len(self._images) > MOST_IMAGES:
            self._images.popitem(last=False)
        return {"type": "image_url", "image_url": {"url": known[1]}}


_ROLES = {
    MessageRole.SYSTEM: "system",
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.TOOL_CALL: "assistant",
    MessageRole.TOOL_RESPONSE: "user",
}


def _text(message: ChatMessage) -> str:
    blocks = message.content if isinstance(message.content, list) else [{"text": message.content or ""}]
    return "".join(block.get("text", "") for block in blocks)


@lru_cache(maxsize=4096)
def _calls(text: str) -> tuple[dict[str, Any], ...]:
    """The calls that a message of calls lists; none where it cannot be read. Shared: for reading only."""
    try:
        found = ast.literal_eval(text.removeprefix(CALLING))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ()
    return tuple(call for call in found if isinstance(call, dict)) if isinstance(found, list) else ()


def _function(turn: Turn) -> dict[str, Any]:
    """Several calls share one result in smolagents, so they are one call here."""
    messages = turn.of(MessageRole.TOOL_CALL)
    if not messages:
        return {"name": "step", "arguments": "{}"}
    calls = [call.get("function", {}) for call in _calls(_text(messages[0]))]
    if not calls:
        return {"name": "step", "arguments": json.dumps({"text": _text(messages[0])})}
    if len(calls) == 1:
        given = calls[0].get("arguments")
        return {
            "name": str(calls[0].get("name")),
            "arguments": json.dumps(given if isinstance(given, dict) else {"code": given}, default=str),
        }
    return {
        "name": "+".join(str(call.get("name")) for call in calls),
        "arguments": json.dumps({"calls": [call.get("arguments") for call in calls]}, default=str),
    }


def _joined(contents: Sequence[Any]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for content in contents:
        blocks += content if isinstance(content, list) else [{"type": "text", "text": content}]
    return blocks


def _message(role: MessageRole, content: Any) -> ChatMessage:
    texts = [content] if isinstance(content, str) else [block.get("text", "") for block in content or ()]
    # Always a list: smolagents joins neighbours of one role by their blocks.
    return ChatMessage(role=role, content=[{"type": "text", "text": text} for text in texts if text])


def _calling(message: Message) -> list[ChatMessage]:
    calls = [
        {
            "id": call.get("id"),
            "type": "function",
            "function": {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])},
        }
        for call in message.get("tool_calls") or ()
    ]
    return [_message(MessageRole.TOOL_CALL, CALLING + str(calls))] if calls else []


def _made(message: Message, like: Turn | None) -> list[ChatMessage]:
    content = message.get("content")
    match message.get("role"):
        case "assistant":
            said = [_message(MessageRole.ASSISTANT, content)] if content else []
            return [*said, *_calling(message)]
        case "tool":
            return [_message(MessageRole.TOOL_RESPONSE, content)]
        case "system":
            return [_message(MessageRole.SYSTEM, content)]
    return [_message(MessageRole.USER, content)]
