"""Time and patience for one decision: a policy that is slow or never ends is noticed between its steps.

The engine reads no clock. Whoever runs it hands in how much of the time limit is spent; nothing can stop foreign code
that asks nothing and yields nothing, so the watch looks at each proposal and at each costly question to the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from foldaway.errors import FoldawayError

T = TypeVar("T")
PROPOSALS_EACH = 8
PROPOSALS_BESIDES = 4_096
"""More proposals than this many for each item, and these besides, come from a policy that never ends."""


class OutOfTime(FoldawayError):
    """The share of the time limit that one rung of the ladder may use is spent. Never leaves the engine."""


class NeverEnds(FoldawayError):
    """A policy proposed more than any plan can hold. Never leaves the engine."""


def untimed() -> float:
    """Nobody set a limit: nothing of it is ever spent."""
    return 0.0


@dataclass(slots=True)
class Watch:
    """How long one rung may take."""

    spent: Callable[[], float] = untimed
    """Share of the time limit spent so far: 0 at the start of a call, 1 at its end."""
    until: float = 1.0
    """Share at which this rung stops."""

    def check(self) -> None:
        """Raises OutOfTime when the rung's share is spent."""
        if self.spent() >= self.until:
            raise OutOfTime("out of time")

    def over(self, proposals: Iterable[T], items: int) -> Iterator[T]:
        """The proposals of a policy for a session of so many items, as long as time and patience last."""
        most = PROPOSALS_EACH * items + PROPOSALS_BESIDES
        for number, proposal in enumerate(proposals):
            self.check()
            if number >= most:
                raise NeverEnds(f"still proposing after {most} proposals")
            yield proposal
        self.check()
