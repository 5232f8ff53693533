"""The same calls in this process, over processes and on Ray."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from foldaway.errors import FoldawayError, MissingExtra, SettingsError
from foldaway.lab.experiment.keep import Row
from foldaway.lab.experiment.running import Experiment
from foldaway.lab.experiment.sources import Input
from foldaway.lab.experiment.workers import check_workers, on_other_machines, run_all

SRC = Path(__file__).parents[3] / "src"


def double(number: int) -> int:
    if number < 0:
        raise FoldawayError(f"{number} is below zero")
    return 2 * number


def values(rows: list[Row]) -> list[object]:
    return [(row.never_evicts, row.result) for row in rows]


def test_one_process_goes_in_order() -> None:
    assert list(run_all(double, [3, 1, 2])) == [(0, 6), (1, 2), (2, 4)]


def test_several_processes_do_the_same(inputs: list[Input], tmp_path: Path) -> None:
    one = Experiment(inputs, ["auto", "near-tail"], [2000, 4000], tmp_path / "1").rows()
    two = Experiment(inputs, ["auto", "near-tail"], [2000, 4000], tmp_path / "2", workers="2").rows()
    assert values(one) == values(two)


def test_a_failure_ends_the_rest() -> None:
    with pytest.raises(FoldawayError, match="-1 is below zero"):
        list(run_all(double, [1, -1, 2]))


@pytest.mark.parametrize("text", ["0", "-1", "two", "", "ray:", "ray://", "1.5", "99999", "²"])
def test_what_is_no_number_and_no_cluster_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="expected a number of processes, ray, or ray://HOST:PORT"):
        check_workers(text)


def test_only_a_cluster_by_address_is_elsewhere() -> None:
    assert check_workers(" 4 ") == "4"
    assert [on_other_machines(w) for w in ("4", "ray", "ray://host:10001")] == [False, False, True]


@pytest.mark.skipif(find_spec("ray") is not None, reason="ray is installed")
@pytest.mark.parametrize("text", ["ray", "ray://localhost:10001"])
def test_without_ray_the_error_names_the_extra(text: str) -> None:
    with pytest.raises(MissingExtra, match=r"foldaway\[ray\]"):
        check_workers(text)


ON_RAY = """
from foldaway.errors import SettingsError
from foldaway.lab.experiment.workers import check_workers, run_all

print(sorted(run_all(check_workers, ["1", " 2"], "ray")))
try:
    list(run_all(check_workers, ["many"], "ray"))
except SettingsError as error:
    print(error)
"""


@pytest.fixture
def outside() -> Callable[..., str]:
    """Runs Python in a process of its own: Ray talks to its parts by this machine's address, which tests may not."""

    def run(*arguments: object) -> str:
        command = [sys.executable, *map(str, arguments)]
        env = {**os.environ, "PYTHONPATH": str(SRC)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_a_local_ray_does_the_same(outside: Callable[..., str], tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'foldaway[ray]'")
    talks = SRC / "foldaway" / "data" / "sessions" / "tau2-gpt-4.1-retail.json.gz"
    for name in ("1", "ray"):
        options = ("--policies", "auto,near-tail", "--budgets", "3k,4k", "--workers", name, "-o", tmp_path / name)
        outside("-m", "foldaway.cli", "lab", "run", talks, *options)
    one, two = ((tmp_path / name / "results.jsonl").read_bytes() for name in ("1", "ray"))
    assert one == two
    assert len(one.splitlines()) == 4


def test_a_failure_on_ray_comes_back_as_what_it_was(outside: Callable[..., str]) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'foldaway[ray]'")
    fine, refused = outside("-c", ON_RAY).splitlines()
    assert fine == "[(0, '1'), (1, '2')]"
    assert refused == "workers 'many': expected a number of processes, ray, or ray://HOST:PORT"
