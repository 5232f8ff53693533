"""Many replays: sessions x policies x budgets, over several processes, in a fixed order."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from foldaway.lab.needs import LabelCache, content_hash
from foldaway.lab.replay import SessionMaker, foldaway_session, make_ruler, replay
from foldaway.lab.results import ReplayResult
from foldaway.lab.ruler import Ruler
from foldaway.model.recorded import Recorded

Progress = Callable[[int, int, str], None]
"""(runs done, runs in all, what was done last)"""


@dataclass(frozen=True, slots=True)
class Run:
    """One row of the table to come."""

    recorded: Recorded
    policy: str
    budget: int


def progress_on_stderr(done: int, total: int, what: str) -> None:
    """One line, overwritten on a terminal."""
    end = "\r" if sys.stderr.isatty() and done < total else "\n"
    sys.stderr.write(f"{done}/{total} {what:<70.70}{end}")
    sys.stderr.flush()


def replay_all(
    runs: Sequence[Run],
    *,
    jobs: int = 1,
    label_folder: Path | None = None,
    make: SessionMaker = foldaway_session,
    progress: Progress | None = None,
) -> list[ReplayResult]:
    """Replay all; results come in the order of `runs`, whatever finished first.

    Runs of one session and policy stay in one process, which labels and measures that session once. `make` must be
    importable by name when there are several jobs. Times per call are only good for comparison when `jobs` leaves a
    core free.
    """
    groups = _groups(runs)
    done: list[ReplayResult | None] = [None] * len(runs)
    finished = 0

    def keep(indexes: Sequence[int], results: Sequence[ReplayResult]) -> None:
        nonlocal finished
        for index, result in zip(indexes, results, strict=True):
            done[index] = result
        finished += len(indexes)
        if progress:
            progress(finished, len(runs), f"{results[-1].policy} {results[-1].session}")

    if jobs <= 1 or len(groups) == 1:
        for group in groups:
            keep(group, _replay_group([runs[i] for i in group], label_folder, make))
    else:
        _parallel(runs, groups, jobs, (label_folder, make), keep)
    return [result for result in done if result is not None]


def _groups(runs: Sequence[Run]) -> list[list[int]]:
    """Indexes of the runs that go together, largest sessions first so that no long one is left for the end."""
    groups: dict[tuple[int, str], list[int]] = {}
    for index, run in enumerate(runs):
        groups.setdefault((id(run.recorded), run.policy), []).append(index)
    return sorted(groups.values(), key=lambda g: (-len(runs[g[0]].recorded.messages) * len(g), g[0]))


def _parallel(
    runs: Sequence[Run],
    groups: Sequence[Sequence[int]],
    jobs: int,
    options: tuple[Path | None, SessionMaker],
    keep: Callable[[Sequence[int], Sequence[ReplayResult]], None],
) -> None:
    # spawn: a forked child would inherit the locks of whatever threads the caller has.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(groups)), mp_context=context) as pool:
        futures: dict[Future[list[ReplayResult]], Sequence[int]] = {
            pool.submit(_replay_group, [runs[i] for i in group], *options): group for group in groups
        }
        try:
            for future in as_completed(futures):
                keep(futures[future], future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_rulers: dict[str, Ruler] = {}
"""The ruler used last in this process: the next run is most often on the same session."""


def _replay_group(runs: Sequence[Run], label_folder: Path | None, make: SessionMaker) -> list[ReplayResult]:
    key = content_hash(runs[0].recorded)
    ruler = _rulers.get(key)
    if ruler is None:
        _rulers.clear()
        ruler = _rulers[key] = make_ruler(runs[0].recorded, LabelCache(label_folder).get(runs[0].recorded))
    return [replay(run.recorded, run.policy, run.budget, ruler=ruler, make=make) for run in runs]
