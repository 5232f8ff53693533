"""Extraction: exact values instead of text. The fold note names the literals that later actions most likely repeat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.linking.index import Anchor
from foldaway.model.items import Item, Level
from foldaway.model.plan import Mention
from foldaway.policies._note import ranked_anchors
from foldaway.policies.strategies._base import Allotment

_PIECE = re.compile(r"[^\s()\[\]{}\"'`,;=<>|&]+")


@dataclass(frozen=True, slots=True)
class Extraction:
    """By predicted need per token (`scoring.need`); what stands in sight anyway is not named again."""

    def propose(self, snapshot: Snapshot, share: Allotment) -> Iterator[Mention]:
        named = {piece for text in self._told(snapshot, share) for piece in pieces(text)}
        chosen: dict[int, list[str]] = {}
        for anchor, home in self._ranked(snapshot, share):
            if anchor.literal in named or not share.charge(anchor.tokens):
                if share.left < 3:
                    break
                continue
            named.update(pieces(anchor.literal))
            chosen.setdefault(home.id, []).append(anchor.literal)
        # By item, as they occurred: what belongs together stands together.
        yield Mention(anchors=tuple(literal for number in sorted(chosen) for literal in chosen[number]))

    def _told(self, snapshot: Snapshot, share: Allotment) -> Iterator[str]:
        """Texts that a digest, a cleaned result or a line shows of an item."""
        for number, level in share.shown.items():
            item = snapshot.item(number)
            if level is Level.ABSTRACT:
                yield snapshot.digest(item)
            elif level is Level.STUB:
                yield item.title

    def _ranked(self, snapshot: Snapshot, share: Allotment) -> list[tuple[Anchor, Item]]:
        """Anchors in no text that is shown whole, each with an item that holds it; best need per token first."""
        whole = {i for i, level in share.shown.items() if level >= Level.MASKED}
        return [(a, home) for a, home in ranked_anchors(snapshot) if whole.isdisjoint(a.items)]


def pieces(text: str) -> Iterator[str]:
    """What a text names besides itself: its words, the file of a path, the names of a dotted chain."""
    for word in _PIECE.findall(text):
        yield word
        tail = word.rsplit("/", 1)[-1]
        yield tail
        if "." in tail:
            yield from tail.split(".")
