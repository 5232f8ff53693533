"""What was measured, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldaway.lab.proxy_bench.measure import Result, Weighing, added_ms, direct_of

COLUMNS = (
    "history", "conns", "target", "p50", "p95", "p99", "added p50", "added p95", "calls/s", "CPU ms", "opening",
    "failed",
)  # fmt: skip
STREAM_COLUMNS = (
    "history", "conns", "target", "first byte p50", "p95", "added p50", "added p95", "whole p50", "CPU ms", "failed",
)  # fmt: skip
MARKS = (0, 1_000, 2_000, 3_000, 4_000, 6_000, 8_000, 10_000)
"""Calls after which memory is told."""


def latency(results: Sequence[Result]) -> list[list[str]]:
    """Rows of one cell. Milliseconds; opening: the first call of a session, whose whole history is new."""
    direct = direct_of(results)
    rows = []
    for r in results:
        p50, p95, p99 = (_ms(r.percentile_ms(share)) for share in (0.5, 0.95, 0.99))
        rest = [f"{r.calls_per_second():,.0f}", _ms(r.cpu_ms()), _ms(r.opening_ms()), _failed(r)]
        rows.append([r.cell.size.name, str(r.cell.connections), r.target, p50, p95, p99, *_added(r, direct), *rest])
    return rows


def streaming(results: Sequence[Result]) -> list[list[str]]:
    """Rows of one cell of streamed answers: time to the first byte of the body."""
    direct = direct_of(results)
    rows = []
    for r in results:
        p50, p95 = (_ms(r.percentile_ms(share, first_byte=True)) for share in (0.5, 0.95))
        rest = [_ms(r.percentile_ms(0.5)), _ms(r.cpu_ms()), _failed(r)]
        rows.append([r.cell.size.name, str(r.cell.connections), r.target, p50, p95, *_added(r, direct), *rest])
    return rows


def _failed(r: Result) -> str:
    """How many, and with which statuses."""
    return f"{r.failed} ({', '.join(r.failures)})" if r.failed else "0"


def _added(r: Result, direct: Result) -> list[str]:
    if r is direct:
        return ["", ""]
    return [_ms(added_ms(r, direct, share, first_byte=r.cell.stream)) for share in (0.5, 0.95)]


def memory(weighings: Sequence[Weighing]) -> tuple[list[str], list[list[str]]]:
    """Heading and rows: megabytes after so many calls."""
    marks = [m for m in MARKS if any(m in w.calls for w in weighings)]
    heading = ["target", *(f"{m:,} calls" for m in marks), "most", "s"]
    rows = []
    for w in weighings:
        at = dict(zip(w.calls, w.rss_mb, strict=True))
        told = (f"{at[m]:.0f}" if m in at else "" for m in marks)
        rows.append([w.target, *told, f"{max(w.rss_mb):.0f}", f"{w.seconds:.0f}"])
    return heading, rows


def markdown(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for a page."""
    lines = [heading, ["---", *("---:" for _ in heading[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def as_json(results: Sequence[Result], direct: Result) -> list[dict[str, Any]]:
    return [_row(r, direct) for r in results]


def _row(r: Result, direct: Result) -> dict[str, Any]:
    first = r.cell.stream
    times: dict[str, float] = {}
    for share in (0.5, 0.95, 0.99):
        times[f"p{round(share * 100)}_ms"] = round(r.percentile_ms(share, first_byte=first), 3)
        times[f"added_p{round(share * 100)}_ms"] = round(added_ms(r, direct, share, first_byte=first), 3)
    return {
        "history": r.cell.size.name, "connections": r.cell.connections, "stream": first, "target": r.target,
        "calls": len(r.timings), "failed": r.failed, "failures": r.failures,
        **times, "calls_per_second": round(r.calls_per_second(), 1),
        "cpu_ms": round(r.cpu_ms(), 3), "opening_ms": round(r.opening_ms(), 3), "rss_mb": round(r.rss_mb, 1),
    }  # fmt: skip


def _ms(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
