"""Importance: the steps that are worth most per token stay word for word, wherever they stand."""

from __future__ import annotations

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
    """Steps worth anything, the most per token first, ties the newest first. Pictures are left out: nobody quotes them."""
    worths = {step.turn: worth_per_token(snapshot, step) for step in steps}
    chosen = [s for s in steps if worths[s.turn] > 0 and all(i.kind is not Kind.ATTACHMENT for i in s.items)]
    return sorted(chosen, key=lambda step: (-worths[step.turn], -step.turn))


def worth_per_token(snapshot: Snapshot, step: Step) -> float:
    """What a step is worth at raw, per token; what something newer said again is worth nothing."""
    current = [item for item in step.items if not snapshot.superseded(item)]
    return density(current, step.raw_tokens, snapshot.step)
