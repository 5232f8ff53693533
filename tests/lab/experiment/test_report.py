"""The page: whole, escaped, the same each time, and saying what the rows say."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from foldaway.lab.experiment.facts import Facts, facts_of
from foldaway.lab.experiment.keep import Row
from foldaway.lab.experiment.plan import Settings
from foldaway.lab.experiment.report import (
    DotPlot,
    Dots,
    LineChart,
    Mark,
    Section,
    Series,
    Table,
    Unit,
    render,
)
from foldaway.lab.experiment.report.axis import make_axis, written
from foldaway.lab.experiment.report.findings import Findings, points
from foldaway.lab.experiment.report.palette import looks
from foldaway.lab.experiment.report.svg import spread

VOID = {"meta", "br", "img"}
Made = Callable[..., Row]


class Checked(HTMLParser):
    """Fails on a tag that is not closed; gathers what a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        told = dict(attributes)
        self.fetched += [str(told[name]) for name in ("src", "data", "action", "xlink:href") if name in told]
        self.fetched += [str(told["href"]) for _ in (0,) if not str(told.get("href", "#")).startswith("#")]
        self.ids += [str(told["id"])] if "id" in told else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def rows(row: Made) -> list[Row]:
    """Three sessions, two policies, two budgets; auto is ahead in two sessions and behind in one."""
    seen = {
        ("one", "auto"): (6, 9), ("one", "window"): (4, 7),
        ("two", "auto"): (8, 10), ("two", "window"): (7, 9),
        ("three", "auto"): (5, 6), ("three", "window"): (6, 7),
    }  # fmt: skip
    return [
        row(name, policy, budget, seen[name, policy][n], 10, 20 + 10 * n + (policy == "window"))
        for name in ("one", "two", "three")
        for policy in ("auto", "window")
        for n, budget in enumerate((8_000, 16_000))
    ]


@pytest.fixture
def facts() -> Facts:
    return facts_of(["auto", "window"], [8_000, 16_000], Settings())


def test_the_page_is_whole_and_needs_nothing_from_outside(rows: list[Row], facts: Facts) -> None:
    text = render(rows, facts)
    page = Checked(text)
    assert page.fetched == []
    assert "http" not in re.sub(r"<title>.*?</title>", "", text).replace("http-equiv", "")
    assert "@import" not in text
    assert "url(" not in text
    assert len(page.ids) == len(set(page.ids))
    assert page.ids[:4] == ["glance", "curves", "pareto", "budgets"]


def test_the_same_rows_give_the_same_bytes(rows: list[Row], facts: Facts) -> None:
    assert render(rows, facts) == render(list(rows), replace(facts))


def test_the_first_sentence_says_what_the_rows_say(rows: list[Row], facts: Facts) -> None:
    told = re.sub(r"<[^>]+>", "", render(rows, facts).split('class="lead">')[1].split("</p>")[0])
    # 25 of 30 steps against 23; a bill of 30 % against 31 %.
    assert (
        "16k tokens, auto keeps everything that a step needs in view in 83.3 % of the steps, window in 76.7 %" in told
    )
    assert "(difference +6.7 points" in told
    assert "at 30.0 against 31.0 %" in told


def test_the_worst_session_is_named(rows: list[Row], facts: Facts) -> None:
    findings = Findings(rows, facts.seed, 100)
    worst = findings.worst("auto", 16_000)
    assert worst is not None
    assert worst.result.session == "three"
    behind = findings.worst_against("auto", "window", 16_000)
    assert behind is not None
    assert behind[0] == "three"
    assert behind[1] == pytest.approx(-0.1)
    assert "three (-10.0)" in render(rows, facts)


def test_names_from_recordings_are_text_and_nothing_else(row: Made, facts: Facts) -> None:
    evil = '<script>alert(1)</script>" onload="x `a` **b**'
    rows = [row(evil, policy, 8_000, 5, 10, 20, source=evil) for policy in ("auto", '"><img src=x>')]
    page = Checked(render(rows, facts))
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert page.fetched == []


def test_a_session_with_a_failed_run_is_left_out_for_all_policies_and_named(rows: list[Row], facts: Facts) -> None:
    broken = replace(rows[0], result=replace(rows[0].result, error="WireError: torn"))
    findings = Findings([broken, *rows[1:]], facts.seed, 100)
    assert findings.sessions == ("two", "three")
    pooled = findings.pooled("window", 8_000)
    assert pooled is not None
    assert pooled.sessions == 2
    text = render([broken, *rows[1:]], facts)
    assert "Runs that failed" in text
    assert "WireError: torn" in text


def test_another_library_that_fails_often_takes_no_session_with_it(rows: list[Row], facts: Facts) -> None:
    peer = [
        replace(
            r, result=replace(r.result, policy="langchain:trim", error="X: no" if r.result.session != "one" else "")
        )
        for r in rows
        if r.result.policy == "window"
    ]
    findings = Findings([*rows, *peer], facts.seed, 100)
    assert findings.left_out == ("langchain:trim",)
    assert (findings.sessions, findings.policies) == (("one", "two", "three"), ("auto", "window"))
    part = render([*rows, *peer], facts).split("Runs that failed")[1]
    assert "in none of the above: <code>langchain:trim</code>" in part


