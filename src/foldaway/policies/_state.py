"""The state of the work as a passage of the fold note: what it says, where each thing stands, within some room.

Goal, requests and constraints always stay, each cut to a line, constraints that no longer fit as ids of where they
stand. Facts give way, the least valuable first: value falls with age and grows with use; what stands in sight is not
repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from foldaway.engine.snapshot import Snapshot
from foldaway.linking.kinds import one_line
from foldaway.linking.state import Fact, State, Topic, grouped
from foldaway.linking.subgoals import WORKING, Source, SubGoal
from foldaway.linking.subgoals import State as GoalState
from foldaway.model.plan import Section

TITLE = "state"
GOAL_CHARS = 200
CONSTRAINT_CHARS = 140
CONSTRAINTS_SHARE = 0.4
"""Of the room, for constraints word for word."""
MOST_TODOS = 8
TODO_CHARS = 80
FAILED_STEPS = 40
"""A failure that nobody came back to for so many steps is given up."""
AGE_STEPS = 20
"""Steps after which a fact is worth half."""
TELLING = frozenset({"status", "state", "total", "amount", "balance", "price", "result", "outcome"})
"""Fields of a record that say how things stand: worth three others."""
WORTH = {
    Topic.DECISION: 6.0, Topic.TOLD: 6.0, Topic.FAILURE: 4.0, Topic.RESULT: 3.0, Topic.CREATED: 4.0,
    Topic.WRITTEN: 2.0, Topic.RECORD: 1.0,
}  # fmt: skip


@dataclass(slots=True)
class _Text:
    """Lines in the making, within some tokens."""

    count: Callable[[str], int]
    room: int
    lines: list[str] = field(default_factory=list)
    sources: set[int] = field(default_factory=set)
    spent: int = 0

    def add(self, line: str, sources: Iterable[int]) -> None:
        self.lines.append(line)
        self.sources.update(sources)
        self.spent += self.count(line) + 1


def state_section(snapshot: Snapshot, room: int, visible: Callable[[int], bool]) -> Section | None:
    """The state in about `room` tokens; None when there is nothing to say. `visible`: whether an item stays raw.

    Goal and constraints may take more than the room, by their ids at most.
    """
    state = snapshot.state
    text = _Text(snapshot.count, room)
    _requests(text, state)
    _constraints(text, state, snapshot)
    _todos(text, snapshot)
    fresh = [f for f in state.facts if f.topic is not Topic.FAILURE or snapshot.step - f.step <= FAILED_STEPS]
    chosen = _valuable(snapshot, text, [f for f in fresh if not visible(f.item) or f.confirmed_by])
    corrected = {old.superseded_by: old for old in state.superseded if old.superseded_by}
    for line, sources in _told(chosen, corrected):
        text.add(line, sources)
    if not text.lines:
        return None
    return Section(title=TITLE, text="\n".join(text.lines), sources=tuple(sorted(s for s in text.sources if s > 0)))


def _requests(text: _Text, state: State) -> None:
    for name, request in (("goal", state.goal), ("asked last", state.request)):
        if request is not None:
            text.add(f"{name} (#{request.item}): {one_line(request.text, GOAL_CHARS)}", [request.item])


def _constraints(text: _Text, state: State, snapshot: Snapshot) -> None:
    """The newest word for word, the rest by where they stand."""
    limit = text.spent + int(text.room * CONSTRAINTS_SHARE)
    unsaid: dict[int, None] = {}
    for constraint in reversed(state.constraints.values()):
        line = f"constraint (#{constraint.item}): {one_line(constraint.text, CONSTRAINT_CHARS)}"
        if text.spent + snapshot.count(line) + 1 <= limit:
            text.add(line, [constraint.item])
        else:
            unsaid[constraint.item] = None
    if unsaid:
        named = ", ".join(f"#{i}" for i in sorted(unsaid)[:MOST_TODOS])
        text.add(f"more constraints stand in {named}", unsaid)


def _todos(text: _Text, snapshot: Snapshot) -> None:
    """The plan in force: what is being done, what is still to do, how much is done."""
    plan = [s for s in snapshot.subgoals.all[-60:] if s.source is Source.PLAN and s.state is not GoalState.DROPPED]
    open_ones = [s for s in plan if s.state is not GoalState.FINISHED]
    if not open_ones:
        return
    shown = sorted(open_ones, key=lambda s: (s.state not in WORKING, s.number))[:MOST_TODOS]
    more = f"; {len(open_ones) - len(shown)} more" if len(open_ones) > len(shown) else ""
    said = "; ".join(_todo(s) for s in shown)
    text.add(f"to do ({len(plan) - len(open_ones)} of {len(plan)} done): {said}{more}", ())


def _todo(goal: SubGoal) -> str:
    return one_line(goal.text, TODO_CHARS) + (" (now)" if goal.state in WORKING else "")


def _valuable(snapshot: Snapshot, text: _Text, facts: list[Fact]) -> list[Fact]:
    """The most valuable facts that fit, in the order they were learned."""

    def value(fact: Fact) -> tuple[float, int]:
        used = max((a.used for a in snapshot.anchors.known([fact.value, fact.subject])), default=0)
        age = max(0, snapshot.step - fact.step)
        telling = 3.0 if fact.key in TELLING else 1.0
        return -round(WORTH[fact.topic] * telling * (1 + math.log1p(used)) / (1 + age / AGE_STEPS), 9), -fact.item

    left = text.room - text.spent
    kept: set[int] = set()
    for number, fact in sorted(enumerate(facts), key=lambda f: value(f[1])):
        cost = snapshot.count(_said(fact)) + 8
        if cost <= left:
            left -= cost
            kept.add(number)
    return [fact for number, fact in enumerate(facts) if number in kept]


def _told(facts: Iterable[Fact], corrected: dict[int, Fact]) -> Iterator[tuple[str, list[int]]]:
    """Lines with their sources: one for each subject; files written share one."""
    written: list[Fact] = []
    for topic, subject, found in grouped(facts):
        sources = [s for fact in found for s in fact.sources]
        ids = ", ".join(f"#{i}" for i in dict.fromkeys(sources))
        if topic is Topic.WRITTEN:
            written.extend(found)
        elif topic in (Topic.TOLD, Topic.DECISION):
            for fact in found:
                yield _by_user(fact, corrected), list(fact.sources)
        elif topic is Topic.RECORD:
            fields = ", ".join(f"{f.key} {f.value}" for f in found if f"{f.key} {f.value}" != subject)
            yield f"{subject} ({ids}){f': {fields}' if fields else ''}", sources
        elif topic is Topic.CREATED:
            yield f"created {found[-1].key} {subject} ({ids})", sources
        else:
            yield f"{topic.value}: {subject} ({ids}): {found[-1].value}", sources
    if written:
        folder = _common_folder([f.subject for f in written])
        files = ", ".join(f"{f.subject.removeprefix(folder)} (#{f.item})" for f in written)
        yield f"{Topic.WRITTEN.value}{f' in {folder}' if folder else ''}: {files}", [f.item for f in written]


def _common_folder(paths: list[str]) -> str:
    """The folder that all of several paths share, with its slash; "" when there is none."""
    first, last = min(paths), max(paths)
    shared = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[: first.rfind("/", 0, shared) + 1] if len(paths) > 1 else ""


def _by_user(fact: Fact, corrected: dict[int, Fact]) -> str:
    if fact.topic is Topic.DECISION:
        return f"user decided (#{fact.item}, #{fact.confirmed_by}): {fact.subject} {fact.value}"
    old = corrected.get(fact.item)
    instead = f", no longer {old.value} (#{old.item})" if old is not None and old.value != fact.value else ""
    return f"user said (#{fact.item}): {fact.key} {fact.value}{instead}"


def _said(fact: Fact) -> str:
    return fact.subject if fact.topic is Topic.WRITTEN else f"{fact.key} {fact.value}, {fact.subject}"
