"""What stores did with many memories, as rows and as a table to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldaway.lab.scale import LIMIT, Asked, Scale, Times
from foldaway.lab.table import aligned

LEGEND = (
    "Milliseconds a call, median / 95 %. words, vector: the store's halves. hybrid: the whole retrieval of\n"
    f"{LIMIT} memories, with embedding the question, reading and ranking anew; by the clock, and (cpu) of processors,\n"
    "the store's server included. found: share of questions, six words of a memory, that brought it back\n"
    f"among the first {LIMIT}; of ids and paths: that brought it back first."
)


def scale_table(found: Sequence[Scale]) -> str:
    return "\n\n".join(_one(scale) for scale in found) + f"\n\n{LEGEND}"


def _one(scale: Scale) -> str:
    layout = scale.layout
    lines = [["asked", "words", "vector", "hybrid", "hybrid cpu", "found%"]]
    lines += [
        [
            one.name,
            _pair(one.words),
            _pair(one.vector),
            _pair(one.hybrid),
            _pair(one.hybrid, processor=True),
            f"{100 * one.found:.0f}",
        ]
        for one in scale.asked
    ]
    head = (
        f"{scale.store}: {layout.items:,} memories of {layout.owners} owners, the first holds {layout.sizes()[0]:,}; "
        f"vectors of {scale.dims} numbers"
    )
    told = (
        f"memories told {_rate(layout.items, scale.put_seconds)}, vectors {_rate(layout.items, scale.vector_seconds)}"
    )
    told += f", then indexed {scale.index_seconds:.1f} s" if scale.index_seconds > 1 else ""
    recall = "" if scale.recall is None else f"; of the ten nearest {100 * scale.recall:.1f} % found"
    facts = [
        told,
        f"by id {scale.by_id.ms(0.5):.2f} / {scale.by_id.ms(0.95):.2f} ms; first search after opening "
        f"{scale.first_search.ms(1) / 1000:.1f} s (cpu {scale.first_search.ms(1, processor=True) / 1000:.1f}){recall}",
        f"forgetting one {_seconds(scale.forget)} (cpu {_seconds(scale.forget, processor=True)}); looking for memories "
        f"without a vector {_seconds(scale.without_vector)}",
        f"on disk {scale.file_mb:,.0f} MB; most memory of this process {scale.rss_mb:,.0f} MB",
    ]
    return "\n".join([head, "", aligned(lines, left=1), "", *facts])


def _pair(times: Times, *, processor: bool = False) -> str:
    if not times.clock:
        return ""
    return f"{times.ms(0.5, processor=processor):.1f} / {times.ms(0.95, processor=processor):.1f}"


def _seconds(times: Times, *, processor: bool = False) -> str:
    values = times.processor if processor else times.clock
    return " and ".join(f"{value:.2f} s" for value in values)


def _rate(items: int, seconds: float) -> str:
    return f"{items / seconds:,.0f} a second" if seconds else "before"


def scale_rows(found: Sequence[Scale]) -> list[dict[str, Any]]:
    """JSON data, one a store; times in milliseconds, rates a second."""
    return [
        {
            "store": one.store,
            "items": one.layout.items,
            "owners": one.layout.owners,
            "large_owner": one.layout.sizes()[0],
            "dims": one.dims,
            "put_a_second": round(one.layout.items / one.put_seconds) if one.put_seconds else None,
            "vectors_a_second": round(one.layout.items / one.vector_seconds) if one.vector_seconds else None,
            "index_seconds": round(one.index_seconds, 2),
            "first_search": _figures(one.first_search),
            "by_id": _figures(one.by_id),
            "without_vector": _figures(one.without_vector),
            "forget": _figures(one.forget),
            "recall_at_10": one.recall,
            "file_mb": round(one.file_mb, 1),
            "rss_mb": round(one.rss_mb, 1),
            "asked": [_asked(each) for each in one.asked],
        }
        for one in found
    ]


def _asked(one: Asked) -> dict[str, Any]:
    halves = {"words": one.words, "vector": one.vector, "hybrid": one.hybrid}
    return {"name": one.name, "found": round(one.found, 4), **{name: _figures(each) for name, each in halves.items()}}


def _figures(times: Times) -> dict[str, float]:
    shares = (("p50", 0.5), ("p95", 0.95), ("max", 1.0))
    clock = {f"{name}_ms": round(times.ms(share), 3) for name, share in shares}
    return clock | {f"{name}_cpu_ms": round(times.ms(share, processor=True), 3) for name, share in shares}
