"""The second witness as a section."""

from __future__ import annotations

from typing import Any

from foldaway.lab.experiment.instruments.cells import number, share, span
from foldaway.lab.experiment.report.findings import kilo
from foldaway.lab.experiment.report.section import Cell, DotPlot, Dots, Part, Section, Table
from foldaway.lab.likelihood import Report, likelihood_json

LIMITS = (
    "A small model is a witness, not the agent: it shows what can be read off a view. Steps are drawn around what the "
    "reference policy lost, half of them where it lost a need, so rows are no rates over a session, and the reference "
    "fares worse here than on all. Only steps whose full history fits the small model's window can be asked about."
)


def likelihood_section(report: Report) -> Section:
    """How likely a small model finds the recorded next action, given each policy's view."""
    told = likelihood_json(report)
    steps = len({(s.session, s.source, s.step) for s in report.scores})
    about = (
        f"The labels of needs are lexical; here something reads. {report.scorer} was asked how likely the recorded "
        f"next action is, given each policy's view under {kilo(report.budget_tokens)} tokens, at {steps} steps of "
        f"{report.sessions} recordings. A view that lacks what the step needs should make it less likely than the full "
        "history does; one that has it should not."
    )
    parts: list[Part] = [about, _plot(told["contexts"]), _contexts(told["contexts"]), _labels(told["labels"])]
    return Section(title="A second witness: likelihood", key="likelihood", parts=[*parts, LIMITS])


def _plot(rows: list[dict[str, Any]]) -> DotPlot:
    return DotPlot(
        title="Likelihood of the recorded action against the full history's",
        x_label="nats per token below the full history (further right is less likely)",
        rows=[
            Dots(label=row["context"], values=[("delta", -row["delta_per_token"])])
            for row in rows
            if row["delta_per_token"] is not None
        ],
        reference=0.0,
    )


def _contexts(rows: list[dict[str, Any]]) -> Table:
    cells: list[list[Cell]] = [
        [
            row["context"],
            f"{row['steps']}",
            number(row["mean_context_tokens"]),
            number(row["nats_per_token"], 3),
            number(row["delta_per_token"], 3),
            span(row["delta_per_token_95"], 3),
            number(row["delta_median"], 3),
            share(row["near_rate"] or 0.0, 1),
            share(row["worse_rate"] or 0.0, 1),
            number(row["delta_of_needs"], 3),
            f"{row['steps_short']}",
        ]
        for row in rows
    ]
    return Table(
        title="What each context is worth",
        columns=[
            *("context", "steps", "tokens", "nats per token", "delta", "95 %", "median", "near %", "worse %"),
            *("delta of needs", "steps short of a need"),
        ],
        rows=cells,
        note="delta: against the full history, below 0 is less likely; whole recordings drawn anew for the interval. "
        "near: within 0.05 nats per token of it; worse: below that. `full again` is the noise of the measurement, "
        "`prologue` the floor: nothing but the beginning of the history.",
    )


def _labels(rows: list[dict[str, Any]]) -> Table:
    cells: list[list[Cell]] = [
        [
            *(row["contexts"], row["unit"], f"{row['short']}", f"{row['whole']}"),
            *(number(row["delta_short"], 3), number(row["delta_whole"], 3)),
            *(number(row["auc"], 2), span(row["auc_95"], 2), number(row["rho"], 2), span(row["rho_95"], 2)),
        ]
        for row in rows
    ]
    return Table(
        title="Do the lexical labels agree?",
        columns=["labels of", "unit", "short", "whole", "delta short", "delta whole", "AUC", "95 %", "rho", "95 %"],
        rows=cells,
        left=2,
        note="short: steps (needs) with a need out of view. AUC: the chance that one whose label is whole lost less "
        "likelihood than one whose label is short; 0.50: the labels tell nothing. rho: Spearman, delta against the "
        "share of needs in view.",
    )
