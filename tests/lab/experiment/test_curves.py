"""Curves, areas and who is best where, on points one can check by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.lab.experiment.curves import (
    Point,
    area,
    at,
    bill_share,
    curves,
    dominations,
    frontier,
    levels,
    mean_tokens,
    nice_step,
    no_impact,
    price_levels,
)
from foldaway.lab.experiment.keep import Row


def line(*points: tuple[float, float]) -> tuple[Point, ...]:
    return tuple(Point(x, y, number) for number, (x, y) in enumerate(points))


def test_a_curve_has_a_point_a_budget_smallest_first(row: Callable[..., Row]) -> None:
    pools = [row("s", "auto", b, seen, 10, cost).result for b, seen, cost in ((16_000, 9, 30), (8_000, 6, 20))]
    assert curves(pools, bill_share, no_impact("loose")) == {"auto": (Point(0.2, 0.6, 8_000), Point(0.3, 0.9, 16_000))}
    assert [p.x for p in curves(pools, mean_tokens, no_impact("loose"))["auto"]] == [4_000, 8_000]


def test_the_frontier_leaves_out_what_costs_more_and_shows_less() -> None:
    assert frontier(line((3, 0.5), (1, 0.6), (2, 0.8), (2, 0.7), (4, 0.8))) == (Point(1, 0.6, 1), Point(2, 0.8, 2))


def test_between_points_the_line_counts_and_right_of_the_last_it_goes_on_flat() -> None:
    front = line((1, 0.5), (3, 0.7))
    assert at(front, 0.9) is None
    assert [at(front, x) for x in (1, 2, 3, 99)] == pytest.approx([0.5, 0.6, 0.7, 0.7])
    assert at((), 1) is None


def test_the_area_is_the_mean_difference_over_the_common_range() -> None:
    gap = area(line((0, 0.5), (2, 0.9)), line((1, 0.5), (2, 0.7)))
    assert gap is not None
    # From 1 to 2: 0.7 -> 0.9 against 0.5 -> 0.7.
    assert (gap.low, gap.high, gap.share_above) == (1, 2, 1)
    assert gap.mean_difference == pytest.approx(0.2)


def test_where_curves_cross_the_share_of_the_range_above_is_told() -> None:
    gap = area(line((0, 0.4), (4, 0.8)), line((0, 0.5), (4, 0.5)))
    # The flat second point is no part of its frontier; 0.4 + x / 10 reaches 0.5 at x = 1 of 4.
    assert gap is not None
    assert gap.share_above == pytest.approx(0.75)
    assert gap.mean_difference == pytest.approx(0.1)


def test_without_a_common_range_there_is_no_area() -> None:
    assert area(line((1, 0.5)), line((1, 0.7))) is None
    assert area(line((1, 0.5)), ()) is None


rates = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 10)), min_size=1, max_size=6)


@given(rates, rates)
def test_the_area_turned_round_has_the_other_sign(ours: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> None:
    one, other = frontier(line(*ours)), frontier(line(*theirs))
    there, back = area(one, other), area(other, one)
    assert (there is None) == (back is None)
    if there and back:
        assert there.mean_difference == pytest.approx(-back.mean_difference)
        assert 0 <= there.share_above <= 1


def test_each_price_level_names_who_is_best_there() -> None:
    found = {"a": line((1, 0.5), (3, 0.9)), "b": line((2, 0.8), (4, 0.85))}
    told = levels(found, [1, 2, 4, 0])
    assert [level.best for level in told] == [("a",), ("b",), ("a",), ()]
    assert told[0].reached == {"a": 0.5, "b": None}


def test_levels_are_round_numbers_over_the_prices_that_occur() -> None:
    assert price_levels({"a": line((0.11, 0.5), (0.49, 0.9))}) == pytest.approx(
        [0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]
    )
    assert price_levels({}) == ()
    assert [nice_step(x) for x in (0.03, 1, 3, 7, 0)] == pytest.approx([0.05, 1, 5, 10, 1])


def test_a_point_is_beaten_by_what_costs_no_more_and_shows_no_less() -> None:
    found = {"a": line((1, 0.5), (2, 0.9)), "b": line((1, 0.5), (3, 0.9)), "c": line((3, 0.1), (9, 0.2))}
    told = {one.policy: one for one in dominations(found)}
    assert (told["a"].beaten, dict(told["a"].by)) == (0, {})
    assert (told["b"].beaten, dict(told["b"].by)) == (1, {"a": 1})
    assert (told["c"].beaten, list(told["c"].by)) == (2, ["a", "b"])
