"""What stores did with many memories, side by side, as rows and as a table to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from foldaway.lab.scale import LIMIT, Asked, Scale, Times
from foldaway.lab.table import aligned

LEGEND = (
    "Milliseconds a call, median / 95 %, by the clock; (cpu): of processors, a store's server included, which is what\n"
    "can be compared on a machine that does other work besides. words, vector: the store's halves. hybrid: the whole\n"
    f"retrieval of {LIMIT} memories, with embedding the question, reading and ranking anew. found: share of questions\n"
    f"(six words of a memory) that brought it back among the first {LIMIT}, for ids and paths as the first.\n"
    "told: in calls that wait for the store, without making texts and vectors. server: of it alone, shared memory once."
)


def scale_table(found: Sequence[Scale]) -> str:
    """Raises ValueError for none."""
    layout = found[0].layout
    head = (
        f"{layout.items:,} memories of {layout.owners} owners, the first holds {layout.sizes()[0]:,}; "
        f"vectors of {found[0].dims} numbers"
    )
    facts = [["", *(scale.store for scale in found)], *([name, *map(tell, found)] for name, tell in _FACTS)]
    asked = [["asked", "store", "words", "vector", "hybrid", "hybrid (cpu)", "found%"]]
    for kinds in zip(*(scale.asked for scale in found), strict=True):
        for scale, one in zip(found, kinds, strict=True):
            asked.append([one.name if scale is found[0] else "", scale.store, *_row(one)])
    return "\n\n".join([head, aligned(facts, left=1), aligned(asked, left=2), LEGEND])


def _row(one: Asked) -> list[str]:
    halves = (_pair(one.words), _pair(one.vector), _pair(one.hybrid), _pair(one.hybrid, processor=True))
    return [*halves, f"{100 * one.found:.0f}"]


def _pair(times: Times, *, processor: bool = False, digits: int = 1) -> str:
    if not times.clock:
        return ""
    median, most = (times.ms(share, processor=processor) for share in (0.5, 0.95))
    return f"{median:.{digits}f} / {most:.{digits}f}"


def _seconds(times: Times) -> str:
    pairs = zip(times.clock, times.processor, strict=True)
    return ", ".join(f"{clock:.2f} ({processor:.2f})" for clock, processor in pairs)


def _told(scale: Scale) -> str:
    book = scale.book
    return "before" if book is None else _rate(book.told, book.put_seconds, book.put_processor)


def _vectors(scale: Scale) -> str:
    book = scale.book
    return "before" if book is None else _rate(book.told, book.vector_seconds, book.vector_processor)


def _settled(scale: Scale) -> str:
    book = scale.book
    return "before" if book is None else f"{book.index_seconds:.1f} ({book.index_processor:.1f})"


def _rate(items: int, clock: float, processor: float) -> str:
    return f"{items / max(clock, 1e-9):,.0f} ({items / max(processor, 1e-9):,.0f})"


_FACTS: tuple[tuple[str, Callable[[Scale], str]], ...] = (
    ("memories told a second (cpu)", _told),
    ("vectors told a second (cpu)", _vectors),
    ("then settled, s (cpu)", _settled),
    ("on disk, MB", lambda scale: f"{scale.file_mb:,.0f}"),
    ("most memory of this process, MB", lambda scale: f"{scale.rss_mb:,.0f}"),
    ("memory of the server, MB", lambda scale: f"{scale.server_mb:,.0f}" if scale.server_mb else ""),
    ("first search after opening, s (cpu)", lambda scale: _seconds(scale.first_search)),
    ("by id, ms", lambda scale: _pair(scale.by_id, digits=2)),
    ("by id, ms (cpu)", lambda scale: _pair(scale.by_id, processor=True, digits=2)),
    ("forgetting one, s (cpu)", lambda scale: _seconds(scale.forget)),
    ("looking for memories without a vector, s (cpu)", lambda scale: _seconds(scale.without_vector)),
    ("of the ten nearest found, %", lambda scale: "" if scale.recall is None else f"{100 * scale.recall:.1f}"),
)


def scale_rows(found: Sequence[Scale]) -> list[dict[str, Any]]:
    """JSON data, one a store; times in milliseconds, rates a second."""
    return [
        {
            "store": one.store,
            "items": one.layout.items,
            "owners": one.layout.owners,
            "large_owner": one.layout.sizes()[0],
            "dims": one.dims,
            **_filling(one),
            "first_search": _figures(one.first_search),
            "by_id": _figures(one.by_id),
            "without_vector": _figures(one.without_vector),
            "forget": _figures(one.forget),
            "recall_at_10": one.recall,
            "file_mb": round(one.file_mb, 1),
            "rss_mb": round(one.rss_mb, 1),
            "server_mb": round(one.server_mb, 1),
            "asked": [_asked(each) for each in one.asked],
        }
        for one in found
    ]


def _filling(one: Scale) -> dict[str, float | None]:
    book = one.book
    names = ("put_a_second", "put_a_cpu_second", "vectors_a_second", "vectors_a_cpu_second")
    if book is None:
        return dict.fromkeys((*names, "index_seconds", "index_cpu_seconds"))
    spent = (book.put_seconds, book.put_processor, book.vector_seconds, book.vector_processor)
    rates = {name: round(book.told / max(each, 1e-9)) for name, each in zip(names, spent, strict=True)}
    return rates | {
        "index_seconds": round(book.index_seconds, 2),
        "index_cpu_seconds": round(book.index_processor, 2),
    }


def _asked(one: Asked) -> dict[str, Any]:
    halves = {"words": one.words, "vector": one.vector, "hybrid": one.hybrid}
    return {"name": one.name, "found": round(one.found, 4), **{name: _figures(each) for name, each in halves.items()}}


def _figures(times: Times) -> dict[str, float]:
    shares = (("p50", 0.5), ("p95", 0.95), ("max", 1.0))
    clock = {f"{name}_ms": round(times.ms(share), 3) for name, share in shares}
    return clock | {f"{name}_cpu_ms": round(times.ms(share, processor=True), 3) for name, share in shares}
