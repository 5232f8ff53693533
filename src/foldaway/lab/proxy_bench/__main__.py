"""Run the bench and print its tables: on stdout what was measured, on stderr where it stands."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foldaway.errors import FoldawayError
from foldaway.lab.proxy_bench import tables
from foldaway.lab.proxy_bench.histories import SIZES
from foldaway.lab.proxy_bench.measure import Cell, Weighing, direct_of, measure, weigh
from foldaway.lab.proxy_bench.targets import DIRECT, Target, running
from foldaway.lab.table import aligned

CALLS = {"10KB": {1: 25, 8: 25, 64: 6}, "200KB": {1: 19, 8: 10, 64: 3}, "2MB": {1: 16, 8: 4, 64: 1}}
"""Of each connection in a round, by size and connections."""
STREAMED = {"10KB": {1: 19, 8: 6}, "200KB": {1: 19, 8: 6}}


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    litellm = Path(asked.litellm) if asked.litellm else None
    if litellm is not None and not litellm.exists():
        print(f"without LiteLLM's proxy: {litellm} is not there (make bench-peers)", file=sys.stderr)
        litellm = None
    with tempfile.TemporaryDirectory(prefix="foldaway-bench-") as folder:
        try:
            told = _all(asked, Path(folder), litellm)
        except FoldawayError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    if asked.json:
        print(json.dumps(told, indent=1))
    return 0


def _all(asked: Any, folder: Path, litellm: Path | None) -> dict[str, Any]:
    shown = _shown(asked)
    load = os.getloadavg()
    shown(f"Load of the machine at the start: {load[0]:.1f} (1 min), {load[1]:.1f} (5 min); {os.cpu_count()} cores.\n")
    with _targets(asked, folder / "time", litellm) as targets:
        rows = [*_times(asked, targets, stream=False), *_times(asked, targets, stream=True)]
    weighings: list[Weighing] = []
    if asked.memory:
        # Begun anew: what stood before in a process is no measure for what is added.
        with _targets(asked, folder / "memory", litellm) as targets:
            weighings = [weigh(SIZES[asked.memory_size], t, asked.memory, _progress) for t in targets[1:]]
        shown(_table(asked, *tables.memory(weighings)))
    after = os.getloadavg()
    shown(f"Load at the end: {after[0]:.1f} (1 min), {after[2]:.1f} (15 min).")
    memory = [{"target": w.target, "calls": w.calls, "rss_mb": w.rss_mb} for w in weighings]
    return {"cells": rows, "memory": memory, "load": [load[0], after[0]]}


@contextmanager
def _targets(asked: Any, folder: Path, litellm: Path | None) -> Iterator[list[Target]]:
    folder.mkdir()
    with running(folder, litellm) as targets:
        yield [t for t in targets if t.name == DIRECT or not asked.targets or t.name in asked.targets]


def _times(asked: Any, targets: Sequence[Target], *, stream: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    lines: list[list[str]] = []
    for cell in _cells(asked, STREAMED if stream else CALLS, stream=stream):
        found = measure(cell, targets, _progress)
        rows += tables.as_json(found, direct_of(found))
        lines += tables.streaming(found) if stream else tables.latency(found)
    if lines:
        _shown(asked)(_table(asked, tables.STREAM_COLUMNS if stream else tables.COLUMNS, lines))
    return rows


def _cells(asked: Any, plan: dict[str, dict[int, int]], *, stream: bool) -> list[Cell]:
    return [
        Cell(
            size=SIZES[size], connections=connections, rounds=asked.rounds, stream=stream,
            calls=max(1, round(calls * asked.share)),
        )
        for size, some in plan.items()
        for connections, calls in some.items()
        if size in asked.sizes and connections in asked.connections and not (stream and asked.no_stream)
    ]  # fmt: skip


def _shown(asked: Any) -> Callable[[str], None]:
    return lambda text: None if asked.json else print(text, flush=True)


def _table(asked: Any, heading: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    if asked.markdown:
        return tables.markdown(heading, lines) + "\n"
    return aligned([list(heading), *map(list, lines)], left=3) + "\n"


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m foldaway.lab.proxy_bench",
        description="Latency, throughput and memory of the proxy beside no proxy, a bare one and LiteLLM's.",
    )
    parser.add_argument("--litellm", default="", help="LiteLLM's command (its own environment); empty: without it")
    parser.add_argument("--sizes", type=lambda s: s.split(","), default=list(SIZES), help="such as 10KB,200KB")
    parser.add_argument("--connections", type=lambda s: [int(n) for n in s.split(",")], default=[1, 8, 64])
    parser.add_argument("--targets", type=lambda s: s.split(";"), default=[], help="names, parted by ;")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--share", type=float, default=1.0, help="of the usual number of calls in a round")
    parser.add_argument("--memory", type=int, default=10_000, help="calls for the memory table; 0: without it")
    parser.add_argument("--memory-size", choices=list(SIZES), default="10KB", help="of the histories in that table")
    parser.add_argument("--no-stream", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
