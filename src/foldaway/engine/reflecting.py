"""Reflection: a pass over what is folded away that distils, merges and finds new links (S1.14). Rules only, no model.

It decides nothing: what it finds goes into the ledger, and from the next commit on the notes, digests and links are the
better for it. The log stays as it is. A model may add to it beside the loop (`Session.infer_link`, `set_section`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any
from zlib import crc32

from foldaway.engine.digests import Digests, carries
from foldaway.engine.links import infer_entry, inferred
from foldaway.engine.log import Log
from foldaway.engine.window import Shown
from foldaway.linking.anchors import AnchorKind
from foldaway.linking.graph import Link
from foldaway.linking.subgoals import State, SubGoal
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Section

TITLE = "done before"
MADE_BY = "reflection"
ROOM_TOKENS = 400
"""Of the fold note, for what is distilled."""
MOST_ITEMS = 4_000
"""The newest items of the session that are looked at."""
MOST_GOALS = 200
MOST_LINKS = 60
DISTILLED_CHARS = 240
LEAST_TOKENS = 60
LEAST_LINES = 3
ALIKE = 0.9
"""Two looks at something are the same when so much of their lines is."""
SKETCH = 4
"""Lines by which candidates are found: two texts that share none of their lowest fingerprints are not compared."""
MOST_ALIKE = 8
"""Older texts that one text is compared with."""
RARE = 3
"""A value that more observations than this hold links nothing."""
LEAST_SHARED = 2
SUREST = 0.9
"""Confidence that a shared value can give at the most."""
_LOOKS = frozenset({Kind.READ, Kind.LISTING, Kind.SEARCH})
_NUMBERED = re.compile(r"^\s*\d{1,7}[\t:|→]\s?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """A finished sub-goal in a line."""

    text: str
    items: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """What a pass over the archive found."""

    distilled: tuple[Distilled, ...] = ()
    """Finished sub-goals of which nothing is in sight, oldest first."""
    merged: tuple[tuple[int, int], ...] = ()
    """(older, newer): results that say the same, or nearly; the older one points to the newer from now on."""
    links: tuple[Link, ...] = ()
    """New inferred links, surest first, each with its values in `why`."""

    @property
    def section(self) -> Section:
        """What the fold note is to tell; without text when there is nothing to tell."""
        sources = sorted({i for one in self.distilled for i in (one.items[0], one.items[-1])})
        return Section(title=TITLE, text="\n".join(one.text for one in self.distilled), sources=tuple(sources))

    def entries(self) -> Iterator[dict[str, Any]]:
        """Merges and links for the ledger."""
        for older, newer in self.merged:
            yield {"type": "merge", "item": older, "into": newer, "source": MADE_BY}
        for link in self.links:
            yield infer_entry(link, MADE_BY)


def reflect(log: Log, shown: Shown, digests: Digests, room_tokens: int = ROOM_TOKENS) -> Reflection:
    """Look through the archive. Changes nothing; the same archive again finds no more merges and links.

    Linear in the texts of the newest `MOST_ITEMS` items.
    """
    newest = [log.items[i] for i in sorted(i for i in log.items if i > 0)[-MOST_ITEMS:]]
    items = [item for item in newest if item.turn < log.settled]
    folded = frozenset(i.id for i in items if not i.pinned and shown.level(i.id) <= Level.STUB)
    merged = _merged(log, [i for i in items if _comparable(log, i)], folded)
    return Reflection(
        distilled=_distilled(log, digests, folded, room_tokens), merged=merged,
        links=_new_links(log, items, folded, frozenset(older for older, _ in merged)),
    )  # fmt: skip


def _comparable(log: Log, item: Item) -> bool:
    return item.tokens >= LEAST_TOKENS and not item.pinned and carries(log, item) and not log.superseded_by(item.id)


def _merged(log: Log, items: Sequence[Item], folded: frozenset[int]) -> tuple[tuple[int, int], ...]:
    """Each folded item with the next newer one that says the same, by ascending id."""
    found: dict[int, int] = {}
    buckets: dict[tuple[str, int], list[int]] = {}
    lines: dict[int, frozenset[str]] = {}
    for item in items:
        mine = lines[item.id] = _lines(log.result_text(item))
        if len(mine) < LEAST_LINES:
            continue
        marks = sorted(crc32(line.encode("utf-8", "surrogatepass")) for line in mine)[:SKETCH]
        older = {i for mark in marks for i in buckets.get((item.name, mark), ())}
        for candidate in sorted(older & folded, reverse=True)[:MOST_ALIKE]:
            if candidate not in found and _alike(log.items[candidate], lines[candidate], item, mine):
                found[candidate] = item.id
        for mark in marks:
            buckets.setdefault((item.name, mark), []).append(item.id)
    return tuple(sorted(found.items()))


def _alike(older: Item, before: frozenset[str], newer: Item, after: frozenset[str]) -> bool:
    """Whether the newer text leaves nothing to the older one, or next to nothing where both only looked."""
    if before <= after:
        return True
    looks = older.kind in _LOOKS and newer.kind in _LOOKS
    return looks and len(before & after) >= ALIKE * len(before | after)


def _lines(text: str) -> frozenset[str]:
    return frozenset(line for raw in text.split("\n") if (line := _NUMBERED.sub("", raw).strip()))


def _distilled(log: Log, digests: Digests, folded: frozenset[int], room_tokens: int) -> tuple[Distilled, ...]:
    """Finished sub-goals that are out of sight, the newest that fit, oldest first."""
    told: list[Distilled] = []
    left = room_tokens
    for goal in reversed(log.subgoals.all[-MOST_GOALS:]):
        one = _told(log, digests, goal, folded)
        if one is None:
            continue
        left -= log.counter.counter.count(one.text) + 1
        if left < 0:
            break
        told.append(one)
    return tuple(reversed(told))


def _told(log: Log, digests: Digests, goal: SubGoal, folded: frozenset[int]) -> Distilled | None:
    items = [i.id for turn in goal.turns for i in log.items_of_turn(turn) if i.id > 0 and not i.pinned]
    if goal.state is not State.FINISHED or not items or not folded.issuperset(items):
        return None
    stage = digests.stage(items)
    if not stage:
        return None
    text = f"{goal.text}: {stage}" if goal.text else stage
    cut = text if len(text) <= DISTILLED_CHARS else text[: DISTILLED_CHARS - 1] + "…"
    return Distilled(text=cut, items=tuple(items))


def _new_links(log: Log, items: Sequence[Item], folded: frozenset[int], merged: frozenset[int]) -> tuple[Link, ...]:
    """Observations that share rare values with older, folded ones and are not linked to them."""
    shared: dict[tuple[int, int], dict[str, int]] = {}
    known = {item.id for item in items}
    for item in items:
        for literal in log.anchors.of_item(item.id):
            anchor = log.anchors.get(literal)
            if anchor is None or anchor.kind is AnchorKind.NUMBER or not 1 < anchor.seen <= RARE:
                continue
            for older, newer in combinations(sorted({i for i in anchor.suppliers if i in known}), 2):
                if item.id == older and older in folded and log.items[older].turn < log.items[newer].turn:
                    shared.setdefault((newer, older), {})[literal] = anchor.seen
    found = [_link(newer, older, values) for (newer, older), values in sorted(shared.items())]
    fresh = [k for k in found if k is not None and k.target not in merged and not _known(log, k)]
    return tuple(sorted(fresh, key=lambda k: (-k.weight, k.source, k.target))[:MOST_LINKS])


def _link(source: int, target: int, values: dict[str, int]) -> Link | None:
    if len(values) < LEAST_SHARED:
        return None
    doubt = 1.0
    for seen in values.values():
        doubt *= 1.0 - 1.0 / seen
    named = ", ".join(list(values)[:3])
    return inferred(source, target, round(min(SUREST, 1.0 - doubt), 3), f"both hold {named}")


def _known(log: Log, link: Link) -> bool:
    """Whether the graph knows of the pair, or the newer one says the same as the older by now."""
    known = (*log.graph.needs(link.source), *log.graph.guesses(link.source))
    return any(k.target == link.target for k in known) or log.superseded_by(link.target) > 0
