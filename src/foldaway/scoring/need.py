"""Predicted need: how likely the agent is to refer to an anchor again within the next steps.

A logistic model over what the index knows of an anchor. The weights were fitted on half of the recording sources
(anchors unmentioned for 4 steps or more; target: used in an action of the next 12 steps, by this package's own
extraction, not by the lab's labels); on the other half it ranks with an average precision of 0.18 against 0.15 for
hand-set weights, and gradient boosting does no better. Scores are rounded, so that equal is equal on any machine.
"""

from __future__ import annotations

import math

from foldaway.linking.anchors import AnchorKind
from foldaway.linking.index import Anchor, AnchorIndex
from foldaway.model.items import Kind

NEVER = 500
"""Age in steps that stands for "never"; older counts the same."""

_BIAS = 0.131
_KINDS = {
    AnchorKind.URL: -0.19, AnchorKind.PATH: 0.04, AnchorKind.FILE: 0.64, AnchorKind.ID: -0.22, AnchorKind.NAME: 0.48,
    AnchorKind.NUMBER: -0.64, AnchorKind.FLAG: 0.15, AnchorKind.QUOTED: -0.13,
}  # fmt: skip
_HOMES = {
    Kind.READ: 0.28, Kind.LISTING: -0.14, Kind.SEARCH: -0.09, Kind.COMMAND: -0.01, Kind.EDIT: 0.11, Kind.ERROR: 0.13,
    Kind.RESULT: -0.22, Kind.THOUGHT: 0.11,
}  # fmt: skip


def need(anchor: Anchor, home: Kind, index: AnchorIndex, step: int) -> float:
    """0..1: the chance that `anchor`, last held by an item of kind `home`, is used soon after `step`. O(1)."""
    seen, used = _age(step, anchor.last_seen_step), _age(step, anchor.last_used_step)
    z = _BIAS + _KINDS[anchor.kind] + _HOMES.get(home, -0.04)
    z -= 0.437 * min(seen, used) + 0.054 * seen + 0.101 * used
    if anchor.used:
        uses = math.log1p(anchor.used)
        z += 0.891 + uses * (1.136 - 0.149 * used) + (0.328 if anchor.used >= 2 else 0.0)
    z -= 0.104 * math.log1p(anchor.seen) + 0.136 * math.log(anchor.company) + 0.476 * anchor.position
    z -= 0.102 if anchor.by_agent else 0.0
    newest = anchor.items[-1] if anchor.items else anchor.first_item
    z -= 0.420 * _age(step, max(index.item_used_step(newest), index.item_used_step(anchor.first_item)))
    folder = index.folder_used_step(anchor.literal)
    z -= 0.135 * _age(step, folder) + (0.252 if folder >= 0 else 0.0) + 0.273 * math.log(len(anchor.literal))
    return round(1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z)))), 6)


def _age(step: int, then: int) -> float:
    return math.log1p(NEVER if then < 0 else min(NEVER, max(0, step - then)))
