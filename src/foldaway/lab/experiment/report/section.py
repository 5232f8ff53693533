"""What a section of a report is made of: prose, tables and charts as plain data. Other parts of the lab add theirs.

All texts are data and are escaped when drawn; in prose, `words in backticks` are set as code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A cell that says more than its text."""

    text: str
    strong: bool = False
    shade: float | None = None
    """0 to 1: how far the cell is filled."""
    hint: str = ""
    """Shown when one points at it."""


Cell = str | Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    left: int = 1
    """The first columns are texts, flush left; the others are figures."""
    note: str = ""
    groups: bool = False
    """A rule is drawn wherever the first column changes, and its text is not repeated."""


class Unit(StrEnum):
    """How the figures of an axis are written."""

    NUMBER = "number"
    SHARE = "share"
    """0 to 1, written as per cent."""
    TOKENS = "tokens"
    """In thousands, k."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a chart."""

    name: str
    points: Sequence[tuple[float, float]]
    hints: Sequence[str] = ()
    """One for each point, shown when one points at it."""
    strong: bool = False
    bound: bool = False
    """Drawn dashed, without dots: a limit or a reference, no policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_unit: Unit = Unit.NUMBER
    y_unit: Unit = Unit.NUMBER
    small: bool = False
    """Half the width: two stand side by side."""
    y_from_zero: bool = False
    x_names: Sequence[str] = ()
    """Names of the places 0, 1, 2, ... on the x axis, where these are kinds of things and no figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """One line of a dot plot: a label and one dot a name."""

    label: str
    values: Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DotPlot:
    title: str
    x_label: str
    rows: Sequence[Dots]
    strong: Sequence[str] = ()
    """Names drawn in front of the others."""
    x_unit: Unit = Unit.NUMBER
    reference: float | None = None
    """A vertical line, such as full history's 1."""


Part = str | Table | LineChart | DotPlot
"""A string is a paragraph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    title: str
    parts: Sequence[Part]
    key: str = ""
    """Name of its place in the page; empty: made from the title."""
