"""The dependency graph: who needs what, how strongly, and who says so.

A link runs from the item that needs to the item that is needed. Declared links (a tool's declared inputs, `needs=`,
the delimiter's dependencies) are facts; observed links come from value reuse and are as strong as the reused values
are rare; inferred links come from a model or a pass over the archive, with a confidence: below a threshold they are
kept, but nothing asks them. Adding costs what is new.

What is in force does not depend on the order in which statements come: of each pair the graph keeps every source's
strongest statement, and the best of those counts. So a graph made anew from log and ledger is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

INFERRED_FROM = 0.7
"""Confidence from which on an inferred link counts."""


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
    """0..1: must have 1.0, may help 0.3; of an inferred link the confidence."""
    provenance: Provenance
    why: str = ""
    """The values or the name that gave the link away."""
    values: tuple[tuple[str, int], ...] = ()
    """Of an observed link: each value that both hold, with how many observations held it when it was used."""


class Graph:
    """Links between items of one branch."""

    def __init__(self, inferred_from: float = INFERRED_FROM) -> None:
        self.inferred_from = inferred_from
        """Confidence from which on an inferred link counts."""
        self._needs: dict[int, dict[int, Link]] = {}
        self._needed_by: dict[int, dict[int, Link]] = {}
        self._last_user: dict[int, int] = {}
        self._beside: dict[tuple[int, int], dict[Provenance, Link]] = {}
        """What weaker sources say about a pair that is linked already."""
        self._weak: dict[int, dict[int, Link]] = {}
        """Inferred links below the threshold, by source."""
        self._as_observed: dict[int, tuple[Link, ...]] = {}
        """Observed links of items whose links were corrected since, as they were."""

    def add(self, link: Link) -> None:
        """Keep the strongest statement about a pair; a declared link is never replaced by a weaker kind."""
        if link.source == link.target:
            return
        if link.provenance is Provenance.INFERRED and link.weight < self.inferred_from:
            weak = self._weak.setdefault(link.source, {})
            if link.target not in weak or weak[link.target].weight < link.weight:
                weak[link.target] = link
            return
        old = self._needs.get(link.source, {}).get(link.target)
        if old is None:
            self._set(link)
        elif (_rank(old), old.weight) >= (_rank(link), link.weight):
            self._put_beside(old, link)
        else:
            self._put_beside(link, old)
            self._set(link)

    def correct(self, link: Link) -> None:
        """Put an observed link in the place of what was observed about the pair before; others' word stays."""
        self.withdraw(link.source, link.target)
        self.add(link)

    def withdraw(self, source: int, target: int) -> None:
        """Take back what was observed about a pair; what others said of it counts then."""
        if source not in self._as_observed:
            self._as_observed[source] = self.observed(source)
        beside = self._beside.get((source, target), {})
        beside.pop(Provenance.OBSERVED, None)
        link = self._needs.get(source, {}).get(target)
        if link is None or link.provenance is not Provenance.OBSERVED:
            return
        rest = max(beside.values(), key=_rank, default=None)
        if rest is not None:
            del beside[rest.provenance]
            self._set(rest)
            return
        del self._needs[source][target], self._needed_by[target][source]
        if self._last_user[target] == source:
            self._last_user[target] = max(self._needed_by[target], default=0)

    def needs(self, item: int) -> tuple[Link, ...]:
        """What this item depends on, strongest first."""
        return _ordered(self._needs.get(item, {}))

    def needed_by(self, item: int) -> tuple[Link, ...]:
        """What depends on this item, strongest first."""
        return _ordered(self._needed_by.get(item, {}))

    def guesses(self, item: int) -> tuple[Link, ...]:
        """Inferred links of this item that are too weak to count, strongest first."""
        return _ordered(self._weak.get(item, {}))

    def as_observed(self, item: int) -> tuple[Link, ...]:
        """What this item was observed to depend on before anything was corrected."""
        found = self._as_observed.get(item)
        return self.observed(item) if found is None else found

    def observed(self, item: int) -> tuple[Link, ...]:
        """What this item was observed to depend on, whether or not another source says so too."""
        return self._said(item, Provenance.OBSERVED)

    def inferred(self, item: int) -> tuple[Link, ...]:
        """What this item was inferred to depend on, whether it counts or not."""
        weak = self._weak.get(item, {})
        return (*self._said(item, Provenance.INFERRED), *weak.values())

    def degree(self, item: int) -> int:
        return len(self._needed_by.get(item, ()))

    def last_user(self, item: int) -> int:
        """The newest item that depends on this one; 0 when none does. O(1)."""
        return self._last_user.get(item, 0)

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
        """All links that count."""
        return tuple(link for source in sorted(self._needs) for link in self.needs(source))

    # -- inside

    def _said(self, item: int, provenance: Provenance) -> tuple[Link, ...]:
        """All that one sort of source says of an item's needs."""
        beside = (self._beside.get((item, target), {}).get(provenance) for target in self._needs.get(item, ()))
        found = [k for k in self.needs(item) if k.provenance is provenance]
        return (*found, *(k for k in beside if k is not None))

    def _set(self, link: Link) -> None:
        self._needs.setdefault(link.source, {})[link.target] = link
        self._needed_by.setdefault(link.target, {})[link.source] = link
        self._last_user[link.target] = max(link.source, self._last_user.get(link.target, link.source))

    def _put_beside(self, first: Link, other: Link) -> None:
        """Keep what another source says of a pair, should the first be withdrawn."""
        if first.provenance is other.provenance:
            return
        beside = self._beside.setdefault((other.source, other.target), {})
        known = beside.get(other.provenance)
        if known is None or known.weight < other.weight:
            beside[other.provenance] = other


def _rank(link: Link) -> int:
    return (Provenance.INFERRED, Provenance.OBSERVED, Provenance.DECLARED).index(link.provenance)


def _ordered(links: dict[int, Link]) -> tuple[Link, ...]:
    return tuple(sorted(links.values(), key=lambda k: (-k.weight, k.source, k.target)))
