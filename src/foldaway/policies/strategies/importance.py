"""Importance: the steps that are worth most per token stay word for word, wherever they stand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Kind, Level
from foldaway.model.plan import Change
from foldaway.policies.strategies._base import Allotment, Step
from foldaway.scoring.passages import density

SCRAP = 0.05


@dataclass(frozen=True, slots=True)
class Importance:
    """By the chance that a later action repeats a line of a step, per token (`scoring.passages`)."""

    def propose(self, snapshot: Snapshot, share: Allotment) -> Iterator[Change]:
        for step in ranked(snapshot, share.steps):
            if share.left <= share.tokens * SCRAP:
                break
            if share.price(step, Level.RAW) <= share.left:
                yield from share.show(step, Level.RAW, "importance: worth its tokens")


def ranked(snapshot: Snapshot, steps: list[Step]) -> list[Step]:
    """Steps worth anything, the most per token first, ties the newest first; no pictures: nobody quotes them."""
    worths = {step.turn: worth_per_token(snapshot, step) for step in steps}
    chosen = [s for s in steps if worths[s.turn] > 0 and all(i.kind is not Kind.ATTACHMENT for i in s.items)]
    return sorted(chosen, key=lambda step: (-worths[step.turn], -step.turn))


def worth_per_token(snapshot: Snapshot, step: Step) -> float:
    """What a step is worth at raw, per token; what something newer said again is worth nothing.

    The chance falls with age since the step was made; a value of it that an action used since makes it younger, by the
    geometric mean of both ages: so what work comes back to after a long time is wanted again.
    """
    current = [item for item in step.items if not snapshot.superseded(item)]
    used = max((snapshot.anchors.item_used_step(item.id) for item in step.items), default=-1)
    since_made = 1 + snapshot.step - step.created_step
    since_used = 1 + snapshot.step - max(used, step.created_step)
    younger = math.sqrt(since_made / max(1, since_used))
    return round(density(current, step.raw_tokens, snapshot.step) * younger, 12)
