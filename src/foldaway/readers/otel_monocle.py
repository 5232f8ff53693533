"""OpenTelemetry spans as Monocle writes them: each model call holds its whole prompt, so the longest tells the session.

Calls whose prompt is not the beginning of that one (other agents, one-shot questions) are counted and left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.readers._build import Draft, is_list_of
from foldaway.readers._source import DocumentFormat, Log

MODEL_SPANS = {"inference", "inference.framework"}
SPEAKERS = {
    "human": "user",
    "user": "user",
    "system": "system",
    "ai": "assistant",
    "assistant": "assistant",
    "tool": "tool",
}
PUT_OUT = {"reasoning", "function_call", "custom_tool_call", "web_search_call"}


@dataclass(frozen=True, slots=True)
class _Call:
    start: str
    prompt: tuple[str, ...]
    answer: str
    usage: Mapping[str, Any]
    model: str

    @property
    def size(self) -> int:
        return sum(map(len, self.prompt))


def _knows(value: Any) -> bool:
    return is_list_of(value, "context", "attributes", "events")


def _call(span: Mapping[str, Any]) -> _Call | None:
    if span["attributes"].get("span.type") not in MODEL_SPANS:
        return None
    events = {event["name"]: event.get("attributes") or {} for event in span["events"]}
    prompt = events.get("data.input", {}).get("input")
    if not isinstance(prompt, list) or not prompt:
        return None
    return _Call(
        start=str(span.get("start_time", "")),
        prompt=tuple(map(str, prompt)),
        answer=str(events.get("data.output", {}).get("response") or ""),
        usage={k: v for k, v in events.get("metadata", {}).items() if k.endswith("_tokens")},
        model=str(span["attributes"].get("entity.2.name") or ""),
    )


def _said(text: str) -> tuple[str, Any]:
    """Role and content of one message: a JSON object with the speaker as its only key."""
    ((speaker, content),) = json.loads(text).items()
    return SPEAKERS[speaker], content


def _chat(said: Sequence[tuple[str, Any]], draft: Draft) -> None:
    for role, content in said:
        draft.add({"role": role, "content": content if isinstance(content, str) else json.dumps(content)})


def _responses(said: Sequence[tuple[str, Any]], draft: Draft) -> Any:
    """Fill the draft with input items; returns the instructions."""
    system, waiting = None, list[str]()
    for role, content in said:
        if role == "system" and system is None:
            system = content
        elif role == "tool":
            # Results carry no id here; they come in the order of the calls.
            text = content if isinstance(content, str) else json.dumps(content)
            draft.add({"type": "function_call_output", "call_id": waiting.pop(0), "output": text})
        elif isinstance(content, str):
            draft.add({"type": "message", "role": role, "content": content})
        else:
            for item in content:
                if item["type"] in PUT_OUT:
                    draft.add(item)
                    waiting += [item["call_id"]] if "call_id" in item else []
                else:
                    block = {"type": "output_text", "text": item["text"]}
                    draft.add({"type": "message", "role": role, "content": [block]})
    return system


def _read(value: Any, log: Log) -> Iterator[Recorded]:
    calls: list[_Call] = []
    for number, span in enumerate(value):
        with log.guard(0, f"a span with context, attributes and events as element {number}"):
            if call := _call(span):
                calls.append(call)
    if not calls:
        return
    longest = max(calls, key=lambda call: (call.size, call.start))
    others = sum(longest.prompt[: len(call.prompt)] != call.prompt for call in calls)
    if others:
        log.problem(0, f"{others} model calls with prompts of their own; expected one growing prompt, took the longest")
    said: list[tuple[str, Any]] = []
    for text in (*longest.prompt, longest.answer):
        with log.guard(0, 'a message like {"human": "..."} in a span'):
            said += [_said(text)] if text else []
    draft = Draft(model=longest.model)
    if any(isinstance(content, list) for _, content in said):
        system, format = _responses(said, draft), "openai_responses"
    else:
        _chat(said, draft)
        system, format = None, "openai_chat"
    if longest.answer and draft.messages:
        draft.usage[len(draft.messages) - 1] = longest.usage
    yield draft.recorded(log.name(), "otel-monocle", format, system=system)


DOCUMENT = DocumentFormat("otel-monocle", _knows, _read)
