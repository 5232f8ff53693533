"""The dependency graph: who needs what, how strongly, and who says so.

A link runs from the item that needs to the item that is needed. Declared links (a tool's declared inputs, `needs=`,
the delimiter's dependencies) are facts; observed links come from value reuse and are as strong as the reused values
are rare; inferred links come from a model and never make anything safe to evict. Adding costs what is new.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Provenance(StrEnum):
    DECLARED = "declared"
    OBSERVED = "observed"
    INFERRED = "inferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """`source` depends on `target`."""

    source: int
    target: int
    weight: float
    """0..1: must have 1.0, may help 0.3."""
    provenance: Provenance
    why: str = ""
    """The values or the name that gave the link away."""


class Graph:
    """Links between items of one branch."""

    def __init__(self) -> None:
        self._needs: dict[int, dict[int, Link]] = {}
        self._needed_by: dict[int, dict[int, Link]] = {}

    def add(self, link: Link) -> None:
        """Keep the strongest statement about a pair; a declared link is never replaced by a weaker kind."""
        if link.source == link.target:
            return
        old = self._needs.get(link.source, {}).get(link.target)
        if old is not None and (_rank(old), old.weight) >= (_rank(link), link.weight):
            return
        self._needs.setdefault(link.source, {})[link.target] = link
        self._needed_by.setdefault(link.target, {})[link.source] = link

    def needs(self, item: int) -> tuple[Link, ...]:
        """What this item depends on, strongest first."""
        return _ordered(self._needs.get(item, {}))

    def needed_by(self, item: int) -> tuple[Link, ...]:
        """What depends on this item, strongest first."""
        return _ordered(self._needed_by.get(item, {}))

    def degree(self, item: int) -> int:
        return len(self._needed_by.get(item, ()))

    def last_user(self, item: int) -> int:
        """The item that came to depend on this one last; 0 when none does. O(1)."""
        return next(reversed(self._needed_by.get(item, {0: None})))

    def closure(self, item: int, *, at_least: float = 0.3, limit: int = 64) -> tuple[int, ...]:
        """All that this item rests on, directly or through others, nearest first; at most `limit` ids."""
        found: dict[int, None] = {}
        queue = [item]
        for current in queue:
            for link in self.needs(current):
                if link.weight >= at_least and link.target not in found and link.target != item:
                    found[link.target] = None
                    queue.append(link.target)
                    if len(found) >= limit:
                        return tuple(found)
        return tuple(found)

    def links(self) -> tuple[Link, ...]:
        return tuple(link for source in sorted(self._needs) for link in self.needs(source))


def _rank(link: Link) -> int:
    return (Provenance.INFERRED, Provenance.OBSERVED, Provenance.DECLARED).index(link.provenance)


def _ordered(links: dict[int, Link]) -> tuple[Link, ...]:
    return tuple(sorted(links.values(), key=lambda k: (-k.weight, k.source, k.target)))
