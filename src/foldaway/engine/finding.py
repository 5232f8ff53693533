"""Items of a session about some words: best passage first. No index: the log is read, at the cost of its size.

Two looks: which items hold the telling words at all, then, for the best of these, how close together they stand. What
came back from a tool and what the agent itself wrote in its call are looked at apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from foldaway.engine.log import Log
from foldaway.model.items import Item, Kind
from foldaway.retrieval.passages import HEADING, Place, Text, lowered, places
from foldaway.retrieval.terms import Asked, asked, telling

LOOKED_AT = 20
"""Items whose passages are looked at."""
OUTDATED = 0.9
"""An item that a newer one replaces, or a file that was edited since, counts so much."""
OWN_WORDS = 0.6
"""What the agent wrote itself: it asks for what it was told."""
IN_SIGHT = 0.6
"""Words of people stay in the view."""
JUST_READ = 0.2
"""Short texts of the two newest turns: the question that made the model ask, which holds its words and is in sight."""
SHORT_TOKENS = 300
"""From this size on the newest results may stand masked in the view."""
NEWEST = 0.05
"""So much more counts the newest item than the first one."""
_OWN = frozenset({Kind.THOUGHT, Kind.REASONING, Kind.PLAN})
_PINNED = frozenset({Kind.USER, Kind.GOAL, Kind.INSTRUCTION})


@dataclass(frozen=True, slots=True)
class Hit:
    """An item and where in it the words stand."""

    item: Item
    score: float
    """Of the best passage; comparable within one search."""
    covered: float
    """0..1: share of what the words tell that the item holds."""
    places: tuple[Place, ...]
    """Best first, in the call where `in_call`; empty when the heading alone fits."""
    in_call: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What a search found."""

    hits: tuple[Hit, ...]
    """Best first."""
    unknown: tuple[str, ...]
    """Words of the query, stemmed, that no item holds."""


def find_items(
    log: Log, query: str, limit: int, first: int = 1, last: int | None = None, *, by_model: bool = False
) -> Finding:
    """The best fitting items, best first; of equal ones the newer first. Recalls are no sources. O(size of the log).

    Only items from `first` to `last`. `by_model`: a model asks, which has the newest turns before its eyes.
    """
    wanted = asked(query)
    ids = range(max(1, first), min(log.next_id, log.next_id if last is None else last + 1))
    items = [log.items[i] for i in ids if i in log.items and log.items[i].kind is not Kind.RECALLED]
    held = [_held(log, item, wanted) for item in items]
    told = telling(wanted.terms, held)
    whole = sum(told)
    scores = [sum(t * h for t, h in zip(told, one, strict=True)) for one in held]
    rough = sorted(zip(scores, items, strict=True), key=lambda entry: (-entry[0], -entry[1].id))
    hits = [_hit(log, item, wanted, told, score / whole) for score, item in rough[:LOOKED_AT] if score > 0]
    if by_model:
        hits = [replace(hit, score=JUST_READ * hit.score) if _just_read(log, hit.item) else hit for hit in hits]
    hits.sort(key=lambda hit: -hit.item.id)
    hits.sort(key=attrgetter("score"), reverse=True)
    unknown = tuple(term.text for number, term in enumerate(wanted.terms) if not any(one[number] for one in held))
    return Finding(tuple(hits[:limit]), unknown)


def _held(log: Log, item: Item, wanted: Asked) -> list[float]:
    low = lowered(f"{item.title}\n{log.text_of(item)}")
    return [term.held(low) for term in wanted.terms]


def _hit(log: Log, item: Item, wanted: Asked, told: Sequence[float], covered: float) -> Hit:
    call = log.action_text(item)
    low = lowered(f"{item.title}\n{call}") if call else ""
    heading = [term.held(low) if low else 0.0 for term in wanted.terms]
    body = log.text_of(item) if item.kind is Kind.ATTACHMENT else log.result_text(item)
    result = places(Text.of(body), wanted, told, heading)
    own = places(Text.of(call), wanted, told) if call else []
    weight = _weight(log, item)
    if own and (not result or own[0].score * OWN_WORDS > result[0].score):
        return Hit(item, own[0].score * OWN_WORDS * weight, covered, tuple(own), in_call=True)
    alone = HEADING * sum(t * h for t, h in zip(told, heading, strict=True))
    return Hit(item, (result[0].score if result else alone) * weight, covered, tuple(result))


def _weight(log: Log, item: Item) -> float:
    weight = 1.0 + NEWEST * item.id / max(1, log.next_id)
    if item.id in log.newer or _edited(log, item):
        weight *= OUTDATED
    if item.kind in _OWN:
        weight *= OWN_WORDS
    if item.kind in _PINNED:
        weight *= IN_SIGHT
    return weight


def _edited(log: Log, item: Item) -> bool:
    """A read of a file that was edited since."""
    return item.kind is Kind.READ and any(edit > item.id for file in item.targets for edit in log.edits_of(file))


def _just_read(log: Log, item: Item) -> bool:
    return item.turn >= len(log.turns) - 2 and item.tokens < SHORT_TOKENS
