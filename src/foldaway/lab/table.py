"""Replay results as JSON rows and as a table to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from foldaway.lab.bill import PRICES
from foldaway.lab.prices import PRICE_LISTS
from foldaway.lab.results import RULES, ReplayResult, Tallies, Tally, percentile, wilson
from foldaway.model.plan import Prices

COLUMNS = (
    *("session", "policy", "budget", "calls", "peak", "mean", "all%", "strict%", "values%", "recall%", "bill%"),
    *("extra", "commits", "breaks", "invalid", "over", "ms", "p95"),
)

LEGEND = (
    "peak, mean: prompt tokens. all%: share of the steps with needs for which every need stood in the view;\n"
    "strict%: rare literals only; values%: without passages (whole lines of edits, quoted strings); recall%: in view,\n"
    "or a stub led to it. bill%: of the full history's, with one extra call for each need out of view.\n"
    "over: views over the budget that say so (silent ones behind a !). ms, p95: append and view, per call.\n"
    "A replay shows whether needed content was in view or recallable, not whether a model would have used it."
)


def row(result: ReplayResult) -> dict[str, Any]:
    """One result as JSON data; shares are 0 to 1, rates null where there was no need."""
    if result.error:
        return {
            "session": result.session,
            "policy": result.policy,
            "budget_tokens": result.budget_tokens,
            "error": result.error,
        }
    return {
        "session": result.session,
        "policy": result.policy,
        "budget_tokens": result.budget_tokens,
        "sessions": result.sessions,
        "calls": result.calls,
        "refused_calls": result.refused_calls,
        "peak_tokens": result.peak_tokens,
        "mean_tokens": round(result.mean_tokens, 1),
        "total_tokens": result.total_tokens,
        "total_plain_tokens": result.total_plain_tokens,
        "full_tokens": result.full_tokens,
        "no_impact": {rule: _tally(result.steps.get(rule, Tally())) for rule in RULES},
        "needs_by_age": _nested(result.needs_by_age),
        "needs_by_kind": _nested(result.needs_by_kind),
        "bills": {prices.name: _bill(result, prices) for prices in PRICES} | _provider_bills(result),
        "faults": {**result.faults, "thrash_index": round(result.thrash_index, 4)},
        "extra_calls": result.bill.extra_calls,
        "commits": result.commits,
        "prefix_breaks": result.prefix_breaks,
        "invalid_views": result.invalid_views,
        "problems": list(result.problems),
        "over_flagged": result.over_flagged,
        "over_silent": result.over_silent,
        "ms_median": round(percentile(result.call_ms, 0.5), 3),
        "ms_p95": round(percentile(result.call_ms, 0.95), 3),
        "ms_max": round(max(result.call_ms, default=0.0), 3),
    }


def _bill(result: ReplayResult, prices: Prices) -> dict[str, float]:
    return {
        "tokens_at_base_price": round(result.bill.cost(prices), 1),
        "full_tokens_at_base_price": round(result.full_bill.cost(prices), 1),
        "share_of_full": round(result.bill.share_of(result.full_bill, prices), 4),
    }


def _provider_bills(result: ReplayResult) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for rules in PRICE_LISTS:
        if rules.name in result.bills:
            bill, full = result.bills[rules.name], result.full_bills[rules.name]
            found[rules.name] = {
                "tokens_at_base_price": round(bill.cost(rules.prices), 1),
                "full_tokens_at_base_price": round(full.cost(rules.prices), 1),
                "share_of_full": round(bill.share_of(full, rules.prices), 4),
            }
    return found


def _tally(tally: Tally) -> dict[str, Any]:
    return {
        "total": tally.total,
        "visible": tally.visible,
        "reachable": tally.reachable,
        "visible_rate": tally.visible_rate,
        "visible_95": list(wilson(tally.visible, tally.total)),
        "reachable_rate": tally.reachable_rate,
        "reachable_95": list(wilson(tally.reachable, tally.total)),
    }


def _nested(rules: Mapping[str, Tallies]) -> dict[str, Any]:
    return {
        rule: {key: {"total": t.total, "visible": t.visible, "reachable": t.reachable} for key, t in tallies.items()}
        for rule, tallies in rules.items()
    }


def replay_table(results: Iterable[ReplayResult], *, intervals: bool = False) -> str:
    """Results as aligned text; with `intervals`, rates carry their 95 % interval (meant for pooled rows)."""
    lines = [list(COLUMNS)]
    notes: list[str] = []
    for result in results:
        if result.error:
            lines.append([result.session, result.policy, str(result.budget_tokens), "failed"])
            notes.append(f"{result.session}, {result.policy}, {result.budget_tokens}: {result.error}")
            continue
        lines.append(_cells(result, intervals))
        notes.extend(f"{result.session}, {result.policy}, {result.budget_tokens}: {p}" for p in result.problems)
    return "\n".join([aligned(lines, left=2), "", LEGEND, *notes])


def _cells(result: ReplayResult, intervals: bool) -> list[str]:
    rates: list[str] = []
    for rule in ("loose", "strict", "values"):
        tally = result.steps.get(rule, Tally())
        rates.append(_rate(tally.visible, tally.total, intervals))
    everything = result.steps.get("loose", Tally())
    rates.append(_rate(everything.reachable, everything.total, intervals))
    over = str(result.over_flagged) + (f"!{result.over_silent}" if result.over_silent else "")
    calls = str(result.calls) + (f" (-{result.refused_calls})" if result.refused_calls else "")
    return [
        result.session,
        result.policy,
        f"{result.budget_tokens}",
        calls,
        f"{result.peak_tokens}",
        f"{result.mean_tokens:.0f}",
        *rates,
        f"{100 * result.bill.share_of(result.full_bill):.1f}",
        f"{result.bill.extra_calls}",
        f"{result.commits}",
        f"{result.prefix_breaks}",
        f"{result.invalid_views}",
        over,
        f"{percentile(result.call_ms, 0.5):.2f}",
        f"{percentile(result.call_ms, 0.95):.2f}",
    ]


def _rate(hits: int, total: int, interval: bool) -> str:
    if total == 0:
        return "-"
    if not interval:
        return f"{100 * hits / total:.1f}"
    low, high = wilson(hits, total)
    return f"{100 * hits / total:.1f} ({100 * low:.1f}-{100 * high:.1f})"


def needs_table(result: ReplayResult) -> str:
    """One result's needs by age and by kind: how many there were, what share stood in the view or was reachable."""
    lines = [["rule", "of", "", "needs", "visible %", "reachable %"]]
    for title, groups in (("age", result.needs_by_age), ("kind", result.needs_by_kind)):
        for rule in RULES:
            for key, tally in groups.get(rule, {}).items():
                seen, reached = (100 * n / tally.total for n in (tally.visible, tally.reachable))
                lines.append([rule, title, key, str(tally.total), f"{seen:.1f}", f"{reached:.1f}"])
    return aligned(lines, left=3)


def aligned(lines: Sequence[Sequence[str]], *, left: int) -> str:
    """Columns of equal width, a rule under the first line; the first `left` columns are flush left."""
    count = max(map(len, lines))
    padded = [[*line, *[""] * (count - len(line))] for line in lines]
    widths = [max(len(line[i]) for line in padded) for i in range(count)]
    text = [
        "  ".join(c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True)))
        for line in padded
    ]
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in text)
