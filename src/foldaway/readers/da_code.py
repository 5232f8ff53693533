"""DA-Code trajectories: observation, thought and action a step, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.readers._build import ENVIRONMENT, Draft, is_list_of
from foldaway.readers._source import DocumentFormat, Log


def _knows(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and "system_message" in value
        and is_list_of(value.get("trajectory"), "observation", "action")
    )


def _said(step: Mapping[str, Any]) -> str:
    if step.get("response"):
        return str(step["response"])
    thought = str(step.get("thought") or "")
    return f"{thought}\n\nAction: {step['action']}" if thought else f"Action: {step['action']}"


def _read(value: Any, log: Log) -> Iterator[Recorded]:
    draft = Draft()
    draft.add({"role": "system", "content": str(value["system_message"])})
    if value.get("Task"):
        draft.add({"role": "user", "content": str(value["Task"])})
    for number, step in enumerate(value["trajectory"]):
        with log.guard(0, f"a step with observation and action as trajectory[{number}]"):
            draft.add({"role": "user", "content": str(step["observation"])}, ENVIRONMENT)
            draft.add({"role": "assistant", "content": _said(step)})
    meta = {"finished": value.get("finished"), "result": value.get("result")}
    yield draft.recorded(log.name(), "da-code", "openai_chat", meta=meta)


DOCUMENT = DocumentFormat("da-code", _knows, _read)
