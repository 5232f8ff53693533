"""Observation masking: results older than the last `keep` observations are replaced in place; calls and thoughts stay.

Source: Lindenbauer et al., "The Complexity Trap", 2025 (SWE-agent, window of the last 10 observations). When that does
not free enough, the oldest masked turns fold whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Level
from foldaway.model.plan import Change
from foldaway.policies._turns import fold, foldable_turns, observations


@dataclass(frozen=True, slots=True)
class MaskOld:
    keep: int = 10
    """Newest observations that stay raw."""

    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        old = observations(snapshot)[: -self.keep or None]
        for item in old:
            yield Change(item=item.id, level=Level.ABSTRACT, reason=f"older than the last {self.keep} observations")
        for items in foldable_turns(snapshot):
            yield from fold(items, Level.HIDDEN, "masked and still too much: oldest first")
