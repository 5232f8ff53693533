"""Annotation noise as a section."""

from __future__ import annotations

from collections.abc import Sequence

from foldaway.lab.experiment.instruments.cells import share
from foldaway.lab.experiment.report.findings import LOOKED_AT, kilo, percent
from foldaway.lab.experiment.report.section import Cell, LineChart, Mark, Part, Section, Series, Table, Unit
from foldaway.lab.noise import Mistake, Mode, NoiseRow

LIMITS = (
    "Annotations are made of the labels that judge the views, of past steps only: without a mistake they are the most "
    "that declaring can give, not what a real annotator does. Only links and kinds are switched; the names in a fold "
    "note stay with every policy in all three."
)


def noise_section(rows: Sequence[NoiseRow], *, budget: int, sessions: int) -> Section:
    """How each policy degrades when declared kinds and links are wrong."""
    about = (
        f"What if the annotations that an agent declares are wrong? {sessions} recorded session{'s' * (sessions != 1)} "
        f"under {kilo(budget)} tokens: links declared only, inferred from reuse only (nothing annotated), and both "
        "(combined), with wrong kinds, missing links, false links, and all of these at once, at rising rates. A flat "
        "line does not care; a line that falls below inferred would be better off without annotations."
    )
    parts: list[Part] = [about, *(_chart(rows, policy) for policy in dict.fromkeys(row.policy for row in rows))]
    return Section(title="Wrong annotations", key="noise", parts=[*parts, _table(rows), LIMITS])


def _chart(rows: Sequence[NoiseRow], policy: str) -> LineChart:
    """All mistakes at once where they were tried, else the first kind that was."""
    own = [row for row in rows if row.policy == policy]
    tried = list(dict.fromkeys(row.mistake for row in own if row.mistake))
    shown = Mistake.ALL.value if Mistake.ALL.value in tried else next(iter(tried), "")
    rates = sorted({row.rate for row in own})
    series = []
    for mode in (Mode.DECLARED, Mode.COMBINED):
        of_mode = [row for row in own if row.mode == mode and row.mistake == shown]
        points = [(row.rate, row.steps.visible_rate or 0.0) for row in of_mode]
        if points:
            series.append(Series(name=mode.value, points=points, strong=mode is Mode.COMBINED))
    plain = next((row.steps.visible_rate or 0.0 for row in own if row.mode == Mode.INFERRED), None)
    if plain is not None:
        series.append(Series(name=Mode.INFERRED.value, points=[(rates[0], plain), (rates[-1], plain)], bound=True))
    return LineChart(
        title=f"{policy}, {'all mistakes at once' if shown == Mistake.ALL else shown}",
        x_label="share of annotations that are wrong",
        y_label="needs all in view",
        series=series,
        x_unit=Unit.SHARE,
        y_unit=Unit.SHARE,
        small=True,
    )


def _table(rows: Sequence[NoiseRow]) -> Table:
    rates = sorted({row.rate for row in rows})
    cells = {(row.policy, row.mode, row.mistake, row.rate): row for row in rows}
    lines: list[list[Cell]] = []
    for key in dict.fromkeys((row.policy, row.mode, row.mistake) for row in rows):
        found = [cells.get((*key, rate)) for rate in rates]
        lines.append([Mark(text=key[0], strong=key[0] == LOOKED_AT), key[1], key[2] or "-", *map(_cell, found)])
    return Table(
        title="Every mistake at every rate",
        columns=["policy", "links", "wrong", *(f"{percent(rate).removesuffix('.0')} %" for rate in rates)],
        rows=lines,
        left=3,
        groups=True,
        note="Steps with all needs in view, in % (and the bill, in % of full history's).",
    )


def _cell(row: NoiseRow | None) -> Cell:
    if row is None:
        return ""
    failed = f", {row.failed} failed" if row.failed else ""
    links = f"{row.true_links} true links, {row.false_links} false ones"
    seen = share(row.steps.visible, row.steps.total)
    return Mark(text=f"{seen} ({percent(row.bill_share)}{failed})", hint=links)
