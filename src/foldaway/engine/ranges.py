"""Sorted, disjoint ranges of ids, both ends included: how a fold note says what it covers in little room."""

from __future__ import annotations

from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]


def add(ranges: Ranges, ids: Iterable[int]) -> Ranges:
    """The ranges with more ids in them. O(ranges + ids log ids)."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted((*ranges, *((i, i) for i in ids))):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def remove(ranges: Ranges, ids: Iterable[int]) -> Ranges:
    """The ranges without some ids."""
    kept = list(ranges)
    for gone in sorted(set(ids)):
        cut: list[tuple[int, int]] = []
        for low, high in kept:
            if low <= gone <= high:
                cut.extend(r for r in ((low, gone - 1), (gone + 1, high)) if r[0] <= r[1])
            else:
                cut.append((low, high))
        kept = cut
    return tuple(kept)
