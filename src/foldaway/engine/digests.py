"""Digests of items: what a tool's result still tells when most of it is folded away.

Made once for an item and a size, and kept: a decision later only looks them up. Pure otherwise, so that a restarted
process would make the same; what was committed is kept word for word in the ledger all the same. A better text may be
handed in as a value (`replace`), say by a model beside the loop; the caller keeps it in the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from foldaway.compressors.base import Digest, Hint
from foldaway.compressors.checker import unsupported
from foldaway.compressors.registry import Registry
from foldaway.compressors.stage import Call
from foldaway.compressors.stage import digest as stage_digest
from foldaway.compressors.superseded import digest as superseded_digest
from foldaway.engine.log import Log
from foldaway.engine.stubs import Stubs
from foldaway.engine.window import Shown
from foldaway.model.items import Item, Kind, Level
from foldaway.model.wire import PartType

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


@dataclass(slots=True)
class Digests:
    """The digests of one branch."""

    log: Log
    stubs: Stubs
    registry: Registry = field(default_factory=Registry)
    _texts: dict[tuple[int, int, int], str] = field(default_factory=dict)
    _tokens: dict[int, int] = field(default_factory=dict)
    _stages: dict[tuple[int, int], str] = field(default_factory=dict)
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
        known = self._tokens.get(item.id)
        if known is None:
            known = self._tokens[item.id] = self.log.counter.counter.count(self.text(item))
        return known

    def within(self, item: Item, room_chars: int) -> str:
        """A digest in about `room_chars` characters, its mark beside."""
        key = (item.id, room_chars, self.log.superseded_by(item.id))
        known = self._texts.get(key)
        if known is None:
            digest = self.of(item, room_chars)
            known = self._texts[key] = self.stubs.digest(item, digest.text, digest.content, digest.lost)
        return known

    def of(self, item: Item, room_chars: int) -> Digest:
        """The digest as a value, with its facts; linear in the item's text (and in that of what superseded it)."""
        newest = self.log.superseded_by(item.id)
        if newest:
            later = self.log.result_text(self.log.items[newest])
            return superseded_digest(self.log.result_text(item), later, newest, room_chars)
        return self.registry.digest(self.log.result_text(item), hint_of(self.log, item), room_chars)

    def stage(self, items: Sequence[int]) -> str:
        """Several items as one stage, by the text that the fold note gives it. Once for each stretch."""
        key = items[0], items[-1]
        known = self._stages.get(key)
        if known is None:
            calls = [call for item in map(self.log.items.__getitem__, items) if (call := self._call(item))]
            known = self._stages[key] = self.stubs.stage(stage_digest(calls, STAGE_CHARS).text) if calls else ""
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
        self._tokens.pop(item.id, None)

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


def hint_of(log: Log, item: Item) -> Hint:
    """What the log knows about an item's text besides the text."""
    parts = [log.turns[item.turn].parts[p] for p in item.parts]
    call = next((p for p in parts if p.type is PartType.CALL), None)
    arguments = call.arguments if call is not None and isinstance(call.arguments, dict) else None
    path = item.targets[0] if len(item.targets) == 1 and item.kind is Kind.READ else ""
    return Hint(tool=call.name if call else "", arguments=arguments, path=path, error=item.kind is Kind.ERROR)
