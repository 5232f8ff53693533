"""Keep the newest: drop the oldest turns whole.

The plain sliding window that most frameworks ship, with Foldaway's watermarks: what leaves is covered by the range of
a fold note and can be recalled, but no line and no anchor of it stays in sight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Level
from foldaway.model.plan import Change
from foldaway.policies._turns import fold, foldable_turns


@dataclass(frozen=True, slots=True)
class Window:
    shows_digests = False

    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        for items in foldable_turns(snapshot):
            yield from fold(items, Level.HIDDEN, "oldest first")
