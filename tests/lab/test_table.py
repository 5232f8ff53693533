from __future__ import annotations

import json
from dataclasses import replace

from foldaway.lab.bill import call_bill
from foldaway.lab.results import ReplayResult, Tally
from foldaway.lab.table import aligned, needs_table, replay_table, row

RESULT = ReplayResult(
    session="a-session",
    policy="lru",
    budget_tokens=8_000,
    calls=10,
    total_tokens=50_000,
    peak_tokens=7_900,
    steps={"strict": Tally(4, 3, 4), "loose": Tally(8, 7, 8)},
    needs_by_age={"strict": {">25": Tally(4, 1, 2)}},
    bill=call_bill(0, 50),
    full_bill=call_bill(0, 200),
    over_flagged=2,
    over_silent=1,
    call_ms=(1.0, 2.0, 9.0),
)


def test_a_row_is_json_and_keeps_counts_beside_rates() -> None:
    data = json.loads(json.dumps(row(RESULT)))
    assert data["no_impact"]["strict"]["visible_rate"] == 0.75
    assert data["no_impact"]["strict"]["total"] == 4
    assert data["bills"]["cache 0.1/1.25"]["share_of_full"] == 0.25
    assert (data["ms_median"], data["ms_p95"], data["ms_max"]) == (2.0, 9.0, 9.0)


def test_a_rate_without_steps_is_null_and_not_a_number() -> None:
    assert row(replace(RESULT, steps={}))["no_impact"]["loose"]["visible_rate"] is None
    assert "nan" not in replay_table([replace(RESULT, steps={})]).lower()


def test_the_table_shows_a_line_a_result_under_its_titles() -> None:
    head, _, line, *_ = replay_table([RESULT]).splitlines()
    cells = dict(zip(head.split(), line.split(), strict=True))
    assert cells["session"] == "a-session"
    assert (cells["strict%"], cells["all%"], cells["recall%"], cells["values%"]) == ("75.0", "87.5", "100.0", "-")
    assert (cells["bill%"], cells["over"], cells["p95"]) == ("25.0", "2!1", "9.00")


def test_intervals_stand_behind_the_rates() -> None:
    assert "75.0 (30.1-95.4)" in replay_table([RESULT], intervals=True)


def test_a_failed_session_is_named_with_its_error() -> None:
    failed = ReplayResult(session="bad", policy="lru", budget_tokens=1, error="StoreError: gone")
    table = replay_table([failed, RESULT])
    assert "failed" in table
    assert "bad, lru, 1: StoreError: gone" in table
    assert row(failed)["error"] == "StoreError: gone"


def test_needs_are_broken_down() -> None:
    line = needs_table(RESULT).splitlines()[-1].split()
    assert line == ["strict", "age", ">25", "4", "25.0", "50.0"]


def test_columns_are_aligned() -> None:
    lines = aligned([["a", "long title"], ["bbb", "1"]], left=1).splitlines()
    assert lines == ["a    long title", "---  ----------", "bbb           1"]
