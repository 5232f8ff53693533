"""Microsoft Agent Framework: its compaction strategies, applied to the history as its agent loop does.

Its messages remember that they are excluded: what a strategy took out stays out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldaway.lab.peers._base import Kept, Peer, Setting, load, run
from foldaway.lab.peers._chat import OWN, Chat

KEEP_GROUPS = 20
"""`SlidingWindowStrategy` has no default; this is what the example in its documentation keeps."""


class _Tokenizer:
    def __init__(self, setting: Setting) -> None:
        self._count = setting.count

    def count_tokens(self, text: str) -> int:
        return self._count(text)


class AgentFramework(Kept):
    """`apply_compaction` on one list of messages that grows."""

    def __init__(self, module: Any, strategy: Any, tokenizer: Any) -> None:
        super().__init__()
        self._module = module
        self._strategy = strategy
        self._tokenizer = tokenizer
        self._history: list[Any] = []

    def add(self, chats: Sequence[Chat]) -> None:
        self.chats.extend(chats)
        self._history.extend(self._message(chat) for chat in chats)

    def cut(self) -> list[Chat]:
        applied = self._module.apply_compaction(self._history, strategy=self._strategy, tokenizer=self._tokenizer)
        return [self._chat(message) for message in run(applied)]

    def _message(self, chat: Chat) -> Any:
        content = self._module.Content
        contents = [content.from_text_reasoning(text=chat.reasoning)] if chat.reasoning else []
        if chat.role == "tool":
            contents.append(content.from_function_result(chat.call_id, result=chat.text))
        elif chat.text or not chat.calls:
            contents.append(content.from_text(chat.text))
        contents += [content.from_function_call(call.id, call.name, arguments=call.arguments) for call in chat.calls]
        return self._module.Message(role=chat.role, contents=contents, message_id=str(chat.number))

    def _chat(self, message: Any) -> Chat:
        number = message.message_id or ""
        if number.isdigit():
            return self.chats[int(number)]
        role = getattr(message.role, "value", message.role)
        return Chat(number=OWN, role=str(role), text=message.text)


def _module() -> Any:
    return load("agent_framework", "agent-framework-core")


def context_window(setting: Setting) -> Peer:
    """`ContextWindowCompactionStrategy`: window = room, no room for output, the rest by default."""
    module, tokenizer = _module(), _Tokenizer(setting)
    strategy = module.ContextWindowCompactionStrategy(
        max_context_window_tokens=setting.room, max_output_tokens=0, tokenizer=tokenizer
    )
    return AgentFramework(module, strategy, tokenizer)


def token_budget(setting: Setting) -> Peer:
    """`TokenBudgetComposedStrategy`: budget = room; `ToolResultCompactionStrategy` by default, then its fallback."""
    module, tokenizer = _module(), _Tokenizer(setting)
    strategy = module.TokenBudgetComposedStrategy(
        token_budget=setting.room, tokenizer=tokenizer, strategies=[module.ToolResultCompactionStrategy()]
    )
    return AgentFramework(module, strategy, tokenizer)


def sliding_window(setting: Setting) -> Peer:
    """`SlidingWindowStrategy`: a number of groups; it knows no budget."""
    module = _module()
    return AgentFramework(module, module.SlidingWindowStrategy(keep_last_groups=KEEP_GROUPS), _Tokenizer(setting))
