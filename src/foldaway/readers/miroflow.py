"""MiroFlow results: chat messages where calls are XML in the assistant's text and results come as user messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.readers._build import ENVIRONMENT, Draft, is_list_of
from foldaway.readers._source import DocumentFormat, Log


def _knows(value: Any) -> bool:
    return isinstance(value, Mapping) and is_list_of(value.get("message_history"), "role", "content")


def _read(value: Any, log: Log) -> Iterator[Recorded]:
    draft, task_seen = Draft(), False
    for number, message in enumerate(value["message_history"]):
        with log.guard(0, f"a message with role and content as message_history[{number}]"):
            user = message["role"] == "user"
            draft.add(
                {"role": message["role"], "content": message["content"]}, ENVIRONMENT if user and task_seen else ""
            )
            task_seen = task_seen or user
    meta = {"final_answer": value.get("final_boxed_answer")}
    yield draft.recorded(log.name(), "miroflow", "openai_chat", meta=meta)


DOCUMENT = DocumentFormat("miroflow", _knows, _read)
