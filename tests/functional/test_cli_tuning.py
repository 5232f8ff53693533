"""`foldaway lab sweep` and `foldaway lab efficiency` from outside (S3.6, S3.9)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from foldaway.cli.app import app


@pytest.fixture
def session(put: Callable[[str, Any], Path], chat: Callable[[int], list[dict[str, Any]]]) -> str:
    return str(put("session.json", chat(14)))


def lab(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["lab", *arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.return_value or result.exit_code, result.stdout, result.stderr


def test_a_sweep_shows_its_curve_and_keeps_it(session: str, tmp_path: Path) -> None:
    asked = ("sweep", session, "--budget", "3k", "--parameter", "window=2,4", "-o", str(tmp_path))
    _, stdout, _ = lab(*asked)
    assert [line.split()[:2] for line in stdout.splitlines()[2:4]] == [["window", "2"], ["window", "4"]]
    kept = json.loads((tmp_path / "sweep.json").read_text("utf-8"))
    assert [point["value"] for point in kept["points"]] == [2, 4]
    assert sum(point["best"] for point in kept["points"]) == 1


def test_efficiency_has_a_row_for_each_policy(session: str) -> None:
    _, stdout, _ = lab("efficiency", session, "--budget", "3k", "--policies", "layered,window", "--json")
    rows = json.loads(stdout)["results"]
    assert [row["policy"] for row in rows] == ["layered", "window"]
    assert all(len(row["parts"]) == 11 for row in rows)


def test_recall_is_measured_on_bundled_sessions_and_kept(tmp_path: Path) -> None:
    _, stdout, _ = lab("recall", "--bundled", "--each", "2", "-o", str(tmp_path))
    kept = json.loads((tmp_path / "recall.json").read_text("utf-8"))
    assert {row["kind"] for row in kept["rates"]} == {line.split()[0] for line in stdout.splitlines()[1:]}
    assert all(0 <= row["at_1"] <= row["at_3"] <= 1 for row in kept["rates"])


@pytest.mark.parametrize("wrong", [["--parameter", "window"], ["--policy", "lru"], ["--policy", "lru,auto"]])
def test_a_sweep_that_makes_no_sense_is_refused(session: str, wrong: list[str]) -> None:
    result = CliRunner().invoke(app, ["lab", "sweep", session, *wrong], standalone_mode=False)
    assert "--" in str(result.exception) or result.exit_code == 2
