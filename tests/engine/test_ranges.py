from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.engine import ranges

IDS = st.sets(st.integers(1, 40), max_size=20)


def members(covered: ranges.Ranges) -> set[int]:
    return {n for low, high in covered for n in range(low, high + 1)}


@settings(max_examples=100, deadline=None)
@given(first=IDS, more=IDS, less=IDS)
def test_ranges_behave_like_sets_and_stay_sorted_apart(first: set[int], more: set[int], less: set[int]) -> None:
    made = ranges.remove(ranges.add(ranges.add((), first), more), less)
    assert members(made) == (first | more) - less
    assert all(low <= high for low, high in made)
    assert all(a[1] + 1 < b[0] for a, b in itertools.pairwise(made))


def test_neighbours_join_and_a_hole_splits() -> None:
    assert ranges.add(((1, 3),), [4, 6]) == ((1, 4), (6, 6))
    assert ranges.remove(((1, 4),), [2]) == ((1, 1), (3, 4))
