"""tau2-bench results: simulated customers and an agent, each with tools of their own.

What the customer did on the own device is left out: the agent was never sent those calls and results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.readers._build import Draft, chat_assistant, chat_call, chat_result, text_of
from foldaway.readers._source import DocumentFormat, Log


def _knows(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("simulations"), list) and "info" in value


def _add(draft: Draft, message: Mapping[str, Any]) -> None:
    role, text = message["role"], text_of(message.get("content"))
    draft.at(message.get("timestamp"))
    if role == "tool":
        if message.get("requestor", "assistant") == "assistant":
            draft.add(chat_result(message["id"], text))
    elif role == "assistant":
        calls = [chat_call(c["id"], c["name"], c["arguments"]) for c in message.get("tool_calls") or ()]
        at = draft.add(chat_assistant(text, calls))
        if message.get("usage"):
            draft.usage[at] = message["usage"]
    elif text:
        draft.add({"role": role, "content": text})


def _read(value: Any, log: Log) -> Iterator[Recorded]:
    info = value.get("info") or {}
    environment, agent = info.get("environment_info") or {}, info.get("agent_info") or {}
    for number, run in enumerate(value["simulations"]):
        with log.guard(0, f"a simulation with messages as simulations[{number}]"):
            draft = Draft(model=str(agent.get("llm") or ""))
            if environment.get("policy"):
                draft.add({"role": "system", "content": environment["policy"]})
            for message in run["messages"]:
                _add(draft, message)
            trial = run.get("trial")
            reward = (run.get("reward_info") or {}).get("reward")
            yield draft.recorded(
                log.name(f"task-{run.get('task_id', number)}" + (f"-trial-{trial}" if trial else "")),
                "tau2-bench",
                "openai_chat",
                tools=environment.get("tool_defs") or None,
                meta={"task_id": run.get("task_id"), "trial": trial, "reward": reward},
            )


DOCUMENT = DocumentFormat("tau2-bench", _knows, _read)
