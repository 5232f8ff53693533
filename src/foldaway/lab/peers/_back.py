"""A peer's view as messages of the recorded format: recorded objects where nothing was touched, new ones elsewhere.

Nothing is mended: a result without its call, an empty text or a wrong first role go out as the peer left them, and the
wire checker counts them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from foldaway.lab.peers._chat import OWN, Call, Chat, Place, Reader, arguments_of, call_item_id, is_call_item
from foldaway.model.wire import Message

_TEXT_BLOCKS = ("text", "input_text", "output_text")


class Writer:
    """Turns views back. `recorded` and `reader` grow as the session does."""

    def __init__(self, format: str, recorded: Sequence[Message], reader: Reader) -> None:
        self._format = format
        self._recorded = recorded
        self._reader = reader

    def write(self, view: Sequence[Chat]) -> list[Message]:
        """The messages to send for this view. O(size of the view)."""
        if self._format == "anthropic_messages":
            return list(self._anthropic(view))
        return [message for chat in view for message in self._one(chat)]

    def _one(self, chat: Chat) -> list[Message]:
        responses = self._format == "openai_responses"
        if chat.number == OWN:
            return [_own_item(chat) if responses else _own_chat(chat)]
        recorded = [self._recorded[position] for position in self._place(chat).positions]
        before = self._reader.chats[chat.number]
        if chat == before:
            return recorded
        return list(_edited_items(recorded, before, chat)) if responses else [_edited_chat(recorded[0], before, chat)]

    def _place(self, chat: Chat) -> Place:
        return self._reader.places[chat.number]

    def _anthropic(self, view: Sequence[Chat]) -> Iterator[Message]:
        def position(numbered: tuple[int, Chat]) -> tuple[int, int]:
            at, chat = numbered
            # Messages of the peer's own never join with a neighbour.
            return (OWN, at) if chat.number == OWN else (self._place(chat).positions[0], 0)

        for (at, _), group in groupby(enumerate(view), position):
            chats = [chat for _, chat in group]
            yield _own_anthropic(chats[0]) if at == OWN else self._joined(at, chats)

    def _joined(self, position: int, chats: Sequence[Chat]) -> Message:
        """One recorded message of which these chat messages are left, in this order."""
        recorded = self._recorded[position]
        content = recorded.get("content")
        whole = not self._place(chats[0]).blocks
        untouched = all(chat == self._reader.chats[chat.number] for chat in chats)
        if untouched and (whole or sum(len(self._place(chat).blocks) for chat in chats) == len(content or ())):
            return recorded
        if not isinstance(content, list):
            return {**recorded, "content": chats[-1].text}
        blocks = [block for chat in chats for block in self._blocks(chat, content)]
        return {**recorded, "content": blocks}

    def _blocks(self, chat: Chat, content: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        before = self._reader.chats[chat.number]
        own = [content[at] for at in self._place(chat).blocks] or list(content)
        if chat == before:
            yield from own
        elif chat.role == "tool":
            yield {**own[0], "content": chat.text}
        else:
            yield from _edited_blocks(own, before, chat)


def _edited_blocks(blocks: Sequence[Mapping[str, Any]], before: Chat, after: Chat) -> Iterator[Mapping[str, Any]]:
    kept = {call.id: call for call in after.calls}
    text_done = after.text == before.text
    for block in blocks:
        kind = block.get("type")
        if kind in _TEXT_BLOCKS and after.text != before.text:
            if not text_done and after.text:
                yield {**block, "text": after.text}
            text_done = True
        elif kind == "tool_use":
            call = kept.get(str(block.get("id")))
            if call is not None:
                yield block if call in before.calls else {**block, "input": arguments_of(call)}
        else:
            yield block
    if not text_done and after.text:
        yield {"type": "text", "text": after.text}


def _edited_chat(recorded: Message, before: Chat, after: Chat) -> Message:
    edited = dict(recorded)
    if after.text != before.text:
        content = recorded.get("content")
        texts_only = not isinstance(content, list) or after.role != "user"
        edited["content"] = after.text if texts_only else list(_edited_blocks(content or (), before, after))
    if after.calls != before.calls:
        kept = {call.id: call for call in after.calls}
        calls = [
            _edited_call(call, kept[call["id"]], before)
            for call in recorded.get("tool_calls") or ()
            if call.get("id") in kept
        ]
        edited.pop("tool_calls", None)
        if calls:
            edited["tool_calls"] = calls
        if "function_call" in edited and not after.calls:
            del edited["function_call"]
    return edited


def _edited_call(recorded: Mapping[str, Any], call: Call, before: Chat) -> Mapping[str, Any]:
    if call in before.calls:
        return recorded
    return {**recorded, "function": {**recorded["function"], "arguments": call.arguments}}


def _edited_items(items: Sequence[Message], before: Chat, after: Chat) -> Iterator[Message]:
    """The items of one chat message: an answer of the model, a message or an output."""
    kept = {call.id: call for call in after.calls}
    text_done = after.text == before.text
    # An answer that only called and now says something: the words go in front of the calls.
    words_at = next((at for at, item in enumerate(items) if "role" in item or is_call_item(item)), 0)
    for at, item in enumerate(items):
        if not text_done and at == words_at and after.role != "tool":
            text_done = True
            if after.text:
                yield _own_item(after) if "role" not in item else _reworded(item, after.text)
        if is_call_item(item):
            call = kept.get(call_item_id(item))
            if call is not None:
                yield item if call in before.calls else _edited_call_item(item, call)
        elif str(item.get("type", "")).endswith("_output"):
            yield {**item, "output": after.text}
        elif "role" not in item or after.text == before.text:
            yield item


def _reworded(item: Message, text: str) -> Message:
    return {**item, "content": [{"type": _text_type(item), "text": text}]}


def _edited_call_item(item: Message, call: Call) -> Message:
    key = next((key for key in ("arguments", "input") if key in item), "")
    return {**item, key: call.arguments} if key else item


def _text_type(item: Mapping[str, Any]) -> str:
    return "output_text" if item.get("role") == "assistant" else "input_text"


def _own_chat(chat: Chat) -> Message:
    message: Message = {"role": chat.role, "content": chat.text}
    if chat.role == "tool":
        message["tool_call_id"] = chat.call_id
    if chat.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in chat.calls
        ]
    return message


def _own_anthropic(chat: Chat) -> Message:
    # A peer's own system message has no place among these messages but as words of the user.
    return {"role": "assistant" if chat.role == "assistant" else "user", "content": chat.text}


def _own_item(chat: Chat) -> Message:
    block = {"type": "output_text" if chat.role == "assistant" else "input_text", "text": chat.text}
    return {"type": "message", "role": chat.role, "content": [block]}


def tool_in(format: str, tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool definition in chat shape (`{"type": "function", "function": {...}}`) in the shape of `format`."""
    function = json.loads(json.dumps(tool["function"]))
    match format:
        case "anthropic_messages":
            schema = function.pop("parameters", {"type": "object", "properties": {}})
            return {**function, "input_schema": schema}
        case "openai_responses":
            return {"type": "function", **function}
        case _:
            return dict(tool)
