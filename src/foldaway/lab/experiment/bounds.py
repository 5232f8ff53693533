"""What no policy can beat, for each session and budget of an experiment, kept on disk as runs are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import foldaway
from foldaway.lab.experiment.keep import Row, code_hash, decode, encode, session_key
from foldaway.lab.experiment.plan import shared_ruler
from foldaway.lab.experiment.running import Progress
from foldaway.lab.experiment.sources import Input
from foldaway.lab.experiment.workers import on_other_machines, run_all
from foldaway.lab.needs import RULES
from foldaway.lab.oracle import Bounds, bounds_of, problem_of
from foldaway.lab.replay import FULL
from foldaway.model.recorded import Recorded

FOLDER = "bounds"
RULE = "loose"
"""Whose needs the bounds serve; that on bills holds for recalls of all needs."""

Place = tuple[str, int]
"""(session, budget)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTask:
    """The bounds of one session at some budgets."""

    recorded: Recorded
    budgets: tuple[int, ...]
    model: str = ""
    label_folder: Path | None = None

    @property
    def weight(self) -> int:
        return len(self.recorded.messages) * len(self.budgets)


def bound(task: BoundTask) -> list[Bounds]:
    """In order of the budgets. O(text of the session) for each."""
    ruler = shared_ruler(task.recorded, task.model, task.label_folder)
    # The engine counts with the model that the ruler counts with.
    recorded = replace(task.recorded, model=task.model or task.recorded.model)
    return [bounds_of(problem_of(recorded, budget, ruler=ruler, rule=RULE)) for budget in task.budgets]


def evicting(rows: Iterable[Row]) -> list[Place]:
    """Sessions and budgets under which something has to go, in order of the rows."""
    return list(
        dict.fromkeys(
            (row.result.session, row.result.budget_tokens)
            for row in rows
            if row.result.policy != FULL and not row.never_evicts
        )
    )


def find_bounds(
    inputs: Sequence[Input],
    places: Iterable[Place],
    folder: Path,
    *,
    model: str = "",
    workers: str = "1",
    progress: Progress | None = None,
) -> dict[Place, Bounds]:
    """The bounds at these places; finished ones are kept in `folder`. Sessions that no input names are left out."""
    sessions = {one.recorded.name: one.recorded for one in inputs}
    wanted: dict[str, list[int]] = {}
    for session, budget in places:
        if session in sessions:
            wanted.setdefault(session, []).append(budget)
    keys = {name: session_key(sessions[name]) for name in wanted}
    found: dict[Place, Bounds] = {}
    tasks: list[BoundTask] = []
    labels = None if on_other_machines(workers) else folder / "labels"
    for name, budgets in wanted.items():
        for budget in budgets:
            if (kept := _get(folder, _key(keys[name], budget, model))) is not None:
                found[name, budget] = kept
        missing = tuple(budget for budget in budgets if (name, budget) not in found)
        if missing:
            tasks.append(BoundTask(recorded=sessions[name], budgets=missing, model=model, label_folder=labels))
    tasks.sort(key=lambda task: (-task.weight, task.recorded.name))
    total = sum(map(len, wanted.values()))
    for index, done in run_all(bound, tasks, workers):
        name = tasks[index].recorded.name
        for one in done:
            _put(folder, _key(keys[name], one.budget_tokens, model), one)
            found[name, one.budget_tokens] = one
        if progress:
            progress(len(found), total, f"bounds {name}")
    return found


def _key(session: str, budget: int, model: str) -> str:
    what = [session, "bounds", budget, model, RULE, RULES, foldaway.__version__, code_hash()]
    return hashlib.blake2b(json.dumps(what).encode("ascii"), digest_size=16).hexdigest()


def _get(folder: Path, key: str) -> Bounds | None:
    try:
        data = json.loads((folder / FOLDER / f"{key}.json").read_text("utf-8"))
        return cast(Bounds, decode(Bounds, data["bounds"])) if data["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _put(folder: Path, key: str, bounds: Bounds) -> None:
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    part = folder / FOLDER / f"{key}.part"
    part.write_text(json.dumps({"key": key, "bounds": encode(bounds)}), "utf-8")
    part.replace(folder / FOLDER / f"{key}.json")
