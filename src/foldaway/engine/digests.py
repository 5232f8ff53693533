"""Digests of items: what a tool's result still tells when most of it is folded away.

Made once for an item and a size, and kept: a decision later only looks them up. Pure otherwise, so that a restarted
process would make the same; what was committed is kept word for word in the ledger all the same. A better text may be
handed in as a value (`replace`), say by a model beside the loop; the caller keeps it in the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from foldaway.compressors import attachment
from foldaway.compressors.base import Digest, Hint
from foldaway.compressors.checker import unsupported
from foldaway.compressors.excerpt import cut_head
from foldaway.compressors.registry import Registry
from foldaway.compressors.stage import Call
from foldaway.compressors.stage import digest as stage_digest
from foldaway.compressors.superseded import digest as superseded_digest
from foldaway.engine.log import Log
from foldaway.engine.stubs import MASK_CHARS, Stubs
from foldaway.engine.window import Shown
from foldaway.model.items import Item, Kind, Level
from foldaway.model.wire import PartType, TurnKind

SHARE = 0.25
"""Of an item's tokens its digest may take."""
SMALLEST_TOKENS = 300
"""Items below are shown raw or not at all: the frame of a digest would eat what it saves."""
LARGEST_DIGEST_TOKENS = 1_500
NO_DIGEST = frozenset({Kind.USER, Kind.GOAL, Kind.THOUGHT, Kind.REASONING, Kind.INSTRUCTION, Kind.ATTACHMENT})
STAGE_CHARS = 280
"""What is told of a stage."""
MADE_BY_CHARS = 60
"""Of the name of whoever wrote a digest, its mark shows this much."""
ATTACHMENT_CHARS = 400
"""The line that stands for a picture or a document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A digest to make, with all that it takes: values that nobody changes, so any thread may `make` it."""

    item: Item
    room_chars: int
    text: str
    hint: Hint
    registry: Registry
    newest: int = 0
    """The item that superseded this one; 0: none did."""
    later: str = ""
    """Its text."""
    media: str = ""
    """A line for each picture, document or sound that came back with the text."""

    def make(self) -> Digest:
        """Linear in the texts."""
        # Of a picture nobody can say what the newer one changed.
        if self.newest and not self.media:
            return superseded_digest(self.text, self.later, self.newest, self.room_chars)
        if not self.media:
            return self.registry.digest(self.text, self.hint, self.room_chars)
        lines = cut_head(self.media, self.room_chars)
        if not self.text.strip():
            return Digest(text=lines, content="media", lost="all but its description")
        found = self.registry.digest(self.text, self.hint, max(0, self.room_chars - len(lines) - 1))
        return replace(found, text=f"{found.text}\n{lines}", lost=", ".join(filter(None, (found.lost, "pictures"))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What an item costs at each level, in the target model's tokens."""

    raw: int
    masked: int
    """Head and tail; `raw` where there is nothing to cut."""
    abstract: int
    """Its digest with the mark; `raw` for items that no digest stands for."""
    stub: int
    """Its line in a fold note, before any anchors."""


@dataclass(slots=True)
class Digests:
    """The digests of one branch."""

    log: Log
    stubs: Stubs
    registry: Registry = field(default_factory=Registry)
    wanted: bool = True
    """Whether the policy ever shows an item by its digest: then they are made ahead (see `preparing`)."""
    _texts: dict[tuple[int, int, int], str] = field(default_factory=dict)
    _costs: dict[tuple[int, int], Costs] = field(default_factory=dict)
    _lines: dict[tuple[int, int], int] = field(default_factory=dict)
    _stages: dict[tuple[tuple[int, ...], int], str] = field(default_factory=dict)
    _renditions: dict[tuple[int, str], str] = field(default_factory=dict)
    _given: dict[int, str] = field(default_factory=dict)
    """Texts handed in, with their mark."""

    def worthwhile(self, item: Item) -> bool:
        """Whether an item is large enough, and of a kind, to be shown by a digest."""
        return item.tokens >= SMALLEST_TOKENS and item.kind not in NO_DIGEST and item.id > 0

    def shown_for(self, item: Item) -> bool:
        """Whether an item is ever shown by its digest: `worthwhile`, and no paste (these keep head and tail)."""
        return self.worthwhile(item) and item.kind is not Kind.PASTE

    def text(self, item: Item) -> str:
        """The digest that stands for an item at `abstract`, with the mark that says what it is."""
        given = self._given.get(item.id)
        return self.within(item, self.room_chars(item)) if given is None else given

    def room_chars(self, item: Item) -> int:
        """What the text of an item's digest may take."""
        room = min(LARGEST_DIGEST_TOKENS, int(item.tokens * SHARE))
        return int(room * self._chars_per_token(item))

    def tokens(self, item: Item) -> int:
        """What `text` costs. Microseconds after the first time."""
        return self.costs(item).abstract

    def costs(self, item: Item) -> Costs:
        """What the item costs at each level; makes its digest. Microseconds after the first time."""
        key = item.id, self.log.superseded_by(item.id)
        known = self._costs.get(key)
        if known is None:
            count = self.log.counter.counter.count
            masked = abstract = item.tokens
            text = self.log.result_text(item)
            if item.kind not in NO_DIGEST and len(text) > 2 * MASK_CHARS:
                masked = min(masked, count(self.stubs.mask(item, text, MASK_CHARS)))
            if self.worthwhile(item):
                abstract = count(self.text(item))
            known = Costs(raw=item.tokens, masked=masked, abstract=abstract, stub=self.line_tokens(item))
            if self._settled(item):
                self._costs[key] = known
        return known

    def line_tokens(self, item: Item) -> int:
        """What the item's line costs in a fold note, before any anchors."""
        key = item.id, self.log.superseded_by(item.id)
        known = self._lines.get(key)
        if known is None:
            line = self.stubs.line(item, (), said_beside(self.log, item), key[1])
            known = self.log.counter.counter.count(line) + 1
            if self._settled(item):
                self._lines[key] = known
        return known

    def ready(self, item: Item) -> bool:
        """Whether the item's digest is made, so that a decision only looks it up."""
        newest = self.log.superseded_by(item.id)
        return item.id in self._given or (item.id, self.room_chars(item), newest) in self._texts

    def within(self, item: Item, room_chars: int) -> str:
        """A digest in about `room_chars` characters, its mark beside."""
        key = item.id, room_chars, self.log.superseded_by(item.id)
        known = self._texts.get(key)
        if known is None:
            known = self.adopt(job := self.job(item, room_chars), job.make())
        return known

    def of(self, item: Item, room_chars: int) -> Digest:
        """The digest as a value, with its facts; linear in the item's text (and in that of what superseded it)."""
        return self.job(item, room_chars).make()

    def job(self, item: Item, room_chars: int) -> Job:
        """All that it takes to make the item's digest, for whoever makes it. O(its text)."""
        newest = self.log.superseded_by(item.id)
        return Job(
            item=item, room_chars=room_chars, text=self.log.result_text(item), hint=hint_of(self.log, item),
            registry=self.registry, newest=newest,
            later=self.log.result_text(self.log.items[newest]) if newest else "", media=self._media(item),
        )  # fmt: skip

    def adopt(self, job: Job, digest: Digest) -> str:
        """Keep what a job made; the text with its mark. From the session's own thread."""
        text = self.stubs.digest(job.item, digest.text, digest.content, digest.lost)
        # An item that waits for results may come again under its id with more in it.
        if self._settled(job.item):
            self._texts[job.item.id, job.room_chars, job.newest] = text
        return text

    def can(self, compressor: str) -> bool:
        """Whether a compressor of this name is registered."""
        return any(known.name == compressor for known in self.registry.compressors)

    def by(self, compressor: str, item: Item) -> str:
        """The item's text as one compressor of the registry leaves it with all the room it wants, with its mark.

        The text itself where it shortens nothing. Linear in the text once, then looked up.
        """
        key = item.id, compressor
        known = self._renditions.get(key)
        if known is None:
            text = self.log.result_text(item)
            made = next(c for c in self.registry.compressors if c.name == compressor)
            digest = made.digest(text, hint_of(self.log, item), len(text))
            shorter = len(digest.text) < len(text)
            known = self.stubs.digest(item, digest.text, digest.content, digest.lost) if shorter else text
            if self._settled(item):
                self._renditions[key] = known
        return known

    def attachment(self, item: Item) -> Digest:
        """A picture, a document or sound as one line. Reads the head of its data only."""
        return attachment.digest(attachment.described(self.log.block(item), item.tokens), ATTACHMENT_CHARS)

    def _media(self, item: Item) -> str:
        blocks = [] if item.kind is Kind.ATTACHMENT else self.log.media(item)
        found = [attachment.described(block, self.log.media_tokens(block)) for block in blocks]
        return "\n".join(attachment.digest(one, ATTACHMENT_CHARS).text for one in found)

    def _settled(self, item: Item) -> bool:
        return item.turn < self.log.settled

    def stage(self, items: Sequence[int], chars: int = STAGE_CHARS) -> str:
        """Several items as one stage, by the text that the fold note gives it. Once for each stretch and room."""
        key = tuple(items), chars
        known = self._stages.get(key)
        if known is None:
            calls = [call for item in map(self.log.items.__getitem__, items) if (call := self._call(item))]
            known = self._stages[key] = self.stubs.stage(stage_digest(calls, chars).text) if calls else ""
        return known

    def _call(self, item: Item) -> Call | None:
        hint = hint_of(self.log, item)
        if not hint.tool:
            return None
        text = self.log.result_text(item)
        return Call(item=item.id, tool=hint.tool, arguments=hint.arguments, text=text, error=hint.error)

    def replace(self, item: Item, text: str, made_by: str) -> None:
        """Use this text instead from now on; what is shown already stays until the next commit. Checks nothing."""
        self._given[item.id] = self.stubs.digest(item, text, f"written by {made_by[:MADE_BY_CHARS]}", "")
        self._costs.pop((item.id, self.log.superseded_by(item.id)), None)

    def outdated(self, shown: Shown) -> list[int]:
        """Items shown by another digest than the one handed in for them, ascending. O(digests handed in)."""
        return [
            number
            for number, text in sorted(self._given.items())
            if shown.level(number) is Level.ABSTRACT and shown.texts.get(number) != text
        ]

    def objection(self, item: Item, text: str) -> str:
        """Why a text may not stand for an item; "" when it may. Linear in the item's text."""
        if not self.shown_for(item):
            return f"a {item.kind.value} of {item.tokens} tokens is not shown by a digest"
        if item.turn >= self.log.settled:
            return "it waits for results"
        if not text.strip():
            return "the digest is empty"
        if self.log.counter.counter.count(text) > item.tokens // 2:
            return f"a digest may take half of the {item.tokens} tokens that it stands for"
        made_up = unsupported(text, self.log.text_of(item))
        return f"the source does not hold {', '.join(made_up[:5])}" if made_up else ""

    def _chars_per_token(self, item: Item) -> float:
        return max(1.0, len(self.log.result_text(item)) / max(1, item.tokens))


def said_beside(log: Log, item: Item) -> str:
    """The agent's own words beside a call, for the first call of its turn: what it was after."""
    for other in log.items_of_turn(item.turn):
        if other.kind is Kind.THOUGHT:
            return log.text_of(other)
        if carries(log, other):
            break
    return ""


def carries(log: Log, item: Item) -> bool:
    """Whether an item holds something that came back, in whose place a text can stand."""
    turn = log.turns[item.turn]
    if turn.kind is TurnKind.OBSERVATION:
        return True
    return any(turn.parts[p].type is PartType.RESULT for p in item.parts)


def hint_of(log: Log, item: Item) -> Hint:
    """What the log knows about an item's text besides the text."""
    parts = [log.turns[item.turn].parts[p] for p in item.parts]
    call = next((p for p in parts if p.type is PartType.CALL), None)
    arguments = call.arguments if call is not None and isinstance(call.arguments, dict) else None
    path = item.targets[0] if len(item.targets) == 1 and item.kind is Kind.READ else ""
    return Hint(tool=call.name if call else "", arguments=arguments, path=path, error=item.kind is Kind.ERROR)
