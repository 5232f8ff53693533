"""The first sections: the answer at a glance, curves, and who is best where."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from foldaway.lab.experiment.curves import (
    Area,
    Point,
    area,
    bill_share,
    curves,
    dominations,
    frontier,
    levels,
    mean_tokens,
    no_impact,
    price_levels,
)
from foldaway.lab.experiment.report.axis import written
from foldaway.lab.experiment.report.findings import Findings, bill, kilo, percent, points, rate
from foldaway.lab.experiment.report.section import Cell, LineChart, Mark, Section, Series, Table, Unit

RULES_SHOWN = (("loose", "all needs"), ("strict", "rare needs only"), ("values", "without passages"))
BILL_LABEL = "prompt bill, share of full history's (extra calls for misses included)"
MEAN_LABEL = "mean tokens of a prompt"
WITNESS = (
    "The dashed grey line is the `oracle`, which knows what the coming steps will use. It is no policy that anybody "
    "could run: it shows how far one could come, and stands in no ranking."
)
Found = Mapping[str, Sequence[Point]]


def glance(findings: Findings) -> Section:
    """One sentence and the main curve."""
    found = curves(findings.pools, bill_share, no_impact("loose"))
    chart = _chart(
        "Up and to the left is better: more of what a step needs is in front of the model, for less money.",
        found,
        curves(findings.witness_pools, bill_share, no_impact("loose")),
        findings,
        BILL_LABEL,
        Unit.SHARE,
        small=False,
    )
    how = (
        f"Each dot is a policy under one token budget ({', '.join(map(kilo, findings.budgets))}), pooled over "
        f"{len(findings.sessions)} recorded agent sessions. Height: of the steps that use something an earlier "
        "observation supplied, the share with all of it in view. Full history stands at 100 % of both."
    )
    if findings.witnesses:
        how += f" {WITNESS}"
    return Section(title="At a glance", key="glance", parts=[_sentence(findings), chart, how])


def nothing() -> Section:
    """What stands there instead when nothing could be pooled."""
    told = "No session ran through under every policy and budget; the last section names what failed."
    return Section(title="At a glance", key="glance", parts=[told])


def _sentence(findings: Findings) -> str:
    one, other, budget = findings.looked_at, findings.compared_with, findings.usual_budget
    ours, theirs = findings.pooled(one, budget), findings.pooled(other, budget)
    if ours is None:
        return ""
    told = (
        f"With a budget of {kilo(budget)} tokens, `{one}` keeps everything that a step needs in view in "
        f"{percent(rate(ours))} % of the steps"
    )
    if theirs is None:
        return f"{told}, at {percent(bill(ours))} % of full history's prompt bill."
    gap = findings.difference(one, other, budget, "loose")
    return (
        f"{told}, `{other}` in {percent(rate(theirs))} % (difference {points(gap.value)} points, 95 % interval "
        f"{points(gap.low)} to {points(gap.high)}), at {percent(bill(ours))} against {percent(bill(theirs))} % of full "
        f"history's prompt bill. {_over_the_curve(findings)}"
    )


def _over_the_curve(findings: Findings) -> str:
    """Whether the policy looked at is the best over the whole curve, and if not, who is."""
    found = {p: frontier(c) for p, c in curves(findings.pools, bill_share, no_impact("loose")).items()}
    one = findings.looked_at
    tried = {p: area(found[one], found[p]) for p in found if p != one}
    gaps = {p: gap for p, gap in tried.items() if gap is not None}
    if not gaps:
        return ""
    best, closest = min(gaps.items(), key=lambda item: (item[1].mean_difference, item[0]))
    if all(gap.share_above >= 1 for gap in gaps.values()):
        return (
            f"At equal bills no other policy keeps more in view; the next best, `{best}`, stays "
            f"{percent(closest.mean_difference)} points below it on average."
        )
    behind = sorted(p for p, gap in gaps.items() if gap.share_above < 1)
    named = ", ".join(f"`{p}`" for p in behind)
    return (
        f"At equal bills it is not the best everywhere: {named} keep{'s' if len(behind) == 1 else ''} more in part of "
        f"the range. Against the strongest over the whole range, `{best}`, it stands "
        f"{points(closest.mean_difference)} points on average."
    )


def _chart(
    title: str, found: Found, witnesses: Found, findings: Findings, x_label: str, unit: Unit, *, small: bool
) -> LineChart:
    series = [
        Series(
            name=policy,
            points=[(p.x, p.y) for p in points_],
            hints=[
                f"{policy} at {kilo(p.budget_tokens)}: {percent(p.y)} % of steps, "
                + (f"{percent(p.x)} % of the bill" if unit is Unit.SHARE else f"{p.x:,.0f} tokens")
                for p in points_
            ],
            strong=policy == findings.looked_at,
        )
        for policy, points_ in found.items()
    ]
    series += [Series(name=n, points=[(p.x, p.y) for p in line], bound=True) for n, line in witnesses.items()]
    y_label = "needs all in view" if small else "steps with all needs in view"
    return LineChart(
        title=title, x_label=x_label, y_label=y_label, series=series, x_unit=unit, y_unit=Unit.SHARE, small=small
    )


def curve_section(findings: Findings) -> Section:
    """The curve under each rule, against bill and tokens, and the areas between them."""
    charts = []
    for rule, title in RULES_SHOWN:
        for x, label, unit in (
            (bill_share, "share of full history's bill", Unit.SHARE),
            (mean_tokens, MEAN_LABEL, Unit.TOKENS),
        ):
            found, limits = (curves(p, x, no_impact(rule)) for p in (findings.pools, findings.witness_pools))
            charts.append(_chart(f"{title[0].upper()}{title[1:]}", found, limits, findings, label, unit, small=True))
    about = (
        "All needs (`loose`): every value or passage that the recorded step used again. Rare needs only (`strict`): "
        "those that at most three earlier observations held. Without passages (`values`): paths, identifiers, "
        "numbers, hashes and addresses, but no whole lines of edits and no quoted strings."
    )
    return Section(title="Curves", parts=[about, *charts, _areas(findings)])


def _areas(findings: Findings) -> Table:
    one = findings.looked_at
    others = [policy for policy in findings.policies if policy != one]
    rows: dict[str, list[Cell]] = {policy: [policy] for policy in others}
    columns = ["against"]
    for rule, title in RULES_SHOWN:
        for x, label in ((bill_share, "bill"), (mean_tokens, "tokens")):
            columns.append(f"{title}, by {label}")
            fronts = {p: frontier(c) for p, c in curves(findings.pools, x, no_impact(rule)).items()}
            for policy in others:
                rows[policy].append(_area_cell(area(fronts[one], fronts[policy]), label == "bill"))
    return Table(
        title=f"Area between the curve of {one} and those of the others",
        columns=columns,
        rows=list(rows.values()),
        note=f"{one} less the other, in percentage points: the mean difference in height over the range of x that both "
        "can be had for, by the trapezoid rule between frontiers (the most that a policy keeps in view at a price of "
        "at most x; linear between its points, flat to the right of the last). In brackets: the share of that range, "
        "in %, in which it is ahead or equal. Bold: not everywhere. Pointing at a cell shows the range.",
    )


def _area_cell(gap: Area | None, by_bill: bool) -> Cell:
    if gap is None:
        return "-"
    span = [percent(end) if by_bill else f"{end:,.0f}" for end in (gap.low, gap.high)]
    text = f"{points(gap.mean_difference)} ({100 * gap.share_above:.0f})"
    return Mark(text=text, strong=gap.share_above < 1, hint=f"x from {span[0]} to {span[1]}")


def pareto_section(findings: Findings) -> Section:
    """Who is best where, and whom nobody needs."""
    found = curves(findings.pools, bill_share, no_impact("loose"))
    by_mean = curves(findings.pools, mean_tokens, no_impact("loose"))
    parts = [
        _by_price(findings, found, "bill", "Best at a bill of at most", lambda x: written(x, Unit.SHARE)),
        _by_price(findings, by_mean, "mean", "Best at a mean prompt of at most", lambda x: f"{x:,.0f}"),
        _by_budget(findings),
        _dominated(found),
    ]
    return Section(title="Who is best where", key="pareto", parts=parts)


def _by_price(findings: Findings, found: Found, key: str, title: str, write: Callable[[float], str]) -> Table:
    shown = levels(found, price_levels(found))
    rows: list[list[Cell]] = []
    for level in shown:
        cells = [
            Mark(text=percent(level.reached[p]), strong=p in level.best and len(level.best) < len(findings.policies))
            for p in findings.policies
        ]
        rows.append([write(level.x), *cells])
    head = "bill" if key == "bill" else "tokens"
    return Table(
        title=title,
        columns=[head, *findings.policies],
        rows=rows,
        note="Steps with all needs in view, in %, read off the frontiers. -: the policy cannot be had that cheaply. "
        "Bold: best.",
    )


def _by_budget(findings: Findings) -> Table:
    rows: list[list[Cell]] = []
    for budget in findings.budgets:
        found = {p: r for p in findings.policies if (r := findings.pooled(p, budget)) is not None}
        most = max((rate(r) for r in found.values()), default=0.0)
        cells = [
            Mark(text=f"{percent(rate(r))} ({percent(bill(r))})", strong=rate(r) >= most - 5e-5) for r in found.values()
        ]
        rows.append([kilo(budget), f"{len(findings.evicting(budget))} of {len(findings.sessions)}", *cells])
    return Table(
        title="Best at each budget",
        columns=["budget", "must evict", *findings.policies],
        rows=rows,
        note="Steps with all needs in view, in % (and the bill, in % of full history's). Sessions that fit the "
        "budget are in, the same under every policy that waits for the budget. Bold: most in view.",
    )


def _dominated(found: Found) -> Table:
    rows: list[list[Cell]] = []
    for one in dominations(found):
        by = ", ".join(f"{policy} ({count})" for policy, count in one.by.items()) or "nobody"
        rows.append([one.policy, f"{one.beaten} of {one.points}", Mark(text=by)])
    return Table(
        title="Dominated by whom",
        columns=["policy", "budgets at which it is beaten", "by (at how many)"],
        rows=rows,
        note="Beaten: another policy, at whatever budget of its own, costs no more and keeps no less in view, and is "
        "better in one of the two.",
    )
