"""How far policies stayed from what no policy can beat, over the rows of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from foldaway.errors import SettingsError
from foldaway.lab.experiment.bounds import RULE, Place, evicting, find_bounds
from foldaway.lab.experiment.instruments import PLACES
from foldaway.lab.experiment.instruments.cells import share
from foldaway.lab.experiment.keep import Row, rows_hash
from foldaway.lab.experiment.report.findings import FEW_STEPS, LOOKED_AT, Findings, kilo, percent
from foldaway.lab.experiment.report.section import Cell, LineChart, Mark, Part, Section, Series, Table, Unit
from foldaway.lab.experiment.running import Progress
from foldaway.lab.experiment.sections import Tell, tell_on_stderr, write_section
from foldaway.lab.experiment.sources import HELD_OUT, Input
from foldaway.lab.experiment.stats import RESAMPLES, SEED
from foldaway.lab.oracle import Bounds, Regret, pool_regrets, regret_of
from foldaway.lab.oracle.policy import ORACLE
from foldaway.lab.peers import is_peer
from foldaway.lab.results import Tally

WINDOW = "window"
"""Where the distance starts."""
BOUND = "bound"
ALL_BUDGETS = "all"
NAMED = 3
"""Of sessions left out, so many are named."""

ABOUT = (
    "How much is left to win. The **bound** holds for whatever goes through the engine with the same pins and budget: "
    "it leaves rules out, so not even a policy that knows the future can pass it. The **oracle** is such a policy, run "
    "through the ordinary engine: what it reaches can be reached. The true optimum lies between the two, and the true "
    "distance of a policy between its distance to either."
)
LIMITS = (
    "Only sessions in which something has to go under the budget. The bounds on steps and on the bill are those of two "
    "different games, each played for one of them alone: no policy need reach both. Knowing what comes is worth a lot: "
    "nobody without it can be expected to close all of the distance."
)
NOTE = (
    "steps: those with needs (rule `loose`). seen, oracle, bound: share of them with all needs in view, in %. closed: "
    "share of the way from `window` to the bound, in %, below 0 where `window` is ahead; of oracle: the same to what "
    "the oracle reaches. bills: prompt bill in % of full history's; least: no policy can pay less. worst "
    f"session: lowest share of what the bound allows, among those with at least {FEW_STEPS} steps; in brackets steps "
    "seen of steps possible."
)
PEER_NOTE = (
    " *: another library, which may drop what the engine must keep (a person's words, the last turn), and so is not "
    "held by the bounds."
)
UNSENT_NOTE = " !: calls that could not be sent are not in the bill, so it cannot be held against the bound."


def measure_distance(
    rows: Sequence[Row],
    inputs: Sequence[Input],
    folder: Path,
    *,
    model: str = "",
    workers: str = "1",
    progress: Progress | None = None,
    tell: Tell = tell_on_stderr,
) -> list[Regret]:
    """Find the bounds of an experiment and keep its section in `folder`; `tell` hears of sessions left out.

    `model` is the experiment's own. Raises SettingsError where the rows lack `window` or `oracle`.
    """
    check_witnesses({row.result.policy for row in rows})
    places = evicting(rows)
    bounds = find_bounds(inputs, places, folder, model=model, workers=workers, progress=progress)
    regrets = regrets_of(rows, bounds)
    usable = set(Findings(rows, SEED, RESAMPLES).sessions)
    lost = sorted({session for session, _ in places if session in usable} - {regret.session for regret in regrets})
    if lost:
        tell(f"no bounds for {len(lost)} sessions, not given or not as they were: {', '.join(lost[:NAMED])}")
    write_section(
        folder,
        distance_section(rows, regrets),
        order=PLACES["oracle"].order,
        name=PLACES["oracle"].name,
        about=rows_hash(rows),
    )
    return regrets


def check_witnesses(policies: Collection[str]) -> None:
    """Raises SettingsError where the runs that a distance is measured with are not there."""
    lacking = [name for name in (WINDOW, ORACLE) if name not in policies]
    if lacking:
        raise SettingsError(
            f"the distance to the oracle is measured from {WINDOW}, with runs of {ORACLE}; run `foldaway lab run` "
            f"with {' and '.join(lacking)} among its policies"
        )


def regrets_of(rows: Sequence[Row], bounds: Mapping[Place, Bounds]) -> list[Regret]:
    """One regret a policy, session and budget of which the bounds are known; sessions with a failed run are left out,
    and those whose bounds are of another recording."""
    findings = Findings(rows, SEED, RESAMPLES)
    found = []
    for (session, budget), limits in sorted(bounds.items(), key=lambda item: item[0]):
        window, oracle = (findings.by_run.get((session, name, budget)) for name in (WINDOW, ORACLE))
        if window is None or oracle is None:
            continue
        if window.result.steps.get(RULE, Tally()).total != limits.visible.total:
            continue
        for policy in findings.policies:
            row = findings.by_run.get((session, policy, budget))
            if row is not None:
                found.append(regret_of(row.result, window=window.result, oracle=oracle.result, bounds=limits))
    return found


def pooled(regrets: Sequence[Regret], name: str = "all sessions") -> list[Regret]:
    """Budget by budget, policy by policy in order of first appearance; then over all budgets (budget 0)."""
    budgets = sorted({regret.budget_tokens for regret in regrets})
    found: list[Regret] = []
    for budget in budgets:
        group = pool_regrets((r for r in regrets if r.budget_tokens == budget), name)
        found += [replace(one, budget_tokens=budget) for one in group]
    return found + (pool_regrets(regrets, name) if len(budgets) > 1 else [])


def worst(regrets: Iterable[Regret]) -> Regret | None:
    """Where a policy saw the smallest share of what the bound allows."""
    enough = [r for r in regrets if r.bound_visible >= FEW_STEPS]
    return min(enough, key=lambda r: (r.visible / r.bound_visible, r.session, r.budget_tokens), default=None)


def distance_rows(regrets: Sequence[Regret]) -> list[dict[str, Any]]:
    """Pooled regrets as JSON data; shares are 0 to 1."""
    return [{**asdict(r), "steps_closed": r.steps_closed, "bill_closed": r.bill_closed} for r in regrets]


def distance_section(rows: Sequence[Row], regrets: Sequence[Regret]) -> Section:
    """Prose, a picture for each objective, and the table of all sessions and of the held-out half."""
    held_out = {row.result.session for row in rows if row.half == HELD_OUT}
    apart = [regret for regret in regrets if regret.session in held_out]
    parts: list[Part] = [ABOUT, _sentence(regrets, apart), *_charts(regrets), _table("All sessions", regrets)]
    if apart and len(apart) < len(regrets):
        parts.append(_table("Held-out half", apart))
    return Section(title="Distance to the oracle", key="distance", parts=[*parts, LIMITS])


def _sentence(regrets: Sequence[Regret], apart: Sequence[Regret]) -> str:
    if not regrets:
        return "No session has to evict under any of these budgets, so there is no distance."
    names = list(dict.fromkeys(r.policy for r in regrets))
    one = LOOKED_AT if LOOKED_AT in names else next((n for n in names if n != WINDOW), WINDOW)
    whole = next(r for r in pool_regrets(regrets) if r.policy == one)
    seen, oracle, bound = (
        share(n, whole.total) for n in (whole.window_visible, whole.oracle_visible, whole.bound_visible)
    )
    bills = [share(bill, whole.full_bill) for bill in (whole.window_bill, whole.bound_bill)]
    told = (
        f"Over all budgets, `{one}` closed {percent(whole.steps_closed)} % of the distance in steps from `window` "
        f"({seen} % seen) to the bound ({bound} %; the oracle reaches {oracle} %), and {percent(whole.bill_closed)} % "
        f"of that in the bill (from {bills[0]} to {bills[1]} % of full history's)."
    )
    held = next((r for r in pool_regrets(apart) if r.policy == one), None)
    if held is None or len(apart) == len(regrets):
        return told
    return (
        f"{told} On the held-out half: {percent(held.steps_closed)} % in steps, {percent(held.bill_closed)} % in the "
        "bill."
    )


def _charts(regrets: Sequence[Regret]) -> list[LineChart]:
    by_budget = [r for r in pooled(regrets) if r.budget_tokens]
    if len({r.budget_tokens for r in by_budget}) < 2:
        return []
    steps = _lines(by_budget, lambda r: (r.visible, r.oracle_visible, r.bound_visible, r.total))
    bills = _lines(by_budget, lambda r: (r.bill, r.oracle_bill, r.bound_bill, r.full_bill))
    return [
        LineChart(
            title=title, x_label="budget", y_label=label, series=series, x_unit=Unit.TOKENS, y_unit=Unit.SHARE,
            small=True,
        )
        for title, label, series in (
            ("Steps, up to the bound", "needs all in view", steps),
            ("Bill, down to the bound", "share of full history's", bills),
        )
    ]  # fmt: skip


def _lines(by_budget: Sequence[Regret], figures: Callable[[Regret], tuple[float, float, float, float]]) -> list[Series]:
    """The policies that the engine plays, and the two limits."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for regret in by_budget:
        value, oracle, bound, whole = figures(regret)
        if whole and not is_peer(regret.policy):
            lines.setdefault(regret.policy, []).append((regret.budget_tokens, value / whole))
        if whole and regret.policy == WINDOW:
            lines.setdefault(ORACLE, []).append((regret.budget_tokens, oracle / whole))
            lines.setdefault(BOUND, []).append((regret.budget_tokens, bound / whole))
    limits = (ORACLE, BOUND)
    order = [*(name for name in lines if name not in limits), *(name for name in limits if name in lines)]
    return [Series(name=n, points=lines[n], strong=n == LOOKED_AT, bound=n in limits) for n in order]


