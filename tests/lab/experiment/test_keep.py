"""Rows on disk and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest

from foldaway.errors import ReadError
from foldaway.lab.experiment import keep
from foldaway.lab.experiment.keep import Kept, Row, Runs, Times, decode, encode, flat, read_rows, reduced, write_lines
from foldaway.lab.experiment.plan import Settings
from foldaway.lab.replay import replay
from foldaway.lab.results import ReplayResult
from foldaway.model.recorded import Recorded


def test_every_field_of_a_real_result_survives_the_disk(make_session: Callable[..., Recorded]) -> None:
    result = replace(replay(make_session("x", 20), "auto", 4000), problems=("one", "two"))
    kept = reduced(result)
    again = decode(Kept, json.loads(json.dumps(encode(kept))))
    assert again == kept
    assert again.result == replace(result, call_ms=())
    assert again.result.commits > 0
    assert set(encode(result)) == {field.name for field in fields(ReplayResult)}


def test_times_are_kept_as_percentiles() -> None:
    result = ReplayResult(session="s", policy="p", budget_tokens=1, call_ms=tuple(float(n) for n in range(1, 101)))
    assert reduced(result).times == Times(calls=100, ms_median=50.0, ms_p95=95.0, ms_p99=99.0, ms_max=100.0)


def test_a_run_is_found_again_under_its_key_only(tmp_path: Path) -> None:
    kept = reduced(ReplayResult(session="s", policy="p", budget_tokens=1, calls=3))
    runs = Runs(tmp_path / "runs")
    assert runs.get("k") is None
    runs.put("k", kept)
    assert runs.get("k") == kept
    (tmp_path / "runs" / "other.json").write_text((tmp_path / "runs" / "k.json").read_text())
    assert runs.get("other") is None


@pytest.mark.parametrize("text", ["", "{", '{"key": "k"}', "[]", '{"key": "k", "run": {"result": 1}}', "null"])
def test_a_file_that_is_half_written_counts_as_not_there(tmp_path: Path, text: str) -> None:
    (tmp_path / "k.json").write_text(text)
    assert Runs(tmp_path).get("k") is None


def test_the_key_tells_apart_whatever_decides_a_result(make_session: Callable[..., Recorded]) -> None:
    one, other = make_session("a", 3), make_session("b", 3)
    session = keep.session_key(one)
    keys = {
        keep.run_key(session, "auto", 8000, Settings()),
        keep.run_key(keep.session_key(other), "auto", 8000, Settings()),
        keep.run_key(keep.session_key(replace(one, model="gpt-4o")), "auto", 8000, Settings()),
        keep.run_key(session, "window", 8000, Settings()),
        keep.run_key(session, "auto", 8001, Settings()),
        keep.run_key(session, "auto", 8000, Settings(low_share=0.4)),
        keep.run_key(session, "auto", 8000, Settings(versions=(("peer", "1"),))),
    }
    assert len(keys) == 7
    assert keep.session_key(replace(one, name="renamed")) == session


def test_another_release_makes_runs_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = keep.run_key("s", "auto", 1, Settings())
    monkeypatch.setattr("foldaway.__version__", "99.0")
    assert keep.run_key("s", "auto", 1, Settings()) != before


def test_rows_come_back_with_their_times(tmp_path: Path, row: Callable[..., Row]) -> None:
    rows = [row("s", "auto", 8000, 9, 10, 20), row("s", "window", 8000, 7, 10, 25)]
    write_lines(tmp_path / "r.jsonl", [replace(one, times=Times()) for one in rows])
    write_lines(tmp_path / "t.jsonl", [one.times for one in rows])
    assert read_rows(tmp_path / "r.jsonl", tmp_path / "t.jsonl") == rows
    assert read_rows(tmp_path / "r.jsonl", tmp_path / "none")[0].times == Times()


def test_rows_that_cannot_be_read_are_told_by_file_and_line(tmp_path: Path, row: Callable[..., Row]) -> None:
    file = tmp_path / "r.jsonl"
    with pytest.raises(ReadError, match="foldaway lab run"):
        read_rows(file, file)
    good = json.dumps(encode(row("s", "auto", 8000, 9, 10, 20)))
    file.write_text(f'{good}\n{{"strange": 1}}\n')
    with pytest.raises(ReadError, match=r"r\.jsonl:2: .*no field strange"):
        read_rows(file, tmp_path / "none")


def test_a_field_of_the_wrong_type_is_refused() -> None:
    data = encode(ReplayResult(session="s", policy="p", budget_tokens=1))
    with pytest.raises(TypeError, match="'1' is no int"):
        decode(ReplayResult, {**data, "calls": "1"})
    del data["policy"]
    with pytest.raises(TypeError, match="lacks policy"):
        decode(ReplayResult, data)


def test_a_flat_row_has_texts_and_numbers_only(row: Callable[..., Row]) -> None:
    columns = flat(row("s", "auto", 8000, 9, 10, 20))
    assert columns["session"] == "s"
    assert columns["steps.loose.visible"] == 9
    assert columns["bill.read_tokens"] == 2000
    assert columns["problems"] == "[]"
    assert all(value is None or isinstance(value, str | int | float | bool) for value in columns.values())


def test_parquet_has_a_row_a_run(tmp_path: Path, row: Callable[..., Row]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra `parquet` is not installed")
    rows = [row("s", "auto", 8000, 9, 10, 20), row("t", "auto", 8000, 7, 10, 25)]
    assert keep.write_parquet(tmp_path / "r.parquet", rows)
    table = parquet.read_table(tmp_path / "r.parquet").to_pylist()
    assert [one["steps.loose.visible"] for one in table] == [9, 7]
