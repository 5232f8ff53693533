"""The OpenAI Agents SDK's agents with Foldaway, played with the SDK's own scripted model."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any, ClassVar

import pytest

from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.stores.memory import MemoryStore
from foldaway.testing.adapter_contract import AdapterContract
from foldaway.testing.replies import Reply, reply_body
from foldaway.testing.scripted_agent import SYSTEM, Agent, Brain, look

REASON = "the OpenAI Agents SDK is not installed: `make adapters` sets an environment up that has it"
pytest.importorskip("agents", reason=REASON)
os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")

import agents
from agents import Runner, SQLiteSession, function_tool
from agents.exceptions import AgentsException
from agents.testing import ModelStep, ScriptedModel
from openai.types.responses import ResponseOutputItem
from pydantic import TypeAdapter

from foldaway.adapters.openai_agents import FoldawayFilter

MOST_TURNS = 2_000
OUTPUT: TypeAdapter[list[Any]] = TypeAdapter(list[ResponseOutputItem])
LOOK = function_tool(look, description_override="Looks a topic up.")


def scripted(brain: Brain) -> ScriptedModel:
    """The SDK's fake model, answering as a `Brain` does."""

    def respond(call: Any) -> list[Any]:
        # A copy through JSON stands for what would be sent.
        items = json.loads(json.dumps(call.input))
        reply = brain.answer(items, [tool.name for tool in call.tools], [call.system_instructions, items])
        return said(reply)

    return ScriptedModel([ModelStep.respond(respond) for _ in range(MOST_TURNS)])


def said(reply: Reply) -> list[Any]:
    return OUTPUT.validate_python(reply_body("openai_responses", reply)["output"])


class RunnerAgent:
    """An agent and the sessions that the SDK keeps for it."""

    def __init__(
        self, agent: Any, foldaway: FoldawayFilter | None, sessions: dict[str, Any], of_ours: bool = False
    ) -> None:
        self.agent, self.foldaway, self.sessions, self._of_ours = agent, foldaway, sessions, of_ours

    def run(self, task: str, *, key: str = "main", mode: str = "sync") -> str:
        return str(asyncio.run(self._run(task, key, mode)) if mode != "sync" else self._run_sync(task, key))

    def session(self, key: str = "main") -> Session:
        assert self.foldaway is not None
        return self.foldaway.session(key)

    def _given(self, key: str) -> dict[str, Any]:
        if key not in self.sessions:
            assert self.foldaway is not None or not self._of_ours
            self.sessions[key] = self.foldaway.history(key) if self._of_ours else SQLiteSession(key)
        config = None if self.foldaway is None else self.foldaway.run_config(self.sessions[key])
        return {"session": self.sessions[key], "run_config": config, "max_turns": MOST_TURNS}

    def _run_sync(self, task: str, key: str) -> Any:
        asyncio.set_event_loop(asyncio.new_event_loop())
        loop = asyncio.get_event_loop()
        try:
            return Runner.run_sync(self.agent, task, **self._given(key)).final_output
        finally:
            loop.close()
            asyncio.set_event_loop(None)

    async def _run(self, task: str, key: str, mode: str) -> Any:
        if mode == "async":
            return (await Runner.run(self.agent, task, **self._given(key))).final_output
        result = Runner.run_streamed(self.agent, task, **self._given(key))
        async for _ in result.stream_events():
            pass
        return result.final_output


class TestOpenAIAgents(AdapterContract):
    format: ClassVar[str] = "openai_responses"
    modes = ("sync", "async", "astream")
    over_budget: ClassVar[type[Exception]] = AgentsException
    recall_always_offered = True
    of_ours: ClassVar[bool] = False

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> RunnerAgent:  # fmt: skip
        if self.of_ours and budget is not None:
            store = store or MemoryStore()
        foldaway = None if budget is None else FoldawayFilter(budget=budget, store=store, **settings)
        tools = [LOOK, *(foldaway.tools if foldaway else ())]
        agent = agents.Agent(name="clerk", instructions=SYSTEM, tools=tools, model=scripted(brain))
        ours = self.of_ours and foldaway is not None
        sessions = earlier.sessions if isinstance(earlier, RunnerAgent) and not ours else {}
        return RunnerAgent(agent, foldaway, sessions, ours)


class TestHistoryInTheStore(TestOpenAIAgents):
    of_ours = True
