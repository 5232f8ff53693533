"""What the session has established and done: made from the settled turns when a policy asks, never before."""

from __future__ import annotations

from dataclasses import dataclass, field

from foldaway.engine.confirmed import Confirmed
from foldaway.engine.digests import Digests
from foldaway.engine.log import Log
from foldaway.engine.so_far import Rhythm, SoFar
from foldaway.linking.state import State


@dataclass(slots=True)
class Past:
    """State and short-term digest of one branch. Both are pure functions of the log; who never asks pays nothing."""

    log: Log
    digests: Digests
    _confirmed: Confirmed = field(init=False)
    _so_far: dict[Rhythm, SoFar] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._confirmed = Confirmed(self.log)

    def state(self) -> State:
        """Goal, constraints, confirmed facts. For reading only. O(what has settled since it was asked last)."""
        return self._confirmed.state()

    def so_far(self, rhythm: Rhythm) -> SoFar:
        """The short-term digest in this rhythm. O(what has settled since it was asked last)."""
        return self._so_far.setdefault(rhythm, SoFar(self.log, self.digests, rhythm))
