"""Clear old tool results: keep the newest `keep`, clear the rest oldest first, at least `clear_at_least` tokens.

The server-side edit of Anthropic's API (`clear_tool_uses`: trigger, keep 3, clear_at_least) as a policy; the trigger
is the high watermark. When only kept results are left, the oldest cleared turns fold whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Level
from foldaway.model.plan import Change
from foldaway.policies._turns import fold, foldable_turns, observations


@dataclass(frozen=True, slots=True)
class ClearTools:
    keep: int = 3
    """Newest tool results that stay raw."""
    clear_at_least: int = 0
    """Tokens below which clearing is not worth breaking the prefix for: then turns fold instead."""

    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        old = observations(snapshot)[: -self.keep or None]
        if sum(item.tokens for item in old) >= self.clear_at_least:
            for item in old:
                yield Change(item=item.id, level=Level.ABSTRACT, reason=f"older than the last {self.keep} tool results")
        for items in foldable_turns(snapshot):
            yield from fold(items, Level.HIDDEN, "cleared and still too much: oldest first")
