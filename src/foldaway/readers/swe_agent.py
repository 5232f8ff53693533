"""SWE-agent trajectories, 0.6 (commands in text) and 1.x (tool calls)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.readers._build import ENVIRONMENT, Draft, again, chat_assistant, chat_result, is_list_of, text_of
from foldaway.readers._source import DocumentFormat, Log


def _knows(value: Any) -> bool:
    if not isinstance(value, Mapping) or "Task" in value:
        return False
    return is_list_of(value.get("trajectory"), "action", "observation", "thought")


def _plain(message: Mapping[str, Any]) -> Message:
    """The message without SWE-agent's own keys (agent, is_demo, thought, action, message_type, cache_control)."""
    role, content = message["role"], message["content"]
    if role == "tool":
        ids = message.get("tool_call_ids") or [message.get("tool_call_id")]
        return chat_result(str(ids[0]), text_of(content))
    if role == "assistant":
        return chat_assistant(text_of(content), [again(call) for call in message.get("tool_calls") or ()])
    return {"role": role, "content": content}


def _from_history(history: list[Any], draft: Draft, log: Log) -> None:
    task_seen = False
    for number, message in enumerate(history):
        with log.guard(0, f"a message with role and content as history[{number}]"):
            plain, origin = _plain(message), ""
            if plain["role"] == "user":
                # The demonstration plays a user and an environment; the task is the first message after it.
                origin = ENVIRONMENT if task_seen or message.get("is_demo") else ""
                task_seen = task_seen or not message.get("is_demo")
            draft.add(plain, origin)


def _from_steps(steps: list[Any], draft: Draft, log: Log) -> None:
    for number, step in enumerate(steps):
        with log.guard(0, f"a step with response and observation as trajectory[{number}]"):
            text = step.get("response") or f"{step['thought']}\n```\n{step['action']}\n```"
            draft.add(chat_assistant(str(text)))
            draft.add({"role": "user", "content": str(step["observation"])}, ENVIRONMENT)


def _read(value: Any, log: Log) -> Iterator[Recorded]:
    draft = Draft()
    steps = [step for step in value["trajectory"] if isinstance(step, dict)]
    # A step's own query is what went out for it; the last one holds all before.
    query = steps[-1].get("query") or steps[-1].get("messages")
    if value.get("history"):
        _from_history(value["history"], draft, log)
    elif isinstance(query, list):
        _from_history(query, draft, log)
        if query and query[-1].get("role") != "assistant":
            _from_steps(steps[-1:], draft, log)
    else:
        _from_steps(steps, draft, log)
    info = value.get("info") or {}
    meta = {"exit_status": info.get("exit_status"), "model_stats": info.get("model_stats")}
    yield draft.recorded(log.name(), "swe-agent", "openai_chat", meta=meta)


DOCUMENT = DocumentFormat("swe-agent", _knows, _read)
