"""The distance to the oracle: bounds kept on disk, shares one can check by hand, no ranking of what is no policy."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from foldaway.errors import SettingsError
from foldaway.lab.experiment import Experiment, Row, Settings, facts_of
from foldaway.lab.experiment import bounds as bounds_module
from foldaway.lab.experiment.bounds import evicting, find_bounds
from foldaway.lab.experiment.instruments.distance import distance_section, measure_distance, pooled, regrets_of
from foldaway.lab.experiment.report import LineChart, Table, render
from foldaway.lab.experiment.report.findings import Findings
from foldaway.lab.experiment.sections import read_sections
from foldaway.lab.experiment.sources import Input
from foldaway.lab.oracle import Bounds, VisibleBound

Made = Callable[..., Row]
SETTINGS = Settings(makers=(("oracle", "foldaway.lab.oracle:oracle_session"),))


def bound(budget: int, visible: int, bill: float) -> Bounds:
    seen = VisibleBound(total=10, visible=visible)
    return Bounds(budget_tokens=budget, visible=seen, whole=seen, bill=bill)


@pytest.fixture
def rows(row: Made) -> list[Row]:
    """window sees 4 and 6 of 10 steps, auto 6 and 6, the oracle 8; bills of 30, 20 and 10 % of 1,000."""
    found = []
    for name, half, seen in (("one", "held out", 4), ("two", "chosen on", 6)):
        for policy, steps, cost in (("window", seen, 30), ("auto", 6, 20), ("oracle", 8, 10)):
            found += [row(name, policy, budget, steps, 10, cost, half=half) for budget in (8000, 16000)]
    return found


def bounds() -> dict[tuple[str, int], Bounds]:
    return {(name, budget): bound(budget, 9, 50.0) for name in ("one", "two") for budget in (8000, 16000)}


def test_shares_closed_are_counted_from_window_to_the_bound(rows: list[Row]) -> None:
    found = pooled(regrets_of(rows, bounds()))
    assert [(r.policy, r.budget_tokens) for r in found] == [
        (policy, budget) for budget in (8000, 16000, 0) for policy in ("window", "auto")
    ]
    auto = found[1]
    # 12 of 20 steps, window 10, bound 18; a bill of 400, window 600, bound 100.
    assert (auto.visible, auto.window_visible, auto.bound_visible) == (12, 10, 18)
    assert auto.steps_closed == pytest.approx(2 / 8)
    assert auto.bill_closed == pytest.approx(200 / 500)


def test_the_section_tells_the_held_out_half_apart_and_names_the_worst_session(rows: list[Row]) -> None:
    section = distance_section(rows, regrets_of(rows, bounds()))
    tables = [part for part in section.parts if isinstance(part, Table)]
    assert [table.title.split(" (")[0] for table in tables] == ["All sessions", "Held-out half"]
    assert "On the held-out half: 40.0 % in steps" in str(section.parts[1])
    window = tables[0].rows[0]
    assert getattr(window[-1], "text", "") == "one (4 of 9)"
    chart = next(part for part in section.parts if isinstance(part, LineChart))
    assert [(s.name, s.bound) for s in chart.series] == [
        ("window", False), ("auto", False), ("oracle", True), ("bound", True),
    ]  # fmt: skip


def test_bounds_of_another_recording_are_not_held_against_a_run(rows: list[Row]) -> None:
    other = VisibleBound(total=11, visible=9)
    wrong = {("one", 8000): Bounds(budget_tokens=8000, visible=other, whole=other, bill=1.0)}
    assert regrets_of(rows, wrong) == []


def test_the_oracle_is_drawn_and_ranked_nowhere(rows: list[Row]) -> None:
    findings = Findings(rows, 1, 50)
    assert (findings.policies, findings.witnesses) == (("window", "auto"), ("oracle",))
    page = render(rows, facts_of(["window", "auto", "oracle"], [8000, 16000], Settings()))
    ranking = page.split('id="pareto"')[1].split("</section>")[0]
    assert "oracle" not in ranking
    assert "oracle" not in page.split('id="paired"')[1].split("</section>")[0]
    glance = page.split('id="glance"')[1].split("</section>")[0]
    assert re.search(r'class="series c\d bound" data-name="oracle"', glance)
    assert "oracle" not in glance.split('class="lead">')[1].split("</p>")[0]


def test_without_window_or_oracle_there_is_no_distance(rows: list[Row], tmp_path: Path) -> None:
    for name in ("window", "oracle"):
        with pytest.raises(SettingsError, match=rf"lab run` with {name} among"):
            measure_distance([r for r in rows if r.result.policy != name], [], tmp_path)


def test_real_runs_stay_within_their_bounds_which_are_found_once(
    inputs: list[Input], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Experiment(inputs, ["window", "auto", "oracle"], [2000, 4000, 50_000], tmp_path, SETTINGS).rows()
    assert evicting(rows) == [("long", 2000), ("long", 4000)]
    regrets = measure_distance(rows, inputs, tmp_path)
    assert {(r.session, r.budget_tokens) for r in regrets} == {("long", 2000), ("long", 4000)}
    assert {r.policy for r in regrets} == {"window", "auto"}
    assert all(r.visible <= r.bound_visible and r.bill >= r.bound_bill for r in regrets)
    monkeypatch.setattr(bounds_module, "bound", lambda task: pytest.fail("found already"))
    assert measure_distance(rows, inputs, tmp_path) == regrets
    told: list[str] = []
    page = read_sections(tmp_path, "of other rows", told.append)
    assert page == []
    assert len(told) == 1


def test_bounds_are_the_same_from_several_processes(inputs: list[Input], tmp_path: Path) -> None:
    places = [("long", 2000), ("short", 2000)]
    one, two = (find_bounds(inputs, places, tmp_path / w, workers=w) for w in ("1", "2"))
    assert one == two
    assert set(one) == set(places)


def test_sessions_that_were_not_given_are_named(rows: list[Row], tmp_path: Path) -> None:
    told: list[str] = []
    assert measure_distance(rows, [], tmp_path, tell=told.append) == []
    assert told == ["no bounds for 2 sessions, not given or not as they were: one, two"]
