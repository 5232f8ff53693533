"""`foldaway benchmark`: the twelve entries of the public benchmark, as rows, as a table and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import foldaway
from foldaway.cli.output import clipped
from foldaway.cli.replaying import COLUMNS, LEGEND, SEEN_RULES, Maker, as_row, cells, notes_on, percent, replay_runs
from foldaway.errors import SettingsError
from foldaway.lab import FULL, ReplayResult
from foldaway.lab.benchmark import LOW_SHARE, Case, Scored, ahead_of, make_case, plan_benchmark, pool_benchmark
from foldaway.lab.runner import Progress
from foldaway.lab.table import aligned
from foldaway.model.plan import Prices
from foldaway.readers.benchmark import ENTRIES, benchmark_entry

LAYOUT = (
    "expected the folder of the published recordings: one folder a source (codex, pi, claude-code, openhands-v1, "
    f"tau2-bench, ...), in it files such as {ENTRIES[1].files[0]}; docs/benchmark.md lists them"
)
LOOKED_AT, COMPARED_WITH = "auto", "window"
DETAILED = (COMPARED_WITH, LOOKED_AT)
"""Policies whose lines per recording stand in the Markdown; the pooled table there has all."""
POOLED = "In the rows of several recordings every step weighs the same. held out: no constant was fitted on these."
MARKDOWN_COLUMNS = ("policy", "seen%", "strict%", "values%", "reach%", "bill%", "extra", "commits")


def parse_entries(text: str) -> list[int]:
    """`3,5` -> numbers, in order; all of them for an empty text. Raises SettingsError."""
    parts = [part.strip() for part in text.split(",")] if text.strip() else [str(number) for number in ENTRIES]
    for part in parts:
        if not (part.isascii() and part.isdigit() and int(part) in ENTRIES):
            raise SettingsError(f"entry {part!r}: expected numbers from 1 to {len(ENTRIES)}, separated by commas")
    return sorted({int(part) for part in parts})


def read_cases(folder: str, entries: Iterable[int]) -> list[Case]:
    """Every recording of the entries. Raises SettingsError without a folder, ReadError where a file is missing."""
    if not folder:
        raise SettingsError(f"DIR is missing; {LAYOUT}")
    if not Path(folder).is_dir():
        raise SettingsError(f"{folder} is no folder; {LAYOUT}")
    return [make_case(number, recorded) for number in entries for recorded in benchmark_entry(number, folder)]


def run_cases(
    cases: Sequence[Case], policies: Sequence[str], prices: Prices, *, jobs: int = 1, progress: Progress | None = None
) -> list[Scored]:
    """Case by case, policy by policy, whatever finished first."""
    planned = plan_benchmark(cases, policies)
    maker = Maker(low_share=LOW_SHARE, prices=prices)
    results = replay_runs([run for _, run in planned], maker, jobs=jobs, progress=progress)
    return [Scored(case, result) for (case, _), result in zip(planned, results, strict=True)]


def as_json(scored: Sequence[Scored], prices: Prices) -> dict[str, Any]:
    rows = [{"entry": one.case.entry, "held_out": one.case.held_out, **as_row(one.result, prices)} for one in scored]
    pools = [{**as_row(row, prices), "budget_tokens": None} for row in pool_benchmark(scored)]
    return {"results": rows, "pooled": pools}


def table(scored: Sequence[Scored], prices: Prices) -> str:
    """One line per recording and policy, the pooled lines, and below them what the figures mean."""
    lines = [["entry", *COLUMNS], *([str(one.case.entry), *cells(one.result, prices)] for one in scored)]
    lines += [["all", *cells(row, prices)] for row in pool_benchmark(scored)]
    notes = [note for one in scored for note in notes_on(one.result)]
    return "\n".join([aligned(lines, left=3), "", LEGEND, POOLED, *notes])


def markdown(scored: Sequence[Scored], prices: Prices, today: date) -> str:
    """The part of docs/benchmark.md that holds figures."""
    shown = [one for one in scored if one.result.policy in DETAILED]
    head = f"Foldaway {foldaway.__version__}, {today.isoformat()}; cache prices: read {prices.read:g}, write"
    return "\n\n".join(
        [
            f"{head} {prices.write:g} of the base price.",
            *_pooled_parts(pool_benchmark(scored), prices),
            "### Recording by recording",
            _markdown_table(
                ["entry", "recording", "budget", "calls", *MARKDOWN_COLUMNS],
                [[*_case_cells(one), *_figures(one.result, prices)] for one in shown],
            ),
            f"### Where another policy sees more than `{LOOKED_AT}`",
            _ahead_table(scored),
            f"### Where `{LOOKED_AT}` costs more than `{COMPARED_WITH}`",
            _dearer_table(scored, prices),
        ]
    )


def _pooled_parts(pools: Sequence[ReplayResult], prices: Prices) -> list[str]:
    parts = []
    for name in dict.fromkeys(row.session for row in pools):
        rows = [row for row in pools if row.session == name]
        title, _, count = name.partition(": ")
        parts.append(f"### {title.capitalize()} ({count})")
        parts.append(_markdown_table(MARKDOWN_COLUMNS, [_figures(row, prices) for row in rows]))
    return parts


def _case_cells(one: Scored) -> list[str]:
    case = one.case
    return [f"{case.entry}", clipped(case.recorded.name, 40), f"{case.budget_tokens // 1000}k", f"{one.result.calls}"]


def _figures(result: ReplayResult, prices: Prices) -> list[str]:
    row = dict(zip(COLUMNS, cells(result, prices), strict=False))
    return [row.get(column, "-") for column in MARKDOWN_COLUMNS]


def _ahead_table(scored: Sequence[Scored]) -> str:
    others = [one for one in scored if one.result.policy != FULL and not one.result.error]
    found = ahead_of(LOOKED_AT, others, SEEN_RULES)
    titles = dict(zip(SEEN_RULES, ("seen%", "strict%", "values%"), strict=True))
    rows = [
        [
            *(f"{one.case.entry}", clipped(one.case.recorded.name, 40), titles[one.rule]),
            *(percent(one.rate), one.best, percent(one.best_rate)),
        ]
        for one in found
    ]
    return _markdown_table(["entry", "recording", "by", LOOKED_AT, "best", "its rate"], rows) if rows else "Nowhere."


def _dearer_table(scored: Sequence[Scored], prices: Prices) -> str:
    shares = {
        (id(one.case), one.result.policy): one.result.bill.share_of(one.result.full_bill, prices) for one in scored
    }
    rows = []
    for one in scored:
        paid, usual = (shares.get((id(one.case), policy), 0.0) for policy in (LOOKED_AT, COMPARED_WITH))
        if one.result.policy == LOOKED_AT and paid > usual > 0:
            rows.append([*_case_cells(one)[:2], percent(paid), percent(usual)])
    titles = ["entry", "recording", f"{LOOKED_AT} bill%", f"{COMPARED_WITH} bill%"]
    return _markdown_table(titles, rows) if rows else "Nowhere."


def _markdown_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
