"""Pydantic AI harness: the tiers of its compaction that need no model, called through the hook that its agents call.

A capability rewrites the history of the run: what it took out stays out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from foldaway.lab.peers._base import Kept, Peer, Setting, load, run
from foldaway.lab.peers._chat import OWN, Call, Chat

READERS = frozenset({"read", "read_file", "readfile", "view", "open_file", "open", "cat"})
PATH_KEYS = ("file_path", "path", "filename", "file")
"""`DeduplicateFileReads` asks its user which calls read which file: tools of these names (in lower case), and the
argument that names the file. Reads through a shell are not seen."""
MAX_PART_TOKENS = 4_000
"""`ClampOversizedMessages` has no default for it; heads and tails kept are its defaults of 2,000 characters."""

_NUMBERS = "foldaway"


class PydanticAI(Kept):
    """One capability on one run's history."""

    def __init__(self, capability: Any) -> None:
        super().__init__()
        self._types = load("pydantic_ai.messages", "pydantic-ai-slim")
        self._capability = capability
        self._model = load("pydantic_ai.models.test", "pydantic-ai-slim").TestModel()
        self._models = load("pydantic_ai.models", "pydantic-ai-slim")
        self._tools = load("pydantic_ai.tools", "pydantic-ai-slim")
        self._usage = load("pydantic_ai.usage", "pydantic-ai-slim")
        self._history: list[Any] = []
        # id of a part -> number and part; parts stay alive here, so no id is given twice.
        self._parts: dict[int, tuple[int, Any]] = {}

    def add(self, chats: Sequence[Chat]) -> None:
        self.chats.extend(chats)
        for answers, group in groupby(chats, lambda chat: chat.role == "assistant"):
            for message in map(self._response, group) if answers else [self._request(list(group))]:
                self._history.append(message)

    def cut(self) -> list[Chat]:
        context = self._tools.RunContext(
            deps=None, model=self._model, usage=self._usage.RunUsage(), messages=self._history
        )
        request = self._models.ModelRequestContext(
            model=self._model,
            messages=list(self._history),
            model_settings=None,
            model_request_parameters=self._models.ModelRequestParameters(),
        )
        sent = run(self._capability.before_model_request(context, request))
        self._history = list(context.messages)
        return [chat for message in sent.messages for chat in self._chats(message)]

    def _response(self, chat: Chat) -> Any:
        types = self._types
        parts = [types.ThinkingPart(chat.reasoning)] if chat.reasoning else []
        parts += [types.TextPart(chat.text)] if chat.text or not chat.calls else []
        parts += [types.ToolCallPart(call.name, call.arguments, tool_call_id=call.id) for call in chat.calls]
        return types.ModelResponse(parts=self._known(chat, parts), metadata={_NUMBERS: [chat.number]})

    def _request(self, chats: Sequence[Chat]) -> Any:
        parts = [part for chat in chats for part in self._known(chat, [self._said(chat)])]
        return self._types.ModelRequest(parts=parts, metadata={_NUMBERS: [chat.number for chat in chats]})

    def _said(self, chat: Chat) -> Any:
        match chat.role:
            case "system":
                return self._types.SystemPromptPart(chat.text)
            case "tool":
                return self._types.ToolReturnPart(chat.name, chat.text, tool_call_id=chat.call_id)
            case _:
                return self._types.UserPromptPart(chat.text)

    def _known(self, chat: Chat, parts: list[Any]) -> list[Any]:
        self._parts.update((id(part), (chat.number, part)) for part in parts)
        return parts

    def _chats(self, message: Any) -> list[Chat]:
        numbers = (message.metadata or {}).get(_NUMBERS, ())
        if isinstance(message, self._types.ModelResponse):
            return [self._answer(numbers, message)]
        return [self._part(numbers, part) for part in message.parts]

    def _answer(self, numbers: Sequence[int], message: Any) -> Chat:
        text = "".join(part.content for part in message.parts if isinstance(part, self._types.TextPart))
        if not numbers:
            return Chat(number=OWN, role="assistant", text=text)
        chat = self.chats[numbers[0]]
        if all(id(part) in self._parts for part in message.parts):
            return chat
        kept = {part.tool_call_id: part for part in message.parts if isinstance(part, self._types.ToolCallPart)}
        calls = tuple(self._call(call, kept[call.id]) for call in chat.calls if call.id in kept)
        return replace(chat, text=text, calls=calls)

    def _call(self, call: Call, part: Any) -> Call:
        return call if id(part) in self._parts else replace(call, arguments=part.args_as_json_str())

    def _part(self, numbers: Sequence[int], part: Any) -> Chat:
        known = self._parts.get(id(part))
        if known is not None:
            return self.chats[known[0]]
        text = part.content if isinstance(part.content, str) else str(part.content)
        call_id = getattr(part, "tool_call_id", None)
        for number in numbers:
            if call_id and self.chats[number].call_id == call_id:
                return self.retext(number, text)
        return Chat(number=OWN, role="system" if part.part_kind == "system-prompt" else "user", text=text)


def file_key(call: Any) -> str | None:
    """Which file a call reads, if it does."""
    if call.tool_name.lower() not in READERS:
        return None
    try:
        arguments = call.args_as_dict()
    except ValueError:
        return None
    return next((str(arguments[key]) for key in PATH_KEYS if arguments.get(key)), None)


def _compaction() -> Any:
    return load("pydantic_ai_harness.compaction", "pydantic-ai-harness")


def clear_tool_results(setting: Setting) -> Peer:
    """`ClearToolResults`: trigger = room, `keep_pairs` 3 and the rest by default."""
    return PydanticAI(_compaction().ClearToolResults(max_tokens=setting.room, tokenizer=setting.count))


def sliding_window(setting: Setting) -> Peer:
    """`SlidingWindowCompaction`: from more than room down to half of it, as its example halves messages."""
    window = _compaction().SlidingWindowCompaction(
        max_tokens=setting.room, keep_tokens=setting.room // 2, tokenizer=setting.count
    )
    return PydanticAI(window)


def tiered(setting: Setting) -> Peer:
    """`TieredCompaction` to room: superseded reads, oversized answers, old results, sliding window."""
    module, count = _compaction(), setting.count
    tiers = [
        module.DeduplicateFileReads(file_key=file_key, tokenizer=count),
        module.ClampOversizedMessages(max_part_tokens=MAX_PART_TOKENS, tokenizer=count),
        module.ClearToolResults(max_tokens=1, tokenizer=count),
        module.SlidingWindowCompaction(max_tokens=1, keep_tokens=setting.room // 2, tokenizer=count),
    ]
    return PydanticAI(module.TieredCompaction(tiers=tiers, target_tokens=setting.room, tokenizer=count))
