"""Whole turns as proposals: most policies fold a turn's items together."""

from __future__ import annotations

from collections.abc import Iterator

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Change

IN_PLACE = frozenset({Kind.PASTE, Kind.ATTACHMENT})
"""Kinds that leave their stub where they stood."""


def foldable_turns(snapshot: Snapshot) -> list[tuple[Item, ...]]:
    """Foldable items grouped by turn, oldest first."""
    turns: dict[int, list[Item]] = {}
    for item in snapshot.foldable:
        turns.setdefault(item.turn, []).append(item)
    return [tuple(turns[t]) for t in sorted(turns)]


def fold(items: tuple[Item, ...], level: Level, reason: str) -> Iterator[Change]:
    """All items of a turn to `level`; pastes and attachments stay to be seen as stubs."""
    for item in items:
        yield Change(item=item.id, level=max(level, Level.STUB) if item.kind in IN_PLACE else level, reason=reason)


def observations(snapshot: Snapshot, *, at_least: Level = Level.MASKED) -> list[Item]:
    """Visible tool spans and environment messages, oldest first."""
    return [i for i in snapshot.foldable if snapshot.is_observation(i) and snapshot.level(i.id) >= at_least]
