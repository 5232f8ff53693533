"""LlamaIndex: `Memory`, and the older `ChatMemoryBuffer`, both without memory blocks and without a model.

What `Memory` flushed is out for good; the buffer cuts the full history anew at every call. The system prompt stands
beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldaway.lab.peers._base import MESSAGE_TOKENS, Kept, Peer, Setting, load
from foldaway.lab.peers._chat import Chat

_NUMBER = "number"


class LlamaIndex(Kept):
    """A memory that messages are put into and got from; `additional_kwargs` carry the numbers."""

    def __init__(self, setting: Setting, kind: str) -> None:
        super().__init__()
        self._types = load("llama_index.core.llms", "llama-index-core")
        self._kind = load("llama_index.core.memory", "llama-index-core").__dict__[kind]
        self._setting = setting
        self._system: list[Chat] = []
        self._memory: Any = None

    def add(self, chats: Sequence[Chat]) -> None:
        talk = list(chats)
        if self._memory is None:
            while talk and talk[0].role == "system":
                self._system.append(talk.pop(0))
            self._memory = self._made()
        self.chats.extend(chats)
        for chat in talk:
            self._memory.put(self._message(chat))

    def cut(self) -> list[Chat]:
        messages = self._memory.get() if self._memory is not None else []
        return [*self._system, *(self.chats[message.additional_kwargs[_NUMBER]] for message in messages)]

    def _made(self) -> Any:
        count = self._setting.count
        system = sum(MESSAGE_TOKENS + count(chat.text) for chat in self._system)

        def tokens(text: str) -> Sequence[int]:
            # It only asks for the length.
            return range(count(text))

        return self._kind.from_defaults(token_limit=max(1, self._setting.room - system), tokenizer_fn=tokens)

    def _message(self, chat: Chat) -> Any:
        extra: dict[str, Any] = {_NUMBER: chat.number}
        if chat.calls:
            extra["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in chat.calls
            ]
        if chat.role == "tool":
            extra |= {"tool_call_id": chat.call_id, "name": chat.name}
        return self._types.ChatMessage(role=chat.role, content=chat.text, additional_kwargs=extra)


def memory(setting: Setting) -> Peer:
    """`Memory.from_defaults(token_limit=room)`: 0.7 of it for the chat, flushed by 3,000 tokens."""
    return LlamaIndex(setting, "Memory")


def chat_memory_buffer(setting: Setting) -> Peer:
    """`ChatMemoryBuffer.from_defaults(token_limit=room)`."""
    return LlamaIndex(setting, "ChatMemoryBuffer")
