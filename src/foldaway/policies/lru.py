"""Least recently used: fold first what was used longest ago.

An item is used when it is made and whenever a later action refers to it (a link in the graph).
Source: Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Item, Level
from foldaway.model.plan import Change
from foldaway.policies._turns import fold, foldable_turns


@dataclass(frozen=True, slots=True)
class Lru:
    shows_digests = False

    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        turns = foldable_turns(snapshot)
        ages = {items[0].turn: last_use(snapshot, items) for items in turns}
        for items in sorted(turns, key=lambda t: (ages[t[0].turn], t[0].id)):
            yield from fold(items, Level.STUB, f"unused since step {ages[items[0].turn]}")


def last_use(snapshot: Snapshot, items: tuple[Item, ...]) -> int:
    """The newest step that made or used any of these items."""
    users = (snapshot.item(link.source) for item in items for link in snapshot.graph.needed_by(item.id))
    return max((i.created_step for i in (*items, *users)), default=-1)
