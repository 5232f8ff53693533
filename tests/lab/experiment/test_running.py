"""Which runs are made, which are taken from the disk, and which need not be made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from foldaway.errors import SettingsError
from foldaway.lab.experiment import running
from foldaway.lab.experiment.keep import Kept, Row, Times
from foldaway.lab.experiment.plan import Settings, Task, fits, waits, work
from foldaway.lab.experiment.running import Experiment
from foldaway.lab.experiment.sources import Input
from foldaway.lab.replay import ReplaySession, make_ruler, replay
from foldaway.lab.results import ReplayResult
from foldaway.model.recorded import Recorded
from foldaway.readers import read_sessions
from foldaway.settings.parts import BUILT_IN

SESSIONS = Path(__file__).parents[3] / "src" / "foldaway" / "data" / "sessions"
BUDGETS = (2000, 4000, 50_000)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int]]:
    """(session, policy, budget) of each run that is really made."""
    runs: list[tuple[str, str, int]] = []

    def noted(task: Task) -> list[Kept]:
        done = work(task)
        runs.extend((task.recorded.name, task.policy, kept.result.budget_tokens) for kept in done)
        return done

    monkeypatch.setattr(running, "work", noted)
    return runs


def values(rows: list[Row]) -> list[Any]:
    return [replace(row, times=Times()) for row in rows]


def test_there_is_a_row_a_session_policy_and_budget_in_that_order(inputs: list[Input], tmp_path: Path) -> None:
    rows = Experiment(inputs, ["auto", "near-tail", "full"], [4000, 2000], tmp_path).rows()
    assert [(r.result.session, r.result.policy, r.result.budget_tokens) for r in rows] == [
        (session, policy, budget)
        for session in ("long", "short")
        for policy, budgets in (("auto", (2000, 4000)), ("near-tail", (2000, 4000)), ("full", (0,)))
        for budget in budgets
    ]
    assert {(r.source, r.half) for r in rows} == {("plain/a", "held out"), ("plain/b", "held out")}
    assert not any(r.result.error for r in rows)


def test_one_run_stands_for_all_where_nothing_has_to_go(
    inputs: list[Input], tmp_path: Path, made: list[tuple[str, str, int]]
) -> None:
    rows = Experiment(inputs, ["auto", "window", "near-tail"], BUDGETS, tmp_path).rows()
    assert [run for run in made if run[0] == "short" and run[1] != "near-tail"] == [("short", "auto", 2000)]
    assert [run for run in made if run[0] == "long" and run[1] == "window"] == [
        ("long", "window", 2000),
        ("long", "window", 4000),
    ]
    # A policy that calls for commits by itself runs under every budget.
    assert sum(run[1] == "near-tail" for run in made) == 6
    calm = {(r.result.session, r.result.budget_tokens) for r in rows if r.never_evicts}
    assert calm == {("short", 2000), ("short", 4000), ("short", 50_000), ("long", 50_000)}


def test_the_rows_that_were_not_run_are_what_a_run_would_have_found(inputs: list[Input], tmp_path: Path) -> None:
    for row in Experiment(inputs, ["auto", "window", "lru"], BUDGETS, tmp_path).rows():
        recorded = next(i.recorded for i in inputs if i.recorded.name == row.result.session)
        run = replay(recorded, row.result.policy, row.result.budget_tokens)
        assert replace(run, call_ms=()) == row.result


def test_policies_that_commit_before_the_budget_is_passed_stand_for_themselves_alone() -> None:
    assert {name for name in BUILT_IN if not waits(name, Settings())} == {"near-tail", "layered", "self-gc"}
    assert not waits("full", Settings())
    assert not waits("x:y", Settings(makers=(("x:", "some.module:session"),)))


@pytest.mark.parametrize(
    "file", ["tau2-gpt-4.1-retail.json.gz", pytest.param("who-and-when-30.json.gz", marks=pytest.mark.slow)]
)
def test_a_session_that_fits_shows_the_same_view_under_every_policy_that_waits(file: str) -> None:
    recorded = next(iter(read_sessions(SESSIONS / file)))
    ruler = make_ruler(recorded)
    found: list[ReplayResult] = []
    for policy in (name for name in BUILT_IN if waits(name, Settings())):
        for budget in (150_000, 400_000):
            result = replay(recorded, policy, budget, ruler=ruler)
            assert fits(result)
            found.append(replace(result, policy="", budget_tokens=0, call_ms=()))
    assert found == [found[0]] * len(found)
    everything = replay(recorded, "full", 1, ruler=ruler)
    assert (found[0].total_tokens, found[0].steps) == (everything.total_tokens, everything.steps)


def test_a_second_experiment_runs_nothing_and_finds_the_same(
    inputs: list[Input], tmp_path: Path, made: list[tuple[str, str, int]]
) -> None:
    first = Experiment(inputs, ["auto", "window"], BUDGETS, tmp_path).rows()
    made.clear()
    assert Experiment(inputs, ["auto", "window"], BUDGETS, tmp_path).rows() == first
    assert made == []


def test_a_broken_off_experiment_goes_on(
    inputs: list[Input], tmp_path: Path, made: list[tuple[str, str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: Callable[[Task], list[Kept]] = vars(running)["work"]

    def breaks(task: Task) -> list[Kept]:
        if len(made) >= 3:
            raise KeyboardInterrupt
        return noted(task)

    monkeypatch.setattr(running, "work", breaks)
    with pytest.raises(KeyboardInterrupt):
        Experiment(inputs, ["auto", "window", "near-tail"], BUDGETS, tmp_path).rows()
    before = set(made)
    # What was being written when it ended.
    (tmp_path / "runs" / "0123.part").write_text('{"key": ')
    monkeypatch.setattr(running, "work", noted)
    made.clear()
    rows = Experiment(inputs, ["auto", "window", "near-tail"], BUDGETS, tmp_path).rows()
    assert before
    assert not before & set(made)
    assert values(rows) == values(
        Experiment(inputs, ["auto", "window", "near-tail"], BUDGETS, tmp_path / "anew").rows()
    )


def test_a_damaged_run_is_made_again(inputs: list[Input], tmp_path: Path, made: list[tuple[str, str, int]]) -> None:
    first = Experiment(inputs, ["near-tail"], [2000], tmp_path).rows()
    file = sorted((tmp_path / "runs").glob("*.json"))[0]
    file.write_text(file.read_text()[:40])
    made.clear()
    assert values(Experiment(inputs, ["near-tail"], [2000], tmp_path).rows()) == values(first)
    assert len(made) == 1


def test_progress_reaches_the_total(inputs: list[Input], tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    experiment = Experiment(
        inputs, ["auto", "full"], BUDGETS, tmp_path, progress=lambda done, total, what: told.append((done, total))
    )
    experiment.rows()
    assert told[-1] == (8, 8)
    assert told == sorted(told)


def test_a_policy_of_another_maker_runs_in_the_same_experiment(inputs: list[Input], tmp_path: Path) -> None:
    settings = Settings(makers=(("other", f"{Settings.__module__}:other_session"),))
    assert settings.maker_of("other") == "foldaway.lab.experiment.plan:other_session"
    made = Settings(makers=(("lab:", "foldaway.lab.replay:foldaway_session"),))
    with pytest.raises(SettingsError, match="no policy 'lab:window'"):
        # The maker is called, and the engine does not know that name.
        made(inputs[0].recorded, "lab:window", 2000)


def test_what_cannot_be_run_is_refused_before_anything_is(inputs: list[Input], tmp_path: Path) -> None:
    for policies, budgets, workers in ((["nix"], [1], "1"), ([], [1], "1"), (["auto"], [], "1"), (["auto"], [1], "x")):
        with pytest.raises(SettingsError):
            Experiment(inputs, policies, budgets, tmp_path, workers=workers)
    assert list(tmp_path.iterdir()) == []


def failing(recorded: Recorded, policy: str, budget: int) -> ReplaySession:
    raise SettingsError("not today")


def test_a_failed_run_is_a_row_that_says_so(inputs: list[Input], tmp_path: Path) -> None:
    settings = Settings(makers=(("peer:", f"{__name__}:failing"),))
    rows = Experiment(inputs[1:], ["peer:one", "window"], [2000], tmp_path, settings).rows()
    assert [row.result.error for row in rows] == ["SettingsError: not today", ""]
    assert [row.never_evicts for row in rows] == [True, True]
