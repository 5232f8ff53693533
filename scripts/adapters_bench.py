"""The same scripted long tasks in agent frameworks: without management, with their own, and with Foldaway's adapter.

    make bench-adapters              # or: .venv-adapters/bin/python scripts/adapters_bench.py [FRAMEWORK ...]

The model follows a script whatever it sees (`adapters_bench_scripts`); what is measured is the request it gets. Nothing
is sent anywhere. Prints Markdown tables: one for each kind of task, and one over lengths without any framework. With
`--lengths` only that one.
"""

from __future__ import annotations

import statistics
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from adapters_bench_lengths import lengths_table
from adapters_bench_recorder import MODEL, Recorder
from adapters_bench_scripts import RECORDED, Edits, Records, Script, recorded

from foldaway.lab.prices import ANTHROPIC, NO_CACHE, OPENAI

BUDGET = 16_000
SEEDS = (1, 2)
RECORDS, EDITS = 150, 150
"""Steps."""
TASKS: dict[str, Callable[[], list[Script]]] = {
    "records": lambda: [Records(seed, RECORDS).script() for seed in SEEDS],
    "edits": lambda: [Edits(seed, EDITS).script() for seed in SEEDS],
    "recorded": lambda: [recorded(file) for file in RECORDED],
}
TITLES = {
    "records": f"Facts told early and late: {RECORDS} records read, codes of old ones named",
    "edits": f"Files read and edited later: {EDITS} steps",
    "recorded": "Two recorded sessions played again",
}
COLUMNS = (
    "framework", "managed by", "needs in sight", "after recall", "bare in sight", "recalls",
    "tokens, mean", "peak", "bill, Anthropic", "bill, OpenAI", "no cache", "invalid", "CPU ms a call, p50", "p95",
)  # fmt: skip
WORDED = ("framework", "managed by")


def head(columns: Sequence[str]) -> str:
    rows = (columns, ["---" if c in WORDED else "--:" for c in columns])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def row(framework: str, arm: str, runs: Sequence[Recorder]) -> str:
    """One line of a table; several runs are taken together (peak: the highest of all)."""

    def mean(values: Sequence[float]) -> float:
        return statistics.fmean(values)

    shares = [mean([step[part] for run in runs for step in run.needed]) for part in (0, 2, 1)]
    times = sorted(ms for run in runs for ms in run.cpu_ms)
    cells = [
        framework, arm, *(f"{share:.0%}" for share in shares), f"{mean([r.recalls for r in runs]):.0f}",
        f"{mean([t for r in runs for t in r.tokens]):,.0f}", f"{max(max(r.tokens) for r in runs):,}",
        *(f"{mean([r.bill(prices) for r in runs]):,.0f}" for prices in (ANTHROPIC, OPENAI, NO_CACHE)),
        f"{sum(r.invalid for r in runs)}", f"{statistics.median(times):.1f}", f"{times[len(times) * 95 // 100]:.1f}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def short(runs: Sequence[Recorder]) -> list[str]:
    """The cells of one task in the summary."""
    needed = [step for run in runs for step in run.needed]
    first, later = (statistics.fmean([step[part] for step in needed]) for part in (0, 2))
    shown = f"{first:.0%}" if first == later else f"{first:.0%} → {later:.0%}"
    return [shown, f"{statistics.fmean([run.bill(ANTHROPIC) for run in runs]):,.0f}"]


def summary(cells: Mapping[tuple[str, str], Sequence[str]]) -> str:
    """Markdown: a row for each framework and way of management, two cells a task: needs in sight, bill (Anthropic)."""
    columns = [*WORDED, *(f"{task}: {what}" for task in TASKS for what in ("needs", "bill"))]
    lines = ["| " + " | ".join((*names, *found)) + " |" for names, found in cells.items()]
    return "\n".join((f"\nNeeds in sight (→ after recall) and bills at Anthropic's prices:\n\n{head(columns)}", *lines))


def tables(wanted: Sequence[str]) -> Iterator[str]:
    """Line by line."""
    from adapters_bench_frameworks import FRAMEWORKS

    cells: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for task, make in TASKS.items():
        scripts = make()
        yield f"\n{TITLES[task]}:\n\n{head(COLUMNS)}"
        for name, (format, arms) in FRAMEWORKS.items():
            for arm, play in arms.items() if not wanted or name in wanted else ():
                runs = [Recorder(script=script, format=format) for script in scripts]
                for recorder in runs:
                    play(recorder)
                    if not recorder.finished:
                        raise SystemExit(f"{name}, {arm}: the run of {task} ended at step {recorder.done}")
                cells[name, arm] += short(runs)
                yield row(name, arm, runs)
    yield summary(cells)


def main(arguments: Sequence[str]) -> None:
    """Prints the tables."""
    warnings.simplefilter("ignore")
    if "--lengths" not in arguments:
        for line in tables(arguments):
            print(line, flush=True)
    print(lengths_table(BUDGET, MODEL), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
