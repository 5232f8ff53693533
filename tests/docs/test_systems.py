"""The map from the lines of the four systems to code and tests is whole, and leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/systems.md"
LINES = [f"S{system}.{line}" for system, most in ((1, 14), (2, 11), (3, 9), (4, 9)) for line in range(1, most + 1)]
NAMED = re.compile(r"`([^`]+)`")


class Row(NamedTuple):
    line: str
    built: str
    code: list[str]
    tests: list[str]


def rows() -> Iterator[Row]:
    for text in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        if text.startswith("| S") and len(cells) == 4:
            yield Row(cells[0], cells[1], NAMED.findall(cells[2]), NAMED.findall(cells[3]))


ROWS = list(rows())


def test_every_line_has_one_row_in_order() -> None:
    assert [row.line for row in ROWS] == LINES


@pytest.mark.parametrize("row", ROWS, ids=[row.line for row in ROWS])
def test_what_a_row_names_exists(row: Row) -> None:
    assert row.built
    # A line without code or test says so.
    assert (row.code and row.tests) or "**Open:**" in row.built
    for path in row.code:
        assert (ROOT / "src/foldaway" / path).is_file(), f"{row.line}: no {path}"
    for named in row.tests:
        path, _, test = named.partition("::")
        file = ROOT / "tests" / path
        assert file.is_file(), f"{row.line}: no {path}"
        found = re.search(rf"^ *(?:async )?def {test}\(", file.read_text("utf-8"), re.MULTILINE)
        assert found, f"{row.line}: no test {test} in {path}"
