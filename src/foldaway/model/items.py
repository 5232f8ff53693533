"""Items: the units of eviction, and the levels they are shown at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Level(IntEnum):
    """How an item is shown. Higher shows more."""

    HIDDEN = 0
    """Not shown; a range in a fold note covers its id."""
    STUB = 1
    """One line in a fold note: what it was, its anchors, its id."""
    ABSTRACT = 2
    """In place: the call stays, its result is a digest."""
    MASKED = 3
    """In place: head and tail stay, the repetitive middle is left out."""
    RAW = 4


class Kind(StrEnum):
    """What an item is; decides its protections and its value."""

    INSTRUCTION = "instruction"
    GOAL = "goal"
    USER = "user"
    PASTE = "paste"
    THOUGHT = "thought"
    REASONING = "reasoning"
    PLAN = "plan"
    READ = "read"
    LISTING = "listing"
    SEARCH = "search"
    COMMAND = "command"
    EDIT = "edit"
    ERROR = "error"
    RESULT = "result"
    """A tool success that is none of the above."""
    RECALLED = "recalled"
    ATTACHMENT = "attachment"
    NOTE = "note"
    ANNOTATION = "annotation"
    """A call of the delimiter tool."""
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One unit of eviction. Its content never changes; only its level does, in the ledger."""

    id: int
    """Monotonic within a session, from 1. Shown as #12."""
    turn: int
    """Index of the turn that holds it."""
    parts: tuple[int, ...]
    """Indexes into that turn's parts."""
    kind: Kind
    tokens: int
    """Cost at level raw, in the target model's tokens (>= 0)."""
    created_step: int
    """Model call that first saw the item; steps count from 0 within a session."""
    title: str
    """One short line: what it was ("read src/a.py", "ran pytest -x")."""
    name: str = ""
    """Tool name, or "" for messages."""
    pinned: bool = False
    """May never be shown below raw (S1.9): system prompt, user words, constraints."""
    targets: tuple[str, ...] = ()
    """Files that a read or an edit is about."""
    persisted: bool = False
    """Its effect lives on in the environment (an edit, a write): it can be observed again."""
