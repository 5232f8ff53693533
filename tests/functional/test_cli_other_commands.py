"""`foldaway demo`, `bench`, `policies`, help and version, and what holds for every command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import foldaway as package
from foldaway.settings.parts import policy_names

COMMANDS = ("fit", "replay", "show", "recall", "explain", "demo", "bench", "policies")
SCRIPT = "import sys; from foldaway.cli import main; sys.exit(main())"


def test_the_demo_compares_four_policies_and_recalls_the_same_bytes(foldaway: Any) -> None:
    ran = foldaway("demo", "--json")
    rows = {row["policy"]: row for row in ran.json["pooled"]}
    assert ran.code == 0
    assert list(rows) == ["full", "window", "clear-tools", "auto"]
    assert all(rows[policy]["commits"] >= rows[policy]["sessions"] == 5 for policy in rows if policy != "full")
    assert all(row["invalid_views"] == row["over_silent"] == 0 for row in ran.json["results"])
    assert ran.json["recall"]["identical"] is True
    assert len(ran.json["recall"]["text"]) > 500
    assert ran.json["recall"]["line"] in ran.json["note"]


@pytest.mark.slow
def test_the_demo_as_text_says_where_to_go_next(foldaway: Any) -> None:
    text = foldaway("demo").text
    assert "the same, byte for byte, as in the recording" in text
    assert "[foldaway: #" in text
    assert text.rstrip().endswith("everything else")


def test_the_bench_reports_stretches_to_the_last_call(foldaway: Any) -> None:
    stretches = foldaway("bench", "--calls", 40, "--json").json["stretches"]
    assert len(stretches) == 10
    assert stretches[0]["calls"][0] == 0
    assert stretches[-1]["calls"][1] == 40
    assert all(stretch["ms_median"] > 0 for stretch in stretches)
    assert "ms median" in foldaway("bench", "--calls", 10).text


def test_policies_lists_every_policy_with_a_line(foldaway: Any) -> None:
    rows = foldaway("policies", "--json").json
    assert [row["name"] for row in rows] == list(policy_names())
    assert all(len(row["description"]) > 20 for row in rows)
    assert len(foldaway("policies").text.splitlines()) == len(rows)


def test_the_version_is_that_of_the_package(foldaway: Any) -> None:
    assert foldaway("--version").text == f"foldaway {package.__version__}\n"


def test_without_a_command_the_help_is_shown(foldaway: Any) -> None:
    ran = foldaway()
    assert ran.code == 0
    assert all(f"  {command} " in ran.text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_documents_json_and_exit_codes(foldaway: Any, command: str) -> None:
    text = " ".join(foldaway(command, "--help").text.split())
    assert "--json" in text
    assert "0 done; 1 something failed on the way; 2 bad usage" in text


def test_an_unknown_command_is_refused(foldaway: Any) -> None:
    assert foldaway("nix").refused("nix", "--help")


def test_help_loads_neither_lab_nor_readers() -> None:
    code = (
        "import sys; from foldaway.cli import main; main(['--help']);"
        "sys.exit(any(m in sys.modules for m in ('foldaway.lab', 'foldaway.readers', 'rich', 'multiprocessing')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_a_reader_that_goes_away_is_no_error(coding: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, "show", str(coding)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # Closed before anything comes: the first write finds nobody.
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_a_defect_of_ours_is_one_line_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import foldaway.cli.report
    from foldaway.cli import main

    def broken(**_: Any) -> None:
        raise KeyError("x")

    monkeypatch.setattr(foldaway.cli.report, "policies", broken)
    assert main(["policies"]) == 1
    assert capsys.readouterr().err.startswith("error: a defect in foldaway: KeyError: 'x'; please report")
