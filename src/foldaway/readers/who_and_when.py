"""Who&When logs: a Magentic-One team, told from the orchestrator's side. Its agents' reports are observations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.readers._build import ENVIRONMENT, Draft, is_list_of, legal_name
from foldaway.readers._source import DocumentFormat, Log


def _knows(value: Any) -> bool:
    if not isinstance(value, Mapping) or not is_list_of(value.get("history"), "content"):
        return False
    return bool({"question", "mistake_agent", "mistake_step"} & value.keys())


def _read(value: Any, log: Log) -> Iterator[Recorded]:
    draft = Draft()
    for number, entry in enumerate(value["history"]):
        with log.guard(0, f"an entry with role and content as history[{number}]"):
            speaker = str(entry.get("name") or entry["role"])
            text = str(entry["content"])
            if speaker == "human" or number == 0:
                draft.add({"role": "user", "content": text})
            elif speaker.startswith("Orchestrator"):
                draft.add({"role": "assistant", "content": text})
            else:
                draft.add({"role": "user", "name": legal_name(speaker), "content": text}, ENVIRONMENT)
    keys = ("question_ID", "ground_truth", "is_corrected", "mistake_agent", "mistake_step", "mistake_reason")
    meta = {key: value[key] for key in keys if key in value}
    yield draft.recorded(log.name(), "who-and-when", "openai_chat", meta=meta)


DOCUMENT = DocumentFormat("who-and-when", _knows, _read)
