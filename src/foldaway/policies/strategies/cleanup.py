"""Token-level clean-up: large results lose their repeats and empty space, every other line stays word for word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Level
from foldaway.model.plan import Change
from foldaway.policies.strategies._base import Allotment, Step, level_of

MOST = 40
"""Steps looked at, the newest: each is read once."""


@dataclass(frozen=True, slots=True)
class Cleanup:
    """Through the registered compressor `clean`; steps that it does not shorten are left to the strategies behind."""

    least_tokens: int = 600
    """Smaller steps are not worth a mark."""

    def propose(self, snapshot: Snapshot, share: Allotment) -> Iterator[Change]:
        large = [step for step in share.steps if step.visible and step.raw_tokens >= self.least_tokens]
        for step in reversed(large[-MOST:]):
            if self._shortened(snapshot, step) and share.price(step, Level.MASKED) <= share.left:
                yield from share.show(step, Level.MASKED, "clean-up: repeats are said once")

    def _shortened(self, snapshot: Snapshot, step: Step) -> bool:
        return any(level_of(snapshot, item, Level.MASKED) is Level.MASKED for item in step.items)
