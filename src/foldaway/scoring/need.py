"""Predicted need: how likely the agent is to refer to an anchor again within the next steps.

A logistic model over what the index knows of an anchor. The weights were fitted on half of the recording sources
(anchors unmentioned for 4 steps or more; target: used in an action of the next 12 steps, by this package's own
extraction, not by the lab's labels); on the other half it ranks with an average precision of 0.150 against 0.129 for
hand-set weights, and gradient boosting does no better. Scores are rounded, so that equal is equal on any machine.
"""

from __future__ import annotations

import math

from foldaway.linking.anchors import AnchorKind
from foldaway.linking.index import Anchor, AnchorIndex
from foldaway.model.items import Kind

NEVER = 500
"""Age in steps that stands for "never"; older counts the same."""

_BIAS = 0.122
_KINDS = {
    AnchorKind.URL: -0.10, AnchorKind.PATH: 0.09, AnchorKind.FILE: 0.71, AnchorKind.ID: -0.24, AnchorKind.NAME: 0.55,
    AnchorKind.NUMBER: -0.74, AnchorKind.FLAG: 0.28, AnchorKind.QUOTED: -0.44,
}  # fmt: skip
_HOMES = {
    Kind.READ: 0.22, Kind.LISTING: -0.06, Kind.SEARCH: -0.28, Kind.COMMAND: -0.12, Kind.EDIT: 0.15, Kind.ERROR: 0.16,
    Kind.RESULT: -0.26, Kind.THOUGHT: 0.16,
}  # fmt: skip


def need(anchor: Anchor, home: Kind, index: AnchorIndex, step: int) -> float:
    """0..1: the chance that `anchor`, last held by an item of kind `home`, is used soon after `step`. O(1)."""
    seen, used = _age(step, anchor.last_seen_step), _age(step, anchor.last_used_step)
    z = _BIAS + _KINDS[anchor.kind] + _HOMES.get(home, 0.15)
    z -= 0.523 * min(seen, used) - 0.037 * seen + 0.169 * used
    if anchor.used:
        uses = math.log1p(anchor.used)
        z += 0.330 + uses * (0.976 - 0.136 * used) + (0.299 if anchor.used >= 2 else 0.0)
    z += 0.175 * math.log1p(anchor.seen) - 0.188 * math.log(anchor.company) - 0.699 * anchor.position
    z -= 0.086 if anchor.by_agent else 0.0
    newest = anchor.items[-1] if anchor.items else anchor.first_item
    z -= 0.404 * _age(step, max(index.item_used_step(newest), index.item_used_step(anchor.first_item)))
    folder = index.folder_used_step(anchor.literal)
    z -= 0.057 * _age(step, folder) - (0.093 if folder >= 0 else 0.0) + 0.243 * math.log(len(anchor.literal))
    return round(1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z)))), 6)


def _age(step: int, then: int) -> float:
    return math.log1p(NEVER if then < 0 else min(NEVER, max(0, step - then)))