def test_what_other_libraries_were_set_to_is_told(rows: list[Row]) -> None:
    settings = Settings(versions=(("langchain-core", "9.8.7"), ("litellm", "")))
    text = render(rows, facts_of(["auto", "langchain:trim"], [8_000], settings)).split('id="setup"')[1]
    plain = re.sub(r"<[^>]+>", " ", text)
    assert re.search(r"langchain:trim\s+last, system kept", plain)
    assert re.search(r"langchain-core\s+9\.8\.7", plain)
    assert re.search(r"litellm\s+not installed", plain)


def test_nothing_that_ran_through_is_still_a_page(rows: list[Row], facts: Facts) -> None:
    text = render([replace(r, result=replace(r.result, error="X: y")) for r in rows], facts)
    assert "No session ran through" in text
    Checked(text)


def test_one_policy_alone_has_a_page_too(rows: list[Row], facts: Facts) -> None:
    text = render([r for r in rows if r.result.policy == "auto"], facts)
    Checked(text)
    assert 'id="paired"' not in text


def test_held_out_and_chosen_on_stand_apart(rows: list[Row], facts: Facts) -> None:
    split = [replace(r, half="chosen on", source="pi") if r.result.session == "one" else r for r in rows]
    part = render(split, facts).split('id="sources"')[1].split("</section>")[0]
    table = re.sub(r"<[^>]+>", " ", part.split("Source by source")[0])
    assert re.search(r"held out\s+2\s+20\s+80\.0 ", table)
    assert re.search(r"chosen on\s+1\s+10\s+90\.0 ", table)


def test_sections_of_others_stand_before_the_method(rows: list[Row], facts: Facts) -> None:
    chart = LineChart(
        title="Bound",
        x_label="x",
        y_label="y",
        series=[Series(name="oracle", points=[(0, 0.5), (1, 0.9)], bound=True), Series(name="auto", points=[(0, 0.4)])],
        y_unit=Unit.SHARE,
        x_names=["<a>", "b"],
    )
    plot = DotPlot(title="Dots", x_label="x", rows=[Dots(label="s", values=[("auto", 0.5)])], reference=1.0)
    table = Table(columns=["what", "n"], rows=[["a", Mark(text="1", shade=0.5, hint="half")]])
    extra = Section(title="The oracle", parts=["**Bold** and `code` & more.", chart, plot, table])
    text = render(rows, facts, [extra])
    page = Checked(text)
    assert page.ids.index("the-oracle") < page.ids.index("method")
    part = text.split('id="the-oracle"')[1].split("</section>")[0]
    assert "<strong>Bold</strong> and <code>code</code> &amp; more." in part
    assert 'data-name="oracle"' in part
    assert ">&lt;a&gt;</text>" in part
    assert "--share:50.0%" in part


def test_times_are_the_only_part_that_differs(rows: list[Row], facts: Facts) -> None:
    slower = [replace(r, times=replace(r.times, ms_median=9.9)) for r in rows]
    sections = [
        re.sub(r'<section id="time">.*?</section>', "", render(r, facts), flags=re.DOTALL) for r in (rows, slower)
    ]
    assert sections[0] == sections[1]
    assert render(rows, facts) != render(slower, facts)


def test_each_name_has_its_own_look_and_two_keep_theirs() -> None:
    names = ["lru", "window", "x", "y", "auto", "z"]
    found = looks(names)
    assert len({(look.css, look.shape) for look in found.values()}) == len(names)
    assert found["auto"] == looks(["auto"])["auto"]
    assert found["window"] == looks(["a", "b", "window"])["window"]


def test_labels_are_moved_apart() -> None:
    moved = spread([10, 11, 12, 100], 15, 0, 110)
    assert all(b - a >= 15 for a, b in pairwise(moved))
    assert moved[3] <= 110
    assert spread([], 15, 0, 1) == []


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.5, Unit.SHARE, "50 %"),
        (0.123, Unit.SHARE, "12.3 %"),
        (16_000, Unit.TOKENS, "16k"),
        (0.004, Unit.NUMBER, "0.004"),
    ],
)
def test_figures_of_an_axis(value: float, unit: Unit, text: str) -> None:
    assert written(value, unit) == text


def test_an_axis_of_shares_does_not_go_beyond_a_hundred_per_cent() -> None:
    axis = make_axis([0.4, 1.0], 0, 100, Unit.SHARE)
    assert axis.high == 1
    assert axis.place(1.0) == 100
    assert all(0 <= axis.place(tick) <= 100 for tick in axis.ticks())
    assert make_axis([], 0, 100, Unit.NUMBER).high > 0
    assert make_axis([5, 5], 0, 100, Unit.NUMBER).low < 5


def test_points_have_a_sign_but_for_none() -> None:
    assert [points(x) for x in (0.1, -0.012, 0.0001, -0.0001)] == ["+10.0", "-1.2", "0.0", "0.0"]
