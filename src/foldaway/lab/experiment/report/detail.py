"""The sections below: figures with intervals, paired differences, what was lost, bills, faults, sources, time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from foldaway.lab.experiment.keep import Row
from foldaway.lab.experiment.report.findings import FEW_STEPS, Findings, bill, kilo, percent, points, rate
from foldaway.lab.experiment.report.section import (
    Cell,
    DotPlot,
    Dots,
    LineChart,
    Mark,
    Part,
    Section,
    Series,
    Table,
    Unit,
)
from foldaway.lab.experiment.sources import CHOSEN_ON, HELD_OUT
from foldaway.lab.experiment.stats import clopper_pearson
from foldaway.lab.faults import KINDS as FAULT_KINDS
from foldaway.lab.needs import AGES
from foldaway.lab.prices import PRICE_LISTS
from foldaway.lab.results import ReplayResult, Tallies, Tally, percentile, pool, wilson

NAME_CHARS = 26
"""Of a session's name, in a column of figures."""
MOST_SESSIONS = 60
"""Sessions of the dot plot; the data has all."""


def budget_section(findings: Findings) -> Section:
    """Every figure of every policy under every budget, with intervals."""
    rows = []
    for budget in findings.budgets:
        for policy in (*findings.policies, *findings.witnesses):
            result = findings.pooled(policy, budget)
            if result is not None:
                rows.append([kilo(budget), policy, *_figures(result, findings.worst(policy, budget))])
    table = Table(
        columns=[
            *("budget", "policy", "seen %", "exact 95 %", "strict %", "values %", "reach %", "bill %"),
            *("worst session", "mean tokens", "peak", "extra calls", "commits", "breaks", "over", "invalid"),
        ],
        rows=rows,
        left=2,
        groups=True,
        note="seen: steps with all needs in view (exact interval by Clopper and Pearson; pointing at it shows "
        "Wilson's); strict, values: by these rules; reach: in view, or a stub led to it. extra calls: one for each "
        "need out of view, in the bill. breaks: views that did not extend the one before. over: views over the "
        "budget that said so (those that did not behind a !). worst session: lowest seen % among those with at least "
        f"{FEW_STEPS} steps with needs. The intervals take steps for independent and so are a little too narrow; the "
        "differences below are not, they draw whole sessions."
        + (" oracle: knows the future; no policy." if findings.witnesses else ""),
    )
    return Section(title="Every budget, with intervals", key="budgets", parts=[table])


def _figures(result: ReplayResult, worst: Row | None) -> list[Cell]:
    loose = result.steps.get("loose", Tally())
    over = f"{result.over_flagged}" + (f"!{result.over_silent}" if result.over_silent else "")
    return [
        percent(loose.visible_rate),
        Mark(
            text=_span(clopper_pearson(loose.visible, loose.total)),
            hint=f"Wilson: {_span(wilson(loose.visible, loose.total))}",
        ),
        percent(result.steps.get("strict", Tally()).visible_rate),
        percent(result.steps.get("values", Tally()).visible_rate),
        percent(loose.reachable_rate),
        percent(bill(result)),
        _worst(worst),
        f"{result.mean_tokens:,.0f}",
        f"{result.peak_tokens:,}",
        f"{result.bill.extra_calls:,}",
        f"{result.commits:,}",
        f"{result.prefix_breaks:,}",
        over,
        f"{result.invalid_views}",
    ]


def _span(ends: tuple[float, float]) -> str:
    return f"{percent(ends[0])}-{percent(ends[1])}"


def _worst(row: Row | None) -> Cell:
    return "-" if row is None else _named(row.result.session, percent(rate(row.result)))


def _named(session: str, figure: str) -> Mark:
    """A session with its figure; a long name is cut, and whole when one points at it."""
    short = session if len(session) <= NAME_CHARS else f"{session[: NAME_CHARS - 1]}…"
    return Mark(text=f"{short} ({figure})", hint=session)


