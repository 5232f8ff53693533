"""The OpenAI Agents SDK's agents with Foldaway, played with the SDK's own scripted model."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any, ClassVar

import pytest

from foldaway import tool as declared_tool
from foldaway.errors import OverBudget, SettingsError
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.stores.memory import MemoryStore
from foldaway.testing.adapter_contract import BUDGET, STEPS, TASK, AdapterContract
from foldaway.testing.replies import Reply, reply_body
from foldaway.testing.scripted_agent import SYSTEM, Agent, Brain, Request, calling, look, looking

REASON = "the OpenAI Agents SDK is not installed: `make adapters` sets an environment up that has it"
pytest.importorskip("agents", reason=REASON)
os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")

import agents
from agents import ModelSettings, RunConfig, Runner, SQLiteSession, function_tool
from agents.exceptions import AgentsException
from agents.testing import ModelStep, ScriptedModel
from openai.types.responses import ResponseOutputItem
from pydantic import TypeAdapter

from foldaway.adapters._base import ContextWarning
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
            ours = self.foldaway if self._of_ours else None
            self.sessions[key] = SQLiteSession(key) if ours is None else ours.history(key)
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

    def test_an_overflow_is_also_our_own_error_with_its_figures(self) -> None:
        with pytest.raises(OverBudget) as caught:
            self.agent(Brain(looking(1)), budget=20).run(TASK)
        assert caught.value.missing_tokens > 0

    def test_the_sessions_history_stays_whole(self) -> None:
        agent = self.agent(Brain(looking(STEPS)), budget=BUDGET)
        agent.run(TASK)
        kept = asyncio.run(agent.sessions["main"].get_items())
        assert look("topic-2") in [item.get("output") for item in kept]
        assert len(kept) == 2 * STEPS + 2


class TestHistoryInTheStore(TestOpenAIAgents):
    of_ours = True

    def test_history_without_a_store_is_refused(self) -> None:
        with pytest.raises(SettingsError, match="store"):
            FoldawayFilter(budget=BUDGET).history("a")

    def test_items_come_and_go_as_in_any_session(self) -> None:
        async def use() -> None:
            foldaway = FoldawayFilter(budget=BUDGET, store=MemoryStore())
            session = foldaway.history("a")
            items = [{"role": "user", "content": str(n)} for n in range(4)]
            await session.add_items(items[:3])
            await session.add_items(items[3:])
            assert await session.get_items() == items
            assert await session.get_items(limit=2) == items[2:]
            assert await session.pop_item() == items[3]
            assert await foldaway.history("a").get_items() == items[:3]
            await session.clear_session()
            assert await session.get_items() == []
            assert await session.pop_item() is None
            await session.add_items(items[1:2])
            assert await foldaway.history("a").get_items() == items[1:2]

        asyncio.run(use())


def run(agent: Any, task: str, foldaway: FoldawayFilter, key: str = "", **given: Any) -> Any:
    config = foldaway.run_config(key) if key else RunConfig(call_model_input_filter=foldaway)
    return asyncio.run(Runner.run(agent, task, run_config=config, max_turns=MOST_TURNS, **given)).final_output


def clerk(brain: Brain, tools: list[Any], **fields: Any) -> Any:
    return agents.Agent(name="clerk", instructions=SYSTEM, tools=tools, model=scripted(brain), **fields)


class TestFilter:
    def test_a_conversation_that_the_server_keeps_is_left_alone_and_told_of(self) -> None:
        bare, managed = Brain(looking(4)), Brain(looking(4))
        foldaway = FoldawayFilter(budget=300)
        asyncio.run(Runner.run(clerk(bare, [LOOK]), TASK, conversation_id="conv_1"))
        with pytest.warns(ContextWarning, match="kept by the server"):
            run(clerk(managed, [LOOK]), TASK, foldaway, "main", conversation_id="conv_1")
        assert [r.messages for r in managed.seen] == [r.messages for r in bare.seen]
        assert [len(r.messages) for r in managed.seen] == [1] * 5

    def test_a_run_without_a_key_is_told_by_its_history_and_may_recall(self) -> None:
        def script(n: int, request: Request) -> Reply:
            return calling("recall", n, ids="topic-2") if n == STEPS else looking(STEPS + 1)(n, request)

        brain, foldaway = Brain(script), FoldawayFilter(budget=BUDGET)
        agent = clerk(brain, [LOOK, *foldaway.tools])
        asyncio.run(Runner.run(clerk(Brain(looking(1)), [LOOK]), "x", run_config=foldaway.run_config("other")))
        run(agent, TASK, foldaway)
        assert "end of topic-2\n" not in brain.seen[STEPS].text + "\n"
        assert "end of topic-2\n" in brain.seen[STEPS + 1].text

    def test_an_agent_used_as_a_tool_is_a_conversation_of_its_own(self) -> None:
        inner, foldaway = Brain(looking(2, prefix="inner", last="Inner done.")), FoldawayFilter(budget=BUDGET)
        helper = agents.Agent(name="helper", tools=[LOOK], model=scripted(inner))

        def script(n: int, request: Request) -> Reply:
            return calling("ask", n, input=f"part {n}") if n < 2 else Reply(text="All done.")

        outer = Brain(script)
        made = clerk(outer, [helper.as_tool("ask", "Asks the helper.")])
        assert run(made, TASK, foldaway, "main") == "All done."
        session = foldaway.session("main")
        assert session.branch == 0
        assert "inner-" not in json.dumps(session.messages)
        assert all(TASK not in request.text for request in inner.seen)
        assert len(inner.seen) == 6

    def test_a_handoff_goes_on_with_the_same_session(self) -> None:
        second, foldaway = Brain(looking(1, prefix="second")), FoldawayFilter(budget=BUDGET)
        expert = agents.Agent(name="expert", tools=[LOOK], model=scripted(second))
        first = Brain(lambda n, request: calling("transfer_to_expert", 100))
        assert run(clerk(first, [], handoffs=[expert]), TASK, foldaway, "main") == "All looked up."
        session = foldaway.session("main")
        assert session.branch == 0
        assert "second-0" in json.dumps(session.messages)
        assert TASK in second.seen[-1].text

    def test_other_managers_at_work_are_told_of(self) -> None:
        agent = clerk(Brain(looking(1)), [LOOK], model_settings=ModelSettings(truncation="auto"))
        with pytest.warns(ContextWarning, match="truncation"):
            run(agent, TASK, FoldawayFilter(budget=BUDGET))

    def test_a_tool_named_recall_of_the_agents_own_is_refused(self) -> None:
        own = function_tool(look, name_override="recall")
        with pytest.raises(SettingsError, match="recall"):
            run(clerk(Brain(looking(1)), [own]), TASK, FoldawayFilter(budget=BUDGET))

    def test_declared_tools_are_linked(self) -> None:
        @function_tool(name_override="look")
        @declared_tool(reads=["topic"], produces=["result"])
        def look_declared(topic: str) -> str:
            """Looks a topic up."""
            return look(topic)

        foldaway = FoldawayFilter(budget=BUDGET)
        run(clerk(Brain(looking(2)), [look_declared]), TASK, foldaway, "main")
        assert [e["tool"] for e in foldaway.session("main").ledger if e["type"] == "declare"] == ["look"]
