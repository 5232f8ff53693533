"""The window: which level each item is shown at, and the messages that follow from it.

`Shown` is the decision state and nothing else: it is rebuilt from the ledger's commits, so the view is a pure
function of log, ledger and settings. Folded turns are not visited again: what a call costs depends on what is
visible and new, not on how long the session is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from foldaway.engine.log import Log
from foldaway.engine.stubs import Stubs
from foldaway.model.items import Item, Kind, Level
from foldaway.model.wire import Edit, Message, PartType, TurnKind

SMALL_ARGUMENTS = 48
"""Tokens up to which a call's arguments stay when its result is a stub."""
LARGE_ARGUMENTS = 1_200
"""Tokens up to which they stay when its result is masked or a digest."""


@dataclass(slots=True)
class Note:
    """A fold note: where it stands and what it covers."""

    carrier: int
    """Item whose result holds the text; 0: a user message of its own (agents without results)."""
    turn: int
    """Turn that the note stands at."""
    covers: tuple[tuple[int, int], ...]
    """Ranges of ids that it lists or covers, ascending, both ends included."""
    text: str
    exchanges: int = 0
    """Turns folded into it."""
    tokens: int = 0
    """Tokens at raw of what was folded into it."""

    def holds(self, item: int) -> bool:
        at = bisect_right(self.covers, (item, 1 << 60)) - 1
        return at >= 0 and self.covers[at][0] <= item <= self.covers[at][1]


@dataclass(slots=True)
class Shown:
    """Levels and texts of one branch. `RAW` where nothing is said."""

    levels: dict[int, Level] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    """Item -> what its result or text is replaced by (masked, abstract, stub in place)."""
    lines: dict[int, str] = field(default_factory=dict)
    """Item at stub -> its line in the fold note."""
    stages: dict[int, str] = field(default_factory=dict)
    """First item of a stretch -> what the fold note tells of the stretch."""
    sections: dict[str, str] = field(default_factory=dict)
    """Title -> what the fold note opens with, in this order."""
    mention: str = ""
    """Last line of the fold note: anchors that have no line of their own."""
    note: Note | None = None
    turns: list[int] = field(default_factory=list)
    """Turns that are visible, ascending; folded ones are not in it."""
    upto: int = 0
    """Turns of the log that were looked at so far."""

    def level(self, item: int) -> Level:
        return self.levels.get(item, Level.RAW)

    def copy(self) -> Shown:
        return Shown(
            levels=dict(self.levels), texts=dict(self.texts), lines=dict(self.lines),
            stages=dict(self.stages), sections=dict(self.sections), mention=self.mention,
            note=self.note, turns=list(self.turns), upto=self.upto,
        )  # fmt: skip

    def extend(self, log: Log) -> list[int]:
        """Take in the log's new turns; they are visible at raw. Returns them."""
        fresh = list(range(self.upto, len(log.turns)))
        self.turns.extend(fresh)
        self.upto = len(log.turns)
        return fresh


def folded(log: Log, shown: Shown, turn: int) -> bool:
    """Whether nothing of a turn is to be seen: every item at stub or hidden, none pinned, no note standing there."""
    if shown.note is not None and shown.note.turn == turn:
        return False
    items = log.items_of_turn(turn)
    return bool(items) and all(gone(shown, i) for i in items)


def gone(shown: Shown, item: Item) -> bool:
    """Whether an item is shown by a fold note at most. Pastes and attachments at stub leave it in place."""
    return shown.level(item.id) <= (Level.HIDDEN if item.kind in (Kind.PASTE, Kind.ATTACHMENT) else Level.STUB)


def render_turn(log: Log, shown: Shown, turn: int, stubs: Stubs) -> list[Message]:
    """The messages of one turn at the levels its items have. The log's own dicts where nothing is changed."""
    note = shown.note if shown.note is not None and shown.note.turn == turn else None
    if note is None and all(shown.level(i) is Level.RAW for i in log.turn_items[turn]):
        return list(log.turns[turn].messages)
    if note is None and folded(log, shown, turn):
        return []
    edits: dict[int, Edit] = {}
    items = log.items_of_turn(turn)
    only_words = note is None and any(i.pinned for i in items) and all(i.pinned or gone(shown, i) for i in items)
    for item in items:
        if only_words and not item.pinned:
            edits.update({p: Edit(drop=True) for p in item.parts})
        else:
            edits.update(_edits(log, shown, item, stubs, note))
    messages = log.wire.render(log.turns[turn], edits)
    if note is not None and note.carrier == 0:
        messages = [*messages, log.wire.user_message(note.text)]
    return messages