def paired_section(findings: Findings) -> Section:
    """The policy looked at against each other one, on the same sessions."""
    one = findings.looked_at
    rows = []
    for budget in findings.budgets:
        for other in findings.policies:
            if other != one:
                rows.append([kilo(budget), other, *_paired(findings, one, other, budget)])
    table = Table(
        columns=[
            *("budget", "against", "seen, points", "95 %", "strict, points", "values, points"),
            *("bill, points", "95 % ", "sessions better / same / worse", "worst session"),
        ],
        rows=rows,
        left=2,
        groups=True,
        note=f"{one} less the other, in percentage points, pooled over steps. Intervals: paired bootstrap over "
        f"sessions, {findings.resamples} resamples, seed {findings.seed}; bold where they leave zero out. In seen "
        "more is better, in the bill less. worst session: where it falls furthest behind, or leads least.",
    )
    return Section(title=f"{one} against each other policy", key="paired", parts=[table])


def _paired(findings: Findings, one: str, other: str, budget: int) -> list[Cell]:
    seen, cost = findings.difference(one, other, budget, "loose"), findings.bill_difference(one, other, budget)
    worst = findings.worst_against(one, other, budget)
    return [
        Mark(text=points(seen.value), strong=seen.clear),
        f"{points(seen.low)} to {points(seen.high)}",
        *(_clear(findings, one, other, budget, rule) for rule in ("strict", "values")),
        Mark(text=points(cost.value), strong=cost.clear),
        f"{points(cost.low)} to {points(cost.high)}",
        _by_session(findings, one, other, budget),
        _named(worst[0], points(worst[1])) if worst else "-",
    ]


def _clear(findings: Findings, one: str, other: str, budget: int, rule: str) -> Mark:
    gap = findings.difference(one, other, budget, rule)
    return Mark(text=points(gap.value), strong=gap.clear, hint=f"{points(gap.low)} to {points(gap.high)}")


def _by_session(findings: Findings, one: str, other: str, budget: int) -> str:
    gaps = [
        row.result.steps.get("loose", Tally()).visible - theirs.result.steps.get("loose", Tally()).visible
        for row, theirs in zip(findings.under(one, budget), findings.under(other, budget), strict=True)
    ]
    return f"{sum(g > 0 for g in gaps)} / {sum(g == 0 for g in gaps)} / {sum(g < 0 for g in gaps)}"


def loss_section(findings: Findings) -> Section:
    """Where needs were out of view: by kind and by age."""
    budget = findings.usual_budget
    found = [r for p in findings.policies if (r := findings.pooled(p, budget)) is not None]
    kinds = _order(found, lambda r: r.needs_by_kind)
    ages = [age for age in AGES if age in _order(found, lambda r: r.needs_by_age)]
    series = [
        Series(
            name=r.policy,
            points=[(n, _lost(r.needs_by_age, age) or 0.0) for n, age in enumerate(ages)],
            hints=[f"{r.policy}, {age} steps old: {percent(_lost(r.needs_by_age, age))} % out of view" for age in ages],
            strong=r.policy == findings.looked_at,
        )
        for r in found
    ]
    chart = LineChart(
        title="Needs out of view, by age",
        x_label="age of the need, in steps",
        x_names=ages,
        y_label="share of needs out of view",
        series=series,
        y_unit=Unit.SHARE,
        y_from_zero=True,
    )
    about = (
        f"Of all needs (not steps), the share that stood out of view under a budget of {kilo(budget)} tokens. The age "
        "of a need is counted from the newest observation that held it."
    )
    parts: list[Part] = [about, _loss_table("By kind", "kind", kinds, found, lambda r: r.needs_by_kind)]
    return Section(
        title="Where needs were lost",
        key="losses",
        parts=[*parts, _loss_table("By age", "steps", ages, found, lambda r: r.needs_by_age), chart],
    )


Groups = Callable[[ReplayResult], Mapping[str, Tallies]]


def _order(found: Sequence[ReplayResult], of: Groups) -> list[str]:
    return list(dict.fromkeys(key for result in found for key in of(result).get("loose", {})))


