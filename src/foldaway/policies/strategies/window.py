"""Recent window: the newest steps stay word for word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Level
from foldaway.model.plan import Change
from foldaway.policies.strategies._base import Allotment

SCRAP = 0.05
"""Of the share this much is not worth filling."""


@dataclass(frozen=True, slots=True)
class Window:
    newest: int = 0
    """Most steps; 0: as many as there is room for."""

    def propose(self, snapshot: Snapshot, share: Allotment) -> Iterator[Change]:
        taken = 0
        for step in reversed(list(share.steps)):
            if share.left <= share.tokens * SCRAP or (self.newest and taken == self.newest):
                break
            # One that is too large is passed over: the steps behind it may fit.
            if share.price(step, Level.RAW) <= share.left:
                taken += 1
                yield from share.show(step, Level.RAW, "window: among the newest steps")
