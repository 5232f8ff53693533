"""Observed links: an action that uses a value depends on the observations that supplied it.

Source of the idea: value reuse between tool results (ContextRender, 2026). A value found in many observations says
little about any of them, so each match weighs 1 / (observations that hold it); several shared values add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum

from foldaway.linking.graph import Graph, Link, Provenance
from foldaway.linking.index import AnchorIndex

COMMON = 12
"""A value that more observations than this hold gives no link."""
ANSWERED = 0.5
"""Weight of a direct answer's link to a picture, document or sound that came with the question."""


def link_reuse(graph: Graph, index: AnchorIndex, item: int, used: Iterable[str]) -> None:
    """Add observed links from `item` to the suppliers of the values it uses. O(values used)."""
    shared: dict[int, dict[str, int]] = {}
    for anchor in index.known(used):
        if not 0 < anchor.seen <= COMMON:
            continue
        for supplier in sorted({i for i in anchor.suppliers if i != item}):
            shared.setdefault(supplier, {})[anchor.literal] = anchor.seen
    for supplier in sorted(shared):
        graph.add(observed(item, supplier, shared[supplier]))


def link_answer(graph: Graph, item: int, attachments: Sequence[int]) -> None:
    """The agent's answer depends on what was attached to the message it answers."""
    for target in attachments:
        graph.add(
            Link(
                source=item, target=target, weight=ANSWERED, provenance=Provenance.OBSERVED,
                why="answers the message it came with",
            )
        )  # fmt: skip


def observed(source: int, target: int, values: dict[str, int], why: str = "uses ") -> Link:
    """The link that shared values make: each with how many observations held it."""
    return Link(
        source=source, target=target, weight=min(1.0, fsum(1.0 / seen for seen in values.values())),
        provenance=Provenance.OBSERVED, why=why + ", ".join(list(values)[:3]), values=tuple(values.items()),
    )  # fmt: skip
