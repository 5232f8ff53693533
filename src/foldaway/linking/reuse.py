"""Observed links: an action that uses a value depends on the observations that supplied it.

Source of the idea: value reuse between tool results (ContextRender, 2026). A value found in many observations says
little about any of them, so each match weighs 1 / (observations that hold it); several shared values add up.
"""

from __future__ import annotations

from collections.abc import Iterable

from foldaway.linking.graph import Graph, Link, Provenance
from foldaway.linking.index import AnchorIndex

COMMON = 12
"""A value that more observations than this hold gives no link."""


def link_reuse(graph: Graph, index: AnchorIndex, item: int, used: Iterable[str]) -> None:
    """Add observed links from `item` to the suppliers of the values it uses. O(values used)."""
    weights: dict[int, float] = {}
    reasons: dict[int, list[str]] = {}
    for anchor in index.known(used):
        if not 0 < anchor.seen <= COMMON:
            continue
        for supplier in sorted({i for i in anchor.suppliers if i != item}):
            weights[supplier] = weights.get(supplier, 0.0) + 1.0 / anchor.seen
            reasons.setdefault(supplier, []).append(anchor.literal)
    for supplier in sorted(weights):
        graph.add(
            Link(
                source=item,
                target=supplier,
                weight=min(1.0, weights[supplier]),
                provenance=Provenance.OBSERVED,
                why="uses " + ", ".join(reasons[supplier][:3]),
            )
        )
