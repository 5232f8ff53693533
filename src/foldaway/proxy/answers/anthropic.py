"""Answers of Anthropic Messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldaway.proxy.answers._text import TextGate, stripped
from foldaway.proxy.answers.base import (
    NOTHING,
    Events,
    Listening,
    Recall,
    Whole,
    added,
    event_of,
    object_of,
    recall_of,
)

_KINDS = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 413: "request_too_large"}
_WRITTEN = "output_tokens"
_READ = frozenset({"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"})


class AnthropicAnswers:
    """The `Answers` of Anthropic Messages."""

    def read(self, answer: Mapping[str, Any], listening: Listening) -> Whole:
        recalls: list[Recall] = []
        others = False
        for block in _blocks(answer):
            if block.get("type") == "tool_use":
                if _is_recall(block, listening):
                    recalls.append(recall_of(block.get("input")))
                else:
                    others = True
            elif block.get("type") == "text" and listening.directives:
                recalls += stripped(str(block.get("text") or ""))[1]
        usage = answer.get("usage")
        told = usage if isinstance(usage, dict) else None
        return Whole(recalls=tuple(recalls), others=others, usage=told, id=str(answer.get("id") or ""))

    def joined(
        self, earlier: Sequence[Mapping[str, Any]], last: Mapping[str, Any], listening: Listening
    ) -> dict[str, Any]:
        answers = [*earlier, last]
        content = [kept for answer in answers for block in _blocks(answer) if (kept := _kept(block, listening))]
        joined = {**last, "content": content or [{"type": "text", "text": NOTHING}]}
        calls = any(block.get("type") == "tool_use" for block in content)
        if joined.get("stop_reason") == "tool_use" and not calls:
            joined["stop_reason"] = "end_turn"
        for answer in earlier:
            if isinstance(answer.get("usage"), dict) and isinstance(joined.get("usage"), dict):
                joined["usage"] = added(answer["usage"], joined["usage"], _WRITTEN)
        return joined

    def filter(self, listening: Listening) -> AnthropicFilter:
        return AnthropicFilter(listening)

    def error(self, status: int, message: str, code: str = "") -> dict[str, Any]:
        kind = _KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}}


class AnthropicFilter:
    """The `Filter` of Anthropic Messages."""

    def __init__(self, listening: Listening) -> None:
        self.others = False
        self.usage: dict[str, Any] | None = None
        self.output: list[dict[str, Any]] = []
        self.id = ""
        self._listening = listening
        self._events = Events()
        self._first = True
        self._indexes: dict[Any, int] = {}
        """Index of a block in this round -> its index for the client."""
        self._asked: dict[Any, list[str]] = {}
        """Index of a recall in this round -> pieces of its input."""
        self._gates: dict[Any, TextGate] = {}
        self._all_gates: list[TextGate] = []
        self._waiting: dict[Any, bytes] = {}
        """Heads of text blocks of which nothing may go on yet."""
        self._next = 0
        self._calls = 0
        self._ends: list[bytes] = []
        self._written: dict[str, Any] | None = None
        self._done = self._failed = False

    @property
    def recalls(self) -> list[Recall]:
        said = [r for gate in self._all_gates for r in gate.wanted]
        return [*said, *(recall_of("".join(pieces)) for pieces in self._asked.values())]

    @property
    def broken(self) -> bool:
        return self._failed or not self._done

    def feed(self, data: bytes) -> bytes:
        return b"".join(self._event(event) for event in self._events.feed(data))

    def again(self) -> bytes:
        if self.usage is not None:
            self._written = added(self._written, self.usage, _WRITTEN)
        for kept in (self._indexes, self._asked, self._gates, self._waiting):
            kept.clear()
        self._ends.clear()
        self._all_gates.clear()
        self.others, self._first = False, False
        self._done = self._failed = False
        return b""

    def finish(self) -> bytes:
        out = b"".join(self._close(index) for index in list(self._gates))
        if self._touched and self._done and not self._next:
            out += self._block(NOTHING)
        out += b"".join(self._ending(event) for event in self._ends)
        rest, self._events.rest = self._events.rest, b""
        return out + rest

    # -- inside

    @property
    def _touched(self) -> bool:
        return bool(self._asked) or not self._first or any(gate.found for gate in self._all_gates)

    def _event(self, event: bytes) -> bytes:
        told = object_of(event)
        if told is None:
            return event
        kind = told.get("type")
        if isinstance(kind, str) and kind.startswith("content_block") and not isinstance(told.get("index"), int):
            return event
        match kind:
            case "message_start":
                return self._start(event, told)
            case "content_block_start":
                return self._open(event, told)
            case "content_block_delta":
                return self._delta(event, told)
            case "content_block_stop":
                return self._stop(event, told)
            case "message_delta":
                self.usage = {**(self.usage or {}), **_told(told.get("usage"))}
                self._ends.append(event)
                return b""
            case "message_stop":
                self._done = True
                self._ends.append(event)
                return b""
            case "error":
                self._failed = True
        return event

    def _start(self, event: bytes, told: dict[str, Any]) -> bytes:
        message = told.get("message")
        if isinstance(message, dict):
            self.usage = _told(message.get("usage"))
            self.id = self.id or str(message.get("id") or "")
        return event if self._first else b""

    def _open(self, event: bytes, told: dict[str, Any]) -> bytes:
        index, block = told.get("index"), told.get("content_block")
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "tool_use" and isinstance(block, dict):
            if _is_recall(block, self._listening):
                self._asked[index] = []
                return b""
            self.others = True
            self._calls += 1
        if kind == "text" and self._listening.directives:
            self._gates[index] = TextGate()
            self._all_gates.append(self._gates[index])
            self._waiting[index] = event
            return b""
        return self._sent(event, told)

    def _delta(self, event: bytes, told: dict[str, Any]) -> bytes:
        index, delta = told.get("index"), told.get("delta")
        if index in self._asked:
            if isinstance(delta, dict):
                self._asked[index].append(str(delta.get("partial_json") or ""))
            return b""
        gate = self._gates.get(index)
        if gate is None or not isinstance(delta, dict) or delta.get("type") != "text_delta":
            return self._released(index) + self._sent(event, told)
        text = str(delta.get("text") or "")
        goes = gate.feed(text)
        if not goes:
            return b""
        if goes == text:
            return self._released(index) + self._sent(event, told)
        return self._released(index) + self._sent(b"", {**told, "delta": {**delta, "text": goes}})

    def _stop(self, event: bytes, told: dict[str, Any]) -> bytes:
        index = told.get("index")
        if index in self._asked:
            return b""
        gate = self._gates.get(index)
        out = self._close(index)
        if gate is not None and index in self._waiting:
            head = self._waiting.pop(index)
            if gate.found:
                # Nothing but a directive stood there; providers refuse empty text when it comes back.
                return out
            out += self._sent(head, object_of(head) or {})
        return out + self._sent(event, told)

    def _close(self, index: Any) -> bytes:
        """What a text block still holds."""
        gate = self._gates.pop(index, None)
        held = gate.end() if gate is not None else ""
        if not held:
            return b""
        delta = {"type": "text_delta", "text": held}
        return self._released(index) + self._sent(b"", {"type": "content_block_delta", "index": index, "delta": delta})

    def _released(self, index: Any) -> bytes:
        head = self._waiting.pop(index, b"")
        return self._sent(head, object_of(head) or {}) if head else b""

    def _sent(self, event: bytes, told: dict[str, Any]) -> bytes:
        """An event of a block, under the index that the block has for the client."""
        index = told.get("index")
        if index not in self._indexes:
            self._indexes[index] = self._next
            self._next += 1
        mine = self._indexes[index]
        return event if event and mine == index else event_of({**told, "index": mine}, named=True)

    def _ending(self, event: bytes) -> bytes:
        told = object_of(event)
        if told is None or told.get("type") != "message_delta" or not self._touched:
            return event
        delta = dict(_told(told.get("delta")))
        if delta.get("stop_reason") == "tool_use" and not self._calls:
            delta["stop_reason"] = "end_turn"
        # The head of the answer tells what the first round read and is out long since: the end tells of the last one.
        read = {} if self._first else {k: v for k, v in (self.usage or {}).items() if k in _READ}
        usage = added(self._written, {**read, **_told(told.get("usage"))}, _WRITTEN)
        return event_of({**told, "delta": delta, "usage": usage}, named=True)

    def _block(self, text: str) -> bytes:
        index, self._next = self._next, self._next + 1
        start = {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
        delta = {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}
        events = (start, delta, {"type": "content_block_stop", "index": index})
        return b"".join(event_of(e, named=True) for e in events)


def _told(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _blocks(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = answer.get("content")
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _is_recall(block: Mapping[str, Any], listening: Listening) -> bool:
    return bool(listening.tool) and block.get("type") == "tool_use" and block.get("name") == listening.tool


def _kept(block: dict[str, Any], listening: Listening) -> dict[str, Any] | None:
    """The block as the client gets it; None for recalls."""
    if _is_recall(block, listening):
        return None
    if block.get("type") != "text" or not listening.directives:
        return block
    text, found = stripped(str(block.get("text") or ""))
    if not found:
        return block
    return {**block, "text": text} if text.strip() else None
