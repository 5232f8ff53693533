"""Sections that last: what a measurement leaves in a folder stands in the page, and only where it belongs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from foldaway.lab.experiment import Row, Settings, facts_of, read_outcome, refresh, write_outcome, write_section
from foldaway.lab.experiment.keep import rows_hash
from foldaway.lab.experiment.report import DotPlot, Dots, LineChart, Mark, Section, Series, Table, Unit
from foldaway.lab.experiment.sections import read_sections

Made = Callable[..., Row]
FACTS = facts_of(["auto", "window"], [8000], Settings())


def section(title: str = "Beside") -> Section:
    chart = LineChart(
        title="C", x_label="x", y_label="y", series=(Series(name="a", points=((0.0, 0.5), (1.0, 0.25)), bound=True),),
        x_unit=Unit.TOKENS, x_names=("p", "q"),
    )  # fmt: skip
    plot = DotPlot(title="D", x_label="x", rows=(Dots(label="s", values=(("a", 0.5),)),), reference=1.0)
    table = Table(columns=("what", "n"), rows=(("b", Mark(text="1", shade=0.5, hint="half")), ("c", "2")), groups=True)
    return Section(title=title, parts=("A paragraph.", chart, plot, table))


@pytest.fixture
def rows(row: Made) -> list[Row]:
    return [row(name, policy, 8000, 5, 10, 20) for name in ("one", "two") for policy in ("auto", "window")]


def quiet(text: str) -> None:
    raise AssertionError(text)


def test_a_section_comes_back_from_the_disk_as_it_was_and_says_what_measured_it(tmp_path: Path) -> None:
    write_section(tmp_path, section(), order=30, name="beside")
    (found,) = read_sections(tmp_path, "", quiet)
    assert tuple(found.parts[:-1]) == section().parts
    assert "Measured by foldaway" in str(found.parts[-1])


def test_the_page_shows_kept_sections_in_their_order_however_it_is_drawn(tmp_path: Path, rows: list[Row]) -> None:
    write_section(tmp_path, section("Second"), order=40, name="a")
    write_section(tmp_path, section("First"), order=30, name="b")
    page = write_outcome(tmp_path, rows, FACTS, tell=quiet).read_text("utf-8")
    assert page.index('id="first"') < page.index('id="second"') < page.index('id="method"')
    (tmp_path / "report.html").unlink()
    assert refresh(tmp_path, quiet) == tmp_path / "report.html"
    assert (tmp_path / "report.html").read_text("utf-8") == page


def test_a_folder_without_results_has_no_page(tmp_path: Path) -> None:
    write_section(tmp_path, section(), order=30, name="beside")
    assert refresh(tmp_path, quiet) is None
    assert not (tmp_path / "report.html").exists()


def test_a_section_about_other_rows_is_named_and_left_out(tmp_path: Path, rows: list[Row], row: Made) -> None:
    write_section(tmp_path, section(), order=20, name="oracle", about=rows_hash(rows))
    told: list[str] = []
    assert 'id="beside"' in write_outcome(tmp_path, rows, FACTS, tell=told.append).read_text("utf-8")
    assert told == []
    others = [*rows, row("three", "auto", 8000, 5, 10, 20), row("three", "window", 8000, 5, 10, 20)]
    assert 'id="beside"' not in write_outcome(tmp_path, others, FACTS, tell=told.append).read_text("utf-8")
    assert len(told) == 1
    assert "20-oracle.json: speaks of other results" in told[0]


def test_times_do_not_make_rows_others(tmp_path: Path, rows: list[Row]) -> None:
    write_outcome(tmp_path, rows, FACTS)
    (tmp_path / "times.jsonl").unlink()
    assert rows_hash(read_outcome(tmp_path)[0]) == rows_hash(rows)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not a section"),
        ("[]", "not a section"),
        ('{"layout": 1}', "not a section"),
        ("parts", "not a section"),
        ("release", "made by foldaway 0.0.0"),
    ],
)
def test_an_unreadable_section_is_told_in_one_line_and_skipped(tmp_path: Path, text: str, why: str) -> None:
    file = write_section(tmp_path, section(), order=30, name="beside")
    data = json.loads(file.read_text("utf-8"))
    if text == "parts":
        data["section"]["parts"] = [{"neither": 1}]
    if text == "release":
        data["foldaway"] = "0.0.0"
    file.write_text(json.dumps(data) if text in ("parts", "release") else text)
    told: list[str] = []
    assert read_sections(tmp_path, "", told.append) == []
    assert len(told) == 1
    assert why in told[0]
    assert "\n" not in told[0]
