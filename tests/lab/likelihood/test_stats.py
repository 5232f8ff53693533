from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.lab.likelihood.stats import auc, interval, mean, spearman


def test_auc_counts_the_pairs_that_are_in_order() -> None:
    # 3 > 1, 3 > 2, 2 > 1, 2 = 2 (half): 3.5 of 4
    assert auc([1, 2], [3, 2]) == 3.5 / 4
    assert auc([1, 2], [3]) == 1.0
    assert auc([3], [1, 2]) == 0.0
    assert auc([], [1]) is None


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_auc_equals_the_count_by_hand(low: list[int], high: list[int]) -> None:
    wins = sum((h > x) + 0.5 * (h == x) for h in high for x in low)
    assert auc(low, high) == pytest.approx(wins / (len(low) * len(high)))


def test_spearman_sees_order_and_not_distance() -> None:
    assert spearman([1, 2, 3], [1, 10, 1000]) == pytest.approx(1)
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5)
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / (4.5 * 5) ** 0.5)
    assert spearman([1, 1], [1, 2]) is None
    assert spearman([], []) is None


def test_an_interval_is_the_same_each_time_and_holds_the_value() -> None:
    groups = [[1.0, 2.0], [3.0], [2.0, 2.5, 9.0], [0.5]]
    found = interval(groups, mean, resamples=300)
    assert found is not None
    assert found == interval(groups, mean, resamples=300)
    assert found[0] < 20 / 7 < found[1]


def test_values_of_one_recording_do_not_pass_for_many() -> None:
    apart = interval([[0.0], [0.0], [0.0], [6.0], [6.0], [6.0]], mean, resamples=300)
    together = interval([[0.0, 0.0, 0.0], [6.0, 6.0, 6.0]], mean, resamples=300)
    assert apart is not None
    assert together == (0.0, 6.0)
    assert apart[1] - apart[0] < 6


def test_one_recording_gives_no_interval() -> None:
    assert interval([[1.0, 2.0], []], mean) is None
    assert interval([[1.0], [2.0]], lambda values: None, resamples=10) is None
