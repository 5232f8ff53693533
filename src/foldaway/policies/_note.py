"""The fold note as policies fill it: stub lines, their anchors, and a last line of wanted anchors from everywhere else.

Lines of the newest folded items tell what was done; of older items those get a line that hold many wanted anchors.
Anchors are taken by predicted need per token; what is in sight anyway is not repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from operator import itemgetter

from foldaway.engine.snapshot import Snapshot
from foldaway.linking.index import Anchor
from foldaway.model.items import Item, Kind
from foldaway.policies._turns import IN_PLACE
from foldaway.scoring.need import need

_PIECE = re.compile(r"[^\s()\[\]{}\"'`,;=<>|&]+")
NO_HOME = frozenset({Kind.THOUGHT, Kind.REASONING, Kind.ANNOTATION, Kind.RECALLED, *IN_PLACE})
"""Kinds that get no line of their own."""

Ranked = Sequence[tuple[Anchor, Item]]


Lines = dict[int, list[str]]
"""Item -> the anchors its stub line names, for the items that get a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What a fold note shall tell."""

    lines: Lines
    mentioned: list[str]
    """Anchors named without a line."""
    tokens: int
    """What both take, with what was spent before."""


def newest_lines(snapshot: Snapshot, keep: AbstractSet[int], room: int) -> tuple[Lines, int]:
    """Stub lines of the newest folded items, wanted anchors or not, and their tokens; `keep`: turns that stay raw."""
    return newest_lines_but(snapshot, items_of(snapshot, keep), room)


def note(
    snapshot: Snapshot,
    keep: AbstractSet[int],
    room: int,
    ranked: Ranked,
    story: Lines,
    line_from: int,
    *,
    spent: int = 0,
) -> Noted:
    """The note when the turns in `keep` stay raw besides the protected ones; see `note_but`."""
    return note_but(snapshot, items_of(snapshot, keep), room, ranked, story, line_from, spent=spent)


def items_of(snapshot: Snapshot, turns: AbstractSet[int]) -> frozenset[int]:
    return frozenset(i.id for turn in turns for i in snapshot.turn_items(turn))


def newest_lines_but(snapshot: Snapshot, visible: AbstractSet[int], room: int) -> tuple[Lines, int]:
    """`newest_lines` where single items stay raw: `visible` are those besides the protected ones."""
    leaving = [item for item in snapshot.foldable if item.id not in visible]
    told = [*map(snapshot.item, snapshot.lines), *leaving]
    lines: Lines = {}
    spent = 0
    for item in sorted((i for i in told if i.kind not in NO_HOME), key=lambda i: -i.id):
        cost = snapshot.line_tokens(item, ())
        if spent + cost > room:
            break
        lines[item.id] = []
        spent += cost
    return lines, spent


def note_but(
    snapshot: Snapshot, visible: AbstractSet[int], room: int, ranked: Ranked, story: Lines, line_from: int,
    *, spent: int = 0, told: Iterable[str] = (),
) -> Noted:  # fmt: skip
    """The note within `room` tokens, when `visible` are the items that stay raw besides the protected ones.

    `story`: lines it has in any case, which took `spent` tokens. `line_from`: wanted anchors from which on another
    item gets a line. `told`: passages of the note whose words need no repeating.
    """
    lines: Lines = {number: list(held) for number, held in story.items()}
    chosen: dict[int, list[str]] = {}
    named = {piece for number in lines for piece in _pieces(snapshot.item(number).title)}
    named.update(piece for text in told for piece in _pieces(text))
    for anchor, home in ranked:
        if _in_sight(anchor, visible):
            continue
        if spent + 2 > room:
            break
        if anchor.literal in named or spent + anchor.tokens > room:
            continue
        named.update(_pieces(anchor.literal))
        chosen.setdefault(home.id, []).append(anchor.literal)
        spent += anchor.tokens
    for number in sorted(chosen, key=lambda n: (-len(chosen[n]), -n)):
        if number not in lines and len(chosen[number]) >= line_from:
            cost = snapshot.line_tokens(snapshot.item(number), ())
            if spent + cost <= room:
                lines[number] = []
                spent += cost
    mentioned: list[str] = []
    for number in sorted(chosen):
        lines.get(number, mentioned).extend(chosen[number])
    return Noted(lines=lines, mentioned=mentioned, tokens=spent)


def ranked_anchors(snapshot: Snapshot) -> Ranked:
    """Anchors in no text that stays in any case, each with an item that holds it; best need per token first."""
    visible = snapshot.protected | snapshot.words
    ranked: list[tuple[float, str, Anchor, Item]] = []
    index, step = snapshot.anchors, snapshot.step
    for anchor in index.active():
        home = None if _in_sight(anchor, visible) else _home(snapshot, anchor)
        if home is None:
            continue
        if not anchor.tokens:
            anchor.tokens = snapshot.count(" " + anchor.literal)
        ranked.append((-need(anchor, home.kind, index, step) / anchor.tokens, anchor.literal, anchor, home))
    ranked.sort(key=itemgetter(0, 1))
    return [(anchor, home) for _, _, anchor, home in ranked]


def _home(snapshot: Snapshot, anchor: Anchor) -> Item | None:
    for number in (*reversed(anchor.items), anchor.first_item):
        item = snapshot.item(number)
        if item.kind not in NO_HOME:
            return item
    return None


def _in_sight(anchor: Anchor, visible: AbstractSet[int]) -> bool:
    """Whether one of the items that hold an anchor is among these."""
    return anchor.said_item in visible or any(i in visible for i in anchor.items)


def _pieces(text: str) -> Iterator[str]:
    """What a text in the note names besides itself: its words, the file of a path, the names of a dotted chain."""
    for word in _PIECE.findall(text):
        yield word
        tail = word.rsplit("/", 1)[-1]
        yield tail
        if "." in tail:
            yield from tail.split(".")
