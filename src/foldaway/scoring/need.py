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

_BIAS = 0.055
_KINDS = {
    AnchorKind.URL: -0.26, AnchorKind.PATH: 0.0, AnchorKind.FILE: 0.59, AnchorKind.ID: -0.36, AnchorKind.NAME: 0.40,
    AnchorKind.NUMBER: -0.70, AnchorKind.FLAG: 0.38, AnchorKind.QUOTED: -0.5,
}  # fmt: skip
_HOMES = {
    Kind.READ: 0.30, Kind.LISTING: -0.09, Kind.SEARCH: -0.10, Kind.COMMAND: -0.04, Kind.EDIT: 0.10, Kind.ERROR: 0.15,
    Kind.RESULT: -0.28, Kind.THOUGHT: 0.08,
}  # fmt: skip


def need(anchor: Anchor, home: Kind, index: AnchorIndex, step: int) -> float:
    """0..1: the chance that `anchor`, last held by an item of kind `home`, is used soon after `step`. O(1)."""
    seen, used = _age(step, anchor.last_seen_step), _age(step, anchor.last_used_step)
    z = _BIAS + _KINDS[anchor.kind] + _HOMES.get(home, -0.08)
    z += -0.468 * min(seen, used) - 0.053 * seen - 0.089 * used
    if anchor.used:
        uses = math.log1p(anchor.used)
        z += 0.942 + uses * (1.191 - 0.172 * used) + (0.251 if anchor.used >= 2 else 0.0)
    z += -0.080 * math.log1p(anchor.seen) - 0.135 * math.log(anchor.company) - 0.344 * anchor.position
    newest = anchor.items[-1] if anchor.items else anchor.first_item
    z -= 0.417 * _age(step, max(index.item_used_step(newest), index.item_used_step(anchor.first_item)))
    folder = index.folder_used_step(anchor.literal)
    z += -0.152 * _age(step, folder) - (0.332 if folder >= 0 else 0.0)
    z -= 0.228 * math.log(len(anchor.literal))
    return round(1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z)))), 6)


def _age(step: int, then: int) -> float:
    return math.log1p(NEVER if then < 0 else min(NEVER, max(0, step - then)))
