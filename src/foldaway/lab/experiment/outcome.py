"""The folder of an experiment: data, report, and reading both back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from foldaway.errors import ReadError
from foldaway.lab.experiment.facts import Facts
from foldaway.lab.experiment.keep import Row, Times, decode, encode, read_rows, rows_hash, write_lines, write_parquet
from foldaway.lab.experiment.report import Section, render
from foldaway.lab.experiment.sections import Tell, read_sections, tell_on_stderr

RESULTS, TIMES, FACTS, PARQUET, REPORT = "results.jsonl", "times.jsonl", "run.json", "results.parquet", "report.html"


def write_outcome(
    folder: Path, rows: Sequence[Row], facts: Facts, extra: Sequence[Section] = (), tell: Tell = tell_on_stderr
) -> Path:
    """Write data and report, and return where the report is."""
    write_data(folder, rows, facts)
    return write_report(folder, rows, facts, extra, tell)


def write_data(folder: Path, rows: Sequence[Row], facts: Facts) -> None:
    """All but the report.

    `results.jsonl` (one row a run), `run.json` and, with the extra `parquet`, `results.parquet` are the same whenever
    the experiment is made anew; `times.jsonl` and the section of the report made from it are measured.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lasting = [replace(row, times=Times()) for row in rows]
    write_lines(folder / RESULTS, lasting)
    write_lines(folder / TIMES, [row.times for row in rows])
    _write(folder / FACTS, json.dumps(encode(facts), indent=2) + "\n")
    write_parquet(folder / PARQUET, lasting)


def read_outcome(folder: Path) -> tuple[list[Row], Facts]:
    """What an experiment wrote. Raises ReadError."""
    file = folder / FACTS
    rows = read_rows(folder / RESULTS, folder / TIMES)
    try:
        facts: Facts = decode(Facts, json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ReadError(f"not the facts of an experiment ({error}); run it again", file=str(file)) from error
    return rows, facts


def write_report(
    folder: Path, rows: Sequence[Row], facts: Facts, extra: Sequence[Section] = (), tell: Tell = tell_on_stderr
) -> Path:
    """Only the page, anew from the rows and the sections kept in the folder; `tell` hears of those left out."""
    file = folder / REPORT
    kept = read_sections(folder, rows_hash(rows), tell)
    _write(file, render(rows, facts, [*kept, *extra]))
    return file


def refresh(folder: Path, tell: Tell = tell_on_stderr) -> Path | None:
    """The page anew where an experiment has left its rows in the folder; else None. Raises ReadError."""
    if not (folder / RESULTS).is_file():
        return None
    return write_report(folder, *read_outcome(folder), tell=tell)


def _write(file: Path, text: str) -> None:
    part = file.with_name(f"{file.name}.part")
    # Recorded names may hold lone surrogates.
    part.write_text(text, "utf-8", errors="backslashreplace")
    part.replace(file)
