"""OpenHands V1 events: actions and observations tied by call ids, condensations with the ids of what they dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.readers._build import ENVIRONMENT, Draft, chat_assistant, chat_call, chat_result, text_of
from foldaway.readers._source import LineFormat, Log

EVENTS = {"SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "Condensation", "AgentErrorEvent"}


def _knows(record: Mapping[str, Any]) -> bool:
    return record.get("kind") in EVENTS and "source" in record


def _observed(event: Mapping[str, Any]) -> str:
    seen = event.get("observation") or {}
    metadata = seen.get("metadata") or {}
    output = text_of(seen.get("output") or seen.get("content") or seen.get("message"))
    error = seen.get("error")
    # `error` is a text for the editor and a mark for the shell, whose suffix tells the exit code.
    text = f"{metadata.get('prefix') or ''}{output}{metadata.get('suffix') or ''}"
    return error + ("\n" + text if text else "") if isinstance(error, str) and error else text


@dataclass(slots=True)
class _Reading:
    draft: Draft = field(default_factory=Draft)
    tools: list[Mapping[str, Any]] | None = None
    positions: dict[str, int] = field(default_factory=dict)
    """Event id -> position of the message it went into."""
    dropped: set[int] = field(default_factory=set)
    """Positions that some condensation dropped: they stay away."""
    response: str = ""
    at: int = -1
    """Position of the last assistant message."""

    def feed(self, event: Mapping[str, Any]) -> None:
        at = -1
        self.draft.at(event.get("timestamp"))
        match event.get("kind"):
            case "SystemPromptEvent":
                at = self.draft.add({"role": "system", "content": text_of(event["system_prompt"])})
                self.tools = event.get("tools") or None
            case "MessageEvent":
                at = self._message(event)
            case "ActionEvent":
                at = self._action(event)
            case "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent" if event.get("tool_call_id"):
                text = _observed(event) or text_of(event.get("error") or event.get("rejection_reason"))
                at = self.draft.add(chat_result(event["tool_call_id"], text))
            case "Condensation":
                self._condensed(event)
        if at >= 0 and "id" in event:
            self.positions[event["id"]] = at

    def _message(self, event: Mapping[str, Any]) -> int:
        message = event["llm_message"]
        text = text_of(list(message.get("content") or []) + list(event.get("extended_content") or []))
        if message["role"] == "assistant":
            self.response = ""
            self.at = self.draft.add(chat_assistant(text))
            return self.at
        origin = "" if event.get("source") == "user" else ENVIRONMENT
        return self.draft.add({"role": "user", "content": text}, origin)

    def _action(self, event: Mapping[str, Any]) -> int:
        call = event["tool_call"]
        function = call.get("function") or call
        made = chat_call(event["tool_call_id"], function["name"], function["arguments"])
        thought = text_of(event.get("thought"))
        response = str(event.get("llm_response_id") or "")
        if response and response == self.response:
            # Parallel calls of one answer are events of their own.
            message = self.draft.messages[self.at]
            message["tool_calls"].append(made)
            if thought and thought != message["content"]:
                message["content"] = "\n".join(filter(None, (message["content"], thought)))
            return self.at
        self.response = response
        self.at = self.draft.add(chat_assistant(thought, [made]))
        return self.at

    def _condensed(self, event: Mapping[str, Any]) -> None:
        dropped = {self.positions[i] for i in event.get("forgotten_event_ids") or () if i in self.positions}
        self.dropped |= dropped
        self.draft.compacted(self._kept(event))
        self.draft.forgotten[len(self.draft.messages)] = tuple(sorted(dropped))

    def _kept(self, event: Mapping[str, Any]) -> list[Message]:
        """What is left, and the newest summary in the place that the event names, in events."""
        places = [at for at in self.positions.values() if at not in self.dropped]
        offset = event.get("summary_offset")
        first = places[offset] if isinstance(offset, int) and 0 <= offset < len(places) else len(self.draft.messages)
        kept = [at for at in range(len(self.draft.messages)) if at not in self.dropped]
        text = text_of(event.get("summary"))
        summary: list[Message] = [{"role": "user", "content": text}] if text else []
        front = [self.draft.messages[at] for at in kept if at < first]
        return front + summary + [self.draft.messages[at] for at in kept if at >= first]


def _read(records: Iterable[tuple[int, dict[str, Any]]], log: Log) -> Iterator[Recorded]:
    reading = _Reading()
    for line, record in records:
        with log.guard(line, "an OpenHands event"):
            reading.feed(record)
    yield reading.draft.recorded(log.name(), "openhands", "openai_chat", tools=reading.tools)


LINES = LineFormat("openhands", _knows, _read)
