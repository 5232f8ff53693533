"""Walk a recorded session with a policy and see, before each recorded step, what its view would have been.

The session under test gets the past and nothing else. What is measured is whether the things that the recorded next
action used stood in the view, or could have been recalled; not whether a model would have used them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter
from typing import IO, Any, Protocol

from foldaway.errors import FoldawayError, OverBudget
from foldaway.lab.bill import Bill, call_bill, full_bill
from foldaway.lab.faults import Faults
from foldaway.lab.needs import AGES, Labels, Need, age_bucket, label
from foldaway.lab.prices import PLAIN, PRICE_LISTS
from foldaway.lab.results import RULES, ReplayResult, Tally, counts
from foldaway.lab.ruler import Meter, Reading, Ruler
from foldaway.lab.timeline import Step, steps_of
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.session import Session
from foldaway.tokens import RequestCounter, get_counter
from foldaway.wire import problems

FULL = "full"
"""Not a policy: everything is sent."""

MAX_PROBLEMS = 3
VERBATIM = ("line", "quoted")
"""Kinds of needs that are passages rather than values."""


class ReplayView(Protocol):
    """What the lab needs of a view."""

    @property
    def messages(self) -> Sequence[Message]: ...

    @property
    def system(self) -> Any: ...

    @property
    def tools(self) -> Sequence[Mapping[str, Any]] | None: ...

    @property
    def missing_tokens(self) -> int:
        """Above 0: over the budget, and saying so."""
        ...

    @property
    def commit(self) -> Any:
        """Not None when a commit was made for this view."""
        ...

    def covers(self, item: int) -> bool:
        """Whether the view shows the item, or a stub or range that leads to it."""
        ...


class ReplaySession(Protocol):
    """What the lab needs of a session: `foldaway.Session`, or another library in its clothes."""

    def append(self, messages: Sequence[Message], origins: Sequence[str] = ()) -> None: ...

    def view(self) -> ReplayView: ...

    def items_of(self, position: int) -> Sequence[int]:
        """Ids of the items made from the message at this position."""
        ...


SessionMaker = Callable[[Recorded, str, int], ReplaySession]
"""(recorded, policy, budget in tokens) -> a fresh session."""


def foldaway_session(recorded: Recorded, policy: str, budget: int) -> ReplaySession:
    """A Foldaway session in memory, its tokens counted as the ruler counts them."""
    return Session(
        format=recorded.format,
        budget=budget,
        policy=policy,
        model=recorded.model,
        system=recorded.system,
        tools=recorded.tools,
        fixed_over_budget="send",
    )


def make_ruler(recorded: Recorded, labels: Labels | None = None, *, model: str = "") -> Ruler:
    """What measures the views of one session, in tokens of `model` or else of the model it was recorded with.

    Share it between policies and budgets: it remembers messages.
    """
    counter = RequestCounter(get_counter(model or recorded.model, recorded.format), recorded.format)
    return Ruler(recorded, labels or label(recorded), counter)


def replay(
    recorded: Recorded,
    policy: str,
    budget: int,
    *,
    ruler: Ruler | None = None,
    make: SessionMaker = foldaway_session,
    views: IO[str] | None = None,
    each: Callable[[CallFigures], None] | None = None,
) -> ReplayResult:
    """Replay one recorded session under one policy and budget (tokens).

    The policy `full` sends everything and ignores the budget. With `views`, one JSON line is written for each model
    call: its number from 0, how many recorded messages it had seen, the messages of its view in the session's wire
    format, and `system` where the format keeps that beside them. `each` hears of every call that was sent. An error of
    the engine does not get out: it is `error` of the result. Deterministic but for `call_ms`.
    """
    run = _Run(recorded, ruler or make_ruler(recorded), policy, budget, views, each)
    try:
        run.full() if policy == FULL else run.walk(make(recorded, policy, budget))
    except FoldawayError as error:
        return ReplayResult(
            session=recorded.name, policy=policy, budget_tokens=budget, error=f"{type(error).__name__}: {error}"
        )
    return run.result()


@dataclass(frozen=True, slots=True)
class CallFigures:
    """What one model call came to."""

    number: int
    needs: int
    seen: int
    """Needs that stood in the view."""
    tokens: int
    """Of the prompt."""


@dataclass(slots=True)
class _Scores:
    """Tallies in the making: key -> [total, visible, reachable]."""

    rows: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def add(self, rule: str, key: str, visible: bool, reachable: bool) -> None:
        row = self.rows.setdefault(rule, {}).setdefault(key, [0, 0, 0])
        row[0] += 1
        row[1] += visible
        row[2] += reachable

    def tallies(self, order: Sequence[str] = ()) -> dict[str, dict[str, Tally]]:
        return {
            rule: {key: Tally(*row) for key, row in sorted(rows.items(), key=lambda kv: _rank(kv[0], order))}
            for rule, rows in self.rows.items()
        }


def _rank(key: str, order: Sequence[str]) -> tuple[int, str]:
    return (order.index(key) if key in order else len(order)), key


@dataclass(slots=True)
class _Run:
    recorded: Recorded
    ruler: Ruler
    policy: str
    budget: int
    views: IO[str] | None
    each: Callable[[CallFigures], None] | None = None
    steps: tuple[Step, ...] = ()
    meter: Meter = field(init=False)
    scores: _Scores = field(default_factory=_Scores)
    ages: _Scores = field(default_factory=_Scores)
    kinds: _Scores = field(default_factory=_Scores)
    bills: dict[str, Bill] = field(default_factory=lambda: {rules.name: Bill() for rules in PRICE_LISTS})
    gaps: tuple[float | None, ...] = ()
    faults: Faults = field(init=False)
    totals: list[int] = field(default_factory=list)
    plain: int = 0
    refused: int = 0
    commits: int = 0
    breaks: int = 0
    invalid: int = 0
    problems: list[str] = field(default_factory=list)
    flagged: int = 0
    silent: int = 0
    times: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.meter = Meter(self.ruler)
        self.steps = steps_of(self.recorded)
        self.gaps = gaps_of(self.recorded, self.steps)
        self.faults = Faults(self.ruler, self.steps)

    def full(self) -> None:
        """Everything is sent: no engine, nothing to go wrong."""
        for step in self.steps:
            messages = self.recorded.messages[: step.start]
            reading = self.meter.read(messages, self.recorded.system, self.recorded.tools)
            self._count(step, reading, lambda need: False)
            self._write(step, messages, self.recorded.system)

    def walk(self, session: ReplaySession) -> None:
        done = 0
        for step in self.steps:
            new = self.recorded.messages[done : step.start]
            origins = self.recorded.origins[done : step.start]
            done = step.start
            started = perf_counter()
            try:
                session.append(new, origins=origins)
                view = session.view()
            except OverBudget as error:
                self.times.append((perf_counter() - started) * 1000)
                self._refuse(step, error)
                continue
            self.times.append((perf_counter() - started) * 1000)
            self._take(step, session, view)

    def _take(self, step: Step, session: ReplaySession, view: ReplayView) -> None:
        reading = self.meter.read(view.messages, view.system, view.tools)
        self._count(step, reading, lambda need: _leads_to(session, view, need))
        self.commits += view.commit is not None
        if view.missing_tokens > 0:
            self.flagged += 1
        elif reading.tokens > self.budget:
            self.silent += 1
        self._check(step, view.messages)
        self._write(step, view.messages, view.system)

    def _count(self, step: Step, reading: Reading, leads_to: Callable[[Need], bool]) -> None:
        needs = self.ruler.labels.needs[step.number]
        missing = {need.literal: need for need in needs if need.literal not in reading.literals}
        lost = {number for number, need in missing.items() if not leads_to(need)}
        self._score(needs, missing.keys(), lost)
        recalls = [self.ruler.supplier_tokens(need) for need in missing.values()]
        self._charge(reading, recalls, self.gaps[step.number])
        self.faults.needs(missing.values(), lost)
        self.faults.calls(step, reading)
        self.totals.append(reading.tokens)
        self.plain += reading.plain_tokens
        self.breaks += reading.broken
        if self.each is not None:
            self.each(CallFigures(step.number, len(needs), len(needs) - len(missing), reading.tokens))

    def _charge(self, reading: Reading, recalls: Sequence[int], gap: float | None) -> None:
        for rules in PRICE_LISTS:
            self.bills[rules.name] += call_bill(
                reading.prefix_tokens, reading.tokens, recalls, rules=rules, gap_seconds=gap
            )

    def _score(self, needs: Sequence[Need], missing: Any, lost: set[int]) -> None:
        for rule in RULES:
            counted = [n for n in needs if counts(rule, strict=n.strict, verbatim=n.kind.value in VERBATIM)]
            for need in counted:
                seen, reached = need.literal not in missing, need.literal not in lost
                self.ages.add(rule, age_bucket(need.age), seen, reached)
                self.kinds.add(rule, need.kind.value, seen, reached)
            if counted:
                all_seen = not any(need.literal in missing for need in counted)
                all_reached = not any(need.literal in lost for need in counted)
                self.scores.add("steps", rule, all_seen, all_reached)

    def _refuse(self, step: Step, error: OverBudget) -> None:
        self.refused += 1
        needs = self.ruler.labels.needs[step.number]
        everything = {need.literal for need in needs}
        self._score(needs, everything, everything)
        self.faults.needs(needs, everything)
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(f"call {step.number}: not sent: {error}")

    def _check(self, step: Step, messages: Sequence[Message]) -> None:
        found = problems(self.recorded.format, messages)
        self.invalid += bool(found)
        if found and len(self.problems) < MAX_PROBLEMS:
            self.problems.append(f"call {step.number}: {found[0]}")

    def _write(self, step: Step, messages: Sequence[Message], system: Any) -> None:
        if self.views is None:
            return
        line: dict[str, Any] = {"call": step.number, "seen": step.start, "messages": list(messages)}
        if system is not None:
            line["system"] = system
        self.views.write(json.dumps(line) + "\n")

    def result(self) -> ReplayResult:
        full_totals = _full_totals(self.ruler, self.steps)
        full = {r.name: full_bill(full_totals, rules=r, gaps_seconds=self.gaps) for r in PRICE_LISTS}
        return ReplayResult(
            session=self.recorded.name,
            policy=self.policy,
            budget_tokens=self.budget,
            calls=len(self.steps),
            refused_calls=self.refused,
            total_tokens=sum(self.totals),
            peak_tokens=max(self.totals, default=0),
            total_plain_tokens=self.plain,
            full_tokens=sum(full_totals),
            steps=self.scores.tallies(RULES).get("steps", {}),
            needs_by_age=self.ages.tallies(AGES),
            needs_by_kind=self.kinds.tallies(),
            bill=self.bills[PLAIN.name],
            full_bill=full[PLAIN.name],
            bills=self.bills,
            full_bills=full,
            faults=self.faults.counts,
            commits=self.commits,
            prefix_breaks=self.breaks,
            invalid_views=self.invalid,
            problems=tuple(self.problems),
            over_flagged=self.flagged,
            over_silent=self.silent,
            call_ms=tuple(self.times),
        )


def gaps_of(recorded: Recorded, steps: Sequence[Step]) -> tuple[float | None, ...]:
    """Seconds since the call before, for each call; None where the recording does not tell the time."""
    times = recorded.times
    if not times:
        return (None,) * len(steps)
    starts = [times[step.start] for step in steps]
    later = (max(0.0, b - a) if a and b else None for a, b in pairwise(starts))
    return (None, *later)[: len(steps)]


def _full_totals(ruler: Ruler, steps: Sequence[Step]) -> list[int]:
    total, done = ruler.beside(ruler.recorded.system, ruler.recorded.tools)[0], 0
    measured, totals = ruler.recorded_messages(), []
    for step in steps:
        total += sum(m.tokens for m in measured[done : step.start])
        done = step.start
        totals.append(total)
    return totals


def _leads_to(session: ReplaySession, view: ReplayView, need: Need) -> bool:
    """Whether a stub or range in the view leads to an item that supplied the need (the newest, or the first)."""
    for position in dict.fromkeys((need.newest, need.first)):
        if any(view.covers(item) for item in session.items_of(position)):
            return True
    return False
