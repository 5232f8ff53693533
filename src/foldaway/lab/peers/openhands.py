"""OpenHands SDK: `LLMSummarizingCondenser` with a stand-in for the model that writes its summaries.

The condensers that need no model (`NoOpCondenser`, pipelines of it) condense nothing. Which events are forgotten, when,
and where the summary goes is the library's own doing; only the words of the summary are not a model's: the first line
of each forgotten event. Condensations stay in the history.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from foldaway.lab.peers._base import MESSAGE_TOKENS, Kept, Peer, Setting, load
from foldaway.lab.peers._chat import OWN, Chat

LINE_CHARS = 160
SUMMARY_LINES = 100
"""The stand-in summary: at most so many lines, the newest, each cut to so many characters."""
MAX_CONDENSATIONS = 3
"""In a row, before a view goes out as it is."""
_SEPARATOR = "-"
_LABEL = re.compile(r"^CondensationSummaryEvent \(\w+\)\s+user:\s*")
_EVENT = re.compile(r"<EVENT>\n(.*?)\n</EVENT>", re.DOTALL)


class Summarizing(Kept):
    """A condenser beside a history of events; event ids carry the numbers."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")
        self._events = load("openhands.sdk.event", "openhands-sdk")
        self._llm = load("openhands.sdk.llm", "openhands-sdk")
        self._view = load("openhands.sdk.context.view", "openhands-sdk").View()
        condenser = load("openhands.sdk.context.condenser", "openhands-sdk")
        self._observation = _observation_type()
        self._model = _stand_in(setting)
        self._condenser = condenser.LLMSummarizingCondenser(llm=self._model, max_tokens=setting.room)
        self._unavailable = condenser.NoCondensationAvailableException
        self._made = 0

    def add(self, chats: Sequence[Chat]) -> None:
        for chat in chats:
            self.chats.append(chat)
            for event in self._from(chat):
                self._view.append_event(event)

    def cut(self) -> list[Chat]:
        try:
            # An agent condenses, records it and asks again; it would do so for ever where no summary is small enough.
            for _ in range(MAX_CONDENSATIONS):
                condensed = self._condenser.condense(self._view, agent_llm=self._model)
                if not isinstance(condensed, self._events.Condensation):
                    break
                self._made += 1
                self._view.append_event(condensed.model_copy(update={"id": f"condensation{_SEPARATOR}{self._made}"}))
        except self._unavailable:
            # Nothing left to forget: the view goes out as it is.
            pass
        return list(self._chats(self._view.events))

    def _from(self, chat: Chat) -> Iterator[Any]:
        texts = [self._llm.TextContent(text=chat.text)] if chat.text else []
        if chat.role == "system" and chat.number == 0:
            yield self._events.SystemPromptEvent(id=_id(chat), system_prompt=self._text(chat), tools=[])
        elif chat.role == "tool":
            yield self._events.ObservationEvent(
                id=_id(chat),
                tool_name=chat.name or "tool",
                tool_call_id=chat.call_id,
                observation=self._observation(content=texts),
                action_id=f"action{_SEPARATOR}{chat.call_id}",
            )
        elif chat.calls:
            yield from self._actions(chat, texts)
        else:
            agent = chat.role == "assistant"
            message = self._llm.Message(role="assistant" if agent else "user", content=texts)
            yield self._events.MessageEvent(id=_id(chat), source="agent" if agent else "user", llm_message=message)

    def _actions(self, chat: Chat, texts: list[Any]) -> Iterator[Any]:
        for at, call in enumerate(chat.calls):
            written = self._llm.MessageToolCall(
                id=call.id, name=call.name, arguments=call.arguments, origin="completion"
            )
            yield self._events.ActionEvent(
                id=f"{_id(chat)}{_SEPARATOR}{at}",
                thought=texts if at == 0 else [],
                reasoning_content=(chat.reasoning or None) if at == 0 else None,
                tool_name=call.name,
                tool_call_id=call.id,
                tool_call=written,
                llm_response_id=f"response{_SEPARATOR}{chat.number}",
            )

    def _text(self, chat: Chat) -> Any:
        return self._llm.TextContent(text=chat.text)

    def _chats(self, events: Sequence[Any]) -> Iterator[Chat]:
        last = OWN
        for event in events:
            number = _number(event.id)
            if number == OWN:
                yield Chat(number=OWN, role="user", text=_said(event))
            elif number != last:
                yield self.chats[number]
            last = number


def _id(chat: Chat) -> str:
    return f"chat{_SEPARATOR}{chat.number}"


def _number(event_id: str) -> int:
    kind, _, rest = event_id.partition(_SEPARATOR)
    return int(rest.split(_SEPARATOR)[0]) if kind == "chat" else OWN


def _said(event: Any) -> str:
    return "\n".join(block.text for block in event.to_llm_message().content if hasattr(block, "text"))


_types: dict[str, Any] = {}
"""Types made from the library's classes, once: it keeps a register of them and refuses a second of one name."""


def _observation_type() -> Any:
    if "observation" not in _types:
        base = load("openhands.sdk.tool", "openhands-sdk").Observation
        _types["observation"] = type("ReplayObservation", (base,), {"__module__": __name__})
    return _types["observation"]


def _stand_in(setting: Setting) -> Any:
    """An LLM that counts as the lab does and writes the stand-in summary."""
    if "llm" not in _types:
        llm = load("openhands.sdk.llm", "openhands-sdk")
        private = load("pydantic", "pydantic").PrivateAttr
        members = {
            "__module__": __name__,
            "__annotations__": {"_count": Any},
            "_count": private(default=len),
            "get_token_count": _token_count,
            "generate": _generate,
        }
        _types["llm"] = type("ReplayLLM", (llm.LLM,), members)
    made = _types["llm"](model="openai/stand-in", api_key="none", usage_id="replay")
    made._count = setting.count
    return made


def _token_count(self: Any, messages: Sequence[Any], *_: Any, **__: Any) -> int:
    return sum(MESSAGE_TOKENS + sum(map(self._count, _strings(message))) for message in messages)


def _strings(message: Any) -> Iterator[str]:
    yield from (block.text for block in message.content if hasattr(block, "text"))
    yield from (text for call in message.tool_calls or () for text in (call.name, call.arguments))
    if message.reasoning_content:
        yield message.reasoning_content


def _generate(self: Any, messages: Sequence[Any], *_: Any, **__: Any) -> Any:
    """The stand-in for a summary: of each event in the request its first two lines (what it is, how it begins)."""
    llm = load("openhands.sdk.llm", "openhands-sdk")
    asked = "\n".join(text for message in messages for text in _strings(message))
    lines = [_first_lines(event) for event in _EVENT.findall(asked)]
    text = "\n".join(lines[-SUMMARY_LINES:])
    message = llm.Message(role="assistant", content=[llm.TextContent(text=text)])
    return SimpleNamespace(message=message, id=f"summary{_SEPARATOR}{len(lines)}")


def _first_lines(event: str) -> str:
    # A summary that is summed up again goes without its label, or labels are all that would be left of it.
    lines = [line.strip() for line in _LABEL.sub("", event.strip()).splitlines() if line.strip()]
    return " ".join(lines[:2])[:LINE_CHARS]


def summarizing_standin(setting: Setting) -> Peer:
    """`LLMSummarizingCondenser(max_tokens=room)`, the rest by default: down to half, the first 2 events kept."""
    return Summarizing(setting)
