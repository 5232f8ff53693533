"""Facts that proved useful: what the user told, what was made, and values of results that the agent used later."""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldaway.compressors.facts import facts as facts_in
from foldaway.engine.log import Log
from foldaway.linking.kinds import one_line
from foldaway.linking.state import Fact, Topic
from foldaway.model.items import Item, Kind
from foldaway.protocols import Memory
from foldaway.remembering._told import command, source_of, subject_of
from foldaway.session import Session

MOST_CHARS = 60_000
"""Of a result's text; a longer one is data, and is searched rather than learned."""
_CREATES = re.compile(r"\b(?:create|push|publish|open|submit|merge)\b")
"""A page whose address a command prints was made by it only if it says so: listings print addresses too."""
_CODE = re.compile(
    r"\.(?:[cm]?[jt]sx?|py|pyi|go|rs|java|kt|rb|php|cs|c|h|cc|cpp|hpp|swift|scala|sh|css|html?|vue|sql)$", re.I
)
"""Lines of such a file that look like `key: value` are code, no settings."""
SHORTEST = 4
"""A shorter value comes up again by chance."""
_KINDS = frozenset({Kind.READ, Kind.RESULT, Kind.COMMAND, Kind.SEARCH, Kind.EDIT})
_PASSING = frozenset(
    "exit code|status|error|passed|failed|errors|warnings|skipped|rows|columns|files|lines|tests|seconds|matches"
    "|results|records|items|entries|line".split("|")
)
"""Keys of figures that hold for one run only."""


def facts(session: Session) -> Iterator[Memory]:
    """Kind `fact`; the key is the subject with the field, so that a later value supersedes this one."""
    log = session.engine.log
    for fact in session.state.facts:
        yield from _of_state(log, fact)
    for item in log.items.values():
        if item.kind in _KINDS and item.id > 0 and item.turn < log.settled:
            yield from _used_values(log, item)


def _of_state(log: Log, fact: Fact) -> Iterator[Memory]:
    match fact.topic:
        case Topic.TOLD:
            text = f"The user's {fact.key}: {fact.value}"
            if fact.key.startswith("instead of "):
                text = f"The user wants {fact.value} {fact.key}"
            yield Memory(text=text, key=f"user · {fact.key}", source="user", item=fact.item)
        case Topic.CREATED if fact.key != "url" or _CREATES.search(log.action_text(log.items[fact.item])):
            item = log.items[fact.item]
            text = f"Made {fact.key} {fact.value} by: {one_line(command(log, item) or item.title, 200)}"
            yield Memory(text=text, key=f"{fact.key} {fact.value}", source=source_of(item), item=fact.item)
        case Topic.RECORD if _was_used(log, fact.value, log.items[fact.item]) and not fact.subject.endswith(fact.value):
            text = f"{fact.subject}: {fact.key} is {fact.value}"
            source = source_of(log.items[fact.item])
            yield Memory(text=text, key=f"{fact.subject} · {fact.key}", source=source, item=fact.item)


def _used_values(log: Log, item: Item) -> Iterator[Memory]:
    """Key/value lines of a result whose value this item was the first to supply and an action used later."""
    if log.anchors.item_used_step(item.id) <= item.created_step or any(_CODE.search(t) for t in item.targets):
        return
    text = log.result_text(item)
    if len(text) > MOST_CHARS or text.lstrip()[:1] in ("{", "["):
        return
    for fact in facts_in(text):
        known = log.anchors.get(fact.value)
        first = known is not None and known.first_item == item.id and not known.by_agent
        passing = fact.key.lower() in _PASSING or len(fact.value) < SHORTEST
        if not passing and first and _was_used(log, fact.value, item):
            subject = item.targets[0] if len(item.targets) == 1 else subject_of(item)
            told = f"{one_line(subject, 120)}: {fact.key} is {fact.value}"
            yield Memory(text=told, key=f"{subject} · {fact.key}", source=source_of(item), item=item.id)


def _was_used(log: Log, literal: str, item: Item) -> bool:
    """Whether an action of the agent, later than this item, holds the literal."""
    known = log.anchors.get(literal)
    return known is not None and known.used > 0 and known.last_used_step > item.created_step
