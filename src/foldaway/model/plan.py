"""Decisions as values: budgets, changes, plans, commits."""

from __future__ import annotations

from dataclasses import dataclass, field

from foldaway.model.items import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be sent, in the target model's tokens, tools and system prompt included."""

    tokens: int
    """The ceiling one chooses."""
    window_tokens: int | None = None
    """The model's window less the reserve for the answer; None when nobody knows it."""
    low_share: float = 0.5
    """A commit frees down to floor + low_share * (tokens - floor)."""
    high_share: float = 1.0
    """A commit is triggered when the view passes floor + high_share * (tokens - floor)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prompt prices as shares of the provider's base input price."""

    read: float = 0.1
    write: float = 1.25
    name: str = "cache 0.1/1.25"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One proposed level change."""

    item: int
    level: Level
    reason: str
    anchors: tuple[str, ...] | None = None
    """Literals its stub line shall show, best first; None: the default choice."""
    lines: tuple[int, int] | None = None
    """For masked: the lines of its result that stay (from, to; 0-based, half open) instead of head and tail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Literals that the fold note shall name without a stub line of their own, best first."""

    anchors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Items, ascending, that the fold note shall tell of together: what was done to what, in a line or two."""

    items: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A proposed change that was not taken."""

    item: int
    level: Level
    code: str
    """protected, pinned, unknown-item, raises-cost, open-call, last-turn, declared-need ..."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelChange:
    """One committed change, as the ledger keeps it."""

    item: int
    before: Level
    after: Level
    reason: str
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A batch of level changes that takes effect together. One ledger record."""

    number: int
    step: int
    """Model call it was made for."""
    turns: int
    """How many turns the log had."""
    policy: str
    trigger: str
    """high-watermark, ceiling, call, undo, recall, budget-change ..."""
    tokens_before: int
    tokens_after: int
    changes: tuple[LevelChange, ...]
    texts: dict[int, str] = field(default_factory=dict)
    """Item id -> the text it is shown as from now on (masked, abstract), and carrier item id -> fold note."""
    notes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Carrier item id -> ids whose lines its fold note holds or covers."""
    refused: tuple[Refusal, ...] = ()
    missing_tokens: int = 0
    """How far above the low watermark it stayed because nothing more may go."""
