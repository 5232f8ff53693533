"""Predicted need: how likely the agent is to refer to an anchor soon.

A small logistic model over what the index knows of an anchor. v0: hand-set.
"""

from __future__ import annotations

import math

from foldaway.linking.anchors import AnchorKind
from foldaway.linking.index import Anchor

_KIND = {
    AnchorKind.PATH: 0.6, AnchorKind.FILE: 0.5, AnchorKind.URL: 0.3, AnchorKind.NAME: 0.2, AnchorKind.ID: 0.1,
    AnchorKind.NUMBER: -0.6, AnchorKind.FLAG: -0.5, AnchorKind.QUOTED: 0.0,
}  # fmt: skip


def need(anchor: Anchor, step: int) -> float:
    """Probability-like value 0..1 that the anchor is used in one of the next steps."""
    age_seen = step - anchor.last_seen_step if anchor.last_seen_step >= 0 else 999
    age_used = step - anchor.last_used_step if anchor.last_used_step >= 0 else 999
    z = -3.5 + _KIND[anchor.kind]
    z += 1.2 * math.log1p(anchor.used) - 0.5 * math.log1p(min(age_used, age_seen))
    if anchor.used:
        z += 0.8 - 0.3 * math.log1p(age_used)
    z += 0.3 * math.log1p(anchor.seen) - 0.25 * math.log(max(1, anchor.company))
    return round(1 / (1 + math.exp(-z)), 6)
