"""Claude Code session files: one event a line, an assistant message spread over as many lines as it has blocks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.readers._build import ENVIRONMENT, Draft
from foldaway.readers._source import LineFormat, Log

FROM_ENVIRONMENT = ("<task-notification>", "<local-command-stdout>", "<local-command-stderr>", "<system-reminder>")


def _knows(record: Mapping[str, Any]) -> bool:
    return (
        record.get("type") in ("user", "assistant")
        and isinstance(record.get("message"), Mapping)
        and ("uuid" in record or "sessionId" in record)
    )


@dataclass(slots=True)
class _Reading:
    draft: Draft = field(default_factory=Draft)
    seen: set[bytes] = field(default_factory=set)
    """What was logged already: a resumed or compacted session logs messages again."""
    positions: dict[str, int] = field(default_factory=dict)
    """Provider's message id -> position."""
    owner: dict[str, int] = field(default_factory=dict)
    """Call id -> position of its assistant message."""
    answers: dict[int, int] = field(default_factory=dict)
    """Position of an assistant message -> position of the user message with its results."""
    last: int = -1
    open_calls: set[str] = field(default_factory=set)
    held: list[tuple[Message, str]] = field(default_factory=list)
    """User messages typed while calls were running: they follow the results."""

    def new(self, *key: Any) -> bool:
        digest = hashlib.blake2b(json.dumps(key, sort_keys=True).encode(), digest_size=16).digest()
        if digest in self.seen:
            return False
        self.seen.add(digest)
        return True

    def new_words(self, record: Mapping[str, Any], content: Any) -> bool:
        """A person may well say the same twice, but not at the same millisecond."""
        return "timestamp" not in record or self.new("said", record["timestamp"], content)

    def flush(self) -> None:
        for message, origin in self.held:
            self.draft.add(message, origin)
        self.held.clear()
        self.open_calls.clear()

    def feed(self, record: Mapping[str, Any]) -> None:
        kind = record.get("type")
        self.draft.at(record.get("timestamp"))
        if record.get("isSidechain") or record.get("isMeta"):
            return
        if record.get("isCompactSummary") or record.get("subtype") == "compact_boundary":
            self.flush()
            said = (record.get("message") or {}).get("content") if record.get("isCompactSummary") else None
            # Files that Claude Code attaches anew after a compaction are not in the log.
            self.draft.compacted([{"role": "user", "content": said}] if said else ())
        elif kind == "attachment":
            self._queued(record)
        elif kind in ("user", "assistant") and self.new("line", record.get("uuid", record)):
            (self._user if kind == "user" else self._assistant)(record)

    def _queued(self, record: Mapping[str, Any]) -> None:
        attachment = record.get("attachment") or {}
        prompt = attachment.get("prompt") if attachment.get("type") == "queued_command" else None
        if isinstance(prompt, str | list) and prompt and self.new("queued", attachment.get("timestamp"), prompt):
            mode = attachment.get("commandMode")
            self._say({"role": "user", "content": prompt}, ENVIRONMENT if mode == "task-notification" else "")

    def _say(self, message: Message, origin: str) -> None:
        if self.open_calls:
            self.held.append((message, origin))
        else:
            self.draft.add(message, origin)

    def _user(self, record: Mapping[str, Any]) -> None:
        content = record["message"]["content"]
        if isinstance(content, str):
            if content and self.new_words(record, content):
                origin = ENVIRONMENT if content.startswith(FROM_ENVIRONMENT) else ""
                self._say({"role": "user", "content": content}, origin)
            return
        results = [block for block in content if block["type"] == "tool_result"]
        rest = [block for block in content if block["type"] != "tool_result"]
        for block in results:
            if self.new("result", block["tool_use_id"]):
                self._result(block)
        if rest and self.new_words(record, rest):
            self._say({"role": "user", "content": rest}, "")

    def _result(self, block: Mapping[str, Any]) -> None:
        call = block["tool_use_id"]
        self.open_calls.discard(call)
        at = self.owner.get(call, self.last)
        if at in self.answers:
            self.draft.messages[self.answers[at]]["content"].append(block)
        else:
            self.answers[at] = self.draft.add({"role": "user", "content": [block]})
        if not self.open_calls:
            self.flush()

    def _assistant(self, record: Mapping[str, Any]) -> None:
        message = record["message"]
        if message.get("model") == "<synthetic>" or record.get("isApiErrorMessage"):
            return
        ident = str(message.get("id") or record.get("uuid"))
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        fresh = [block for block in blocks if self._is_new(ident, block)]
        if not fresh:
            return
        if self.positions.get(ident) != self.last or self.last < 0:
            self.flush()
            self.last = self.positions[ident] = self.draft.add({"role": "assistant", "content": []})
        self.draft.messages[self.last]["content"].extend(fresh)
        for block in fresh:
            if block["type"] == "tool_use":
                self.owner[block["id"]] = self.last
                self.open_calls.add(block["id"])
        self.draft.model = self.draft.model or str(message.get("model") or "")
        if message.get("usage"):
            # Each line repeats the usage; the last one has the final number of output tokens.
            self.draft.usage[self.last] = message["usage"]

    def _is_new(self, ident: str, block: Mapping[str, Any]) -> bool:
        return self.new("call", block["id"]) if block["type"] == "tool_use" else self.new("block", ident, block)


def _read(records: Iterable[tuple[int, dict[str, Any]]], log: Log) -> Iterator[Recorded]:
    reading = _Reading()
    for line, record in records:
        with log.guard(line, "a Claude Code event with a message"):
            reading.feed(record)
    reading.flush()
    yield reading.draft.recorded(log.name(), "claude-code", "anthropic_messages")


LINES = LineFormat("claude-code", _knows, _read)
