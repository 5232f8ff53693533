"""LiveMCPBench results: a list of tasks, each with its OpenAI chat messages as they were sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.readers._build import Draft, is_list_of
from foldaway.readers._source import DocumentFormat, Log


def _read(value: Any, log: Log) -> Iterator[Recorded]:
    for number, task in enumerate(value):
        with log.guard(0, f"a task with messages as element {number}"):
            draft = Draft()
            for message in task["messages"]:
                message["role"]
                draft.add(message)
            meta = {"task_id": task["task_id"], "category": task.get("category")}
            yield draft.recorded(log.name(task["task_id"]), "livemcpbench", "openai_chat", meta=meta)


DOCUMENT = DocumentFormat("livemcpbench", lambda value: is_list_of(value, "messages", "task_id"), _read)
