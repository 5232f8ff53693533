"""Headroom: `compress(messages)` on the full history at every call.

It makes results shorter and never drops a message, so it cannot keep a budget. Its text model is fetched from a hub and
is switched off here; what it takes out can be had back by hash through its retrieval tool.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from foldaway.lab.peers._base import Kept, Peer, Setting, load
from foldaway.lab.peers._chat import Chat
from foldaway.lab.peers.litellm import NUMBER, message_of

MODEL = "claude-sonnet-4-5-20250929"
"""The default of `compress`. It only chooses a counter; for others that is fetched from the network."""
_MARK = "hash="


class Compress(Kept):
    """`compress(messages, model_limit=room)` with `kompress_model="disabled"`, the rest by default."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        os.environ.setdefault("HEADROOM_OFFLINE", "1")
        self._compress = load("headroom", "headroom-ai").compress
        self._tool = load("headroom.ccr", "headroom-ai").create_ccr_tool_definition("openai")
        self._room = setting.room
        self._history: list[dict[str, object]] = []

    def add(self, chats: Sequence[Chat]) -> None:
        self.chats.extend(chats)
        self._history.extend(message_of(chat) for chat in chats)

    def cut(self) -> list[Chat]:
        result = self._compress(
            [dict(message) for message in self._history],
            model=MODEL,
            model_limit=self._room,
            kompress_model="disabled",
        )
        chats = [self.retext(int(message[NUMBER]), str(message["content"] or "")) for message in result.messages]
        marked = (chat for chat in chats if _MARK in chat.text and chat.text != self.chats[chat.number].text)
        self.recallable = {chat.number for chat in marked}
        # Once offered it stays: a tool that comes and goes would break the cached prefix.
        if self.recallable and not self.tools:
            self.tools = (self._tool,)
        return chats


def compress(setting: Setting) -> Peer:
    return Compress(setting)