def _lost(groups: Mapping[str, Tallies], key: str) -> float | None:
    seen = groups.get("loose", {}).get(key, Tally()).visible_rate
    return None if seen is None else 1 - seen


def _loss_table(title: str, head: str, keys: Sequence[str], found: Sequence[ReplayResult], of: Groups) -> Table:
    rows: list[list[Cell]] = []
    for key in keys:
        total = max((of(r).get("loose", {}).get(key, Tally()).total for r in found), default=0)
        cells = []
        for result in found:
            lost = _lost(of(result), key)
            missing = of(result).get("loose", {}).get(key, Tally())
            hint = f"{missing.total - missing.visible} of {missing.total}"
            cells.append(Mark(text=percent(lost), shade=lost or 0.0, hint=hint))
        rows.append([key, f"{total:,}", *cells])
    note = "In % of the needs of the row."
    return Table(title=title, columns=[head, "needs", *(r.policy for r in found)], rows=rows, note=note)


def bill_section(findings: Findings) -> Section:
    """The bill of each session, and pooled under the prices of several providers."""
    budget, one, other = findings.usual_budget, findings.looked_at, findings.compared_with
    evicting = findings.evicting(budget)
    rows = [row for row in findings.under(one, budget) if row.result.session in evicting]
    rows.sort(key=lambda row: (-bill(row.result), row.result.session))
    dots = [
        Dots(
            label=row.result.session,
            values=[(p, bill(findings.by_run[row.result.session, p, budget].result)) for p in findings.policies],
        )
        for row in rows[:MOST_SESSIONS]
    ]
    plot = DotPlot(
        title=f"Bill of each session under {kilo(budget)} tokens, dearest first",
        x_label="share of full history's bill; the line is full history",
        rows=dots,
        strong=[one, other],
        x_unit=Unit.SHARE,
        reference=1.0,
    )
    parts = [_bill_words(findings, rows), plot] if rows else ["No session has to evict under this budget."]
    return Section(title="Bill of each session", key="bills", parts=[*parts, _price_table(findings)])


def _bill_words(findings: Findings, rows: Sequence[Row]) -> str:
    one, other, budget = findings.looked_at, findings.compared_with, findings.usual_budget
    worst = rows[0].result
    told = f"Dearest for `{one}`: {worst.session}, {percent(bill(worst))} % of full history's bill."
    if other:
        dearer = sum(bill(r.result) > bill(findings.by_run[r.result.session, other, budget].result) for r in rows)
        told += f" Of {len(rows)} sessions that must evict, `{one}` is dearer than `{other}` in {dearer}."
    left = len(rows) - MOST_SESSIONS
    return f"{told} The {left} cheapest are not drawn." if left > 0 else told


def _price_table(findings: Findings) -> Table:
    found = [r for p in findings.policies if (r := findings.pooled(p, findings.usual_budget)) is not None]
    rows: list[list[Cell]] = []
    for prices in PRICE_LISTS:
        shares = [_share(r, prices.name) for r in found]
        if all(share is None for share in shares):
            continue
        least = min(share for share in shares if share is not None)
        cells = [Mark(text=percent(s), strong=s is not None and s <= least + 5e-5) for s in shares]
        rows.append([prices.name, *cells])
    told = "; ".join(f"{p.name}: {p.source}" for p in PRICE_LISTS)
    return Table(
        title=f"Pooled bill by price list, {kilo(findings.usual_budget)} tokens",
        columns=["price list", *(r.policy for r in found)],
        rows=rows,
        note=f"In % of full history's bill under the same prices. Bold: lowest. {told}.",
    )


def _share(result: ReplayResult, name: str) -> float | None:
    prices = next(p.prices for p in PRICE_LISTS if p.name == name)
    if name not in result.bills or name not in result.full_bills:
        return None
    return result.bills[name].share_of(result.full_bills[name], prices)


