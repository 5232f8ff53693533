"""A recorded session: what a reader makes of a file, whatever agent wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.model.wire import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something in a file that was reported and skipped."""

    file: str
    line: int
    """1-based line; 0 where the file has no lines to speak of (one JSON document)."""
    what: str
    """One line: what was found and what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One agent's run as a provider would have seen it: messages in one wire format, oldest first."""

    name: str
    """File stem, with the run's own id behind it where a file holds several ("gpt-4o-airline/task-3")."""
    source_format: str
    """What the file is: claude-code, codex, pi, openhands, swe-agent, mini-swe-agent, ..."""
    format: str
    """openai_chat, anthropic_messages or openai_responses."""
    messages: Sequence[Message]
    system: Any = None
    """Anthropic: the system text or blocks. Responses: instructions. Else None (it is in the messages)."""
    tools: Sequence[Mapping[str, Any]] | None = None
    origins: Sequence[str] = ()
    """For each message "" or "environment": a message of role user that the environment wrote (agents without a
    tool protocol put observations there). Empty means "" for all."""
    compactions: tuple[int, ...] = ()
    """Positions in `messages` before which the recorded agent compacted its own context. Messages are joined
    over them: the originals go on, the summary the agent wrote is not inserted."""
    usage: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """Position of an assistant message -> the usage its provider reported, in the provider's own fields."""
    model: str = ""
    problems: tuple[Problem, ...] = ()
    forgotten: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Position of a compaction -> positions of the messages the recorded agent dropped there, where the log says so."""
    summaries: Mapping[int, Sequence[Message]] = field(default_factory=dict)
    """Position of a compaction -> what the recorded model had there in place of all messages in front: the summary and
    the messages that were kept, in the session's wire format, as far as the log tells them. They are for reading: kept
    calls and results may have lost their counterparts. A Responses item of type "compaction" stands for a summary that
    the provider encrypted. No entry where the log says nothing."""
    times: tuple[float, ...] = ()
    """For each message when it was logged, in seconds since the epoch (UTC; a time without a zone counts as UTC). A
    message without a time of its own has that of the last one before that has. Empty where the log tells no times."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """What the log says about the run as a whole and no model saw: reward, task, annotated mistake, chain parts."""
