"""Axes: round ticks and how figures are written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from foldaway.lab.experiment.curves import nice_step
from foldaway.lab.experiment.report.section import Unit

SLACK = 0.04
"""Of the range, left free on both sides."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear scale from values to pixels."""

    low: float
    high: float
    start: float
    end: float
    unit: Unit

    def place(self, value: float) -> float:
        """Where a value is drawn, to a tenth of a pixel."""
        return round(self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low), 1)

    def ticks(self, about: int = 6) -> list[float]:
        step = nice_step((self.high - self.low) / about)
        first = math.ceil(self.low / step - 1e-9)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def make_axis(values: Iterable[float], start: float, end: float, unit: Unit, *, from_zero: bool = False) -> Axis:
    """An axis that holds the values; shares end at 0 and 1 where the slack would go beyond."""
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    low = min(0.0, low) if from_zero else low
    slack = (high - low) * SLACK or abs(high) * SLACK or 0.5
    low, high = (low if from_zero and low == 0 else low - slack), high + slack
    if unit is not Unit.NUMBER and min(known) >= 0:
        low = max(0.0, low)
    if unit is Unit.SHARE and max(known) <= 1:
        high = min(1.0, high) if max(known) < 1 else 1.0
    return Axis(low, high if high > low else low + 1.0, start, end, unit)


def written(value: float, unit: Unit) -> str:
    """A figure of an axis or a hint."""
    if unit is Unit.SHARE:
        return f"{_short(100 * value)} %"
    if unit is Unit.TOKENS:
        return f"{_short(value / 1000)}k"
    return _short(value)


def _short(value: float) -> str:
    text = f"{value:.1f}" if abs(value) < 1000 else f"{value:,.0f}"
    text = text.removesuffix(".0")
    if text in ("0", "-0") and value:
        return f"{value:.2g}"
    return "0" if text == "-0" else text