def fault_section(findings: Findings) -> Section:
    """What was asked for and not in view, and asked for twice."""
    rows = []
    for budget in findings.budgets:
        for policy in findings.policies:
            result = findings.pooled(policy, budget)
            if result is not None:
                counts = [f"{result.faults.get(kind, 0):,}" for kind in FAULT_KINDS]
                rows.append([kilo(budget), policy, *counts, f"{result.thrash_index:.3f}"])
    table = Table(
        columns=["budget", "policy", *FAULT_KINDS, "thrash index"],
        rows=rows,
        left=2,
        groups=True,
        note="recall: a need out of view that a stub leads to; silent: one that nothing leads to; again: on a part "
        "that had faulted before. refetch: the recorded agent made a call again whose result stood out of view; "
        "duplicate: it stood in view. pin: a view without a person's words as they were written (shortened ones "
        "count). thrash index: again, over needs served from the view plus one.",
    )
    return Section(title="Faults", parts=[table])


def source_section(findings: Findings) -> Section:
    """Source by source, and the halves that parameters were chosen on and judged on."""
    budget = findings.usual_budget
    by_half = {h: [row for row in findings.usable if row.half == h] for h in (HELD_OUT, CHOSEN_ON)}
    halves = [_group_row(findings, half, budget, rows) for half, rows in by_half.items()]
    names = sorted({row.source for row in findings.usable})
    rows = [_group_row(findings, n, budget, [row for row in findings.usable if row.source == n]) for n in names]
    columns = ["source", "", "sessions", "steps", *findings.policies]
    about = (
        "Parameters were chosen while looking at one half of the sources; the other half was held out, and its "
        "figures are the ones to believe."
    )
    note = f"Steps with all needs in view, in % (and the bill), under {kilo(budget)} tokens. Bold: most in view."
    parts: list[Part] = [
        about,
        Table(
            title="Held out and chosen on",
            columns=["half", *columns[2:]],
            rows=[[r[0], *r[2:]] for r in halves],
            note=note,
        ),
        Table(title="Source by source", columns=columns, rows=rows, left=2),
    ]
    return Section(title="Sources", parts=parts)


def _group_row(findings: Findings, name: str, budget: int, rows: Sequence[Row]) -> list[Cell]:
    of_policies = (row.result for row in rows if row.result.policy in findings.policies)
    pooled = {r.policy: r for r in pool(r for r in of_policies if r.budget_tokens == budget)}
    first = next(iter(pooled.values()), None)
    steps = 0 if first is None else first.steps.get("loose", Tally()).total
    most = max((rate(r) for r in pooled.values()), default=0.0)
    cells: list[Cell] = []
    for policy in findings.policies:
        result = pooled.get(policy)
        best = result is not None and rate(result) >= most - 5e-5 and steps > 0
        text = "-" if result is None else f"{percent(rate(result)) if steps else '-'} ({percent(bill(result))})"
        cells.append(Mark(text=text, strong=best and any(rate(r) < most - 5e-5 for r in pooled.values())))
    half = rows[0].half if rows else ""
    return [name, half, f"{0 if first is None else first.sessions}", f"{steps:,}", *cells]


def time_section(findings: Findings) -> Section:
    """How long a call took. Measured, so it differs from run to run."""
    rows = []
    for budget in findings.budgets:
        for policy in findings.policies:
            times = [row.times for row in findings.under(policy, budget) if row.times.calls]
            if times:
                medians = [t.ms_median for t in times]
                figures = [
                    percentile(medians, 0.5),
                    max(medians),
                    max(t.ms_p95 for t in times),
                    max(t.ms_max for t in times),
                ]
                rows.append([kilo(budget), policy, *(f"{ms:.2f}" for ms in figures)])
    table = Table(
        columns=["budget", "policy", "median, ms", "highest median", "highest p95", "slowest call"],
        rows=rows,
        left=2,
        groups=True,
        note="append and view of one call; the median over sessions of each session's median, and the highest over all "
        "sessions. Good for comparison only when a core was free for each worker. The only figures of this report that "
        "differ when it is made anew.",
    )
    return Section(title="Time per call", key="time", parts=[table])
