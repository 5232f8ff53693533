"""The pinned floor: tokens of what is visible and no policy may free. Added up as turns settle, not at each call."""

from __future__ import annotations

from dataclasses import dataclass, field

from foldaway.engine.log import Log
from foldaway.engine.window import Shown


@dataclass(slots=True)
class Floor:
    """Remembers the sum over settled turns of the newest decision state; a state is never changed once it is shown."""

    log: Log
    _shown: Shown | None = None
    _pins: frozenset[int] = frozenset()
    _done: int = field(default=0, init=False)
    """Of the state's visible turns, those added up."""
    _settled: int = field(default=0, init=False)
    """Their tokens."""

    def tokens(self, shown: Shown, pins: frozenset[int]) -> int:
        """O(turns that are new since the last question), after a commit O(visible turns)."""
        if shown is not self._shown or pins != self._pins:
            self._shown, self._pins, self._done, self._settled = shown, pins, 0, 0
        while self._done < len(shown.turns) and shown.turns[self._done] < self.log.settled:
            self._settled += self._of_turn(shown, shown.turns[self._done], pins)
            self._done += 1
        return self._settled + sum(self._of_turn(shown, turn, pins) for turn in shown.turns[self._done :])

    def _of_turn(self, shown: Shown, turn: int, pins: frozenset[int]) -> int:
        items = self.log.items_of_turn(turn)
        bound = [i for i in items if i.pinned or i.id in pins]
        if not items or len(bound) < len(items):
            return sum(i.tokens for i in bound)
        texts = [shown.texts.get(i.id) for i in items]
        if all(text is None for text in texts):
            return self.log.turn_tokens[turn]
        count = self.log.counter.counter.count
        return sum(count(t) if t is not None else i.tokens for t, i in zip(texts, items, strict=True)) + 4
