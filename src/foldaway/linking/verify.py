"""Verification of observed links where a sub-goal ends (S1.2): what was linked on the way is looked at again.

Three things are seen better then. A value read three times from the same file came from three observations, each of
which got a third of the weight; where a newer reading holds all of an older one, the action rests on the newer one
alone. A value that one of the two no longer holds by the index is no reason for a link. And values too common to say
anything one by one may stand together in one observation only: then that is what the action rests on.

Looks at what was known when the action was made, so it makes no difference how often or how late it is asked. A pure
function of the log: nothing of it has to be kept. What was declared or inferred is not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from foldaway.linking.graph import Graph, Link, Provenance
from foldaway.linking.index import AnchorIndex
from foldaway.linking.reuse import COMMON, observed

TOGETHER = 3
"""So many common values in one observation, and in no other that is remembered, make a link."""
TOGETHER_WEIGHT = 0.5
MOST_CORRECTIONS = 200
"""Verifications that changed something and are remembered, the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrections:
    """What one verification changed of the graph."""

    turn: int
    """The turn at which the sub-goal ended."""
    withdrawn: tuple[Link, ...] = ()
    added: tuple[Link, ...] = ()
    reweighed: tuple[Link, ...] = ()
    """As they are now."""

    def __bool__(self) -> bool:
        return bool(self.withdrawn or self.added or self.reweighed)

    def apply(self, graph: Graph) -> set[int]:
        """Correct the graph; the items of which others depend otherwise now than before."""
        for link in self.withdrawn:
            graph.withdraw(link.source, link.target)
        for link in (*self.added, *self.reweighed):
            graph.correct(link)
        return {link.target for link in (*self.withdrawn, *self.added, *self.reweighed)}


@dataclass(slots=True)
class Verification:
    """What is still to be verified on one branch, and what verifying brought."""

    history: list[Corrections] = field(default_factory=list)
    _used: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Actions since the newest end of a sub-goal -> the values they use."""

    def use(self, item: int, found: Iterable[str]) -> None:
        """An action uses these values."""
        self._used[item] = tuple(dict.fromkeys((*self._used.get(item, ()), *found)))

    def close(self, turn: int, graph: Graph, index: AnchorIndex, newer: Callable[[int], int]) -> set[int]:
        """A sub-goal ends with this turn: verify what was done since the last one ended; the items it concerns."""
        found = verify(turn, graph, index, self._used, newer)
        self._used.clear()
        if not found:
            return set()
        self.history.append(found)
        del self.history[:-MOST_CORRECTIONS]
        return found.apply(graph)


def verify(
    turn: int, graph: Graph, index: AnchorIndex, used: Mapping[int, Iterable[str]], newer: Callable[[int], int]
) -> Corrections:
    """What is to be corrected of the observed links of these items. Changes nothing.

    `used`: item -> the values that it uses. `newer`: item -> the next newer one that holds all of it; 0 for none.
    Costs the values used and the anchors of what they are linked to.
    """
    holds = _Holds(index)
    withdrawn: list[Link] = []
    added: list[Link] = []
    reweighed: list[Link] = []
    for source in sorted(used):
        values = dict.fromkeys(used[source])
        before = {k.target: k for k in graph.as_observed(source) if k.values}
        after = _moved(source, before, values, holds, newer)
        together = _together(source, index, values, holds, newer)
        if together is not None and together.target not in after:
            after[together.target] = together
        now = {k.target: k for k in graph.observed(source) if k.values}
        withdrawn.extend(now[target] for target in sorted(now.keys() - after.keys()))
        added.extend(after[target] for target in sorted(after.keys() - now.keys()))
        reweighed.extend(after[t] for t in sorted(after.keys() & now.keys()) if after[t].weight != now[t].weight)
    return Corrections(turn=turn, withdrawn=tuple(withdrawn), added=tuple(added), reweighed=tuple(reweighed))


@dataclass(slots=True)
class _Holds:
    """Which anchors an item holds, worked out once an item."""

    index: AnchorIndex
    _of: dict[int, frozenset[str]] = field(default_factory=dict)

    def __call__(self, item: int, literal: str) -> bool:
        known = self._of.get(item)
        if known is None:
            known = self._of[item] = frozenset(self.index.of_item(item))
        return literal in known


def _moved(
    source: int, links: Mapping[int, Link], used: Mapping[str, None], holds: _Holds, newer: Callable[[int], int]
) -> dict[int, Link]:
    """The links as they are when readings of the same count once, and only what both still hold counts."""
    suppliers: dict[str, list[int]] = {}
    seen: dict[str, int] = {}
    for target, link in links.items():
        for literal, count in link.values:
            if literal in used and holds(target, literal):
                suppliers.setdefault(literal, []).append(target)
                seen[literal] = count
    shared: dict[int, dict[str, int]] = {}
    for literal, targets in suppliers.items():
        newest = dict.fromkeys(_newest(target, source, literal, holds, newer) for target in targets)
        apart = max(1, seen[literal] - (len(targets) - len(newest)))
        for target in newest:
            shared.setdefault(target, {})[literal] = apart
    return {target: observed(source, target, shared[target]) for target in shared}


def _newest(target: int, source: int, literal: str, holds: _Holds, newer: Callable[[int], int]) -> int:
    """The newest item before `source` that holds all of an observation, and the value with it."""
    following = newer(target)
    while target < following < source and holds(following, literal):
        target, following = following, newer(following)
    return target


def _together(
    source: int, index: AnchorIndex, used: Mapping[str, None], holds: _Holds, newer: Callable[[int], int]
) -> Link | None:
    """A link to the one observation that holds several values at once which are too common one by one."""
    common = [anchor for anchor in index.known(used) if anchor.seen > COMMON]
    if len(common) < TOGETHER:
        return None
    held: dict[int, dict[str, int]] = {}
    for target in sorted({t for anchor in common for t in anchor.suppliers if t < source}):
        values = {anchor.literal: anchor.seen for anchor in common if holds(target, anchor.literal)}
        if len(values) >= TOGETHER and not target < newer(target) < source:
            held[target] = values
    most = max(map(len, held.values()), default=0)
    best = [target for target, values in held.items() if len(values) == most]
    if len(best) != 1:
        return None
    named = ", ".join(list(held[best[0]])[:TOGETHER])
    return Link(
        source=source, target=best[0], weight=TOGETHER_WEIGHT, provenance=Provenance.OBSERVED,
        why=f"uses together {named}", values=tuple(held[best[0]].items()),
    )  # fmt: skip