def _table(title: str, regrets: Sequence[Regret]) -> Table:
    note = NOTE
    note += PEER_NOTE if any(is_peer(r.policy) for r in regrets) else ""
    note += UNSENT_NOTE if any(r.refused_calls for r in regrets) else ""
    sessions = len({r.session for r in regrets})
    return Table(
        title=f"{title} ({sessions} that must evict)",
        columns=[
            *("budget", "policy", "steps", "seen %", "oracle %", "bound %", "closed %", "of oracle %"),
            *("bill %", "oracle's bill %", "least bill %", "bill closed %", "worst session"),
        ],
        rows=[_cells(one, regrets) for one in pooled(regrets)],
        left=2,
        groups=True,
        note=note,
    )


def _cells(one: Regret, regrets: Sequence[Regret]) -> list[Cell]:
    same = (r for r in regrets if r.policy == one.policy and one.budget_tokens in (0, r.budget_tokens))
    shown = one.oracle_visible - one.window_visible
    return [
        kilo(one.budget_tokens) if one.budget_tokens else ALL_BUDGETS,
        f"{one.policy}{'*' if is_peer(one.policy) else ''}",
        f"{one.total:,}",
        *(share(seen, one.total) for seen in (one.visible, one.oracle_visible, one.bound_visible)),
        percent(one.steps_closed),
        share(one.visible - one.window_visible, shown) if shown > 0 else "-",
        share(one.bill, one.full_bill) + ("!" if one.refused_calls else ""),
        *(share(bill, one.full_bill) for bill in (one.oracle_bill, one.bound_bill)),
        percent(one.bill_closed),
        _worst_cell(worst(same)),
    ]


def _worst_cell(found: Regret | None) -> Cell:
    if found is None:
        return "-"
    short = found.session if len(found.session) <= 26 else f"{found.session[:25]}…"
    where = f"{found.session}, {kilo(found.budget_tokens)}"
    return Mark(text=f"{short} ({found.visible} of {found.bound_visible})", hint=where)
