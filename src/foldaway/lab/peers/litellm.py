"""LiteLLM: `trim_messages` and `compress`.

Both start from the full history at every call. They count with LiteLLM's own counter: neither takes another.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from foldaway.lab.peers._base import Kept, Peer, Setting, load
from foldaway.lab.peers._chat import OWN, Chat

NUMBER = "_number"
"""Field of a message dict that carries the number; LiteLLM copies it along and counts strings only."""
_STUB = re.compile(r"^\[Compressed: .+Use litellm_content_retrieve tool to get full content\.\]$", re.DOTALL)


class _LiteLLM(Kept):
    def __init__(self, setting: Setting) -> None:
        super().__init__()
        # Without it the import asks the network for a price list.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        self._module = load("litellm", "litellm")
        self._setting = setting
        self._history: list[dict[str, Any]] = []

    def add(self, chats: Sequence[Chat]) -> None:
        self.chats.extend(chats)
        self._history.extend(message_of(chat) for chat in chats)

    def _back(self, messages: Sequence[Mapping[str, Any]]) -> list[Chat]:
        return [self._chat(message) for message in messages]

    def _chat(self, message: Mapping[str, Any]) -> Chat:
        number, text = message.get(NUMBER), str(message.get("content") or "")
        if number is not None:
            return self.retext(int(number), text)
        # `trim_messages` makes one new system message of all: the recorded one, where there is only that.
        same = (chat for chat in self.chats if chat.role == message["role"] and chat.text == text)
        return next(same, Chat(number=OWN, role=str(message["role"]), text=text))


def message_of(chat: Chat) -> dict[str, Any]:
    """The chat message as OpenAI has it, with its number."""
    message: dict[str, Any] = {"role": chat.role, "content": chat.text, NUMBER: chat.number}
    if chat.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in chat.calls
        ]
    if chat.role == "tool":
        message["tool_call_id"] = chat.call_id
    return message


class Trim(_LiteLLM):
    """`trim_messages(messages, model, max_tokens=room)`."""

    def cut(self) -> list[Chat]:
        utils = self._module.utils
        return self._back(
            utils.trim_messages(self._history, model=self._setting.model or None, max_tokens=self._setting.room)
        )


class Compress(_LiteLLM):
    """`compress(messages, model, compression_trigger=room)`: BM25 against the last user message, no embeddings.

    What it replaces by a stub can be had back through the tool that it adds.
    """

    def cut(self) -> list[Chat]:
        model = self._setting.model or "gpt-4o"
        result = self._module.compress(self._history, model=model, compression_trigger=self._setting.room)
        chats = self._back(result["messages"])
        self.recallable = {chat.number for chat in chats if _STUB.match(chat.text)}
        self.tools = result["tools"]
        return chats


def trim(setting: Setting) -> Peer:
    return Trim(setting)


def compress(setting: Setting) -> Peer:
    return Compress(setting)
