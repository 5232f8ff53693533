"""Levels ahead of the decision: digests and costs of what is in sight, made while nobody waits for them.

A digest is a pure function of a `Job`, which holds all that it takes, so any thread may make it; the session's own
thread takes jobs out and adopts what was made. A view is the same whether its digests were made ahead or not.
"""

from __future__ import annotations

from collections.abc import Iterator

from foldaway.engine.digests import Digests, Job
from foldaway.engine.log import Log
from foldaway.engine.window import Shown
from foldaway.model.items import Item, Level

ENTRY_CHARS = 4_000
"""Items up to this size get their digest as they enter: a millisecond at 5 MB/s, the slowest that is allowed."""
ENTRY_TOTAL_CHARS = 20_000
"""Of what comes in at once so much at most: a session taken over whole is prepared piece by piece instead."""


def on_entry(log: Log, digests: Digests, since_turn: int) -> None:
    """Digests of small items in the turns that settled since. Bounded: milliseconds."""
    room = ENTRY_TOTAL_CHARS
    for turn in range(since_turn, log.settled if digests.wanted else since_turn):
        for item in log.items_of_turn(turn):
            if not digests.shown_for(item) or digests.ready(item):
                continue
            size = len(log.result_text(item))
            if size <= ENTRY_CHARS:
                room -= size
                if room < 0:
                    return
                digests.costs(item)


def waiting(log: Log, shown: Shown, digests: Digests) -> Iterator[Item]:
    """Items in sight that a later commit may show by a digest nobody made yet, oldest first: these fold first.

    O(visible items) for all of them.
    """
    turns = (*shown.turns, *range(shown.upto, log.settled)) if digests.wanted else ()
    for turn in turns:
        if turn >= log.settled:
            return
        for item in log.items_of_turn(turn):
            if shown.level(item.id) > Level.ABSTRACT and digests.shown_for(item) and not digests.ready(item):
                yield item


def next_job(log: Log, shown: Shown, digests: Digests) -> Job | None:
    """The digest to make next; None when there is none."""
    item = next(waiting(log, shown, digests), None)
    return None if item is None else digests.job(item, digests.room_chars(item))


def prepare(log: Log, shown: Shown, digests: Digests, most_chars: int) -> int:
    """Make digests until their texts add up to `most_chars`, one at least; returns how many still wait."""
    spent = left = 0
    for item in list(waiting(log, shown, digests)):
        if spent and spent + len(log.result_text(item)) > most_chars:
            left += 1
            continue
        spent += max(1, len(log.result_text(item)))
        digests.costs(item)
    return left
