"""Strands Agents: `SlidingWindowConversationManager`, and the context manager that offloads to a stash.

An agent's list of messages is edited in place: what is out stays out. The system prompt stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import SimpleNamespace
from typing import Any

from foldaway.lab.peers._base import MESSAGE_TOKENS, Kept, Peer, Setting, load, run
from foldaway.lab.peers._chat import OWN, Chat, arguments_of

Native = dict[str, Any]
STRATEGIES = ("large_tool_offloading", "overflow_protection")
"""Presets of the context manager that need no model."""


class _Strands(Kept):
    """Keeps the history as Strands messages; `tracking_id` names the first chat message in each."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._setting = setting
        self._system: list[Chat] = []
        self._blocks: dict[int, tuple[int, Native]] = {}
        self._results: dict[str, list[int]] = {}
        self._tracked: dict[str, tuple[int, ...]] = {}

    def _natives(self, chats: Sequence[Chat]) -> list[Native]:
        """New Strands messages; what stands at the very front as system is kept aside."""
        talk = list(chats)
        while talk and talk[0].role == "system" and len(self._system) == len(self.chats):
            self._system.append(talk.pop(0))
            self.chats.append(self._system[-1])
        self.chats.extend(talk)
        natives = []
        for answers, group in groupby(talk, lambda chat: chat.role == "assistant"):
            said = list(group)
            # Answers in a row stay apart, as recorded; results and words of the user go together, as Strands has them.
            natives += [self._native([chat]) for chat in said] if answers else [self._native(said)]
        return natives

    def _native(self, chats: Sequence[Chat]) -> Native:
        blocks = [block for chat in chats for block in self._known(chat)]
        role = "assistant" if chats[0].role == "assistant" else "user"
        tracking_id = f"chat-{chats[0].number}"
        self._tracked[tracking_id] = tuple(chat.number for chat in chats)
        return {"role": role, "content": blocks, "tracking_id": tracking_id}

    def _known(self, chat: Chat) -> list[Native]:
        blocks = list(_blocks(chat))
        self._blocks.update((id(block), (chat.number, block)) for block in blocks)
        if chat.role == "tool":
            self._results.setdefault(chat.call_id, []).append(chat.number)
        return blocks

    def _chats(self, messages: Sequence[Native]) -> list[Chat]:
        return self._system + [chat for message in messages for chat in self._from(message)]

    def _from(self, message: Native) -> Iterator[Chat]:
        if message["role"] == "assistant":
            yield self._answer(message)
            return
        for number, group in groupby(message["content"], lambda block: self._number(block, message)):
            blocks = list(group)
            if number == OWN:
                yield Chat(number=OWN, role="user", text=_text(blocks))
            elif all(id(block) in self._blocks for block in blocks):
                yield self.chats[number]
            else:
                yield self.retext(number, _text(blocks))

    def _answer(self, message: Native) -> Chat:
        blocks = message["content"]
        numbers = [number for block in blocks if (number := self._number(block, message)) != OWN]
        if not numbers:
            return Chat(number=OWN, role="assistant", text=_text(blocks))
        chat = self.chats[numbers[0]]
        if all(id(block) in self._blocks for block in blocks):
            return chat
        kept = {block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block}
        return replace(chat, text=_text(blocks), calls=tuple(call for call in chat.calls if call.id in kept))

    def _number(self, block: Native, message: Native) -> int:
        known = self._blocks.get(id(block))
        if known is not None:
            return known[0]
        tracked = self._tracked.get(message.get("tracking_id", ""), ())
        if "toolResult" in block:
            answering = self._results.get(block["toolResult"]["toolUseId"], [])
            return next((n for n in answering if n in tracked), answering[-1] if answering else OWN)
        # A text that was shortened: it has the place of its message's only text.
        texts = [n for n in tracked if self.chats[n].role != "tool"] if len(message["content"]) >= len(tracked) else []
        return texts[0] if len(texts) == 1 and "text" in block and not _is_marker(block) else OWN

    def tokens(self, messages: Sequence[Native]) -> int:
        """Tokens of the messages by the lab's counter, the system prompt not among them."""
        count = self._setting.count
        return sum(MESSAGE_TOKENS + count(text) for m in messages for b in m["content"] for text in _texts(b))

    @property
    def room(self) -> int:
        """Tokens left for the messages beside the system prompt."""
        count = self._setting.count
        return max(1, self._setting.room - sum(MESSAGE_TOKENS + count(chat.text) for chat in self._system))


