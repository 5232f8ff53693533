"""Collecting the messages of one session, and the shapes several formats share."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message

ENVIRONMENT = "environment"


@dataclass(slots=True)
class Draft:
    """A session being read. Positions never change: messages are only added at the end."""

    messages: list[Message] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    compactions: list[int] = field(default_factory=list)
    usage: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    forgotten: dict[int, tuple[int, ...]] = field(default_factory=dict)
    summaries: dict[int, list[Message]] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    now: float = 0.0
    """Seconds since the epoch of what is being read; 0 while the log has told no time."""
    model: str = ""

    def at(self, stamp: Any) -> None:
        """What follows was logged then; a stamp that tells no time leaves the clock as it is."""
        self.now = seconds_of(stamp) or self.now

    def add(self, message: Message, origin: str = "") -> int:
        self.messages.append(message)
        self.origins.append(origin)
        self.times.append(self.now)
        return len(self.messages) - 1

    def compacted(self, instead: Sequence[Message] = ()) -> None:
        """The agent compacted here. `instead`: what it had from then on in place of the messages so far."""
        at = len(self.messages)
        if self.messages and self.compactions[-1:] != [at]:
            self.compactions.append(at)
        if self.messages and instead:
            self.summaries[at] = list(instead)

    def recorded(self, name: str, source_format: str, format: str, **extra: Any) -> Recorded:
        return Recorded(
            name=name,
            source_format=source_format,
            format=format,
            messages=self.messages,
            origins=tuple(self.origins) if any(self.origins) else (),
            # A compaction at the very end comes before no message.
            compactions=tuple(at for at in self.compactions if at < len(self.messages)),
            usage=self.usage,
            forgotten=self.forgotten,
            summaries={at: kept for at, kept in self.summaries.items() if at < len(self.messages)},
            times=_carried(self.times),
            model=self.model,
            **extra,
        )


def _carried(times: Sequence[float]) -> tuple[float, ...]:
    """Each unknown time (0) replaced by the last known one, at the front by the first; () when none is known."""
    last = next((time for time in times if time), 0.0)
    carried = [last := time or last for time in times]
    return tuple(carried) if last else ()


def seconds_of(stamp: Any) -> float:
    """Seconds since the epoch of an ISO 8601 text (UTC where it names no zone) or a number of seconds or milliseconds;
    0 for anything else."""
    try:
        if isinstance(stamp, str):
            moment = datetime.fromisoformat(stamp)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        else:
            seconds = float(stamp)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    # As seconds 1e11 is the year 5138, as milliseconds 1973.
    seconds = seconds / 1000 if seconds > 1e11 else seconds
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def text_of(content: Any) -> str:
    """The text of a content that is a string, a list of text blocks, or nothing."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return text_of(content.get("text"))
    if not isinstance(content, Sequence):
        raise TypeError(f"content is a {type(content).__name__}")
    return "\n".join(text for block in content if (text := block if isinstance(block, str) else text_of(block)))


def chat_call(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """A tool call as OpenAI chat has it. Arguments that are JSON text already stay word for word."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def again(call: Mapping[str, Any]) -> dict[str, Any]:
    """A chat call as a provider takes it back: without `index`, a left-over of streaming."""
    return chat_call(call["id"], call["function"]["name"], call["function"]["arguments"])


def chat_assistant(text: str, calls: Sequence[Mapping[str, Any]] = ()) -> Message:
    message: Message = {"role": "assistant", "content": text}
    if calls:
        message["content"] = text or None
        message["tool_calls"] = list(calls)
    return message


def chat_result(call_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def without(record: Mapping[str, Any], *keys: str) -> Message:
    return {key: value for key, value in record.items() if key not in keys}


def legal_name(name: str) -> str:
    """A speaker's name as the providers allow it in `name`."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:64]


def is_list_of(value: Any, *keys: str) -> bool:
    """Whether this is a list where an object among the first ones has these keys."""
    return isinstance(value, list) and any(isinstance(v, dict) and all(k in v for k in keys) for v in value[:20])
