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
    meta: Mapping[str, Any] = field(default_factory=dict)
    """What the log says about the run as a whole and no model saw: reward, task, annotated mistake, chain parts."""
