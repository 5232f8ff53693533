"""The state of the work: goal, constraints, confirmed facts. What an agent must not forget, with where it comes from.

Grows turn by turn and is a pure function of the log. Only two voices are believed: the user, and results of tools.
What the assistant says enters by one door alone: the user's own "yes" or "no" to it. A newer fact about the same
subject and key supersedes the older one, which is kept with its source. A user's correction supersedes the older facts
that it contradicts, whoever said them; what the user said is taken back by the user alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

MOST_FACTS = 400
"""Facts held: beyond that the oldest of tools leave the state. They are in the log all the same."""
MOST_SUPERSEDED = 200
MOST_CONSTRAINTS = 60


class Topic(StrEnum):
    """What a fact is about; decides how soon it gives way."""

    DECISION = "decided"
    """A question or proposal that the user answered."""
    TOLD = "told by the user"
    FAILURE = "failed last time"
    RESULT = "last results"
    CREATED = "created"
    WRITTEN = "files written"
    RECORD = "records"
    """A field of something that a tool returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One confirmed value."""

    topic: Topic
    subject: str
    """What it is about: a command, a file, a record's id."""
    key: str
    value: str
    item: int
    """Where it stands."""
    step: int
    confirmed_by: int = 0
    """The user's words that confirmed it; 0 for what a tool returned."""
    superseded_by: int = 0
    """The item that said otherwise later; 0 while it holds."""

    @property
    def sources(self) -> tuple[int, ...]:
        return (self.item, self.confirmed_by) if self.confirmed_by else (self.item,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Words of the user that bind: a goal, a request, a constraint."""

    text: str
    item: int
    step: int


@dataclass(slots=True)
class State:
    """The state of one branch of a session."""

    goal: Request | None = None
    """What the session was opened with."""
    request: Request | None = None
    """What the user asked for last, where that is something else."""
    constraints: dict[str, Request] = field(default_factory=dict)
    """Sentence -> where it stands, in the order they were said last."""
    superseded: list[Fact] = field(default_factory=list)
    """Facts that hold no more, oldest first, at most `MOST_SUPERSEDED`."""
    _facts: dict[tuple[str, str], Fact] = field(default_factory=dict)
    """(subject, key) -> the fact in force, the newest last."""
    _by_value: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    """Value -> the facts that have it."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What holds now, the newest last."""
        return tuple(self._facts.values())

    def fact(self, subject: str, key: str) -> Fact | None:
        return self._facts.get((subject, key))

    def ask(self, request: Request) -> None:
        """The user asks for something."""
        if self.goal is None:
            self.goal = request
        else:
            self.request = request

    def bind(self, constraint: Request) -> None:
        """The user forbids or demands something for good; said again, it counts as new."""
        self.constraints.pop(constraint.text, None)
        self.constraints[constraint.text] = constraint
        if len(self.constraints) > MOST_CONSTRAINTS:
            # The newest ones and those of the goal stay: a task's own rules are not outlived by small talk.
            first = self.goal.item if self.goal else 0
            for text, old in self.constraints.items():
                if old.item != first:
                    del self.constraints[text]
                    return

    def learn(self, fact: Fact) -> None:
        """A fact is confirmed. O(1)."""
        place = fact.subject, fact.key
        old = self._facts.get(place)
        if old is not None:
            if old.topic is Topic.TOLD and fact.topic is not Topic.TOLD:
                return
            self._drop(place)
            if old.value != fact.value:
                self._keep_superseded(old, fact.item)
        self._facts[place] = fact
        self._by_value.setdefault(fact.value, set()).add(place)
        if len(self._facts) > MOST_FACTS:
            self._forget_oldest()

    def correct(self, fact: Fact, instead_of: str = "") -> None:
        """The user says what holds: older facts under the same key, or with the value it replaces, hold no more."""
        same_key = [p for p, old in self._facts.items() if old.key == fact.key]
        if len({subject for subject, _ in same_key}) > 1:
            same_key = []  # several records have such a field: nobody can tell which one is meant
        same_value = sorted(self._by_value.get(instead_of, ())) if instead_of else []
        for place in dict.fromkeys((*same_key, *same_value)):
            old = self._facts[place]
            if place != (fact.subject, fact.key) and old.value != fact.value:
                self._drop(place)
                self._keep_superseded(old, fact.item)
        self.learn(fact)

    def repair(self, subject: str, item: int) -> None:
        """What had failed works now."""
        place = subject, "failed"
        old = self._facts.get(place)
        if old is not None:
            self._drop(place)
            self._keep_superseded(old, item)

    # -- inside

    def _drop(self, place: tuple[str, str]) -> None:
        old = self._facts.pop(place)
        held = self._by_value[old.value]
        held.discard(place)
        if not held:
            del self._by_value[old.value]

    def _keep_superseded(self, old: Fact, by: int) -> None:
        self.superseded.append(
            Fact(
                topic=old.topic, subject=old.subject, key=old.key, value=old.value, item=old.item, step=old.step,
                confirmed_by=old.confirmed_by, superseded_by=by,
            )
        )  # fmt: skip
        del self.superseded[:-MOST_SUPERSEDED]

    def _forget_oldest(self) -> None:
        by_age = self._facts.items()
        oldest = next((p for p, f in by_age if f.topic in (Topic.RECORD, Topic.WRITTEN, Topic.RESULT)), None)
        self._drop(oldest or next(iter(self._facts)))


def grouped(facts: Iterable[Fact]) -> Iterator[tuple[Topic, str, list[Fact]]]:
    """(topic, subject, its facts) in the order of topics; within one, in the order given."""
    groups: dict[tuple[Topic, str], list[Fact]] = {}
    for fact in facts:
        groups.setdefault((fact.topic, fact.subject), []).append(fact)
    order = list(Topic)
    for (topic, subject), found in sorted(groups.items(), key=lambda g: order.index(g[0][0])):
        yield topic, subject, found
