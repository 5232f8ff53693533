"""LangChain: `ContextEditingMiddleware` with `ClearToolUsesEdit`, and `trim_messages` of langchain-core.

Both work on a copy at every call and keep nothing between calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from foldaway.lab.peers._base import Kept, Peer, Setting, load, tokens_of
from foldaway.lab.peers._chat import Chat, arguments_of


class _LangChain(Kept):
    """Keeps the history as LangChain messages; their `id` is the number."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._types = load("langchain_core.messages", "langchain-core")
        self._setting = setting
        self._history: list[Any] = []

    def add(self, chats: Sequence[Chat]) -> None:
        self.chats.extend(chats)
        self._history.extend(self._message(chat) for chat in chats)

    def _message(self, chat: Chat) -> Any:
        types, number = self._types, str(chat.number)
        match chat.role:
            case "system":
                return types.SystemMessage(chat.text, id=number)
            case "tool":
                return types.ToolMessage(chat.text, tool_call_id=chat.call_id, name=chat.name, id=number)
            case "assistant":
                calls = [{"id": c.id, "name": c.name, "args": arguments_of(c)} for c in chat.calls]
                return types.AIMessage(chat.text, tool_calls=calls, id=number)
            case _:
                return types.HumanMessage(chat.text, id=number)

    def _count(self, messages: Sequence[Any]) -> int:
        return sum(tokens_of(self._chat(message), self._setting.count) for message in messages)

    def _chat(self, message: Any) -> Chat:
        return self.retext(int(message.id), message.content)


class ClearToolUses(_LangChain):
    """The middleware of an agent, asked for each call; trigger = room, `keep` 3 and the rest by default."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        middleware = load("langchain.agents.middleware", "langchain")
        models = load("langchain_core.language_models.fake_chat_models", "langchain-core")
        self._request: Callable[..., Any] = middleware.ModelRequest
        self._model = models.FakeListChatModel(responses=[""])
        edit = middleware.ClearToolUsesEdit(trigger=setting.room)
        self._middleware = middleware.ContextEditingMiddleware(edits=[edit], token_counter=self._count)

    def cut(self) -> list[Chat]:
        sent: list[Any] = []

        def handler(request: Any) -> Any:
            sent.extend(request.messages)
            return self._types.AIMessage("")

        self._middleware.wrap_model_call(self._request(model=self._model, messages=list(self._history)), handler)
        return [self._chat(message) for message in sent]


class Trim(_LangChain):
    """`trim_messages(strategy="last", max_tokens=room, include_system=True)`.

    With `start_on="human"` and `end_on=("human", "tool")`, the arguments its documentation gives for agents; without
    them, what its defaults do.
    """

    def __init__(self, setting: Setting, **borders: Any) -> None:
        super().__init__(setting)
        self._borders = borders

    def cut(self) -> list[Chat]:
        kept = self._types.trim_messages(
            self._history,
            max_tokens=self._setting.room,
            token_counter=self._count,
            strategy="last",
            include_system=True,
            **self._borders,
        )
        return [self._chat(message) for message in kept]


def clear_tool_uses(setting: Setting) -> Peer:
    return ClearToolUses(setting)


def trim(setting: Setting) -> Peer:
    return Trim(setting, start_on="human", end_on=("human", "tool"))


def trim_default(setting: Setting) -> Peer:
    return Trim(setting)
