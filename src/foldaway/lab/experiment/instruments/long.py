"""The long session as a section."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from foldaway.lab.experiment.instruments.cells import number, points_span
from foldaway.lab.experiment.report.findings import LOOKED_AT, kilo, percent, points
from foldaway.lab.experiment.report.section import Cell, LineChart, Mark, Part, Section, Series, Table, Unit
from foldaway.lab.long_run import LongResult
from foldaway.lab.long_table import long_row
from foldaway.lab.results import RULES

MOST_POINTS = 200
"""Of a line; calls between are told by their largest value, or the last one where it adds up."""
BUDGET, FULL_HISTORY = "budget", "full history"

LIMITS = (
    "Tasks are recorded ones of different agents, put one behind the other: nothing of one task is needed in the next, "
    "so this tests what a long past costs, not what it is good for. The test takes tasks for independent. Time and "
    "memory are measured and differ from run to run; the memory is that of a process that does nothing else, the "
    "recording in it."
)


def long_section(results: Sequence[LongResult]) -> Section:
    """Peak under the budget, no-impact against tasks alone, time and memory over the session."""
    first = results[0]
    about = (
        f"{len(first.pairs)} tasks in one session of {first.calls:,} model calls: sending the whole history each time "
        f"would have come to {first.full_tokens / 1e6:,.1f} million prompt tokens. Each task is also replayed alone, "
        f"under the same policy and {kilo(first.budget_tokens)} tokens, and judged on the same needs. A policy holds "
        "when its largest view stays under the budget, steps fare no worse than in tasks alone, and a call at the end "
        "takes no longer than one at the beginning."
    )
    parts: list[Part] = [about, *map(_sentence, results), _views_chart(results), *_small_charts(results)]
    return Section(
        title="One long session", key="long", parts=[*parts, _sent_table(results), _test_table(results), LIMITS]
    )


def _sentence(result: LongResult) -> str:
    test = result.tests["loose"]
    over = result.over_flagged + result.over_silent
    peak = "under the budget throughout" if not over else f"over the budget in {over} of {result.calls:,} calls"
    tenths = result.tenths
    return (
        f"`{result.policy}`: largest view {result.peak_tokens:,} tokens, {peak}; steps with all needs in view "
        f"{points(test.difference)} points against tasks alone (90 % {points_span(test.low, test.high)}, margin "
        f"{100 * test.margin:g} points, stated beforehand): {_verdict(result, 'loose')}. Median time of a call "
        f"{tenths[0].ms_median:.2f} ms in the first tenth, {tenths[-1].ms_median:.2f} ms in the last."
    )


def _verdict(result: LongResult, rule: str) -> str:
    test = result.tests[rule]
    return "alike" if test.equivalent else "no worse" if test.non_inferior else "not shown to be no worse"


def _views_chart(results: Sequence[LongResult]) -> LineChart:
    series = [
        Series(name=r.policy, points=_thinned(r.series.view_tokens, max), strong=r.policy == LOOKED_AT)
        for r in results
    ]  # fmt: skip
    calls = results[0].calls
    limit = [(0.0, float(results[0].budget_tokens)), (float(calls), float(results[0].budget_tokens))]
    return LineChart(
        title="Largest view, call by call",
        x_label="model calls",
        y_label="prompt tokens",
        series=[*series, Series(name=BUDGET, points=limit, bound=True)],
        y_unit=Unit.TOKENS,
        y_from_zero=True,
    )


def _small_charts(results: Sequence[LongResult]) -> list[LineChart]:
    full = [n / 1e6 for n in accumulate(results[0].series.full_tokens)]
    sent = [
        Series(name=r.policy, points=_thinned([n / 1e6 for n in accumulate(r.series.view_tokens)], lambda g: g[-1]))
        for r in results
    ]
    whole = Series(name=FULL_HISTORY, points=_thinned(full, lambda group: group[-1]), bound=True)
    times = [_by_tenth(r, [t.ms_median for t in r.tenths]) for r in results]
    memory = [_by_tenth(r, [t.rss_mb for t in r.tenths]) for r in results]
    return [
        _small("Prompt tokens sent so far", "million tokens", [*sent, whole]),
        _small("Time of a call, median of each tenth", "ms", times),
        _small("Memory of the process", "MB", memory),
    ]


def _small(title: str, y_label: str, series: Sequence[Series]) -> LineChart:
    return LineChart(
        title=title, x_label="model calls", y_label=y_label, series=series, small=True, y_from_zero=True
    )  # fmt: skip


def _by_tenth(result: LongResult, values: Sequence[float]) -> Series:
    places = [float(tenth.calls[1]) for tenth in result.tenths]
    return Series(name=result.policy, points=list(zip(places, values, strict=True)), strong=result.policy == LOOKED_AT)


def _thinned(values: Sequence[float], of: Callable[[Sequence[float]], float]) -> list[tuple[float, float]]:
    """At most `MOST_POINTS` points: the calls in equal groups, each with one value at its last call."""
    count = min(len(values), MOST_POINTS)
    ends = [len(values) * (n + 1) // count for n in range(count)]
    starts = [0, *ends[:-1]]
    return [(float(end - 1), float(of(values[start:end]))) for start, end in zip(starts, ends, strict=True)]


def _sent_table(results: Sequence[LongResult]) -> Table:
    rows: list[list[Cell]] = []
    for r in results:
        over = f"{r.over_flagged}" + (f"!{r.over_silent}" if r.over_silent else "")
        lost = f"{r.worst.name} ({points(r.worst.difference() or 0.0)})" if r.worst else "-"
        figures = (len(r.pairs), r.calls, r.full_tokens, r.alone_full_tokens, r.total_tokens, r.peak_tokens)
        rows.append([r.policy, kilo(r.budget_tokens), *map(number, figures), over, f"{r.invalid_views}", lost])
    return Table(
        title="What was sent",
        columns=[
            *("policy", "budget", "tasks", "calls", "full history", "tasks alone, full", "sent", "largest view"),
            *("over", "invalid", "worst task, points"),
        ],
        rows=rows,
        note="Tokens over all calls. full history: had all been sent at each call; tasks alone, full: the same in a "
        "session for each task. over: views over the budget that say so (those that do not behind a !).",
    )


def _test_table(results: Sequence[LongResult]) -> Table:
    rows: list[list[Cell]] = []
    for result in results:
        told = long_row(result)["tests"]
        for rule in RULES:
            test = result.tests[rule]
            means = (told[rule]["mean_alone"], told[rule]["mean_inside"])
            verdict = Mark(text=_verdict(result, rule), strong=test.non_inferior)
            interval = points_span(test.low, test.high)
            rows.append(
                [result.policy, rule, f"{test.tasks}", *map(percent, means), points(test.difference), interval, verdict]
            )
    return Table(
        title="Tasks alone and inside the long session",
        columns=["policy", "rule", "tasks", "alone %", "inside %", "difference, points", "90 %", "verdict"],
        rows=rows,
        left=2,
        groups=True,
        note="Mean over tasks of the share of steps with all needs in view. Two one-sided tests at 5 % by a paired "
        f"bootstrap over tasks, margin {100 * results[0].tests[RULES[0]].margin:g} points: no worse where the interval "
        "stays above it, alike where it stays within it on both sides.",
    )
