"""Answers of Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from foldaway.proxy.answers._text import TextGate, apart, stripped
from foldaway.proxy.answers.base import (
    NOTHING,
    Events,
    Listening,
    Recall,
    Whole,
    added,
    data_of,
    event_of,
    object_of,
    recall_of,
)


class ChatAnswers:
    """The `Answers` of Chat Completions. Several choices in one answer: recalls are taken out, no round is made."""

    def read(self, answer: Mapping[str, Any], listening: Listening) -> Whole:
        recalls: list[Recall] = []
        choices = _choices(answer)
        others = len(choices) > 1
        for choice in choices:
            message = _object(choice.get("message"))
            recalls += _said(message, listening)[1]
            for call in _calls(message):
                if _is_recall(call, listening):
                    recalls.append(recall_of(_object(call.get("function")).get("arguments")))
                else:
                    others = True
        usage = answer.get("usage")
        told = usage if isinstance(usage, dict) else None
        return Whole(recalls=tuple(recalls), others=others, usage=told, id=str(answer.get("id") or ""))

    def joined(
        self, earlier: Sequence[Mapping[str, Any]], last: Mapping[str, Any], listening: Listening
    ) -> dict[str, Any]:
        said = (_said(_object(c.get("message")), listening)[0] for a in earlier for c in _choices(a)[:1])
        before = reduce(apart, said, "")
        choices = [
            self._without(choice, listening, before if n == 0 else "") for n, choice in enumerate(_choices(last))
        ]
        joined = {**last, "choices": choices}
        for answer in earlier:
            if isinstance(answer.get("usage"), dict) and isinstance(joined.get("usage"), dict):
                joined["usage"] = added(answer["usage"], joined["usage"], "completion_tokens")
        return joined

    def filter(self, listening: Listening) -> ChatFilter:
        return ChatFilter(listening)

    def error(self, status: int, message: str, code: str = "") -> dict[str, Any]:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": code or None}}

    def _without(self, choice: Mapping[str, Any], listening: Listening, before: str) -> dict[str, Any]:
        message = dict(_object(choice.get("message")))
        text, _ = _said(message, listening)
        kept = [c for c in _calls(message) if not _is_recall(c, listening)]
        recalled = len(kept) < len(_calls(message)) or text != (message.get("content") or "")
        if before or text != (message.get("content") or ""):
            message["content"] = apart(before, text) or None
        if len(kept) < len(_calls(message)):
            message["tool_calls"] = kept
            if not kept:
                del message["tool_calls"]
        if recalled and not kept and not message.get("content"):
            message["content"] = NOTHING
        reason = choice.get("finish_reason")
        return {
            **choice,
            "message": message,
            "finish_reason": "stop" if reason == "tool_calls" and not kept else reason,
        }


class ChatFilter:
    """The `Filter` of Chat Completions."""

    def __init__(self, listening: Listening) -> None:
        self.others = False
        self.usage: dict[str, Any] | None = None
        self.output: list[dict[str, Any]] = []
        self.id = ""
        self._listening = listening
        self._events = Events()
        self._first = True
        """The first round: what concerns no recall goes on as it came."""
        self._calls: dict[int, int] = {}
        """Index of a call in this round -> its index for the client."""
        self._asked: dict[int, list[str]] = {}
        """Index of a recall in this round -> pieces of its arguments."""
        self._next_call = 0
        self._spoke = False
        self._parts = ""
        """What earlier rounds ended in, until a word of the next one follows on it."""
        self._tail = ""
        self._gate = TextGate()
        self._last: dict[str, Any] = {}
        self._ends: list[bytes] = []
        """Events that end an answer, held back."""
        self._written: dict[str, Any] | None = None
        """Usage of earlier rounds."""
        self._done = self._failed = False

    @property
    def recalls(self) -> list[Recall]:
        return [*self._gate.wanted, *(recall_of("".join(pieces)) for _, pieces in sorted(self._asked.items()))]

    @property
    def broken(self) -> bool:
        return self._failed or not self._done

    def feed(self, data: bytes) -> bytes:
        return b"".join(self._event(event) for event in self._events.feed(data))

    def again(self) -> bytes:
        held = self._text_event(self._gate.end())
        if self.usage is not None:
            self._written = added(self._written, self.usage, "completion_tokens")
        self._gate = TextGate()
        self._ends.clear()
        self._calls.clear()
        self._asked.clear()
        self.others, self._first = False, False
        self._done = self._failed = False
        self._parts = self._tail if self._spoke else ""
        return held

    def finish(self) -> bytes:
        out = self._text_event(self._gate.end())
        if self._touched and self._done and not self._spoke and not self._next_call:
            out += self._text_event(NOTHING)
        for event in self._ends:
            out += self._ending(event)
        rest, self._events.rest = self._events.rest, b""
        return out + rest

    # -- inside

    @property
    def _touched(self) -> bool:
        return bool(self._gate.found or self._asked) or not self._first

    def _event(self, event: bytes) -> bytes:
        if data_of(event).strip() == b"[DONE]":
            self._done = True
            self._ends.append(event)
            return b""
        chunk = object_of(event)
        if chunk is None or not isinstance(chunk.get("choices"), list):
            self._failed = self._failed or (chunk is not None and "error" in chunk)
            return event
        if isinstance(chunk.get("usage"), dict):
            self.usage = chunk["usage"]
        self.id = self.id or str(chunk.get("id") or "")
        self._last = {k: v for k, v in chunk.items() if k not in ("choices", "usage")} | (
            {"id": self.id} if self.id else {}
        )
        if not chunk["choices"]:
            self._ends.append(event)
            return b""
        return self._chunk(event, chunk)

    def _chunk(self, event: bytes, chunk: dict[str, Any]) -> bytes:
        kept: list[dict[str, Any]] = []
        changed = not self._first
        ends = False
        for choice in chunk["choices"]:
            if not isinstance(choice, dict):
                return event
            self.others = self.others or bool(choice.get("index"))
            delta = _object(choice.get("delta"))
            altered = self._delta(delta)
            changed = changed or altered != delta
            if choice.get("finish_reason") is not None:
                ends = self._done = True
            # A first delta says who speaks and nothing else; it is worth sending once.
            if altered or choice.get("finish_reason") is not None or not delta:
                kept.append({**choice, "delta": altered})
        if ends:
            self._ends.append(event_of({**chunk, "choices": kept}, named=False) if changed else event)
            return b""
        if not changed:
            return event
        return event_of({**self._last, "choices": kept}, named=False) if kept else b""

    def _delta(self, delta: Mapping[str, Any]) -> dict[str, Any]:
        altered = dict(delta)
        content = delta.get("content")
        if isinstance(content, str) and content:
            goes = self._gate.feed(content) if self._listening.directives else content
            if goes and self._parts:
                goes, self._parts = apart(self._parts, goes)[len(self._parts) :], ""
            self._tail = goes[-1:] or self._tail
            altered["content"] = goes
            self._spoke = self._spoke or bool(goes)
            if not goes:
                del altered["content"]
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            kept = [made for call in calls if (made := self._call(call)) is not None]
            if kept:
                altered["tool_calls"] = kept
            else:
                del altered["tool_calls"]
        if not self._first:
            altered.pop("role", None)
            if altered.get("content") == "" or altered.get("content", 0) is None:
                altered.pop("content", None)
        elif altered.keys() == {"role"} and "tool_calls" in delta:
            # The head of an answer that begins with a recall still says who speaks.
            altered["content"] = None
        return altered

    def _call(self, call: Any) -> dict[str, Any] | None:
        """One piece of a call as the client gets it; None for recalls."""
        if not isinstance(call, dict):
            return None
        index = call.get("index", 0)
        if not isinstance(index, int):
            return call
        function = _object(call.get("function"))
        if index in self._asked:
            self._asked[index].append(str(function.get("arguments") or ""))
        elif index not in self._calls and self._listening.tool and function.get("name") == self._listening.tool:
            self._asked[index] = [str(function.get("arguments") or "")]
        else:
            if index not in self._calls:
                self._calls[index] = self._next_call
                self._next_call += 1
                self.others = True
            return {**call, "index": self._calls[index]} if "index" in call else call
        return None

    def _ending(self, event: bytes) -> bytes:
        chunk = object_of(event)
        if chunk is None or not self._touched:
            return event
        for choice in chunk["choices"]:
            if choice.get("finish_reason") == "tool_calls" and not self._next_call:
                choice["finish_reason"] = "stop"
        if isinstance(chunk.get("usage"), dict) and self._written is not None:
            chunk["usage"] = added(self._written, chunk["usage"], "completion_tokens")
        if self.id:
            chunk["id"] = self.id
        return event_of(chunk, named=False)

    def _text_event(self, text: str) -> bytes:
        if not text:
            return b""
        self._spoke = True
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
        return event_of({**self._last, "choices": [choice]}, named=False)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _choices(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    choices = answer.get("choices")
    return [c for c in choices if isinstance(c, dict)] if isinstance(choices, list) else []


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    calls = message.get("tool_calls")
    return [c for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []


def _is_recall(call: Mapping[str, Any], listening: Listening) -> bool:
    return bool(listening.tool) and _object(call.get("function")).get("name") == listening.tool


def _said(message: Mapping[str, Any], listening: Listening) -> tuple[str, list[Recall]]:
    content = message.get("content")
    if not isinstance(content, str):
        return "", []
    return stripped(content) if listening.directives else (content, [])
