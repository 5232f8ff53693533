"""Recorded messages of any wire format as plain chat messages that every peer library knows how to hold.

One chat message is a system, user, assistant or tool message with text and calls. Where a format puts several of these
into one message (Anthropic: all results of a turn) or one into several (Responses: each call is an item), each chat
message remembers its places, so that what a peer left alone goes back as the very object that was recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldaway.model.wire import Message

SYSTEM_ROLES = ("system", "developer")
OWN = -1
"""Number of a message that a peer wrote itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call."""

    id: str
    name: str
    arguments: str
    """JSON text, or what the model wrote in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """One chat message. A peer's view is a list of these; `number` says which recorded one each is, or is made of."""

    number: int
    """Counts the chat messages of a session from 0; `OWN` for a message of the peer's own."""
    role: str
    """system, user, assistant or tool"""
    text: str
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    """Tool messages: the call they answer."""
    name: str = ""
    """Tool messages: the tool."""
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chat message was recorded."""

    positions: tuple[int, ...]
    """Recorded messages it stands in: one, but for Responses."""
    blocks: tuple[int, ...] = ()
    """Anthropic: the content blocks that are its own; () where the whole message is."""


def arguments_of(call: Call) -> dict[str, Any]:
    """The arguments as an object; what does not parse to one stands under `_`."""
    try:
        parsed = json.loads(call.arguments or "{}")
    except ValueError:
        parsed = None
    return parsed if isinstance(parsed, dict) else {"_": call.arguments}


class Reader:
    """Turns the messages of one session into chat messages, piece by piece.

    A piece must not end inside an answer of the model (a replay cuts in front of one, never inside).
    """

    def __init__(self, format: str) -> None:
        self._format = format
        self._names: dict[str, str] = {}
        self._seen = 0
        self.chats: list[Chat] = []
        self.places: list[Place] = []

    def read(self, messages: Sequence[Message]) -> list[Chat]:
        """The chat messages of the next recorded messages."""
        made = len(self.chats)
        match self._format:
            case "openai_chat":
                self._chat(messages)
            case "anthropic_messages":
                self._anthropic(messages)
            case _:
                self._responses(messages)
        self._seen += len(messages)
        return self.chats[made:]

    def _add(self, place: Place, role: str, text: str, **fields: Any) -> None:
        for call in fields.get("calls", ()):
            self._names[call.id] = call.name
        if role == "tool":
            fields.setdefault("name", self._names.get(fields["call_id"], "tool"))
        self.chats.append(Chat(number=len(self.chats), role=role, text=text, **fields))
        self.places.append(place)

    def _chat(self, messages: Sequence[Message]) -> None:
        for position, message in enumerate(messages, self._seen):
            role, text, place = str(message.get("role")), text_of(message.get("content")), Place((position,))
            if role == "assistant":
                reasoning = message.get("reasoning_content")
                calls = tuple(_chat_calls(message))
                self._add(place, role, text, calls=calls, reasoning=reasoning if isinstance(reasoning, str) else "")
            elif role in ("tool", "function"):
                call_id = str(message.get("tool_call_id") or f"function:{message.get('name')}")
                self._add(place, "tool", text, call_id=call_id)
            else:
                self._add(place, "system" if role in SYSTEM_ROLES else "user", text)

    def _anthropic(self, messages: Sequence[Message]) -> None:
        for position, message in enumerate(messages, self._seen):
            content, role = message.get("content"), str(message.get("role"))
            blocks = list(enumerate(content)) if isinstance(content, list) else []
            if role == "assistant":
                calls = tuple(_anthropic_call(block) for _, block in blocks if block.get("type") == "tool_use")
                thoughts = "\n".join(str(b["thinking"]) for _, b in blocks if b.get("thinking"))
                self._add(Place((position,)), role, text_of(content), calls=calls, reasoning=thoughts)
                continue
            results = [(at, block) for at, block in blocks if block.get("type") == "tool_result"]
            for at, block in results:
                text = text_of(block.get("content"))
                self._add(Place((position,), (at,)), "tool", text, call_id=str(block.get("tool_use_id")))
            own = tuple(at for at, block in blocks if block.get("type") != "tool_result")
            if own or not results:
                said = text_of([content[at] for at in own]) if isinstance(content, list) else text_of(content)
                self._add(Place((position,), own if results else ()), "system" if role == "system" else "user", said)

    def _responses(self, messages: Sequence[Message]) -> None:
        run: list[int] = []
        items = dict(enumerate(messages, self._seen))
        for position, item in items.items():
            if _is_model_item(item):
                run.append(position)
                continue
            self._answer(run, items)
            run = []
            kind = str(item.get("type") or "message")
            if kind.endswith("_output"):
                call_id = str(item.get("call_id") or item.get("id"))
                self._add(Place((position,)), "tool", text_of(item.get("output")), call_id=call_id)
            elif item.get("role") in SYSTEM_ROLES:
                self._add(Place((position,)), "system", text_of(item.get("content")))
            else:
                self._add(Place((position,)), "user", text_of(item.get("content")) or f"[{kind}]")
        self._answer(run, items)

    def _answer(self, run: Sequence[int], items: Mapping[int, Message]) -> None:
        if not run:
            return
        answer = [items[position] for position in run]
        text = "\n".join(text_of(item.get("content")) for item in answer if item.get("role") == "assistant")
        thoughts = "\n".join(text_of(item.get("summary")) for item in answer if item.get("type") == "reasoning")
        calls = tuple(_item_call(item) for item in answer if is_call_item(item))
        self._add(Place(tuple(run)), "assistant", text, calls=calls, reasoning=thoughts)


def text_of(content: Any) -> str:
    """The text of a content field: a string, or the text blocks of a list, one a line. Pictures are not text."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, Iterable):
        return "" if content is None else str(content)
    return "\n".join(_block_texts(content))


def _block_texts(blocks: Iterable[Any]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, str):
            yield block
        elif isinstance(block, Mapping) and isinstance(block.get("text"), str):
            yield block["text"]


def is_call_item(item: Message) -> bool:
    """Responses: whether the item is a call."""
    return str(item.get("type", "")).endswith("_call")


def call_item_id(item: Message) -> str:
    return str(item.get("call_id") or item.get("id"))


def _is_model_item(item: Message) -> bool:
    return item.get("role") == "assistant" or item.get("type") == "reasoning" or is_call_item(item)


def _item_call(item: Message) -> Call:
    arguments = item.get("arguments", item.get("input", item.get("action")))
    written = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return Call(id=call_item_id(item), name=str(item.get("name") or item.get("type")), arguments=written)


def _chat_calls(message: Message) -> Iterator[Call]:
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        yield Call(
            id=str(call.get("id")), name=str(function.get("name")), arguments=str(function.get("arguments") or "{}")
        )
    legacy = message.get("function_call")
    if legacy:
        name = str(legacy.get("name"))
        yield Call(id=f"function:{name}", name=name, arguments=str(legacy.get("arguments") or "{}"))


def _anthropic_call(block: Mapping[str, Any]) -> Call:
    return Call(id=str(block.get("id")), name=str(block.get("name")), arguments=json.dumps(block.get("input") or {}))
