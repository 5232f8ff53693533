"""tau-bench results: a list of runs, each with its OpenAI chat messages as they were sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.readers._build import Draft, is_list_of
from foldaway.readers._source import DocumentFormat, Log


def _read(value: Any, log: Log) -> Iterator[Recorded]:
    for number, run in enumerate(value):
        with log.guard(0, f"a run with its messages under traj as element {number}"):
            draft = Draft()
            for message in run["traj"]:
                message["role"]
                draft.add(message)
            name = log.name(f"task-{run['task_id']}" + (f"-trial-{run['trial']}" if run.get("trial") else ""))
            meta = {"task_id": run["task_id"], "trial": run.get("trial"), "reward": run.get("reward")}
            yield draft.recorded(name, "tau-bench", "openai_chat", meta=meta)


DOCUMENT = DocumentFormat("tau-bench", lambda value: is_list_of(value, "traj", "task_id"), _read)
