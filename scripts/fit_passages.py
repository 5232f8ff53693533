"""Fit the weights of `foldaway.scoring.passages` on recorded sessions, and print them.

    python scripts/fit_passages.py DATA

DATA is a folder with one subfolder a source (two levels for claude-code and codex); only the sources of
`fit_need.FITTED` are looked at. An item is *used* at a step when the agent's action there repeats one of its lines
word for word; what the agent had written itself before does not count. Printed: uses for each 1,000 tokens held for
one step, by kind, size and age; and the weights, exponents and decay that come nearest to it (least squares of the
logarithms over cells with at least `MIN_USES` uses).
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from fit_need import CHAINED, FITTED

from foldaway import Session
from foldaway.engine.log import Log
from foldaway.errors import FoldawayError
from foldaway.model.items import Item, Kind
from foldaway.readers import read_sessions

AGES = (1, 3, 6, 10, 20, 40, 80)
SIZES = (400, 1_600, 1 << 30)
MIN_USES = 5
OWN = frozenset({Kind.USER, Kind.GOAL, Kind.INSTRUCTION, Kind.THOUGHT, Kind.REASONING, Kind.RECALLED})

MIN_LINE_CHARS = 12

Cell = tuple[Kind, int, int]


def lines_of(text: str) -> set[str]:
    """Lines worth quoting, without indent and without the number that readers put in front."""
    found = set()
    for line in text.replace("\\n", "\n").replace("\\t", "\t").split("\n"):
        head, mark, rest = line.partition("→")
        bare = (rest if mark and head.strip().isdigit() else line).strip()
        if len(bare) >= MIN_LINE_CHARS:
            found.add(bare)
    return found


def cells(path: Path, source: str) -> tuple[Counter[Cell], Counter[Cell]]:
    """(uses, tokens x steps held) of one file's first session, by kind, size and age."""
    uses: Counter[Cell] = Counter()
    held: Counter[Cell] = Counter()
    try:
        recorded = next(iter(read_sessions(path, joined=source in CHAINED)))
    except (FoldawayError, StopIteration):
        return uses, held
    session = Session(
        format=recorded.format, budget=10**9, system=recorded.system, tools=recorded.tools, fixed_over_budget="send"
    )
    session.append(recorded.messages, origins=recorded.origins)
    log = session.engine.log
    home: dict[str, Item] = {}
    own: set[str] = set()
    for item in sorted(log.items.values(), key=lambda i: i.id):
        action = lines_of(log.action_text(item))
        for supplier in {i.id: i for i in (home[line] for line in action if line in home)}.values():
            uses[_cell(supplier, item.created_step - supplier.created_step)] += 1
        own.update(line for line in action if line not in home)
        if item.kind in OWN:
            own.update(lines_of(log.text_of(item)))
            continue
        home.update((line, item) for line in lines_of(log.result_text(item)) if line not in own)
        _hold(held, item, log)
    return uses, held


def _hold(held: Counter[Cell], item: Item, log: Log) -> None:
    for age in range(1, min(AGES[-1], log.step - item.created_step) + 1):
        held[_cell(item, age)] += item.tokens


def _cell(item: Item, age: int) -> Cell:
    size = next(n for n, top in enumerate(SIZES) if item.tokens <= top)
    return item.kind, size, next((n for n, top in enumerate(AGES) if age <= top), len(AGES))


def main() -> None:
    root = Path(sys.argv[1])
    files = [(p, s) for s in sorted(FITTED) for p in sorted((root / s).glob("*.gz"))]
    uses: Counter[Cell] = Counter()
    held: Counter[Cell] = Counter()
    with ProcessPoolExecutor() as pool:
        for used, kept in pool.map(cells, *zip(*files, strict=True)):
            uses += used
            held += kept
    show(uses, held)


def show(uses: Counter[Cell], held: Counter[Cell]) -> None:
    for kind in sorted({k for k, _, _ in held}):
        for size in range(len(SIZES)):
            rates = [(uses[kind, size, a], held[kind, size, a]) for a in range(len(AGES))]
            text = " ".join(f"{1000 * u / h:8.4f}" if h else "       -" for u, h in rates)
            print(f"{kind.value:10} <={SIZES[size]:<11} {text}  uses {sum(u for u, _ in rates)}")
    sums = {k: sum(u for (kk, _, _), u in uses.items() if kk is k) for k in sorted({k for k, _, _ in held})}
    decay, power = fit(uses, held)
    print(f"decay {decay:.2f} size {power:.2f}")
    for kind, total in sums.items():
        expected = sum(
            h / 1000 * _shape(size, age, decay, power) for (k, size, age), h in held.items() if k is kind and age < 7
        )
        print(f"{kind.value:10} weight {total / expected if expected else 0.0:.3f} ({total} uses)")


def fit(uses: Counter[Cell], held: Counter[Cell]) -> tuple[float, float]:
    """(decay with age, with size) of the reads, which have the most uses."""
    points = [
        (math.log(1 + _age(a)), math.log(_tokens(s)), math.log(1000 * uses[k, s, a] / h))
        for (k, s, a), h in sorted(held.items())
        if k is Kind.READ and a < len(AGES) and uses[k, s, a] >= MIN_USES
    ]
    n = len(points)
    mx, my, mz = (sum(p[i] for p in points) / n for i in range(3))
    xx, yy = sum((p[0] - mx) ** 2 for p in points), sum((p[1] - my) ** 2 for p in points)
    xy = sum((p[0] - mx) * (p[1] - my) for p in points)
    xz, yz = sum((p[0] - mx) * (p[2] - mz) for p in points), sum((p[1] - my) * (p[2] - mz) for p in points)
    det = xx * yy - xy * xy
    return -(xz * yy - yz * xy) / det, -(yz * xx - xz * xy) / det


def _shape(size: int, age: int, decay: float, power: float) -> float:
    return (1 + _age(age)) ** -decay * _tokens(size) ** -power


def _age(bucket: int) -> float:
    return (1.0, 2.5, 5.0, 8.0, 15.0, 30.0, 60.0)[bucket]


def _tokens(size: int) -> float:
    return (250.0, 900.0, 4_000.0)[size]


if __name__ == "__main__":
    main()
