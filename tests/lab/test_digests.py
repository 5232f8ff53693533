"""Digests measured on bundled sessions, and the arms they are measured against."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

from foldaway.cli.lab_app import lab
from foldaway.compressors.base import Hint
from foldaway.errors import SettingsError
from foldaway.lab.digest_arms import ARMS, FOLDAWAY, HEAD_AND_TAIL, Arm, frequent_lines
from foldaway.lab.digest_table import digest_rows, digest_table, worst_class
from foldaway.lab.digests import ALL, MIN_CHARS, DigestReport, Key, Sample, measure, samples, shortened
from foldaway.lab.experiment.sources import CHOSEN_ON, HELD_OUT, Input
from foldaway.readers import read_sessions
from foldaway.tokens import get_counter

SESSIONS = files("foldaway.data") / "sessions"
COUNT = get_counter("plain").count


@pytest.fixture(scope="module")
def found() -> list[Sample]:
    inputs = [
        Input(recorded, source)
        for name, source in (("who-and-when-30.json.gz", "who-and-when"), ("tau2-gpt-4.1-retail.json.gz", "other"))
        for recorded in read_sessions(str(SESSIONS / name))
    ]
    return samples(inputs)


@pytest.fixture(scope="module")
def report(found: list[Sample]) -> DigestReport:
    return measure(found, shares=(0.25, 0.5), count=COUNT)


def made_up() -> Sample:
    text = "\n".join(f"def load_rows_{n}(path):\n    return open_rows(path, {n})\n" for n in range(200))
    needs = {"load_rows_3": "identifier", "load_rows_150": "identifier", "return open_rows(path, 77)": "line"}
    return Sample(session="s", source="x", half=HELD_OUT, content="source", text=text, hint=Hint(), needs=needs)


def test_long_results_come_with_what_later_actions_took_from_them(found: list[Sample]) -> None:
    assert all(len(sample.text) > MIN_CHARS for sample in found)
    with_needs = [sample for sample in found if sample.needs]
    assert len(with_needs) > 5
    assert all(literal in sample.text for sample in with_needs for literal in sample.needs if "\\" not in literal)
    assert {sample.half for sample in found} == {CHOSEN_ON, HELD_OUT}


def test_every_arm_keeps_to_its_tokens_and_uses_most_of_them() -> None:
    sample = made_up()
    raw = COUNT(sample.text)
    for arm in ARMS:
        text, tokens = shortened(arm, sample, raw // 4, raw, COUNT)
        assert tokens == COUNT(text)
        assert 0.85 * (raw // 4) < tokens <= raw // 4, arm.name


def test_a_digest_keeps_more_than_head_and_tail_and_the_cells_add_up(report: DigestReport) -> None:
    own = report.cells[Key("0.25", FOLDAWAY.name, "", ALL)]
    plain = report.cells[Key("0.25", HEAD_AND_TAIL.name, "", ALL)]
    assert own.needs == plain.needs
    assert own.kept["values"] > plain.kept["values"]
    assert own.tokens <= own.raw_tokens // 4
    halves = [report.cells[Key("0.25", FOLDAWAY.name, half, ALL)] for half in (CHOSEN_ON, HELD_OUT)]
    assert sum(cell.needs["all"] for cell in halves) == own.needs["all"]
    more = report.cells[Key("0.5", FOLDAWAY.name, "", ALL)]
    assert more.kept["all"] >= own.kept["all"]


def test_rules_part_values_from_whole_lines() -> None:
    everything = Arm("everything", "", lambda text, hint, room: text)
    cell = measure([made_up()], shares=(), arms=[everything], count=COUNT).cells[Key("0.25", "everything", "", ALL)]
    assert cell.needs == cell.kept == {"all": 3, "values": 2, "lines": 1}


def test_no_digest_of_a_bundled_result_makes_anything_up(report: DigestReport, found: list[Sample]) -> None:
    assert report.checks.digests == len(found)
    assert report.checks.made_up == ()
    assert report.checks.too_long == 0


def test_what_a_digest_makes_up_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from foldaway.compressors.base import Digest

    monkeypatch.setattr("foldaway.lab.digests.digest", lambda *_: Digest(text="row_4711", content="x"))
    report = measure([made_up()], shares=(), count=COUNT)
    assert report.checks.made_up == (("s", ("row_4711",)),)
    assert "row_4711" in digest_table(report)


def test_the_worst_class_is_the_one_least_ahead_of_head_and_tail() -> None:
    middle = {f"load_rows_{n}": "identifier" for n in range(90, 115)}
    ends = {f"load_rows_{n}": "identifier" for n in (*range(12), *range(188, 200))}
    good, even = (replace(made_up(), content=name, needs=needs) for name, needs in (("a", middle), ("b", ends)))
    report = measure([good, even], shares=(), count=COUNT)
    worst = worst_class(report, "all")
    assert worst is not None
    assert worst[0] == "b"
    assert "least ahead of head and tail, all: b" in digest_table(report)
    assert worst_class(measure([made_up()], shares=(), count=COUNT), "all") is None


def test_the_figures_are_the_same_each_time(report: DigestReport, found: list[Sample]) -> None:
    again = digest_rows(measure(found, shares=(0.25, 0.5), count=COUNT))
    first = digest_rows(report)
    assert (again["rows"], again["checks"]) == (first["rows"], first["checks"])
    assert json.loads(json.dumps(first))["rows"] == first["rows"]


def test_plain_extraction_prefers_lines_of_frequent_words() -> None:
    text = "rare zebra\n" + "the rows are loaded\n" * 3 + "unique quokka\n"
    assert frequent_lines(text, Hint(), 45) == "the rows are loaded\nthe rows are loaded"


def test_the_command_writes_its_table_and_its_data(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(lab, ["digests", str(SESSIONS / "who-and-when-30.json.gz"), "-o", str(out), "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["rows"]
    assert {row["arm"] for row in rows} >= {arm.name for arm in ARMS}
    assert "By class of content" in (out / "digests.txt").read_text("utf-8")
    assert json.loads((out / "digests.json").read_text("utf-8"))["rows"] == rows


def test_a_share_that_is_none_is_refused() -> None:
    done = CliRunner().invoke(lab, ["digests", "--bundled", "--share", "1.5"])
    assert isinstance(done.exception, SettingsError)
    assert "--share 1.5" in str(done.exception)


def test_speed_is_told_beside_zlib_without_labels(tmp_path: Path) -> None:
    told = CliRunner().invoke(lab, ["digests", "--bundled", "--speed", "--json", "-o", str(tmp_path)])
    assert told.exit_code == 0
    rows = json.loads(told.stdout)
    assert rows[-1]["content"] == ALL
    assert rows[-1]["megabytes"] == pytest.approx(sum(row["megabytes"] for row in rows[:-1]))
    assert all(row["seconds"] > 0 and row["zlib_seconds"] >= 0 for row in rows)
    assert "digest to zlib" in (tmp_path / "speeds.txt").read_text("utf-8").splitlines()[0]