def _edits(log: Log, shown: Shown, item: Item, stubs: Stubs, note: Note | None) -> dict[int, Edit]:
    level = shown.level(item.id)
    if note is not None and note.carrier == item.id:
        return _span_edits(log, item, stubs, note.text, keep_arguments=False)
    if level is Level.RAW:
        return {}
    parts = log.turns[item.turn].parts
    kind = log.turns[item.turn].kind
    if item.kind in (Kind.THOUGHT, Kind.REASONING):
        if item.kind is Kind.REASONING and not droppable(log, item):
            return {}
        return {p: Edit(drop=True) for p in item.parts} if level <= Level.STUB else {}
    if item.kind is Kind.ATTACHMENT and not gone(shown, item):
        return {p: Edit(text=shown.texts.get(item.id) or stubs.attachment(item)) for p in item.parts}
    text = shown.texts.get(item.id)
    if any(parts[p].type is PartType.CALL for p in item.parts):
        if level <= Level.STUB:
            text = stubs.in_place(item, ())
        return _span_edits(log, item, stubs, text, keep_arguments=level > Level.STUB)
    if kind is TurnKind.OBSERVATION and level <= Level.STUB:
        return {p: Edit(drop=True) for p in item.parts}
    if text is None:
        return {p: Edit(drop=True) for p in item.parts} if gone(shown, item) else {}
    first, *rest = item.parts
    return {first: Edit(text=text), **{p: Edit(drop=True) for p in rest}}


def droppable(log: Log, item: Item) -> bool:
    """Whether a reasoning block may go while its call stays: never where the wire binds the two."""
    return log.wire.name == "anthropic_messages" and not log.quirks.thinking


def _span_edits(log: Log, item: Item, stubs: Stubs, text: str | None, *, keep_arguments: bool) -> dict[int, Edit]:
    edits: dict[int, Edit] = {}
    results = []
    for number in item.parts:
        part = log.turns[item.turn].parts[number]
        if part.type is PartType.CALL:
            size = log.counter.counter.count(part.text)
            if size > (LARGE_ARGUMENTS if keep_arguments else SMALL_ARGUMENTS):
                edits[number] = Edit(arguments=dict(stubs.arguments(item)))
        else:
            results.append(number)
    if text is not None and results:
        edits[results[0]] = Edit(text=text)
        parts = log.turns[item.turn].parts
        edits.update({n: Edit(drop=True) for n in results[1:] if parts[n].type is not PartType.RESULT})
    return edits


@dataclass(slots=True)
class View:
    """Rendered messages, kept between commits so that a call only adds what is new."""

    messages: list[Message] = field(default_factory=list)
    tokens: int = 0
    per_turn: dict[int, int] = field(default_factory=dict)
    """Visible turn -> tokens."""
    settled: int = 0
    """Messages before this index belong to settled turns."""
    settled_tokens: int = 0

    def rebuild(self, log: Log, shown: Shown, stubs: Stubs) -> None:
        self.messages, self.tokens, self.per_turn = [], 0, {}
        self.settled = self.settled_tokens = 0
        self.add(log, shown, stubs, shown.turns)

    def add(self, log: Log, shown: Shown, stubs: Stubs, turns: Sequence[int]) -> None:
        """Append turns at the tail."""
        for turn in turns:
            messages = render_turn(log, shown, turn, stubs)
            raw = len(messages) == len(log.turns[turn].messages) and all(
                a is b for a, b in zip(messages, log.turns[turn].messages, strict=True)
            )
            cost = log.turn_tokens[turn] if raw else sum(log.counter.message(m) for m in messages)
            self.messages.extend(messages)
            self.per_turn[turn] = cost
            self.tokens += cost
            if turn < log.settled:
                self.settled, self.settled_tokens = len(self.messages), self.tokens

    def drop_provisional(self, log: Log) -> None:
        """Forget what was rendered of turns that may be parsed again."""
        del self.messages[self.settled :]
        self.tokens = self.settled_tokens
        for turn in [t for t in self.per_turn if t >= log.settled]:
            del self.per_turn[turn]


def cost_of(messages: Sequence[Message], log: Log) -> int:
    return sum(log.counter.message(m) for m in messages)
