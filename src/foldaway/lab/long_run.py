"""The long session walked call by call, beside each of its tasks alone: peak, no-impact, time and memory."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate, pairwise
from time import process_time

from foldaway.errors import OverBudget
from foldaway.lab.bench import rss_mb
from foldaway.lab.equivalence import MARGIN, Equivalence, equivalence
from foldaway.lab.long_session import LongSession
from foldaway.lab.needs import Need
from foldaway.lab.replay import VERBATIM, ReplaySession, ReplayView, SessionMaker, foldaway_session, make_ruler, replay
from foldaway.lab.results import RULES, Tally, counts, percentile
from foldaway.lab.ruler import Meter, Ruler
from foldaway.lab.timeline import Step, steps_of
from foldaway.model.recorded import Recorded
from foldaway.wire import problems

BUDGET_TOKENS = 32_000
TENTHS = 10
RULE = "loose"
"""Of the needs that the equivalence test reads."""

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPair:
    """One task alone and inside the long session: rule -> steps with needs."""

    name: str
    source_format: str
    alone: dict[str, Tally]
    inside: dict[str, Tally]

    def difference(self, rule: str = RULE) -> float | None:
        """Visible rate inside less alone; None for a task without such needs."""
        alone, inside = (side.get(rule, Tally()).visible_rate for side in (self.alone, self.inside))
        return None if alone is None or inside is None else inside - alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One number a call, in order: what a plot is drawn from."""

    view_tokens: tuple[int, ...]
    """0 for a call that could not be sent."""
    full_tokens: tuple[int, ...]
    """The whole history at that call."""
    ms: tuple[float, ...]
    """Processor time of append and view."""
    rss_mb: tuple[float, ...]
    """Memory of a process that does nothing else. The recorded messages were there from the start, and the session
    shares their texts; what it adds (copies of the dicts, turns, items, anchors, links, decisions) is what grows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenth:
    """A tenth of the calls."""

    calls: tuple[int, int]
    view_tokens_max: int
    full_tokens: int
    """At its end."""
    ms_median: float
    ms_p95: float
    rss_mb: float
    """At its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongResult:
    policy: str
    budget_tokens: int
    calls: int
    full_tokens: int
    """Cumulative: what sending the whole history at each call would have come to."""
    alone_full_tokens: int
    """The same for the tasks one by one, each in a session of its own."""
    total_tokens: int
    peak_tokens: int
    over_flagged: int
    """Views over the budget that say so, and calls that could not be sent at all."""
    over_silent: int
    invalid_views: int
    pairs: tuple[TaskPair, ...]
    tests: dict[str, Equivalence]
    """Rule -> the test over the tasks that have such needs."""
    series: Series

    @property
    def tenths(self) -> tuple[Tenth, ...]:
        return tuple(_tenths(self.series))

    def pooled(self, rule: str = RULE) -> tuple[Tally, Tally]:
        """Steps of all tasks (alone, inside), each step weighing the same."""
        alone = reduce(Tally.__add__, (pair.alone.get(rule, Tally()) for pair in self.pairs), Tally())
        return alone, reduce(Tally.__add__, (pair.inside.get(rule, Tally()) for pair in self.pairs), Tally())

    @property
    def worst(self) -> TaskPair | None:
        """The task that lost most of its no-impact rate inside (rule `RULE`); of equals the first."""
        measured = [pair for pair in self.pairs if pair.difference() is not None]
        return min(measured, key=lambda pair: pair.difference() or 0.0, default=None)


@dataclass(slots=True)
class _Walk:
    """What the measuring pass over the long session gathers; no view is kept but the last."""

    ruler: Ruler
    budget: int
    owners: Sequence[int]
    """Call -> task."""
    scores: list[dict[str, list[int]]]
    """Task -> rule -> [total, visible, reachable]."""
    view_tokens: list[int] = field(default_factory=list)
    flagged: int = 0
    silent: int = 0
    invalid: int = 0

    def run(self, session: ReplaySession, progress: Progress | None) -> None:
        recorded, meter = self.ruler.recorded, Meter(self.ruler)
        calls = len(self.owners)
        for step, view in _views(recorded, session):
            self._take(step, session, view, meter)
            if progress and (step.number % 100 == 99 or step.number == calls - 1):
                progress(step.number + 1, calls, recorded.name)

    def _take(self, step: Step, session: ReplaySession, view: ReplayView | None, meter: Meter) -> None:
        needs = self.ruler.labels.needs[step.number]
        if view is None:
            self.flagged += 1
            self.view_tokens.append(0)
            missing = lost = {need.literal for need in needs}
        else:
            reading = meter.read(view.messages, view.system, view.tools)
            self.view_tokens.append(reading.tokens)
            self.flagged += view.missing_tokens > 0
            self.silent += view.missing_tokens <= 0 and reading.tokens > self.budget
            self.invalid += bool(problems(self.ruler.recorded.format, view.messages))
            out = [need for need in needs if need.literal not in reading.literals]
            missing = {need.literal for need in out}
            lost = {need.literal for need in out if not _leads_to(session, view, need)}
        _score(self.scores[self.owners[step.number]], needs, missing, lost)


