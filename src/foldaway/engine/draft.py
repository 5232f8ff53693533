"""A working copy on which changes are rehearsed: what would the view cost if this were committed?

Nothing outside the draft changes. Each turn touched is rendered and counted, so its cost is exact; the fold note is
priced line by line while changes come in and composed in full by `finish`.
"""

from __future__ import annotations

import json
from bisect import insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from foldaway.engine import ranges
from foldaway.engine.digests import Digests, carries, said_beside
from foldaway.engine.log import Log
from foldaway.engine.stubs import MARK, MASK_CHARS, Stubs
from foldaway.engine.window import Note, Shown, cost_of, droppable, gone, render_turn
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Action, Section, action_of
from foldaway.model.wire import Edit, PartType, TurnKind

NOTE_HEAD_TOKENS = 120
"""What a fold note costs before its first line: its head, the call that carries it, the marks of two messages."""
DEFAULT_ANCHORS = 4
DEFAULT_ANCHOR_TOKENS = 24
"""How many anchors a stub line shows, and what they may cost, where the policy does not choose them."""


@dataclass(slots=True)
class Draft:
    """`shown` with changes applied, and the tokens of its view."""

    log: Log
    stubs: Stubs
    digests: Digests
    shown: Shown
    fixed_tokens: int
    """System prompt and tools."""
    per_turn: dict[int, int]
    before: dict[int, Level] = field(default_factory=dict)
    """Items changed -> their level before."""
    reasons: dict[int, str] = field(default_factory=dict)
    actions: dict[int, Action] = field(default_factory=dict)
    base: Shown = field(default_factory=Shown)
    """The state before; never changed."""
    old_note: Note | None = None
    lines_cost: int = 0
    stages_cost: int = 0
    sections_cost: int = 0
    visible_cost: int = 0

    @classmethod
    def of(cls, digests: Digests, shown: Shown, fixed_tokens: int, per_turn: dict[int, int]) -> Draft:
        draft = cls(
            log=digests.log, stubs=digests.stubs, digests=digests, shown=shown.copy(), fixed_tokens=fixed_tokens,
            per_turn=dict(per_turn), base=shown, old_note=shown.note,
        )  # fmt: skip
        draft.visible_cost = sum(per_turn.values())
        if shown.note is not None:
            # The note is composed anew by `finish`; until then its carrier counts as folded, its lines one by one.
            draft.shown.note = None
            draft._recount(shown.note.turn)
            draft.lines_cost = sum(draft.price(line) for line in draft.shown.lines.values())
            draft.mention(())
            draft.shown.stages.clear()
            draft.shown.sections.clear()
        return draft

    def tokens(self) -> int:
        """What the view would cost; a note's head is counted as soon as anything is folded."""
        any_folded = self.old_note is not None or any(lv <= Level.STUB for lv in self._new_levels())
        mention = self.price(self.shown.mention) if self.shown.mention else 0
        head = NOTE_HEAD_TOKENS if any_folded else 0
        told = self.lines_cost + self.stages_cost + self.sections_cost + mention
        return self.fixed_tokens + self.visible_cost + told + head

    def told_tokens(self) -> int:
        """What visible turns and stub lines cost: what one change moves."""
        return self.visible_cost + self.lines_cost

    def price(self, line: str) -> int:
        return self.log.counter.counter.count(line) + 1

    def line_price(self, item: Item, anchors: Sequence[str]) -> int:
        return self.price(self.line(item, anchors)) if anchors else self.digests.line_tokens(item)

    def line(self, item: Item, anchors: Sequence[str]) -> str:
        """The stub line of an item."""
        return self.stubs.line(item, anchors, said_beside(self.log, item), self.log.superseded_by(item.id))

    def set(
        self, item: Item, level: Level, reason: str, *, anchors: Sequence[str] | None = None, text: str | None = None,
        action: Action | None = None,
    ) -> None:  # fmt: skip
        """Show an item at another level. O(size of its turn)."""
        self.before.setdefault(item.id, self.shown.level(item.id))
        self.reasons[item.id] = reason
        self.actions[item.id] = action or action_of(level)
        self._clear(item.id)
        if level is not Level.RAW:
            self.shown.levels[item.id] = level
        if level is Level.STUB and gone(self.shown, item):
            chosen = self.default_anchors(item) if anchors is None else anchors
            self.shown.texts[item.id] = self.stubs.in_place(item, chosen)
            if item.kind not in (Kind.REASONING,):
                self.shown.lines[item.id] = line = self.line(item, chosen)
                self.lines_cost += self.price(line)
        elif level is not Level.RAW and not gone(self.shown, item):
            self.shown.texts[item.id] = self._text(item, level, anchors) if text is None else text
        if item.turn not in self.per_turn:
            insort(self.shown.turns, item.turn)
        self._recount(item.turn)

    def mention(self, anchors: Sequence[str]) -> None:
        """Name these in the note's last line, instead of what it named before."""
        self.shown.mention = self.stubs.mention(anchors) if anchors else ""

    def stage(self, items: Sequence[int]) -> None:
        """Tell of these items together in the note, besides their own lines."""
        text = self.digests.stage(items)
        if text and items[0] not in self.shown.stages:
            self.shown.stages[items[0]] = text
            self.stages_cost += self.price(text)

    def section(self, section: Section) -> None:
        """Open the note with this passage, instead of what stood under its title."""
        old = self.shown.sections.pop(section.title, "")
        self.sections_cost -= self.price(old) if old else 0
        if section.text.strip():
            self.shown.sections[section.title] = text = self.stubs.section(section.title, section.text)
            self.sections_cost += self.price(text)

    def keep_told(self, outside: Collection[str]) -> None:
        """Where no policy says what the note tells besides its lines, it goes on to tell what it told.

        Not of sections under one of these titles: whoever handed them in has the word on them.
        """
        for title, text in self.base.sections.items():
            if title not in outside and title not in self.shown.sections:
                self.shown.sections[title] = text
                self.sections_cost += self.price(text)
        for first, text in self.base.stages.items():
            if first not in self.shown.stages:
                self.shown.stages[first] = text
                self.stages_cost += self.price(text)
        self.shown.mention = self.shown.mention or self.base.mention

    def demote_lines(self, limit: int, reason: str) -> None:
        """Take stages, then the oldest lines, out of the note until all together cost at most `limit` tokens.

        Sections go when nothing else is left to give way.
        """
        for first in sorted(self.shown.stages):
            if self.note_cost() <= limit:
                return
            self.stages_cost -= self.price(self.shown.stages.pop(first))
        if self.shown.mention and self.lines_cost + self.sections_cost + self.price(self.shown.mention) > limit:
            words = self.shown.mention.split(" ")
            left = limit - self.sections_cost - self.lines_cost // 2
            share = max(0, left) / self.price(self.shown.mention)
            self.shown.mention = " ".join(words[: int(len(words) * share)]) if share > 0.1 else ""
        for item in sorted(self.shown.lines):
            if self.note_cost() <= limit:
                return
            self.set(self.log.items[item], Level.HIDDEN, reason)
        if self.shown.sections and self.note_cost() > limit:
            self.shown.mention = ""
        for title in reversed(list(self.shown.sections)):
            if self.note_cost() <= limit:
                return
            self.sections_cost -= self.price(self.shown.sections.pop(title))

    def note_cost(self) -> int:
        """Tokens of what the note tells, without its head."""
        mention = self.price(self.shown.mention) if self.shown.mention else 0
        return self.lines_cost + self.stages_cost + self.sections_cost + mention

    def default_anchors(self, item: Item) -> tuple[str, ...]:
        """What a stub shows where nobody chose: anchors the agent used before, rare ones, early ones first."""
        index = self.log.anchors
        ranked = sorted(
            (a for a in index.known(index.of_item(item.id)[:400]) if a.literal not in item.title),
            key=lambda a: (-min(a.used, 3), a.seen, a.first_item != item.id, a.position, a.literal),
        )
        chosen: list[str] = []
        room = DEFAULT_ANCHOR_TOKENS
        for anchor in ranked[:40]:
            cost = self.log.counter.counter.count(anchor.literal) + 1
            if cost <= room:
                chosen.append(anchor.literal)
                room -= cost
            if len(chosen) == DEFAULT_ANCHORS:
                break
        return tuple(chosen)

    def finish(self) -> int:
        """Compose the fold note, take folded turns out, count the whole view exactly; returns its tokens.

        May be called again after more changes.
        """
        if self.shown.note is not None:
            placed, self.shown.note = self.shown.note.turn, None
            self._recount(placed)
        vanished = [t for t in self.shown.turns if self.per_turn[t] == 0 and self.log.turns[t].messages]
        for turn in self.shown.turns:
            if self.per_turn[turn] > 0:
                self._drop_lines_shown_in_place(turn)
        note = self._compose(vanished)
        if note is not None:
            self.shown.note = note
            if note.turn not in self.shown.turns:
                insort(self.shown.turns, note.turn)
            self._recount(note.turn)
        return self.fixed_tokens + self.visible_cost

    def altered(self, item: int) -> bool:
        """Whether an item is shown otherwise than before: another level, or another text at the same one."""
        if self.base.level(item) is not self.shown.level(item):
            return True
        return self.shown.level(item) > Level.STUB and self.base.texts.get(item) != self.shown.texts.get(item)

    def close(self) -> Shown:
        """The finished state: folded turns are no longer visited."""
        self.shown.turns = [t for t in self.shown.turns if self.per_turn[t] > 0 or not self.log.turns[t].messages]
        return self.shown

    # -- inside

    def _new_levels(self) -> list[Level]:
        return [self.shown.level(i) for i in self.before]

    def _clear(self, item: int) -> None:
        line = self.shown.lines.pop(item, None)
        if line is not None:
            self.lines_cost -= self.price(line)
        self.shown.texts.pop(item, None)
        self.shown.levels.pop(item, None)

    def _recount(self, turn: int) -> None:
        cost = cost_of(render_turn(self.log, self.shown, turn, self.stubs), self.log)
        self.visible_cost += cost - self.per_turn.get(turn, 0)
        self.per_turn[turn] = cost

    def _text(self, item: Item, level: Level, anchors: Sequence[str] | None) -> str:
        if item.kind is Kind.ATTACHMENT:
            return self.stubs.attachment(item, self.digests.attachment(item).text)
        if level is Level.MASKED and not self.log.media(item):
            return self.stubs.mask(item, self.log.result_text(item), MASK_CHARS)
        if item.kind in (Kind.PASTE, Kind.USER, Kind.GOAL, Kind.THOUGHT):
            return self.stubs.mask(item, self.log.text_of(item), 240)
        if self.digests.worthwhile(item):
            return self.digests.text(item)
        return self.stubs.in_place(item, self.default_anchors(item) if anchors is None else anchors)

    def _drop_lines_shown_in_place(self, turn: int) -> None:
        if any(i.pinned for i in self.log.items_of_turn(turn)):
            return
        for item in self.log.turn_items[turn]:
            line = self.shown.lines.pop(item, None)
            if line is not None:
                self.lines_cost -= self.price(line)

    def _compose(self, vanished: list[int]) -> Note | None:
        old = self.old_note
        # Recalls put in by us (ids below 0) are copies: nothing is lost with them, no note needs to cover them.
        fell = [i for i in self.before if i > 0 and gone(self.shown, self.log.items[i])]
        rose = [i for i in self.before if i > 0 and not gone(self.shown, self.log.items[i])]
        covers = ranges.add(ranges.remove(old.covers, rose) if old else (), fell)
        if not covers:
            return None
        turn, carrier = self._carrier(vanished)
        exchanges, tokens = self._told_of(
            [i for i in fell if self.before[i] > Level.STUB], [i for i in rose if self.before[i] <= Level.STUB]
        )
        text = self.stubs.note(
            covers[0][0], covers[-1][1], exchanges, tokens,
            [
                *self.shown.sections.values(),
                *(self.shown.stages[i] for i in sorted(self.shown.stages)),
                *(self.shown.lines[i] for i in sorted(self.shown.lines)),
                *filter(None, [self.shown.mention]),
            ],
        )  # fmt: skip
        return Note(carrier=carrier, turn=turn, covers=covers, text=text, exchanges=exchanges, tokens=tokens)

    def _told_of(self, fell: Sequence[int], rose: Sequence[int]) -> tuple[int, int]:
        """How many exchanges, and tokens at raw, the note covers when these items leave and those come back."""
        old, items = self.old_note, self.log.items
        turns = len({items[i].turn for i in fell}) - len({items[i].turn for i in rose})
        tokens = sum(items[i].tokens for i in fell) - sum(items[i].tokens for i in rose)
        return max(1, (old.exchanges if old else 0) + turns), max(0, (old.tokens if old else 0) + tokens)

    def _carrier(self, vanished: list[int]) -> tuple[int, int]:
        """Turn and item that hold the note: the newest folded result that is plain to replace."""
        old = [self.old_note.turn] if self.old_note is not None and self.per_turn[self.old_note.turn] == 0 else []
        ranked: list[tuple[tuple[bool, bool, int], int]] = []
        for turn in {*vanished, *old}:
            items = self.log.items_of_turn(turn)
            spans = [i for i in items if carries(self.log, i)]
            if not spans:
                continue
            bound = any(i.kind is Kind.REASONING and not droppable(self.log, i) for i in items)
            rank = (len(spans) == 1 and not bound and spans[0].kind is not Kind.ERROR, turn in vanished, turn)
            ranked.append((rank, spans[-1].id))
        for rank, item in sorted(ranked, reverse=True):
            if self._shows_text(self.log.items[item]):
                return rank[2], item
        return max([*vanished, *old], default=self.shown.turns[0] if self.shown.turns else 0), 0

    def _shows_text(self, item: Item) -> bool:
        """Whether a text put in place of the result gets into the messages: some results hold no free text."""
        turn = self.log.turns[item.turn]
        where = item.parts if turn.kind is TurnKind.OBSERVATION else self._results(item)
        messages = self.log.wire.render(turn, {where[0]: Edit(text=MARK)})
        return any(MARK in json.dumps(message) for message in messages if message not in turn.messages)

    def _results(self, item: Item) -> tuple[int, ...]:
        parts = self.log.turns[item.turn].parts
        return tuple(p for p in item.parts if parts[p].type is PartType.RESULT)
