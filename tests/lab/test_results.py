from __future__ import annotations

from dataclasses import replace

import pytest

from foldaway.lab.bill import Bill
from foldaway.lab.results import ReplayResult, Tally, percentile, pool, wilson

ONE = ReplayResult(
    session="a",
    policy="lru",
    budget_tokens=100,
    calls=4,
    total_tokens=40,
    peak_tokens=12,
    steps={"strict": Tally(2, 1, 2)},
    needs_by_kind={"strict": {"path": Tally(3, 1, 2)}},
    bill=Bill(read_tokens=5),
    call_ms=(1.0, 2.0),
)


def test_the_interval_is_wilsons() -> None:
    # Worked by hand for 8 of 10: centre (0.8 + 0.19207) / 1.38415, half-width 0.22658.
    low, high = wilson(8, 10)
    assert low == pytest.approx(0.4902, abs=1e-4)
    assert high == pytest.approx(0.9433, abs=1e-4)


@pytest.mark.parametrize(("hits", "total"), [(0, 5), (5, 5), (0, 0), (1, 1_000_000)])
def test_the_interval_stays_within_zero_and_one_and_holds_the_rate(hits: int, total: int) -> None:
    low, high = wilson(hits, total)
    assert 0 <= low <= (hits / total if total else 0.5) <= high <= 1


@pytest.mark.parametrize(("share", "expected"), [(0.5, 2.0), (0.95, 4.0), (0.0, 1.0)])
def test_percentiles_are_values_that_occurred(share: float, expected: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == expected
    assert percentile([], share) == 0.0


def test_pooling_adds_up_sessions_of_one_policy_and_budget() -> None:
    rows = pool([ONE, replace(ONE, session="b", peak_tokens=30, calls=6), replace(ONE, budget_tokens=200)])
    assert [(r.policy, r.budget_tokens, r.sessions) for r in rows] == [("lru", 100, 2), ("lru", 200, 1)]
    both = rows[0]
    assert (both.calls, both.total_tokens, both.peak_tokens) == (10, 80, 30)
    assert both.steps == {"strict": Tally(4, 2, 4)}
    assert both.needs_by_kind["strict"] == {"path": Tally(6, 2, 4)}
    assert both.bill.read_tokens == 10
    assert both.call_ms == (1.0, 2.0, 1.0, 2.0)


def test_failed_sessions_are_left_out_of_the_pool() -> None:
    assert pool([replace(ONE, error="broken")]) == []


def test_refused_calls_do_not_pull_the_mean_down() -> None:
    assert replace(ONE, refused_calls=2).mean_tokens == 20
