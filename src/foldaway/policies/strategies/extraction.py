"""Extraction: exact values instead of text. The fold note names the literals that later actions most likely repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Level
from foldaway.model.plan import Change, Mention
from foldaway.policies._note import note_but, ranked_anchors
from foldaway.policies.strategies._base import Allotment


@dataclass(frozen=True, slots=True)
class Extraction:
    """By predicted need per token (`scoring.need`); what stands in sight anyway is not named again."""

    line_from: int = 3
    """Literals from which on a folded item gets a line of its own, which tells where they come from."""

    def propose(self, snapshot: Snapshot, share: Allotment) -> Iterator[Change | Mention]:
        whole = frozenset(i for i, level in share.shown.items() if level >= Level.MASKED)
        standing = {i for i, level in share.shown.items() if level is Level.ABSTRACT}
        story: dict[int, list[str]] = {i: [] for i, level in share.shown.items() if level is Level.STUB}
        noted = note_but(
            snapshot, whole, share.left, ranked_anchors(snapshot), story, self.line_from,
            told=(snapshot.digest(snapshot.item(i)) for i in sorted(standing)),
        )  # fmt: skip
        share.charge(min(share.left, noted.tokens))
        mentioned = list(noted.mentioned)
        for number, anchors in sorted(noted.lines.items()):
            if number in standing:
                # It stands in its place by a digest; what the digest leaves out is named without a line.
                mentioned.extend(anchors)
            elif anchors or number not in story:
                share.shown[number] = Level.STUB
                yield Change(
                    item=number, level=Level.STUB, reason="extraction: it holds what is likely to be needed",
                    anchors=tuple(anchors),
                )  # fmt: skip
        yield Mention(anchors=tuple(mentioned))
