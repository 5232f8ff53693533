"""Inspect AI logs: a zip with a JSON document a sample (.eval), or one JSON document with all samples."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from foldaway.errors import ReadError
from foldaway.model.recorded import Recorded
from foldaway.readers._build import ENVIRONMENT, Draft, chat_assistant, chat_call, chat_result, seconds_of, text_of
from foldaway.readers._source import DocumentFormat, Log, brief, parse

NAME = "inspect-eval"
ZIP_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)


def _add(draft: Draft, message: Mapping[str, Any], attached: Mapping[str, Any]) -> int | None:
    """Position of the message if a model made it."""
    role, content = message["role"], message["content"]
    if isinstance(content, str) and content.startswith("attachment://"):
        content = attached.get(content.removeprefix("attachment://"), content)
    if role == "tool":
        error = message.get("error") or {}
        draft.add(chat_result(message["tool_call_id"], text_of(content) or str(error.get("message") or "")))
    elif role == "assistant":
        calls = [chat_call(c["id"], c["function"], c["arguments"]) for c in message.get("tool_calls") or ()]
        at = draft.add(chat_assistant(text_of(content), calls))
        return at if message.get("source", "generate") == "generate" else None
    else:
        own = role != "user" or message.get("source") == "input" or not any(m["role"] == "user" for m in draft.messages)
        draft.add({"role": role, "content": text_of(content)}, "" if own else ENVIRONMENT)
    return None


def _tools(calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    named = {
        tool["name"]: {key: tool[key] for key in ("name", "description", "parameters") if key in tool}
        for call in calls
        for tool in call.get("tools") or ()
    }
    return [{"type": "function", "function": tool} for tool in named.values()] or None


def _sample(sample: Mapping[str, Any], log: Log) -> Recorded:
    calls = [event for event in sample.get("events") or () if event.get("event") == "model"]
    draft, made = Draft(), []
    for message in sample["messages"]:
        at = _add(draft, message, sample.get("attachments") or {})
        if at is not None:
            made.append(at)
    if len(made) == len(calls):
        for at, call in zip(made, calls, strict=True):
            draft.usage[at] = (call.get("output") or {}).get("usage") or {}
            draft.times[at] = seconds_of(call.get("timestamp"))
    draft.model = str((sample.get("output") or {}).get("model") or "")
    scores = {name: (score or {}).get("value") for name, score in (sample.get("scores") or {}).items()}
    meta = {"sample": sample["id"], "epoch": sample.get("epoch"), "scores": scores}
    name = log.name(f"{sample['id']}-epoch-{sample.get('epoch', 1)}")
    return draft.recorded(name, NAME, "openai_chat", tools=_tools(calls), meta=meta)


def read_zip(path: Path, log: Log) -> Iterator[Recorded]:
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.namelist():
                if entry.startswith("samples/") and entry.endswith(".json"):
                    yield from _entry(archive, entry, log)
    except ZIP_DAMAGE as error:
        raise ReadError(f"the zip cannot be read ({brief(error)}); expected an Inspect .eval", file=log.file) from error


def is_eval(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.startswith("samples/") for name in archive.namelist())
    except ZIP_DAMAGE as error:
        raise ReadError(
            f"the zip cannot be read ({brief(error)}); expected an Inspect .eval", file=str(path)
        ) from error


def _entry(archive: zipfile.ZipFile, entry: str, log: Log) -> Iterator[Recorded]:
    try:
        raw = archive.read(entry)
    except ZIP_DAMAGE as error:
        log.problem(0, f"{entry} cannot be unpacked ({brief(error)}); expected a deflated sample")
        return
    sample, wrong = parse(raw)
    if wrong:
        log.problem(0, f"{entry}: {wrong}; expected a sample")
        return
    with log.guard(0, f"a sample with id and messages in {entry}"):
        yield _sample(sample, log)


def _read(value: Any, log: Log) -> Iterator[Recorded]:
    for number, sample in enumerate(value["samples"]):
        with log.guard(0, f"a sample with id and messages as samples[{number}]"):
            yield _sample(sample, log)


DOCUMENT = DocumentFormat(
    NAME,
    lambda value: isinstance(value, Mapping) and "eval" in value and isinstance(value.get("samples"), list),
    _read,
)
