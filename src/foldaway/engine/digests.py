"""Digests of items: what a tool's result still tells when most of it is folded away.

Made once for an item and a size, and kept: a decision later only looks them up. Pure otherwise, so that a restarted
process would make the same; what was committed is kept word for word in the ledger all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from foldaway.compressors.base import Digest, Hint
from foldaway.compressors.registry import Registry
from foldaway.engine.log import Log
from foldaway.engine.stubs import Stubs
from foldaway.model.items import Item, Kind
from foldaway.model.wire import PartType

SHARE = 0.25
"""Of an item's tokens its digest may take."""
SMALLEST_TOKENS = 300
"""Items below are shown raw or not at all: the frame of a digest would eat what it saves."""
LARGEST_DIGEST_TOKENS = 1_500
NO_DIGEST = frozenset({Kind.USER, Kind.GOAL, Kind.THOUGHT, Kind.REASONING, Kind.INSTRUCTION, Kind.ATTACHMENT})


@dataclass(slots=True)
class Digests:
    """The digests of one branch."""

    log: Log
    stubs: Stubs
    registry: Registry = field(default_factory=Registry)
    _texts: dict[tuple[int, int], str] = field(default_factory=dict)
    _tokens: dict[int, int] = field(default_factory=dict)

    def worthwhile(self, item: Item) -> bool:
        """Whether an item is large enough, and of a kind, to be shown by a digest."""
        return item.tokens >= SMALLEST_TOKENS and item.kind not in NO_DIGEST and item.id > 0

    def text(self, item: Item) -> str:
        """The digest that stands for an item at `abstract`, with the mark that says what it is."""
        room = min(LARGEST_DIGEST_TOKENS, int(item.tokens * SHARE))
        return self.within(item, int(room * self._chars_per_token(item)))

    def tokens(self, item: Item) -> int:
        """What `text` costs. Microseconds after the first time."""
        known = self._tokens.get(item.id)
        if known is None:
            known = self._tokens[item.id] = self.log.counter.counter.count(self.text(item))
        return known

    def within(self, item: Item, room_chars: int) -> str:
        """A digest in about `room_chars` characters, its mark beside."""
        key = (item.id, room_chars)
        known = self._texts.get(key)
        if known is None:
            digest = self.of(item, room_chars)
            known = self._texts[key] = self.stubs.digest(item, digest.text, digest.content, digest.lost)
        return known

    def of(self, item: Item, room_chars: int) -> Digest:
        """The digest as a value, with its facts; linear in the item's text."""
        return self.registry.digest(self.log.result_text(item), hint_of(self.log, item), room_chars)

    def _chars_per_token(self, item: Item) -> float:
        return max(1.0, len(self.log.result_text(item)) / max(1, item.tokens))


def hint_of(log: Log, item: Item) -> Hint:
    """What the log knows about an item's text besides the text."""
    parts = [log.turns[item.turn].parts[p] for p in item.parts]
    call = next((p for p in parts if p.type is PartType.CALL), None)
    arguments = call.arguments if call is not None and isinstance(call.arguments, dict) else None
    path = item.targets[0] if len(item.targets) == 1 and item.kind is Kind.READ else ""
    return Hint(tool=call.name if call else "", arguments=arguments, path=path, error=item.kind is Kind.ERROR)
