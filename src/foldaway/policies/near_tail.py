"""Collapse near the tail: every result is a stub once it is a small fixed distance from the end.

Source: "Random Access Context" (design document for opencode, 2026): a cut at a constant distance from the tail
re-sends a constant, tiny suffix, so the dumbest rule is the kindest to the prompt cache. `distance` counts turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Level
from foldaway.model.plan import Change
from foldaway.policies._turns import fold, foldable_turns, observations

SMALL = 60
"""Results of fewer tokens are left alone: a stub would cost as much."""


@dataclass(frozen=True, slots=True)
class NearTail:
    distance: int = 4

    def due(self, snapshot: Snapshot) -> bool:
        return any(self._collapsible(snapshot))

    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        yield from self._collapsible(snapshot)
        if snapshot.tokens > snapshot.budget_tokens:
            for items in foldable_turns(snapshot):
                yield from fold(items, Level.HIDDEN, "collapsed and still too much: oldest first")

    def _collapsible(self, snapshot: Snapshot) -> Iterator[Change]:
        for item in observations(snapshot):
            if snapshot.last_turn - item.turn >= self.distance and item.tokens > SMALL:
                yield Change(item=item.id, level=Level.ABSTRACT, reason=f"{self.distance} turns from the tail")
