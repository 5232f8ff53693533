"""The short-term digest: what was done so far, updated every few steps, from the originals and from nothing else.

The settled turns are cut into *updates* of a few steps each: at a user's words, at the end of an episode, after so many
steps, or earlier by volume. An update adds a line. Each time so many updates are complete they are rewritten as one
block, again from the original calls and results, so no error of a digest gets into the next one. Where updates end is a
pure function of the log; what is told of them depends on the room there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from foldaway.engine.digests import Digests
from foldaway.engine.log import Log
from foldaway.linking.kinds import one_line
from foldaway.model.items import Item, Kind
from foldaway.model.wire import TurnKind

LINE_CHARS = 240
"""What an update is told in."""
BLOCK_CHARS = 480
"""What a block of rewritten updates is told in."""
SAID_CHARS = 120
"""Of the agent's own words at the end of an update this much is quoted: what it decided."""
FEW_TOKENS = 30
"""Words of the agent from this size on say something; the newest of those count, else the longest."""
MOST_TITLES = 3
_WORDS = frozenset({Kind.THOUGHT, Kind.REASONING, Kind.NOTE})
MOST_BLOCKS = 40
"""Blocks looked at: what a decision costs must not grow with the session."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """When an update is due."""

    interval: int = 4
    """Steps of the agent, 3 to 5."""
    volume_tokens: int = 6_000
    """What arrived by then makes an update earlier."""
    rewrite_every: int = 5
    """Updates that are rewritten together, 5 or 6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """A stretch of settled turns."""

    first_turn: int
    last_turn: int
    items: tuple[int, ...]
    """What is in it besides pinned items and recalls, ascending; never empty."""
    said: str = ""
    """The agent's last words in it."""
    calls_before: int = 0
    """Items in all updates before it."""


@dataclass(slots=True)
class SoFar:
    """The updates of one branch. O(what has settled since it was asked last)."""

    log: Log
    digests: Digests
    rhythm: Rhythm = field(default_factory=Rhythm)
    _updates: list[Update] = field(default_factory=list)
    _items: list[int] = field(default_factory=list)
    """Of the update in the making."""
    _said: str = ""
    _said_tokens: int = 0
    _first_turn: int = -1
    _steps: int = 0
    _tokens: int = 0
    _upto: int = 0
    _told: dict[tuple[int, int], str] = field(default_factory=dict)

    def updates(self) -> Sequence[Update]:
        """All complete updates, oldest first."""
        while self._upto < self.log.settled:
            self._take(self._upto)
            self._upto += 1
        return self._updates

    def passages(self, gone: Callable[[int], bool]) -> Iterator[tuple[str, tuple[int, ...]]]:
        """(text, its items), newest first, of what lies out of sight: a line an update, a block for rewritten ones.

        `gone`: whether an item is out of sight.
        """
        updates = self.updates()
        every = max(1, self.rhythm.rewrite_every)
        last = len(updates)
        while last and not _left(updates[last - 1], gone):
            last -= 1
        whole = last - last % every
        for number in range(last - 1, whole - 1, -1):
            yield self._tell(number, number + 1, LINE_CHARS)
        for first in range(whole - every, max(-1, whole - every * MOST_BLOCKS - 1), -every):
            yield self._tell(first, first + every, BLOCK_CHARS)

    # -- inside

    def _take(self, turn: int) -> None:
        kind = self.log.turns[turn].kind
        if kind is TurnKind.USER:
            self._close(turn - 1)
            return
        if self.log.own(turn):
            return
        items = self.log.items_of_turn(turn)
        before = self.log.episodes.of_turn.get(turn - 1)
        if before is not None and before != self.log.episodes.of_turn.get(turn):
            self._close(turn - 1)
        self._add(turn, items)
        if self._steps >= self.rhythm.interval or self._tokens >= self.rhythm.volume_tokens:
            self._close(turn)

    def _add(self, turn: int, items: Sequence[Item]) -> None:
        free = [i for i in items if not i.pinned and i.id > 0]
        if not free:
            return
        if not self._items:
            self._first_turn = turn
        self._items.extend(i.id for i in free)
        self._tokens += self.log.turn_tokens[turn]
        self._steps += self.log.turns[turn].kind in (TurnKind.ASSISTANT, TurnKind.EXCHANGE)
        words = [i for i in free if i.kind is Kind.THOUGHT]
        longest = max(words, key=lambda i: (i.tokens, i.id), default=None)
        if longest is not None and longest.tokens >= min(self._said_tokens, FEW_TOKENS):
            self._said = one_line(self.log.text_of(longest), SAID_CHARS)
            self._said_tokens = longest.tokens

    def _close(self, last_turn: int) -> None:
        if not self._items:
            return
        before = self._updates[-1].calls_before + len(self._updates[-1].items) if self._updates else 0
        update = Update(
            first_turn=self._first_turn, last_turn=last_turn, items=tuple(self._items), said=self._said,
            calls_before=before,
        )  # fmt: skip
        self._updates.append(update)
        self._items, self._said, self._said_tokens, self._steps, self._tokens = [], "", 0, 0, 0

    def _tell(self, first: int, last: int, chars: int) -> tuple[str, tuple[int, ...]]:
        stretch = self._updates[first:last]
        items = tuple(i for update in stretch for i in update.items)
        if (first, last) not in self._told:
            self._told[first, last] = self._text(items, stretch[-1].said, chars)
        return self._told[first, last], items

    def _text(self, items: tuple[int, ...], said: str, chars: int) -> str:
        done = self.digests.stage(items, chars)
        if not done:
            span = f"#{items[0]}–#{items[-1]}" if len(items) > 1 else f"#{items[0]}"
            seen = [i for i in map(self.log.items.__getitem__, items) if i.kind not in _WORDS]
            told = "; ".join(f"#{i.id} {i.title}" for i in seen[-MOST_TITLES:])
            done = self.digests.stubs.stage(f"[{span}: no calls]{f' {told}' if told else ''}")
        return self.digests.stubs.stage(f"{done} «{said}»") if said else done


def _left(update: Update, gone: Callable[[int], bool]) -> bool:
    """Whether most of an update is out of sight."""
    return 2 * sum(map(gone, update.items)) > len(update.items)
