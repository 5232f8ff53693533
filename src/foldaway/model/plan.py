"""Decisions as values: budgets, changes, plans, commits."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from foldaway.model.items import Level


class Action(StrEnum):
    """What is done to an item, with the promise that goes with it (S2.2)."""

    KEEP = "keep"
    MASK = "mask"
    FOLD = "fold"
    ARCHIVE = "archive"
    PRUNE = "prune"

    @property
    def promise(self) -> str:
        """What a reader of the ledger may rely on."""
        return _PROMISES[self]


_PROMISES = {
    Action.KEEP: "shown word for word",
    Action.MASK: "head, tail or a digest stands in place; what the view shows of it is not exact, recall is",
    Action.FOLD: "a line or digest leads to it; comes back byte for byte",
    Action.ARCHIVE: "not shown; found by id, words or its sub-goal; comes back byte for byte",
    Action.PRUNE: "provably obsolete: newer items say the same or better; comes back byte for byte by id alone",
}


def action_of(level: Level) -> Action:
    """The action that a level amounts to where nobody says more."""
    if level is Level.RAW:
        return Action.KEEP
    if level >= Level.ABSTRACT:
        return Action.MASK
    return Action.FOLD if level is Level.STUB else Action.ARCHIVE


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
    reserve_tokens: int = 0
    """Kept free above `tokens`: what a view may take beyond them when pins and the last turn leave no choice."""


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
    action: Action | None = None
    """What this is meant as; None: what the level amounts to. `PRUNE` is refused where nothing proves it obsolete."""
    by: str = ""
    """For masked: name of the registered compressor that makes the text; "" is head and tail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Literals that the fold note shall name without a stub line of their own, best first."""

    anchors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Items, ascending, that the fold note shall tell of together: what was done to what, in a line or two."""

    items: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A passage that the fold note shall open with: a state, a running digest, an index of what is archived."""

    title: str
    """Unique in a note, one short line; a later section of the same title replaces the earlier one."""
    text: str
    """Whole lines; "" takes the section out."""
    sources: tuple[int, ...] = ()
    """Items it was made from, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Why a policy decided as it did, on the whole: which rule or mode it followed. The commit keeps it."""

    text: str


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
    action: Action = Action.FOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Benefit:
    """What a commit is expected to earn, in tokens at the provider's base input price (S2.4)."""

    future_calls: int
    """N_future: calls for which the saving is expected to last."""
    saved_per_call: float
    """C - C': what each of them costs less."""
    cache_break: float
    """L_cache_break: what the next call costs more because its prefix differs; below 0 where the cache is cold."""
    gc: float = 0.0
    """L_gc: what it took to make the plan; 0 for plans made by rules."""
    freed_share: float = 0.0
    """Share of the view that goes."""
    cold: bool = False
    """The cache was known to be gone."""
    why: str = ""
    """Why the commit was made now: "forced", "large gain", "the cache is cold", or the task boundary."""

    @property
    def total(self) -> float:
        """`future_calls * saved_per_call - cache_break - gc`; below 0 the commit costs more than it saves."""
        return self.future_calls * self.saved_per_call - self.cache_break - self.gc


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEntry:
    """One line of a proposed plan."""

    action: Action
    targets: tuple[int, ...]
    """Ids of items."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedPlan:
    """What somebody beside the loop, a model or a rule, would do with the window (S2.3). It changes nothing."""

    summary: str
    """One sentence on what the conversation is about."""
    entries: tuple[PlanEntry, ...]
    made_by: str
    """Name of the planner, for the ledger."""
    seen_step: int
    """Model call whose view the planner saw."""
    cost: float = 0.0
    """What making it took, in tokens at base price."""
    raises: bool = False
    """Whether what it keeps comes back whole where it is not shown whole; else it stays as it is."""


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
    remark: str = ""
    """What the policy said about the whole of it; and which rung of the ladder it is, where the policy fell."""
    benefit: Benefit | None = None
    """What it was expected to earn when it was made; None where it was not asked for a price (pins, undo)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanVerdict:
    """What became of a proposed plan."""

    accepted: bool
    code: str = ""
    """Why not, in a word: "nothing-legal", "frees-too-little", "too-large", "late" ...; "" for an accepted one."""
    why: str = ""
    plan: ProposedPlan | None = None
    """What is pending now: the legal part of the plan. None when it was refused."""
    refused: tuple[Refusal, ...] = ()
    """Targets that were not taken, each with its reason code."""
    commit: Commit | None = None
    """The rehearsed commit, with its benefit, were it made at once."""
