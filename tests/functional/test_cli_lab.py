"""`foldaway lab`: an experiment from folders to a report, broken off and taken up again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from foldaway.cli import measuring
from foldaway.lab.likelihood import Likelihood

ROOT = Path(__file__).parents[2]
CLI = (ROOT / "docs/reference/cli.md").read_text("utf-8")
Put = Callable[[str, Any], Path]
Chat = Callable[[int], list[dict[str, Any]]]
SMALL = ("--policies", "auto,window", "--budgets", "3000,5k")
COMMANDS = ("run", "report", "oracle", "compactions", "long", "noise", "likelihood")
LASTING = ("results.jsonl", "run.json")


@pytest.fixture
def data(tmp_path: Path, put: Put, chat: Chat) -> Path:
    """A folder of two sources and a file that is no session."""
    for name, files in (("pi/a.json", 12), ("da-code/b.json", 9), ("da-code/c.json", 2)):
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        put(f"data/{name}", chat(files))
    put("data/README.md", "no session")
    return tmp_path / "data"


def lasting(folder: Path) -> list[bytes]:
    """What must be the same when an experiment is made anew: all but the times."""
    page = re.sub(rb'<section id="time">.*?</section>', b"", (folder / "report.html").read_bytes(), flags=re.DOTALL)
    return [page, *((folder / name).read_bytes() for name in LASTING)]


def test_an_experiment_writes_a_report_and_a_row_a_run(foldaway: Any, data: Path, tmp_path: Path) -> None:
    ran = foldaway("lab", "run", "--sessions", data, *SMALL, "-o", tmp_path / "out")
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert ran.code == 0
    assert len(rows) == 3 * 2 * 2
    assert {(row["source"], row["half"]) for row in rows} == {("plain/da-code", "held out"), ("plain/pi", "held out")}
    assert [row["result"]["session"] for row in rows if row["never_evicts"]] == ["c"] * 4
    assert ran.text.splitlines()[-1].endswith("report.html")
    assert "12/12" in ran.talk
    assert "1 files hold no usable session: README.md" in ran.talk
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "At a glance" in page
    assert "never evicts" in page


def test_made_anew_elsewhere_every_figure_is_the_same(foldaway: Any, data: Path, tmp_path: Path) -> None:
    for name, workers in (("one", 1), ("two", 2)):
        assert foldaway("lab", "run", "--sessions", data, *SMALL, "-o", tmp_path / name, "--workers", workers).code == 0
    assert lasting(tmp_path / "one") == lasting(tmp_path / "two")


def test_a_second_run_in_the_same_folder_gives_the_same_bytes(foldaway: Any, data: Path, tmp_path: Path) -> None:
    bytes_of = []
    for _ in range(2):
        foldaway("lab", "run", "--sessions", data, *SMALL, "-o", tmp_path / "out")
        bytes_of.append({f.name: f.read_bytes() for f in sorted((tmp_path / "out").iterdir()) if f.is_file()})
    assert bytes_of[0] == bytes_of[1]


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on(foldaway: Any, data: Path, tmp_path: Path) -> None:
    runs, options = tmp_path / "killed" / "runs", ("--policies", "all", "--budgets", "2k,3k,4k,5k,6k")
    command = [sys.executable, "-m", "foldaway.cli", "lab", "run", "--sessions", str(data), *options]
    with subprocess.Popen(
        [*command, "-o", str(tmp_path / "killed")], stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": "src"}
    ) as process:
        for _ in range(3000):
            if len(list(runs.glob("*.json"))) >= 5 or process.poll() is not None:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    before = {file: file.stat().st_mtime_ns for file in runs.glob("*.json")}
    assert len(before) >= 5
    assert not (tmp_path / "killed" / "report.html").exists()
    for name in ("killed", "whole"):
        assert foldaway("lab", "run", "--sessions", data, *options, "-o", tmp_path / name).code == 0
    assert lasting(tmp_path / "killed") == lasting(tmp_path / "whole")
    assert {file: file.stat().st_mtime_ns for file in before} == before


def test_the_report_is_drawn_anew_from_its_rows(foldaway: Any, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    foldaway("lab", "run", data, *SMALL, "-o", out)
    before = (out / "report.html").read_bytes()
    (out / "report.html").unlink()
    ran = foldaway("lab", "report", out, "--json")
    assert (ran.code, ran.json["report"], len(ran.json["pooled"])) == (0, str(out / "report.html"), 4)
    assert (out / "report.html").read_bytes() == before


def test_a_file_of_several_conversations_is_one_working_day(foldaway: Any, talks: Path, tmp_path: Path) -> None:
    sessions = []
    for chain in ("tau2-bench", "none"):
        options = ("--policies", "window", "--budgets", "100k", "--chain", chain)
        foldaway("lab", "run", talks, *options, "-o", tmp_path / chain)
        sessions.append(len((tmp_path / chain / "results.jsonl").read_text().splitlines()))
    assert sessions == [1, 12]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), ["--sessions", "--bundled"]),
        (("--bundled", "--policies", "nix"), ["no policy 'nix'"]),
        (("--bundled", "--policies", "full"), ["full is what policies are measured against"]),
        (("--bundled", "--policies", "oracle"), ["oracle is what policies are measured against"]),
        (("--bundled", "--budgets", "x"), ["budget 'x'"]),
        (("--bundled", "--workers", "many"), ["workers 'many'", "ray://HOST:PORT"]),
        (("no/such/file",), ["no/such/file"]),
    ],
)
def test_options_that_cannot_be_used_are_named(
    foldaway: Any, tmp_path: Path, options: tuple[str, ...], words: list[str]
) -> None:
    assert foldaway("lab", "run", *options, "-o", tmp_path / "out").refused(*words)
    assert not (tmp_path / "out").exists()


def test_a_folder_without_an_experiment_is_refused(foldaway: Any, tmp_path: Path) -> None:
    assert foldaway("lab", "report", tmp_path).refused("results.jsonl", "foldaway lab run")


def test_with_the_oracle_the_distance_to_it_stands_in_the_report(foldaway: Any, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ("--policies", "window,auto,oracle", "--budgets", "3k,5k")
    ran = foldaway("lab", "run", data, *options, "-o", out)
    assert ran.code == 0
    assert "oracle: knows the future, no policy" in ran.text
    page = (out / "report.html").read_bytes()
    assert b'id="distance"' in page
    assert len(list((out / "bounds").glob("*.json"))) == 4
    again = foldaway("lab", "oracle", out, data, "--json")
    assert (again.code, {row["policy"] for row in again.json["pooled"]}) == (0, {"window", "auto"})
    assert (out / "report.html").read_bytes() == page
    # Without it the folder holds other results: the section is about none of them.
    ran = foldaway("lab", "run", data, *SMALL, "-o", out)
    assert "20-oracle.json: speaks of other results" in ran.talk
    assert b'id="distance"' not in (out / "report.html").read_bytes()
    assert foldaway("lab", "oracle", out, data).refused("with oracle among its policies")


def test_a_library_that_is_not_installed_is_named_before_anything_runs(
    foldaway: Any, data: Path, tmp_path: Path
) -> None:
    if find_spec("llama_index"):
        pytest.skip("llama-index is installed here")
    ran = foldaway("lab", "run", data, "--policies", "auto,llama-index:memory", "-o", tmp_path / "out")
    assert (ran.code, ran.data) == (1, b"")
    assert "llama-index-core" in ran.talk
    assert "make peers" in ran.talk
    assert not (tmp_path / "out").exists()


def test_recorded_compactions_get_a_section_that_waits_for_results(
    foldaway: Any, data: Path, bundled: Path, tmp_path: Path
) -> None:
    out, recorded = tmp_path / "out", bundled / "openhands-6e5782946284.jsonl.gz"
    ran = foldaway("lab", "compactions", "--sessions", recorded, "--policies", "auto", "-o", out, "--json")
    assert ran.code == 0
    assert [arm["name"] for arm in ran.json["compactions"][0]["arms"]] == ["recorded", "auto"]
    assert "once `foldaway lab run` has left results" in ran.talk
    assert not (out / "report.html").exists()
    foldaway("lab", "run", data, *SMALL, "-o", out)
    page = (out / "report.html").read_text("utf-8")
    assert 'id="compactions"' in page
    assert "openhands (1)" in page


def test_wrong_annotations_are_measured_at_each_rate(foldaway: Any, data: Path, tmp_path: Path) -> None:
    foldaway("lab", "run", data, *SMALL, "-o", tmp_path / "out")
    options = ("--policies", "auto", "--budget", "3k", "--rates", "0,0.5", "--mistakes", "all")
    ran = foldaway("lab", "noise", data / "pi", *options, "-o", tmp_path / "out")
    assert ran.code == 0
    assert re.search(r"^auto\s+declared\s+all\s+[\d.]+ / [\d.]+\s+[\d.]+ / [\d.]+$", ran.text, re.MULTILINE)
    assert 'id="noise"' in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_many_tasks_in_one_session_are_held_against_each_alone(foldaway: Any, talks: Path, tmp_path: Path) -> None:
    options = ("--policies", "window", "--budget", "6k", "--tasks", "3")
    ran = foldaway("lab", "long", talks, *options, "-o", tmp_path, "--json")
    (result,) = ran.json["results"]
    assert (ran.code, result["tasks"], len(result["series"]["call"])) == (0, 3, result["calls"])
    kept = json.loads((tmp_path / "sections" / "40-long-session.json").read_text("utf-8"))
    assert kept["section"]["title"] == "One long session"


def test_without_its_model_the_second_witness_says_so_in_one_line(foldaway: Any, data: Path, tmp_path: Path) -> None:
    ran = foldaway("lab", "likelihood", data, "--reader", tmp_path / "none.gguf")
    assert ran.refused("none.gguf", "GGUF")


def test_a_reader_gives_the_second_witness_its_section(
    foldaway: Any, talks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reader:
        """Finds every token equally likely."""

        name, window_tokens = "even", 100_000

        def count(self, text: str) -> int:
            return len(text) // 4

        def loglik(self, context: str, continuation: str, take: int = 0) -> Likelihood:
            return Likelihood((-1.0,), (len(continuation.encode()),))

        def close(self) -> None: ...

    monkeypatch.setattr(measuring, "open_scorer", lambda model, threads: Reader())
    options = ("--policies", "window", "--budget", "4k", "--steps", "2", "-o", tmp_path)
    ran = foldaway("lab", "likelihood", talks, *options)
    assert ran.code == 0
    assert "even" in ran.text
    assert (tmp_path / "sections" / "60-likelihood.json").is_file()
    assert list((tmp_path / "answers").rglob("*.json"))


@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        ("noise", ("--rates", "2"), ["--rates 2", "0 to 1"]),
        ("noise", ("--mistakes", "x"), ["--mistakes x", "kinds, missing, false, all"]),
        ("noise", ("--policies", "langchain:trim"), ["langchain:trim"]),
        ("long", ("--budget", "1k,2k"), ["one number of tokens"]),
        ("long", ("--policies", "oracle"), ["oracle"]),
        ("compactions", ("--budget", "16k"), ["logged or reported"]),
        ("oracle", (), ["results.jsonl"]),
    ],
)
def test_options_of_instruments_that_cannot_be_used_are_named(
    foldaway: Any, data: Path, tmp_path: Path, command: str, options: tuple[str, ...], words: list[str]
) -> None:
    folder = (tmp_path / "none",) if command == "oracle" else ()
    assert foldaway("lab", command, *folder, "--sessions", data, *options).refused(*words)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_documented(foldaway: Any, command: str) -> None:
    found = re.search(rf"^## `foldaway lab {command}\b.*?(?=^## |\Z)", CLI, re.MULTILINE | re.DOTALL)
    assert found
    options = set(re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", foldaway("lab", command, "--help").text, re.MULTILINE))
    assert options
    for option in options - {"--help"}:
        assert option in found.group(), option


def test_alone_it_says_what_there_is(foldaway: Any) -> None:
    ran = foldaway("lab")
    assert ran.code == 0
    assert all(word in ran.text for word in COMMANDS)


def test_a_format_to_chain_that_nobody_knows_is_refused_with_the_known_ones(foldaway: Any, data: Path) -> None:
    ran = foldaway("lab", "run", "--sessions", data, *SMALL, "--chain", "tau-bensh")
    assert ran.code == 2
    assert "tau-bensh" in ran.talk
    assert "tau2-bench" in ran.talk


def test_an_unknown_policy_of_the_lab_is_answered_with_the_oracle_and_the_peers_too(foldaway: Any, data: Path) -> None:
    ran = foldaway("lab", "run", "--sessions", data, "--policies", "windoe")
    assert ran.code == 2
    assert "oracle" in ran.talk
    assert "langchain:trim" in ran.talk
