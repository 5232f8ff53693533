"""Asking what lies outside the session, when something happens that makes it worth asking (S3.4).

Two sources may be plugged in: a long-term memory and external knowledge. Each is asked at events only, once for each,
in a thread of its own. An answer that is there in time comes in with this view, a later one with a later view; a source
that fails is told of and asked again at the next event. Nothing here ever stops a call (I9).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from foldaway.engine.constraints.last_turn import newest_agent_turn
from foldaway.engine.log import Log
from foldaway.engine.memories import Arrived
from foldaway.model.wire import PartType, TurnKind
from foldaway.protocols import Learner, Passage, Recollector
from foldaway.retrieval.events import Event, Said, Trigger, find_event

WAIT_SECONDS = 0.5
"""A view waits for an answer at most so long."""
MOST_PASSAGES = 4

MEMORY, KNOWLEDGE = "long-term memory", "external knowledge"
ASKED_AT: Mapping[str, frozenset[Trigger]] = {
    MEMORY: frozenset(Trigger),
    KNOWLEDGE: frozenset({Trigger.ENTITY, Trigger.PHASE}),
}
"""Events at which each source is asked: what one was told before is nothing that a reference work knows."""


@dataclass(slots=True)
class _Question:
    """One question under way."""

    source: str
    event: Event
    key: tuple[int, str, str]
    done: threading.Event = field(default_factory=threading.Event)
    passages: Sequence[Passage] = ()
    failure: str = ""

    def ask(self, recollector: Recollector) -> None:
        try:
            self.passages = tuple(recollector.recollect(self.event.query, MOST_PASSAGES))[:MOST_PASSAGES]
        except Exception as error:  # other people's code, and perhaps a network
            self.failure = f"{self.source} failed ({type(error).__name__}: {error})"
        self.done.set()


class Recollection:
    """The sources of one session, and what they were asked."""

    def __init__(
        self, retriever: Recollector | None, knowledge: Recollector | None, *, warn: Callable[[str], None],
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:  # fmt: skip
        given = ((MEMORY, retriever), (KNOWLEDGE, knowledge))
        self._sources = {name: source for name, source in given if source is not None}
        self._warn, self._wait = warn, wait_seconds
        self._asked: set[tuple[int, str, str]] = set()
        self._under_way: dict[str, _Question] = {}

    def restore(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """What was asked before, from the ledger: no event is asked about twice, after a restart either."""
        self._asked = {(e["turn"], e["event"], e["source"]) for e in entries if e["type"] == "recollect"}
        self._under_way.clear()

    def look(self, log: Log) -> tuple[list[Arrived], list[dict[str, Any]]]:
        """(answers that have arrived, entries for the ledger); asks what the newest turns make worth asking."""
        if not self._sources or log.open or not log.turns:
            return [], []
        since = newest_agent_turn(log)
        event = event_of(log, since)
        if event is not None:
            self._ask(event, since)
        return self._collect(event is not None)

    def ended(self, session: object) -> None:
        """The session is over: tell the sources that learn from sessions. One that fails is told of, and no more."""
        for name, source in self._sources.items():
            if not isinstance(source, Learner):
                continue
            try:
                source.session_ended(session)
            except Exception as error:  # a session that cannot be learned from is closed all the same
                self._warn(f"{name} learned nothing ({type(error).__name__}: {error})")

    # -- inside

    def _ask(self, event: Event, since: int) -> None:
        for name, source in self._sources.items():
            key = since, event.kind.value, name
            if event.kind not in ASKED_AT[name] or key in self._asked:
                continue
            if name in self._under_way:
                self._warn(f"{name} is slow: not asked about {event.why[:60]!r}, it still works on the question before")
                continue
            self._asked.add(key)
            self._under_way[name] = question = _Question(name, event, key)
            # A daemon: a source that hangs shall not keep the program from ending.
            threading.Thread(target=question.ask, args=(source,), name=f"foldaway {name}", daemon=True).start()

    def _collect(self, fresh: bool) -> tuple[list[Arrived], list[dict[str, Any]]]:
        arrived: list[Arrived] = []
        entries: list[dict[str, Any]] = []
        for name, question in list(self._under_way.items()):
            if not question.done.wait(self._wait if fresh else 0.0):
                continue
            del self._under_way[name]
            if question.failure:
                self._warn(question.failure)
            turn, kind, source = question.key
            entries.append(
                {
                    "type": "recollect", "turn": turn, "event": kind, "source": source, "query": question.event.query,
                    "why": question.event.why, "found": len(question.passages), "failed": bool(question.failure),
                }
            )  # fmt: skip
            if question.passages:
                told = f"{name}, {question.event.kind.value}"
                arrived.append(Arrived(event=told, query=question.event.query, passages=question.passages))
        return arrived, entries


def event_of(log: Log, since: int) -> Event | None:
    """The event that the turns from `since` on are."""
    before = log.phases.at(since - 1)
    now = log.phases.current
    first = next((i for t in range(since, len(log.turns)) for i in log.turn_items[t] if i > 0), log.next_id)
    said = [s for turn in range(since, len(log.turns)) if not log.own(turn) for s in _said(log, turn)]
    return find_event(
        said, seen=_Seen(log, first), phase=now.value if now else "", before=before.value if before else ""
    )


def _said(log: Log, turn: int) -> list[Said]:
    roles: dict[str, Literal["user", "assistant", "tool"]] = {"user": "user", "assistant": "assistant"}
    parts = log.turns[turn].parts
    if log.turns[turn].kind is TurnKind.OBSERVATION:
        return []  # the environment speaks, whatever the role
    return [Said(roles.get(p.role, "tool"), p.text) for p in parts if p.type is PartType.TEXT and p.text]


@dataclass(frozen=True, slots=True)
class _Seen:
    """Literals that the session has met in items before one."""

    log: Log
    before: int

    def __contains__(self, literal: object) -> bool:
        anchor = self.log.anchors.get(str(literal))
        return anchor is not None and anchor.first_item < self.before
