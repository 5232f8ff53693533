"""The twelve entries of the public replay benchmark: which recordings, chained or not, under which budgets."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from foldaway.errors import ReadError
from foldaway.model.recorded import Recorded
from foldaway.readers import read_sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the benchmark."""

    files: tuple[str, ...]
    budgets_tokens: tuple[int, ...]
    stand_ins: tuple[str, ...] = ()
    """Taken, in this order, for files that the data folder lacks."""
    chained: bool = False
    """All sessions of a file as one working day."""


ENTRIES: dict[int, Entry] = {
    1: Entry(files=("codex/agentv/79-6eaddfe2f9-0.jsonl.gz",), budgets_tokens=(32_000, 64_000, 128_000)),
    2: Entry(files=("pi/before-compaction.jsonl.gz",), budgets_tokens=(32_000, 64_000, 128_000)),
    3: Entry(files=("claude-code/entire-graph/76-cd2ea187ff-0.jsonl.gz",), budgets_tokens=(16_000, 32_000, 64_000)),
    4: Entry(files=("claude-code/entireio-cli/bc-cb77bb88fa-1.jsonl.gz",), budgets_tokens=(32_000, 64_000, 128_000)),
    5: Entry(
        files=("claude-code/packmind-context-evaluator/c8-946606a339-0.jsonl.gz",),
        budgets_tokens=(16_000, 32_000, 64_000),
    ),
    6: Entry(files=("openhands-v1/0535c419f44a.events.jsonl.gz",), budgets_tokens=(16_000, 32_000)),
    7: Entry(files=("mini-swe-agent/sqlfluff__sqlfluff-1733.traj.json.gz",), budgets_tokens=(16_000, 32_000)),
    8: Entry(files=("swe-agent/django__django-14631.traj.gz",), budgets_tokens=(16_000, 32_000, 64_000)),
    9: Entry(
        files=("tau2-bench/gpt-4.1_telecom.json.gz", "tau2-bench/langchain-gpt-oss-120b_airline.json.gz"),
        budgets_tokens=(8_000, 16_000, 32_000),
        chained=True,
    ),
    10: Entry(
        files=(
            "who-and-when/hand-crafted-30.json.gz",
            "who-and-when/hand-crafted-08.json.gz",
            "who-and-when/hand-crafted-51.json.gz",
        ),
        # The longest of the others; the published folder lacks -08 and -51.
        stand_ins=("who-and-when/hand-crafted-15.json.gz", "who-and-when/hand-crafted-44.json.gz"),
        budgets_tokens=(8_000, 16_000),
    ),
    11: Entry(
        files=("miroflow/task_result.json.gz", "da-code/ml-binary-011.azure-ML-test.json.gz"),
        budgets_tokens=(16_000, 32_000),
    ),
    12: Entry(files=("livemcpbench/claude-sonnet-4.json.gz",), budgets_tokens=(16_000, 32_000, 64_000), chained=True),
}


def benchmark_budgets(number: int) -> tuple[int, ...]:
    """The budgets of an entry, in tokens, smallest first. Raises ValueError for a number that is no entry."""
    return _entry(number).budgets_tokens


def benchmark_entry(number: int, data_dir: str | PathLike[str]) -> list[Recorded]:
    """The recordings of an entry, one a file: a file with many conversations is chained to one working day.

    Raises:
        ValueError: there is no such entry.
        ReadError: a file is missing and nothing stands in for it, or it cannot be read.
    """
    entry = _entry(number)
    sessions = []
    for file in _present(entry, Path(data_dir)):
        sessions += list(read_sessions(file, joined=entry.chained))
    return sessions


def _entry(number: int) -> Entry:
    if number not in ENTRIES:
        raise ValueError(f"there is no benchmark entry {number}; expected 1 to {len(ENTRIES)}")
    return ENTRIES[number]


def _present(entry: Entry, data: Path) -> list[Path]:
    files = [data / file for file in entry.files if (data / file).is_file()]
    files += [data / file for file in entry.stand_ins if (data / file).is_file()][: len(entry.files) - len(files)]
    if len(files) < len(entry.files):
        missing = next(file for file in entry.files if not (data / file).is_file())
        raise ReadError("no such file; expected a recording of the benchmark", file=str(data / missing))
    return files
