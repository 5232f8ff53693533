"""What a session gives out: the view for one call, and why an item is shown as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from foldaway.model.plan import Commit
from foldaway.model.wire import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What to send for one model call."""

    messages: list[Message]
    system: Any
    tools: list[Any] | None
    tokens: int
    """Own count of the whole request."""
    budget: int
    missing_tokens: int = 0
    """Tokens over the budget, because what may not be evicted takes more (I4); 0 when it fits."""
    largest: tuple[tuple[str, int], ...] = ()
    """When over the budget: the largest pinned parts (what, tokens)."""
    warnings: tuple[str, ...] = ()
    """What the caller should know about this view."""
    commit: Commit | None = None
    """The batch of level changes that was made for this call."""
    step: int = 0
    _covers: Callable[[int], bool] = field(default=lambda item: False, repr=False)

    def covers(self, item: int) -> bool:
        """Whether an item is in sight: raw, in place, as a line or inside the range of a fold note."""
        return self._covers(item)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why an item is shown as it is, and what hangs on it."""

    item: int
    title: str
    kind: str
    level: str
    tokens: int
    reason: str
    """The reason of the newest change; "never changed" for raw items."""
    commit: int | None
    step: int | None
    needed_by: tuple[tuple[int, float, str, str], ...]
    """(item that depends on this one, weight, provenance, why)"""
    needs: tuple[tuple[int, float, str, str], ...]
    guesses: tuple[tuple[int, float, str, str], ...]
    """Inferred needs whose confidence is too low to count."""
    pinned: bool
    faults: int
    stand_in: str | None
