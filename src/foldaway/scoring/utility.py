"""Utility of an item, for an eviction when nothing is safe any more (S1.6).

What the value knows (kind, age, sub-goals, how many later items depend on it and when one did last: `scoring.value`)
joined with the predicted need of what the item holds (`scoring.need`): either is a reason to keep it, and neither may
count twice. Per token, the least useful goes first.
"""

from __future__ import annotations

from collections.abc import Iterable

from foldaway.linking.index import Anchor, AnchorIndex
from foldaway.model.items import Kind
from foldaway.scoring.need import need

MOST_ANCHORS = 48
"""Anchors of one item that are asked about, those that the agent used first."""


def utility(value: float, anchors: Iterable[Anchor], kind: Kind, index: AnchorIndex, step: int) -> float:
    """0..1: from an item's value and the chance that the agent soon needs something the item alone still holds.

    A literal counts with its chance over the number of observations that hold it: what stands in many places is not
    lost with one of them. O(anchors of the item).
    """
    held = sorted(anchors, key=lambda a: (-a.last_used_step, -a.used, a.literal))[:MOST_ANCHORS]
    spared = 1.0
    for anchor in held:
        spared *= 1.0 - need(anchor, kind, index, step) / max(1, anchor.seen)
    return round(1.0 - (1.0 - value) * spared, 6)
