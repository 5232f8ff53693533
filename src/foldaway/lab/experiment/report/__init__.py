"""The report of an experiment: one HTML page that needs nothing from outside."""

from __future__ import annotations

from collections.abc import Sequence

from foldaway.lab.experiment.facts import Facts
from foldaway.lab.experiment.keep import Row
from foldaway.lab.experiment.report import detail, method, overview
from foldaway.lab.experiment.report.findings import Findings
from foldaway.lab.experiment.report.page import page
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

__all__ = [
    "Cell",
    "DotPlot",
    "Dots",
    "LineChart",
    "Mark",
    "Part",
    "Section",
    "Series",
    "Table",
    "Unit",
    "render",
]

TITLE = "What stays in view, and what it costs"


def render(rows: Sequence[Row], facts: Facts, extra: Sequence[Section] = ()) -> str:
    """The page of an experiment; `extra` sections stand before the method. The same data give the same bytes."""
    findings = Findings(rows, facts.seed, facts.resamples)
    measured = _measured(findings, extra) if findings.sessions else [overview.nothing(), *extra]
    sections = [*measured, method.method_section(), method.setup_section(findings, facts)]
    subtitle = (
        f"Foldaway {facts.foldaway}: {len(findings.sessions)} recorded agent sessions, {len(findings.policies)} "
        f"policies, {len(findings.budgets)} budgets. A replay, with the recorded next step as the witness: see "
        "Method and limits."
    )
    return page(TITLE, subtitle, sections)


def _measured(findings: Findings, extra: Sequence[Section]) -> list[Section]:
    return [
        overview.glance(findings),
        overview.curve_section(findings),
        overview.pareto_section(findings),
        detail.budget_section(findings),
        *([detail.paired_section(findings)] if len(findings.policies) > 1 else []),
        detail.loss_section(findings),
        detail.bill_section(findings),
        detail.fault_section(findings),
        detail.source_section(findings),
        *extra,
        detail.time_section(findings),
    ]
