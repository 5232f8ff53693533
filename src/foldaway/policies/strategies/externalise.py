"""Externalise and retrieve: what leaves the window keeps its line in the fold note, and comes back when work returns.

The lines are the index: what was done, in which file, under which id. What is about to be needed is brought back at the
tail before the call, not by changing what stands (`bring_back`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Item, Kind
from foldaway.model.plan import Change
from foldaway.policies._turns import IN_PLACE
from foldaway.policies._working_set import Wanted, working_set
from foldaway.policies.strategies._base import Allotment

NO_LINE = frozenset({Kind.THOUGHT, Kind.REASONING, Kind.ANNOTATION, Kind.RECALLED, *IN_PLACE})
"""Kinds whose line would lead nowhere, and those that leave their stub where they stood."""


@dataclass(frozen=True, slots=True)
class Externalise:
    back_share: float = 0.2
    """Share of the room above the floor that one recall at the tail may take."""

    def propose(self, snapshot: Snapshot, share: Allotment) -> Iterator[Change]:
        for item in self._leaving(snapshot, share):
            if snapshot.line_tokens(item, ()) > share.left:
                break
            yield from share.line(item, "externalised: its line leads back to it")

    def bring_back(self, snapshot: Snapshot) -> list[Wanted]:
        """Reads of the file that was just edited, where they are out of sight."""
        room = snapshot.budget_tokens - snapshot.floor_tokens
        return working_set(snapshot, int(room * self.back_share), steps=1, missing=True)

    def _leaving(self, snapshot: Snapshot, share: Allotment) -> list[Item]:
        """Items that nothing else shows, the newest first."""
        folded = {n: snapshot.item(n) for n in snapshot.lines}
        leaving = {item.id: item for step in share.steps if step.visible for item in step.items}
        both = {**folded, **leaving}
        free = (i for i in both.values() if i.id not in share.shown and i.id > 0 and i.kind not in NO_LINE)
        return sorted(free, key=lambda item: -item.id)
