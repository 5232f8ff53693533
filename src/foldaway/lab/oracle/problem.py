"""An eviction problem as a value: what enters when, what must stay, what each call needs, what there is room for.

It keeps what decides the score of a policy in the lab and leaves out all else: items in the order of the view, each
with its size and the call that first sees it; what no policy may evict at each call (pins and the last turn); and
the literals that the recorded action of each call used, with the items that hold them. A literal is in view when an
item that holds it is shown, or when a note names it, which costs `naming_tokens` and needs no item.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemItem:
    tokens: int
    """Cost while it is shown (>= 0)."""
    enters: int
    """Number of the call that first sees it."""
    pinned: bool = False
    """No policy may evict it."""
    unpinned_from: int | None = None
    """Call from which on a pinned item may go all the same (user words that take more than their share)."""
    leaves_stub: bool = False
    """It leaves a stub where it stood, which may name what it held, even where no note names anything."""
    repeats: bool = False
    """The same message stood in the session before, so it may come out of the cache when it enters."""

    def held_by_pin(self, call: int) -> bool:
        """Whether a pin keeps it in the view of this call."""
        return self.pinned and self.enters <= call and (self.unpinned_from is None or call < self.unpinned_from)


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    holders: tuple[int, ...]
    """Indexes of the items that hold it, ascending; at least one."""
    naming_tokens: int | None
    """What it costs to name it in a note, at least; None: it cannot be named."""
    words: frozenset[str] = frozenset()
    """Literals that share a word may stand in one and the same text, so their costs do not add up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    literal: int
    """Index into `Problem.literals`."""
    recall_tokens: int
    """What an extra call writes that fetches it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One model call."""

    needs: tuple[Need, ...] = ()
    """At most one for each literal."""
    protected: frozenset[int] = frozenset()
    """Items that must be shown at this call beside the pinned ones: the last turn."""
    counted: bool = False
    """It had a need in the recording, so it counts among the steps even where `needs` leaves that need out."""

    @property
    def counts(self) -> bool:
        return self.counted or bool(self.needs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Raises ValueError when its parts do not fit together."""

    beside_tokens: int
    """System prompt and tools: in front of every view."""
    budget_tokens: int
    """Most tokens that a view may have. Where pins and last turn alone take more, they are sent and nothing else."""
    items: tuple[ProblemItem, ...]
    """In the order of the view, which is the order in which they entered."""
    literals: tuple[Literal, ...]
    calls: tuple[Call, ...]

    def __post_init__(self) -> None:
        entered = [item.enters for item in self.items]
        if entered != sorted(entered):
            raise ValueError("items must stand in the order in which they enter")
        for number, literal in enumerate(self.literals):
            if not literal.holders or not all(0 <= holder < len(self.items) for holder in literal.holders):
                raise ValueError(f"literal {number} needs holders among the {len(self.items)} items")
        for number, call in enumerate(self.calls):
            if any(not 0 <= need.literal < len(self.literals) for need in call.needs):
                raise ValueError(f"call {number} needs a literal that is not there")
            if any(self.items[item].enters > number for item in call.protected):
                raise ValueError(f"call {number} protects an item that enters later")

    def forced(self, call: int) -> frozenset[int]:
        """Items that every view of this call shows. O(items)."""
        pinned = (n for n, item in enumerate(self.items) if item.held_by_pin(call))
        return self.calls[call].protected.union(pinned)

    def is_forced(self, call: int, item: int) -> bool:
        return item in self.calls[call].protected or self.items[item].held_by_pin(call)

    def given(self, call: int, literal: int) -> bool:
        """Whether the pins or the last turn hold the literal, so that it is in view whatever a policy does."""
        return any(self.is_forced(call, holder) for holder in self.literals[literal].holders)
