"""Tables in text: which lines are rows, what parts the cells, what the columns are called and hold."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

MOST_CELLS_CHARS = 600_000
"""Of a longer table only the first rows are read cell by cell; what is said of a column says so."""
RULE = re.compile(r"^[\s|+:=-]{3,}$")
NUMBER = re.compile(r"-?\d[\d_]*(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?%?")
_GAP = re.compile(r"\s{2,}|\t")
_EMPTY = frozenset(("", "NULL", "None", "NaN", "nan", "-"))


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as found: lines of text with their cells."""

    form: str
    header: int
    """Index of the header's line; -1 when there is none."""
    names: tuple[str, ...]
    rows: tuple[int, ...]
    """Indexes of the lines that are rows."""
    lines: list[str]
    separator: str

    def cells(self, index: int) -> list[str]:
        return split(self.lines[index], self.separator)


@dataclass(frozen=True, slots=True)
class Columns:
    """What the named columns of a table hold, as far as it was read."""

    names: tuple[str, ...]
    values: tuple[list[str], ...]
    """One list a column, cells in the order of the rows."""
    lines: list[int]
    """Index of the line that each cell of a column stands in."""
    rows: int
    """Rows that were read."""


def read_columns(grid: Grid) -> Columns:
    """The cells of the rows that have as many as there are names."""
    values: list[list[str]] = [[] for _ in grid.names]
    lines: list[int] = []
    used = rows = 0
    for index in grid.rows if grid.names else ():
        cells = grid.cells(index)
        if len(cells) == len(values):
            lines.append(index)
            for column, cell in zip(values, cells, strict=True):
                column.append(cell.strip())
        rows += 1
        used += len(grid.lines[index])
        if used > MOST_CELLS_CHARS:
            break
    return Columns(grid.names, tuple(values), lines, rows)


def extremes(values: Sequence[str]) -> tuple[int, int] | None:
    """Places of the smallest and the largest of a column of numbers; None when it holds other values too."""
    numbers: list[tuple[float, int]] = []
    for place, value in enumerate(values):
        if value in _EMPTY:
            continue
        if not NUMBER.fullmatch(value):
            return None
        numbers.append((float(value.rstrip("%").replace(",", "").replace("_", "")), place))
    return (min(numbers)[1], max(numbers)[1]) if numbers else None


def parse(text: str) -> Grid | None:
    """The table in a text, or None. O(len(text))."""
    lines = lines_in(text)
    form, share = form_of([line for line in lines[:60] if line.strip()])
    if not form or share < 0.5:
        return None
    separator = {"csv": ",", "tsv": "\t", "table with ;": ";", "aligned table": ""}.get(form, "|")
    filled = [n for n, line in enumerate(lines) if line.strip() and separator in line and not RULE.match(line)]
    if len(filled) < 2:
        return None
    names = tuple(split(lines[filled[0]], separator))
    has_header = len(set(names)) == len(names) and not any(NUMBER.fullmatch(name) for name in names)
    return Grid(
        form,
        filled[0] if has_header else -1,
        names if has_header else (),
        tuple(filled[1:] if has_header else filled),
        lines,
        separator,
    )


def lines_in(text: str) -> list[str]:
    """The lines as an editor counts them: only line feeds part them."""
    return [line.rstrip("\r") for line in text.split("\n")]


def form_of(lines: Sequence[str]) -> tuple[str, float]:
    """What kind of table the lines are, and the share of them that are part of it."""
    if len(lines) < 3:
        return "", 0.0
    if sum(line.count("|") >= 1 for line in lines) > len(lines) * 0.5:
        rules = [line for line in lines[:6] if RULE.match(line) and "-" in line]
        kind = "markdown table" if lines[0].lstrip().startswith("|") else "sql result"
        share = sum("|" in line or bool(RULE.match(line)) for line in lines) / len(lines)
        counts = {line.count("|") for line in lines[:20] if "|" in line}
        return (kind, share) if rules or len(counts) <= 2 else ("", 0.0)
    if sum(line.rstrip()[-1:] in "{};()," for line in lines) > len(lines) * 0.25 and any("{" in x for x in lines):
        # Code is aligned and has commas, too.
        return "", 0.0
    lines = [line.strip(" ") for line in lines]
    for kind, sign in (("tsv", "\t"), ("csv", ","), ("table with ;", ";")):
        if kind == "tsv" and (sum(line[:1] == sign for line in lines) > len(lines) * 0.2 or _numbered(lines)):
            continue
        first = lines[0].count(sign)
        same = sum(line.count(sign) == first for line in lines) / len(lines)
        quoted = any('"' in line for line in lines)
        near = sum(first <= line.count(sign) for line in lines) / len(lines) if quoted else same
        # Prose has commas too, but not as many in each line, and words with a space behind them.
        spaced = sum(line.count(sign + " ") for line in lines) > sum(line.count(sign) for line in lines) * 0.7
        if first >= 1 and max(same, near * 0.9) > 0.8 and not (spaced and kind != "tsv" and first < 3):
            return kind, max(same, near)
    return _aligned(lines)


def _aligned(lines: Sequence[str]) -> tuple[str, float]:
    """pandas, df, docker ps: cells apart by two spaces or more, as many in most lines, under a line of names."""
    if sum("  " in line or "\t" in line for line in lines) * 2 < len(lines):
        return "", 0.0
    counts = [len(_GAP.findall(line)) for line in lines]
    usual = max(set(counts), key=lambda n: (counts.count(n), n))
    share = sum(abs(n - usual) <= 1 and n > 0 for n in counts) / len(lines)
    names = split(lines[0], "")
    headed = len(names) >= 2 and not any(NUMBER.fullmatch(name) or name.endswith(":") for name in names)
    return ("aligned table", share) if usual >= 2 and headed else ("", 0.0)


def _numbered(lines: Sequence[str]) -> bool:
    """Whether the first cells are line numbers, as `cat -n` puts them."""
    numbers = [line.split("\t", 1)[0].strip() for line in lines]
    counted = [int(number) for number in numbers if number.isascii() and number.isdigit() and len(number) < 8]
    steps = sum(after - before == 1 for before, after in pairwise(counted))
    return steps > len(lines) * 0.6


def split(line: str, separator: str) -> list[str]:
    """The cells of one line."""
    if not separator:
        return [cell for cell in _GAP.split(line.strip()) if cell]
    if separator == "|":
        return [cell.strip() for cell in line.strip().strip("|").split("|")]
    if '"' in line:
        try:
            return next(csv.reader([line], delimiter=separator), [])
        except csv.Error:
            return line.split(separator)
    return line.split(separator)
