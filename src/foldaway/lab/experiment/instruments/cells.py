"""How figures of measurements are written in the tables of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foldaway.lab.experiment.report.findings import percent, points
from foldaway.lab.results import Tally, wilson


@dataclass(frozen=True, slots=True)
class Place:
    """Where a section is kept."""

    order: int
    name: str


def share(hits: float, total: float) -> str:
    """In %, or - where there is nothing to go by."""
    return percent(hits / total) if total else "-"


def with_interval(tally: Tally) -> str:
    """The visible rate in %, with Wilson's 95 % interval."""
    if not tally.total:
        return "-"
    low, high = wilson(tally.visible, tally.total)
    return f"{percent(tally.visible_rate)} ({percent(low)}-{percent(high)})"


def number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def span(ends: Sequence[float] | None, digits: int) -> str:
    return "-" if ends is None else f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}"


def points_span(low: float, high: float) -> str:
    return f"{points(low)} to {points(high)}"
