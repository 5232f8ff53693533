from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from foldaway.lab.bench import bench, bench_table, rss_mb, synthetic
from foldaway.lab.needs import label
from foldaway.lab.timeline import steps_of


def test_the_synthetic_session_is_the_same_every_time_and_has_needs() -> None:
    assert synthetic(14) == synthetic(14)
    assert len(steps_of(synthetic(14))) == 14
    needs = label(synthetic(14)).needs
    assert needs[6]
    assert needs[13]


def test_stretches_cover_all_calls_without_a_gap(newest: Callable[..., Any]) -> None:
    found = bench(synthetic(23), "newest", 1_000, stretches=5, make=lambda *_: newest(keep=4))
    ends = [0, *(stretch.calls[1] for stretch in found)]
    assert [stretch.calls for stretch in found] == list(pairwise(ends))
    assert ends[-1] == 23
    assert all(s.ms_median <= s.ms_p95 <= s.ms_max for s in found)


def test_a_session_without_calls_gives_no_stretch(newest: Callable[..., Any]) -> None:
    assert bench(synthetic(0), "newest", 1_000, make=lambda *_: newest(keep=4)) == []


def test_memory_is_told_in_megabytes() -> None:
    assert 5 < rss_mb() < 100_000


def test_the_table_names_calls_by_first_and_last(newest: Callable[..., Any]) -> None:
    found = bench(synthetic(4), "newest", 1_000, stretches=2, make=lambda *_: newest(keep=4))
    lines = bench_table("a title", found).splitlines()
    assert lines[0] == "a title"
    assert [line.split()[0] for line in lines[3:]] == ["0-1", "2-3"]
