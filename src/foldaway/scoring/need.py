"""Predicted need: how likely the agent is to refer to an anchor again within the next steps.

A logistic model over what the index knows of an anchor. The weights were fitted on half of the recording sources
(anchors unmentioned for 4 steps or more; target: used in an action of the next 12 steps, by this package's own
extraction, not by the lab's labels); on the other half it ranks with an average precision of 0.144
(`python scripts/fit_need.py DATA` prints it with the weights); in trials gradient boosting did no better. Scores are
rounded, so that equal is equal on any machine.
"""

from __future__ import annotations

import math

from foldaway.linking.anchors import AnchorKind
from foldaway.linking.index import Anchor, AnchorIndex
from foldaway.model.items import Kind

NEVER = 500
"""Age in steps that stands for "never"; older counts the same."""

_BIAS = -0.301
_KINDS = {
    AnchorKind.URL: -0.631,
    AnchorKind.PATH: 0.131,
    AnchorKind.FILE: 0.530,
    AnchorKind.ID: -0.332,
    AnchorKind.NAME: 0.598,
    AnchorKind.NUMBER: -0.609,
    AnchorKind.FLAG: 0.490,
    AnchorKind.QUOTED: -0.478,
}
_HOMES = {
    Kind.READ: -0.436,
    Kind.LISTING: -0.799,
    Kind.SEARCH: -0.893,
    Kind.COMMAND: -0.782,
    Kind.EDIT: -0.524,
    Kind.ERROR: -0.236,
    Kind.RESULT: -0.521,
    Kind.THOUGHT: -0.358,
}


def need(anchor: Anchor, home: Kind, index: AnchorIndex, step: int) -> float:
    """0..1: the chance that `anchor`, last held by an item of kind `home`, is used soon after `step`. O(1)."""
    seen, used = _age(step, anchor.last_seen_step), _age(step, anchor.last_used_step)
    z = _BIAS + _KINDS[anchor.kind] + _HOMES.get(home, 0.0)
    z += -0.572 * min(seen, used) + 0.038 * seen + 0.122 * used
    if anchor.used:
        uses = math.log1p(anchor.used)
        z += 1.221 + uses * (1.379 - 0.257 * used) + (0.323 if anchor.used >= 2 else 0.0)
    z += 0.192 * math.log1p(anchor.seen) - 0.173 * math.log(anchor.company) - 0.634 * anchor.position
    z -= 0.135 if anchor.by_agent else 0.0
    newest = anchor.items[-1] if anchor.items else anchor.first_item
    z -= 0.336 * _age(step, max(index.item_used_step(newest), index.item_used_step(anchor.first_item)))
    folder = index.folder_used_step(anchor.literal)
    z -= 0.212 * _age(step, folder) + (0.589 if folder >= 0 else 0.0) + 0.188 * math.log(len(anchor.literal))
    return round(1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z)))), 6)


def _age(step: int, then: int) -> float:
    return math.log1p(NEVER if then < 0 else min(NEVER, max(0, step - then)))