def _views(recorded: Recorded, session: ReplaySession) -> Iterator[tuple[Step, ReplayView | None]]:
    """The view before each call; None where what may not be evicted does not fit."""
    done = 0
    for step in steps_of(recorded):
        new, origins = recorded.messages[done : step.start], recorded.origins[done : step.start]
        done = step.start
        try:
            session.append(new, origins=origins)
            yield step, session.view()
        except OverBudget:
            yield step, None


def clocked(recorded: Recorded, policy: str, budget: int, make: SessionMaker) -> tuple[list[float], list[float]]:
    """(milliseconds, memory of the process in MB) of each call, with nothing measured beside.

    Processor time, which other work on the machine hardly changes: a session in memory waits for nothing.
    """
    session = make(recorded, policy, budget)
    ms, memory = list[float](), list[float]()
    views = _views(recorded, session)
    while True:
        started = process_time()
        if next(views, None) is None:
            return ms, memory
        ms.append((process_time() - started) * 1000)
        memory.append(rss_mb())


def _clocked_apart(recorded: Recorded, policy: str, budget: int, make: SessionMaker) -> tuple[list[float], list[float]]:
    """The same in a fresh process: here, memory that the labels took and gave back would hide what a session takes."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(clocked, recorded, policy, budget, make).result()


def _leads_to(session: ReplaySession, view: ReplayView, need: Need) -> bool:
    places = dict.fromkeys((need.newest, need.first))
    return any(view.covers(item) for position in places for item in session.items_of(position))


def _score(rows: dict[str, list[int]], needs: Sequence[Need], missing: set[int], lost: set[int]) -> None:
    for rule in RULES:
        counted = {n.literal for n in needs if counts(rule, strict=n.strict, verbatim=n.kind.value in VERBATIM)}
        if counted:
            row = rows.setdefault(rule, [0, 0, 0])
            row[0] += 1
            row[1] += not counted & missing
            row[2] += not counted & lost


def run_long(
    long: LongSession,
    policy: str,
    budget: int = BUDGET_TOKENS,
    *,
    margin: float = MARGIN,
    make: SessionMaker = foldaway_session,
    apart: bool = True,
    progress: Progress | None = None,
) -> LongResult:
    """Replay the long session, then each task alone, and test whether they come out alike.

    Times and memory come from a second pass in a process of its own (`make` must then be importable by name); with
    `apart` False from one in this process. All else is the same at every run. Raises ValueError when a task alone
    cannot be replayed.
    """
    ruler = make_ruler(long.recorded, long.labels)
    owners = [task for task, span in enumerate(long.spans) for _ in range(*span.calls)]
    walk = _Walk(ruler, budget, owners, [{} for _ in long.spans])
    walk.run(make(long.recorded, policy, budget), progress)
    sums = [0, *accumulate(m.tokens for m in ruler.recorded_messages())]
    full = tuple(sums[step.start] for step in steps_of(long.recorded))
    pairs, alone_full = _pairs(long, walk, policy, budget, make)
    ms, memory = (_clocked_apart if apart else clocked)(long.recorded, policy, budget, make)
    return LongResult(
        policy=policy,
        budget_tokens=budget,
        calls=len(full),
        full_tokens=sum(full),
        alone_full_tokens=alone_full,
        total_tokens=sum(walk.view_tokens),
        peak_tokens=max(walk.view_tokens, default=0),
        over_flagged=walk.flagged,
        over_silent=walk.silent,
        invalid_views=walk.invalid,
        pairs=tuple(pairs),
        tests={rule: _test(pairs, rule, margin) for rule in RULES},
        series=Series(view_tokens=tuple(walk.view_tokens), full_tokens=full, ms=tuple(ms), rss_mb=tuple(memory)),
    )


def _pairs(long: LongSession, walk: _Walk, policy: str, budget: int, make: SessionMaker) -> tuple[list[TaskPair], int]:
    pairs, full = [], 0
    for (task, labels), span, rows in zip(long.tasks, long.spans, walk.scores, strict=True):
        alone = replay(task, policy, budget, ruler=make_ruler(task, labels), make=make)
        if alone.error:
            raise ValueError(f"task {task.name} alone: {alone.error}")
        full += alone.full_tokens
        inside = {rule: Tally(*row) for rule, row in rows.items()}
        pairs.append(TaskPair(name=span.name, source_format=span.source_format, alone=dict(alone.steps), inside=inside))
    return pairs, full


def _test(pairs: Sequence[TaskPair], rule: str, margin: float) -> Equivalence:
    measured = [pair for pair in pairs if pair.difference(rule) is not None]
    alone = [pair.alone[rule].visible_rate or 0.0 for pair in measured]
    inside = [pair.inside[rule].visible_rate or 0.0 for pair in measured]
    return equivalence(alone, inside, margin=margin)


def _tenths(series: Series) -> list[Tenth]:
    count = len(series.ms)
    bounds = [count * n // TENTHS for n in range(TENTHS + 1)]
    return [
        Tenth(
            calls=(first, end),
            view_tokens_max=max(series.view_tokens[first:end]),
            full_tokens=series.full_tokens[end - 1],
            ms_median=percentile(series.ms[first:end], 0.5),
            ms_p95=percentile(series.ms[first:end], 0.95),
            rss_mb=series.rss_mb[end - 1],
        )
        for first, end in pairwise(bounds)
        if end > first
    ]