def _is_marker(block: Native) -> bool:
    text = block["text"]
    return len(text) < 60 and text.startswith("[") and text.endswith("]") and "message" in text


def _blocks(chat: Chat) -> Iterator[Native]:
    if chat.role == "tool":
        yield {"toolResult": {"toolUseId": chat.call_id, "status": "success", "content": [{"text": chat.text}]}}
        return
    if chat.reasoning:
        yield {"reasoningContent": {"reasoningText": {"text": chat.reasoning}}}
    if chat.text or not (chat.calls or chat.reasoning):
        yield {"text": chat.text}
    for call in chat.calls:
        yield {"toolUse": {"toolUseId": call.id, "name": call.name, "input": arguments_of(call)}}


def _texts(block: Mapping[str, Any]) -> Iterator[str]:
    if "text" in block:
        yield block["text"]
    elif "toolResult" in block:
        yield from (item["text"] for item in block["toolResult"]["content"] if "text" in item)
    elif "toolUse" in block:
        yield block["toolUse"]["name"] + str(block["toolUse"]["input"])
    elif "reasoningContent" in block:
        yield block["reasoningContent"].get("reasoningText", {}).get("text", "")


def _text(blocks: Sequence[Mapping[str, Any]]) -> str:
    said = [block for block in blocks if "text" in block or "toolResult" in block]
    return "\n".join(text for block in said for text in _texts(block))


class SlidingWindow(_Strands):
    """The default manager, before every model call; above the room, what its agent does when a model refuses."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        manager = load("strands.agent.conversation_manager", "strands-agents")
        self._overflow = load("strands.types.exceptions", "strands-agents").ContextWindowOverflowException
        self._manager = manager.SlidingWindowConversationManager(per_turn=True)
        self._agent = SimpleNamespace(messages=[])

    def add(self, chats: Sequence[Chat]) -> None:
        self._agent.messages.extend(self._natives(chats))

    def cut(self) -> list[Chat]:
        self._manager.apply_management(self._agent)
        while self.tokens(self._agent.messages) > self.room:
            try:
                self._manager.reduce_context(self._agent, e=self._overflow("input is too long"))
            except self._overflow:
                break
        return self._chats(self._agent.messages)


class ContextManager(_Strands):
    """An agent with a context manager whose model has a window of room; it is driven by the agent's own hooks.

    What is offloaded carries a reference that a tool of the agent's takes.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        experimental = load("strands.experimental.context_manager", "strands-agents")
        strands = load("strands", "strands-agents")
        self._hooks = load("strands.hooks", "strands-agents")
        self._manager = experimental.ContextManager(strategies=list(STRATEGIES))
        self._agent = strands.Agent(model=_model(self), context_manager=self._manager, callback_handler=None)
        specs = self._agent.tool_registry.get_all_tool_specs()
        self.tools = [_tool(spec) for spec in specs]

    def add(self, chats: Sequence[Chat]) -> None:
        for native in self._natives(chats):
            self._agent.messages.append(native)
            event = self._hooks.MessageAddedEvent(agent=self._agent, message=native)
            run(self._agent.hooks.invoke_callbacks_async(event))

    def cut(self) -> list[Chat]:
        messages = self._agent.messages
        event = self._hooks.BeforeModelCallEvent(agent=self._agent, projected_input_tokens=self.tokens(messages))
        run(self._agent.hooks.invoke_callbacks_async(event))
        chats = self._chats(messages)
        self.recallable = {
            chat.number
            for chat in chats
            if chat.number != OWN and "[ref" in chat.text and chat != self.chats[chat.number]
        }
        return chats


def _tool(spec: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": spec["name"], "description": spec["description"], "parameters": spec["inputSchema"]["json"]}
    return {"type": "function", "function": function}


def _model(peer: _Strands) -> Any:
    """A model that knows its window and counts as the lab does, and is never called."""
    base = load("strands.models", "strands-agents").Model

    async def count_tokens(self: Any, messages: Sequence[Native], *_: Any, **__: Any) -> int:
        return peer.tokens(messages)

    def unused(self: Any, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("the model of a replay is not called")

    members = {
        "get_config": lambda self: {"context_window_limit": peer.room},
        "update_config": unused,
        "structured_output": unused,
        "stream": unused,
        "count_tokens": count_tokens,
    }
    return type("ReplayModel", (base,), members)()


def sliding_window(setting: Setting) -> Peer:
    """`SlidingWindowConversationManager(per_turn=True)`, window of 40 messages; overflow recovery above room."""
    return SlidingWindow(setting)


def context_manager(setting: Setting) -> Peer:
    return ContextManager(setting)
