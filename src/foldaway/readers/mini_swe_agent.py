"""mini-swe-agent trajectories: OpenAI chat messages with the provider's answer beside each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.readers._build import ENVIRONMENT, Draft, again, without
from foldaway.readers._source import DocumentFormat, Log

NOT_WIRE = ("extra", "provider_specific_fields", "function_call", "tool_calls")


def _knows(value: Any) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("messages"), list):
        return False
    info = value.get("info")
    return str(value.get("trajectory_format", "")).startswith("mini-swe-agent") or (
        isinstance(info, Mapping) and bool({"mini_version", "model_stats"} & info.keys())
    )


def _plain(message: Mapping[str, Any]) -> Message:
    plain = without(message, *NOT_WIRE)
    if message.get("tool_calls"):
        plain["tool_calls"] = [again(call) for call in message["tool_calls"]]
    return plain


def _read(value: Any, log: Log) -> Iterator[Recorded]:
    draft, task_seen = Draft(), False
    for number, message in enumerate(value["messages"]):
        with log.guard(0, f"a message with role and content as messages[{number}]"):
            if message["role"] == "exit":
                continue  # the submitted patch, which no model was sent
            user = message["role"] == "user"
            draft.at((message.get("extra") or {}).get("timestamp"))
            at = draft.add(_plain(message), ENVIRONMENT if user and task_seen else "")
            task_seen = task_seen or user
            response = (message.get("extra") or {}).get("response") or {}
            if isinstance(response, Mapping) and response.get("usage"):
                draft.usage[at] = response["usage"]
    info = value.get("info") or {}
    model = (info.get("config") or {}).get("model") or {}
    draft.model = str(model.get("model_name") or "")
    meta = {"exit_status": info.get("exit_status"), "instance_id": value.get("instance_id")}
    yield draft.recorded(log.name(), "mini-swe-agent", "openai_chat", meta=meta)


DOCUMENT = DocumentFormat("mini-swe-agent", _knows, _read)
