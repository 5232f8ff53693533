"""Results of the long session as a table to read, JSON rows, and lists for a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from foldaway.lab.long_run import LongResult, TaskPair, Tenth
from foldaway.lab.results import RULES, Tally
from foldaway.lab.table import aligned

LEGEND = (
    "Tasks alone and inside one long session, same policy and budget. alone%, inside%: mean over tasks of the share\n"
    "of steps with needs for which all stood in the view. difference: inside less alone, in points, with its 90 %\n"
    "interval from a paired bootstrap over tasks. no worse: the interval stays above the margin stated beforehand;\n"
    "alike: it stays within it on both sides. full: cumulative prompt tokens, had all been sent at each call.\n"
    "over: views over the budget that say so (silent ones behind a !). RSS: of a process that does nothing else."
)


def long_table(results: Sequence[LongResult]) -> str:
    """All results as aligned text: what was sent, the tests, then tenths of the session."""
    sent = [["policy", "budget", "tasks", "calls", "full", "sent", "peak", "over", "invalid", "worst task", "points"]]
    tests = [["policy", "rule", "tasks", "alone%", "inside%", "difference", "90 % interval", "margin", "verdict"]]
    tenths = [["policy", "calls", "largest view", "history", "ms median", "p95", "RSS MB"]]
    for result in results:
        sent.append(_sent_cells(result))
        tests += [_test_cells(result, rule) for rule in RULES]
        tenths += [_tenth_cells(result.policy, tenth) for tenth in result.tenths]
    blocks = (aligned(sent, left=1), aligned(tests, left=2), aligned(tenths, left=2), LEGEND)
    return "\n\n".join(blocks)


def _sent_cells(result: LongResult) -> list[str]:
    worst = result.worst
    lost = [worst.name, f"{100 * (worst.difference() or 0.0):+.1f}"] if worst else ["-", "-"]
    over = f"{result.over_flagged}" + (f"!{result.over_silent}" if result.over_silent else "")
    counted = (result.budget_tokens, len(result.pairs), result.calls, result.full_tokens, result.total_tokens)
    return [result.policy, *map(str, counted), f"{result.peak_tokens}", over, f"{result.invalid_views}", *lost]


def _test_cells(result: LongResult, rule: str) -> list[str]:
    test = result.tests[rule]
    alone, inside = (100 * rate for rate in _mean_rates(result, rule))
    verdict = "alike" if test.equivalent else "no worse" if test.non_inferior else "not shown"
    interval = f"{100 * test.low:+.2f} .. {100 * test.high:+.2f}"
    rates = [f"{alone:.2f}", f"{inside:.2f}", f"{100 * test.difference:+.2f}"]
    return [result.policy, rule, f"{test.tasks}", *rates, interval, f"{100 * test.margin:.1f}", verdict]


def _tenth_cells(policy: str, tenth: Tenth) -> list[str]:
    calls = f"{tenth.calls[0]}-{tenth.calls[1] - 1}"
    times = [f"{tenth.ms_median:.2f}", f"{tenth.ms_p95:.2f}", f"{tenth.rss_mb:.1f}"]
    return [policy, calls, f"{tenth.view_tokens_max}", f"{tenth.full_tokens}", *times]


def _mean_rates(result: LongResult, rule: str) -> tuple[float, float]:
    pairs = [pair for pair in result.pairs if pair.difference(rule) is not None]
    sides = ([pair.alone[rule] for pair in pairs], [pair.inside[rule] for pair in pairs])
    alone, inside = (sum(t.visible_rate or 0.0 for t in side) / max(1, len(pairs)) for side in sides)
    return alone, inside


def long_row(result: LongResult) -> dict[str, Any]:
    """One result as JSON data, the series apart (see `long_series`); shares are 0 to 1."""
    return {
        "policy": result.policy,
        "budget_tokens": result.budget_tokens,
        "tasks": len(result.pairs),
        "calls": result.calls,
        "full_tokens": result.full_tokens,
        "alone_full_tokens": result.alone_full_tokens,
        "total_tokens": result.total_tokens,
        "peak_tokens": result.peak_tokens,
        "over_flagged": result.over_flagged,
        "over_silent": result.over_silent,
        "invalid_views": result.invalid_views,
        "tests": {rule: _test_row(result, rule) for rule in RULES},
        "tenths": [asdict(tenth) for tenth in result.tenths],
        "pairs": [_pair_row(pair) for pair in result.pairs],
        "worst": result.worst.name if result.worst else None,
    }


def _test_row(result: LongResult, rule: str) -> dict[str, Any]:
    test = result.tests[rule]
    alone, inside = result.pooled(rule)
    return {
        **asdict(test),
        "non_inferior": test.non_inferior,
        "equivalent": test.equivalent,
        "mean_alone": _mean_rates(result, rule)[0],
        "mean_inside": _mean_rates(result, rule)[1],
        "pooled_alone": asdict(alone),
        "pooled_inside": asdict(inside),
    }


def _pair_row(pair: TaskPair) -> dict[str, Any]:
    sides: Mapping[str, Mapping[str, Tally]] = {"alone": pair.alone, "inside": pair.inside}
    tallies = {side: {rule: asdict(tally) for rule, tally in rules.items()} for side, rules in sides.items()}
    return {"name": pair.name, "source_format": pair.source_format, **tallies}


def long_series(result: LongResult) -> dict[str, list[float]]:
    """One list a line of the plot, a value a call."""
    series = result.series
    calls = [float(call) for call in range(result.calls)]
    return {
        "call": calls,
        "view_tokens": [float(n) for n in series.view_tokens],
        "full_tokens": [float(n) for n in series.full_tokens],
        "ms": list(series.ms),
        "rss_mb": list(series.rss_mb),
    }
