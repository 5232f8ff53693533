"""Summaries: large results stand as their digests, the call beside them whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Level
from foldaway.model.plan import Change
from foldaway.policies.strategies._base import Allotment, Step
from foldaway.policies.strategies.importance import ranked

SCRAP = 0.05


@dataclass(frozen=True, slots=True)
class Summaries:
    """Each digest is made once, from the original, and kept: no digest of a digest."""

    newest: int = 2
    """So many of the newest steps are left to the strategies behind, to be shown whole."""
    least_tokens: int = 600
    """Smaller steps are left to them, too: whole they cost hardly more."""

    def propose(self, snapshot: Snapshot, share: Allotment) -> Iterator[Change]:
        older = share.steps[: len(share.steps) - self.newest] if self.newest else share.steps
        large = [step for step in older if step.raw_tokens >= self.least_tokens and self._digested(snapshot, step)]
        for step in ranked(snapshot, large):
            if share.left <= share.tokens * SCRAP:
                break
            if share.price(step, Level.ABSTRACT) <= share.left:
                yield from share.show(step, Level.ABSTRACT, "summaries: a digest stands for a large result")

    def _digested(self, snapshot: Snapshot, step: Step) -> bool:
        return any(snapshot.digest_tokens(item) is not None for item in step.items)
