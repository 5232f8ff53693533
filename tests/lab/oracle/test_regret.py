from __future__ import annotations

import pytest

from foldaway.lab.bill import Bill
from foldaway.lab.oracle import Bounds, Regret, VisibleBound, regret_of, regret_table
from foldaway.lab.oracle.regret import pool_regrets
from foldaway.lab.results import ReplayResult, Tally

BOUND = VisibleBound(total=100, visible=98)
BOUNDS = Bounds(budget_tokens=8_000, visible=BOUND, whole=BOUND, bill=1_000.0)


def ran(policy: str, visible: int, written: int, **other: object) -> ReplayResult:
    fields: dict[str, object] = {"session": "one", "budget_tokens": 8_000, **other}
    return ReplayResult(
        policy=policy,
        steps={"loose": Tally(100, visible, visible)},
        bill=Bill(written_tokens=written),
        full_bill=Bill(written_tokens=8_000),
        **fields,  # type: ignore[arg-type]
    )


WINDOW, ORACLE, AUTO = ran("window", 68, 4_000), ran("oracle", 97, 1_200), ran("auto", 83, 3_200)


def regret(result: ReplayResult = AUTO) -> Regret:
    return regret_of(result, window=WINDOW, oracle=ORACLE, bounds=BOUNDS)


def test_regret_is_the_distance_to_the_bound_and_the_share_is_counted_from_window() -> None:
    auto = regret()
    assert (auto.steps, auto.gap, auto.steps_closed) == (15, 1, 0.5)
    assert auto.bill_regret == pytest.approx(3_000)
    assert auto.bill_closed == pytest.approx(0.25)
    assert regret(WINDOW).steps_closed == 0.0


def test_worse_than_window_is_below_zero_and_no_distance_has_no_share() -> None:
    worse = regret(ran("lru", 58, 4_800))
    assert worse.steps_closed == pytest.approx(-1 / 3)
    assert (worse.bill_closed or 0) < 0
    level = regret_of(AUTO, window=ran("window", 98, 4_000), oracle=ORACLE, bounds=BOUNDS)
    assert level.steps_closed is None


def test_pooled_regrets_weigh_every_step_the_same() -> None:
    (auto, lru) = pool_regrets([regret(), regret(ran("lru", 68, 4_000)), regret(WINDOW), regret()])[:2]
    assert (auto.policy, auto.total, auto.steps, auto.steps_closed) == ("auto", 200, 30, 0.5)
    assert (lru.policy, lru.steps_closed) == ("lru", 0.0)


@pytest.mark.parametrize("other", [{"session": "two"}, {"budget_tokens": 4_000}, {"error": "StoreError: gone"}])
def test_runs_that_do_not_belong_together_are_refused(other: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="window"):
        regret_of(AUTO, window=ran("window", 68, 4_000, **other), oracle=ORACLE, bounds=BOUNDS)


def test_the_table_shows_share_and_gap_beside_each_policy() -> None:
    lines = regret_table([regret(WINDOW), regret()]).splitlines()
    assert lines[0].split()[:4] == ["session", "policy", "budget", "steps"]
    assert lines[3].split() == "one auto 8000 100 83.0 98.0 15 50.0 1 40.0 10.0 25.0".split()
