"""Codex rollout files: what was sent to and came from the Responses protocol, among events for the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.readers._build import Draft, without
from foldaway.readers._source import LineFormat, Log

ENVELOPES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
NOT_WIRE = ("metadata", "internal_chat_message_metadata_passthrough")
"""Codex's own bookkeeping on items; a public endpoint refuses unknown fields."""


def _knows(record: Mapping[str, Any]) -> bool:
    return record.get("type") in ENVELOPES and isinstance(record.get("payload"), Mapping)


def _replacement(payload: Mapping[str, Any]) -> list[Message]:
    """The items Codex went on with. Without a text of Codex's own the provider wrote the summary: an encrypted item,
    which some logs leave out."""
    history, text = payload.get("replacement_history"), payload.get("message")
    if not isinstance(history, list):
        said = [{"type": "input_text", "text": text}]
        return [{"type": "message", "role": "user", "content": said}] if text else []
    items = [without(item, *NOT_WIRE) for item in history if isinstance(item, Mapping)]
    if not text and all(item.get("type") != "compaction" for item in items):
        items.append({"type": "compaction"})
    return items


@dataclass(slots=True)
class _Reading:
    draft: Draft = field(default_factory=Draft)
    system: str | None = None
    spoken: int = -1
    """Position of the last item the model made."""
    total: Any = None
    texts: set[str] = field(default_factory=set)
    refreshing: bool = False
    """Just after a compaction, where Codex logs the standing messages once more."""

    def feed(self, record: Mapping[str, Any]) -> None:
        payload = record.get("payload") or {}
        self.draft.at(record.get("timestamp"))
        match record.get("type"):
            case "session_meta":
                instructions = payload.get("base_instructions") or payload.get("instructions")
                text = instructions.get("text") if isinstance(instructions, Mapping) else instructions
                self.system = self.system or (str(text) if text else None)
            case "turn_context":
                self.draft.model = self.draft.model or str(payload.get("model") or "")
            case "compacted":
                self.draft.compacted(_replacement(payload))
                self.refreshing = True
            case "event_msg" if payload.get("type") == "token_count":
                self._usage(payload.get("info") or {})
            case "response_item":
                self._item(payload)

    def _usage(self, info: Mapping[str, Any]) -> None:
        last = info.get("last_token_usage") or {}
        # The event is repeated on changes of other figures, and is empty after a compaction.
        if self.spoken >= 0 and last.get("input_tokens") and info.get("total_token_usage") != self.total:
            self.draft.usage[self.spoken] = last
            self.total = info.get("total_token_usage")

    def _refreshed(self, message: Message) -> None:
        """A standing message that was sent again with what replaced the history."""
        summary = self.draft.summaries.get(len(self.draft.messages))
        if summary is not None and all(kept.get("content") != message["content"] for kept in summary):
            summary.append(message)

    def _item(self, payload: Mapping[str, Any]) -> None:
        kind = str(payload["type"])
        if kind == "message" and payload["role"] in ("user", "developer"):
            text = json.dumps([payload["role"], payload["content"]])
            if self.refreshing and text in self.texts:
                self._refreshed(without(payload, *NOT_WIRE))
                return
            self.texts.add(text)
        else:
            self.refreshing = False
        at = self.draft.add(without(payload, *NOT_WIRE))
        if kind == "reasoning" or kind.endswith("_call") or payload.get("role") == "assistant":
            self.spoken = at


def _read(records: Iterable[tuple[int, dict[str, Any]]], log: Log) -> Iterator[Recorded]:
    reading = _Reading()
    for line, record in records:
        with log.guard(line, "a Codex event with a payload"):
            reading.feed(record)
    yield reading.draft.recorded(log.name(), "codex", "openai_responses", system=reading.system)


LINES = LineFormat("codex", _knows, _read)
