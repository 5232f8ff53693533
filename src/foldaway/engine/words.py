"""User words under a ceiling (S1.9): what gives way when they take more of the room than is theirs, and in what order.

Over their share: copies of what was said again later go first, then the oldest plain turns keep only their binding
sentences and literals. Over the ceiling, where the stubs of pastes and the frames of messages count as well: stubs go
into the fold note, the oldest first, and then the oldest words keep their plain constraints only. Each step stops as
soon as it is enough; the goal and the newest words stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from foldaway.compressors.user_words import abstract_words, constraints_only
from foldaway.engine.draft import Draft
from foldaway.engine.log import Log
from foldaway.model.items import Item, Kind, Level

WORDS_SHARE = 0.5
"""Share of the room (budget less system prompt and tools) that user words may take before the oldest are abstracted."""
WORDS_CEILING = 0.85
"""Share that words, frames and stubs of pastes may take together before the rest of the ladder, or the session ends."""
SMALLEST_GAIN = 8
NEWEST_WORDS = 1
"""User texts at the end that are never abstracted."""
WORDS_REASON = "user words passed their share of the room: oldest plain turns are shortened"
STUBS_REASON = "user words passed their ceiling: oldest stubs of pastes go into the note"
WORDS = frozenset({Kind.USER, Kind.GOAL})
PASTED = frozenset({Kind.PASTE, Kind.ATTACHMENT})
"""Kinds that leave a stub where they stood."""


@dataclass(slots=True)
class Words:
    """The user's words in one draft."""

    draft: Draft
    log: Log
    kept: Collection[int]
    """Items that must stay as they are."""
    budget_tokens: int
    share: float = WORDS_SHARE

    @property
    def room(self) -> int:
        fixed = self.draft.fixed_tokens + sum(item.tokens for item in self._items({Kind.INSTRUCTION}))
        return max(0, self.budget_tokens - fixed)

    @property
    def limit(self) -> int:
        """From here on words are shortened, and down to here."""
        return int(self.room * self.share)

    def make_room(self) -> None:
        """Shorten until words keep to their share of the room and, all counted, to the ceiling. O(visible items)."""
        if (excess := self.spent() - self.limit) > 0:
            self._fold_repeats(excess)
            self._shorten(abstract_words, self.limit)
        if (excess := self.standing() - int(self.room * WORDS_CEILING)) > 0:
            self._fold_stubs(self._fold_repeats(excess))
            if self.standing() > int(self.room * WORDS_CEILING):
                self._shorten(constraints_only, self.limit)

    def give_way(self, excess: int) -> None:
        """All else is folded, still too much: stubs of pastes go, then words over their share, as far as it takes."""
        excess = self._fold_stubs(self._fold_repeats(excess, frozenset({Kind.PASTE})))
        if excess > 0 and self.spent() > self.limit:
            excess = self._fold_repeats(excess)
            self._shorten(constraints_only, max(self.limit, self.spent() - max(0, excess)))

    def spent(self) -> int:
        """Tokens of the words themselves, as they are shown now."""
        return sum(self._now(item) for item in self._items(WORDS))

    def standing(self) -> int:
        """Tokens of words and of what is left of pastes, with the frames of the messages they stand in."""
        total = 0
        for turn in self.draft.shown.turns:
            items = self.log.items_of_turn(turn)
            held = [i for i in items if self._stands(i)]
            total += self.draft.per_turn[turn] if len(held) == len(items) else sum(map(self._now, held))
        return total

    # -- inside

    def _items(self, kinds: Collection[Kind]) -> Iterator[Item]:
        """Items of these kinds that are visible above hidden (words: above stub), oldest first."""
        shown = self.draft.shown
        for turn in shown.turns:
            for item in self.log.items_of_turn(turn):
                if item.kind in kinds and shown.level(item.id) > (Level.STUB if item.kind in WORDS else Level.HIDDEN):
                    yield item

    def _stands(self, item: Item) -> bool:
        level = self.draft.shown.level(item.id)
        return level > Level.STUB if item.kind in WORDS else item.kind in PASTED and Level.HIDDEN < level < Level.RAW

    def _now(self, item: Item) -> int:
        text = self.draft.shown.texts.get(item.id)
        return item.tokens if text is None else self.log.counter.counter.count(text)

    def _fold_repeats(self, excess: int, kinds: frozenset[Kind] = WORDS | {Kind.PASTE}) -> int:
        """Of texts that stand here more than once, word for word, only the newest stays; returns the excess left."""
        newest: dict[str, int] = {}
        older: list[tuple[Item, str]] = []
        for item in reversed([*self._items(kinds)]):
            text = self.log.text_of(item)
            if text in newest and self._stands(item):
                older.append((item, f"said again in #{newest[text]}"))
            newest.setdefault(text, item.id)
        return self._fold_all(reversed(older), excess)

    def _fold_stubs(self, excess: int) -> int:
        """What is left of pastes and attachments goes into the note; returns the excess left."""
        stubs = [(item, STUBS_REASON) for item in self._items(PASTED) if self._stands(item)]
        return self._fold_all(stubs, excess)

    def _fold_all(self, items: Iterable[tuple[Item, str]], excess: int) -> int:
        for item, reason in items:
            if excess <= 0:
                break
            if item.id not in self.kept and item.kind is not Kind.GOAL:
                before = self.draft.visible_cost
                self._fold(item, reason)
                excess -= before - self.draft.visible_cost
        return excess

    def _shorten(self, shorten: Callable[[str, int], str], limit: int) -> None:
        spent = self.spent()
        for item in [*self._items(WORDS)][:-NEWEST_WORDS]:
            if spent <= limit:
                return
            if item.id in self.kept or item.kind is Kind.GOAL:
                continue
            before, short = self._now(item), shorten(self.log.text_of(item), item.id)
            after = self.log.counter.counter.count(short)
            if not short:
                self._fold(item, WORDS_REASON)
            elif before - after < SMALLEST_GAIN or self.draft.shown.texts.get(item.id) == short:
                continue
            else:
                self.draft.set(item, Level.ABSTRACT, WORDS_REASON, text=short, anchors=())
            spent -= before - after

    def _fold(self, item: Item, reason: str) -> None:
        """Into the note: as a line where that is shorter, else under its range of ids."""
        lined = item.kind in WORDS and self._now(item) - self.draft.line_price(item, ()) >= SMALLEST_GAIN
        self.draft.set(item, Level.STUB if lined else Level.HIDDEN, reason, anchors=())
