"""AutoGen's assistant agents with Foldaway, played with a model client of AutoGen's own base class."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar

import pytest

from foldaway import tool as declared_tool
from foldaway.errors import SettingsError
from foldaway.model.wire import Message
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.testing.adapter_contract import BUDGET, STEPS, TASK, AdapterContract
from foldaway.testing.replies import Reply
from foldaway.testing.scripted_agent import SYSTEM, Agent, Brain, look, looking

REASON = "AutoGen is not installed: `make adapters` sets an environment up that has it"
pytest.importorskip("autogen_core", reason=REASON)
pytest.importorskip("autogen_agentchat", reason=REASON)

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import ModelClientStreamingChunkEvent
from autogen_core import FunctionCall, Image
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelInfo,
    RequestUsage,
    UserMessage,
)
from autogen_core.tools import FunctionTool

from foldaway.adapters._autogen_messages import AutoGenMessages
from foldaway.adapters.autogen import FoldawayContext

CODEC = AutoGenMessages()
LOOK = FunctionTool(look, description="Looks a topic up.")
USAGE = RequestUsage(prompt_tokens=0, completion_tokens=0)


class ScriptedClient(ChatCompletionClient):
    """A model client that says what a `Brain` says, whole or piece by piece."""

    def __init__(self, brain: Brain) -> None:
        self.brain = brain

    async def create(self, messages: Sequence[LLMMessage], *, tools: Sequence[Any] = (), **kwargs: Any) -> CreateResult:
        wire = [json.loads(json.dumps(part)) for message in messages for part in CODEC.to_wire(message)]
        raw = [message.model_dump() for message in messages]
        reply: Reply = self.brain.answer(wire, [tool["name"] for tool in tools], raw)
        calls = [FunctionCall(id=c.id, name=c.name, arguments=c.text) for c in reply.calls]
        reason = "function_calls" if calls else "stop"
        thought = reply.text if calls and reply.text else None
        return CreateResult(
            finish_reason=reason, content=calls or reply.text, usage=USAGE, cached=False, thought=thought
        )

    async def create_stream(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Any] = (), **kwargs: Any
    ) -> AsyncIterator[str | CreateResult]:
        made = await self.create(messages, tools=tools)
        for piece in made.content.split(" ") if isinstance(made.content, str) else ():
            yield piece
        yield made

    async def close(self) -> None: ...

    def actual_usage(self) -> RequestUsage:
        return USAGE

    total_usage = actual_usage

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Any] = ()) -> int:
        return 0

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Any] = ()) -> int:
        return 0

    @property
    def capabilities(self) -> ModelInfo:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=True, function_calling=True, json_output=False, family="unknown", structured_output=False
        )


class Assistants:
    """An assistant agent for each conversation: AutoGen has no other notion of one."""

    def __init__(
        self, brain: Brain, budget: int | None, store: Store | None, earlier: Agent | None, settings: dict[str, Any]
    ) -> None:
        self._brain, self._budget, self._store, self._settings = brain, budget, store, settings
        self._earlier = earlier if isinstance(earlier, Assistants) else None
        self.agents: dict[str, AssistantAgent] = {}

    def run(self, task: str, *, key: str = "main", mode: str = "async") -> str:
        return asyncio.run(self._run(task, key, mode))

    def session(self, key: str = "main") -> Session:
        session: Session = self.agents[key].model_context.session()
        return session

    async def _run(self, task: str, key: str, mode: str) -> str:
        streamed = mode == "astream"
        if key not in self.agents:
            agent = self.agents[key] = self._agent(key, streamed)
            if self._earlier and key in self._earlier.agents:
                await agent.load_state(await self._earlier.agents[key].save_state())
        agent = self.agents[key]
        if not streamed:
            return str((await agent.run(task=task)).messages[-1].content)
        events = [event async for event in agent.run_stream(task=task)]
        pieces = [e.content for e in events if isinstance(e, ModelClientStreamingChunkEvent)]
        return " ".join(pieces)

    def _agent(self, key: str, streamed: bool) -> AssistantAgent:
        context, tools = None, [LOOK]
        if self._budget is not None:
            given: dict[str, Any] = {"system": SYSTEM, "tools": tools, **self._settings}
            context = FoldawayContext(budget=self._budget, store=self._store, name=key, **given)
            tools = [*tools, *context.tools]
        return AssistantAgent(
            "clerk", ScriptedClient(self._brain), tools=tools, model_context=context, system_message=SYSTEM,
            model_client_stream=streamed, max_tool_iterations=10_000,
        )  # fmt: skip


class TestAutoGen(AdapterContract):
    modes: ClassVar[Sequence[str]] = ("async", "astream")
    recall_always_offered = True

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> Assistants:  # fmt: skip
        return Assistants(brain, budget, store, earlier, settings)

    def test_the_context_keeps_the_whole_history(self) -> None:
        agent = self.agent(Brain(looking(STEPS)), budget=BUDGET)
        agent.run(TASK)
        state = asyncio.run(agent.agents["main"].model_context.save_state())
        assert look("topic-2") in json.dumps(state, ensure_ascii=False).replace("\\n", "\n")
        assert len(state["messages"]) == 2 * STEPS + 2

    def test_a_context_can_be_dumped_and_loaded(self) -> None:
        context = FoldawayContext(budget=BUDGET, recall="directive", policy="lru", system=SYSTEM, name="s")
        loaded = FoldawayContext.load_component(context.dump_component())
        assert (loaded.name, loaded.tools) == ("s", [])
        assert loaded.dump_component() == context.dump_component()

    def test_a_cleared_context_begins_anew(self) -> None:
        context = FoldawayContext(budget=BUDGET)
        old, new = (UserMessage(content=text, source="user") for text in ("Old.", "New."))

        async def shown() -> list[LLMMessage]:
            await context.add_message(old)
            await context.get_messages()
            await context.clear()
            await context.add_message(new)
            return await context.get_messages()

        [seen] = asyncio.run(shown())
        assert seen is new

    def test_a_tool_named_recall_of_the_agents_own_is_refused(self) -> None:
        own = FunctionTool(look, name="recall", description="Recalls a product.")
        with pytest.raises(SettingsError, match="recall"):
            FoldawayContext(budget=BUDGET, tools=[own])

    def test_declared_tools_are_linked(self) -> None:
        @declared_tool(reads=["topic"], produces=["result"])
        def find(topic: str) -> str:
            """Looks a topic up."""
            return look(topic)

        for given in (find, FunctionTool(find, name="seek", description="Looks up.")):
            context = FoldawayContext(budget=BUDGET, tools=[given])
            asyncio.run(context.get_messages())
            name = "seek" if isinstance(given, FunctionTool) else "find"
            assert [e["tool"] for e in context.session().ledger if e["type"] == "declare"] == [name]


class TestMessages:
    """The codec: there and back without loss, and copies where a view says something else."""

    def results(self) -> FunctionExecutionResultMessage:
        made = [FunctionExecutionResult(content=t, name="look", call_id=t, is_error=t == "b") for t in "ab"]
        return FunctionExecutionResultMessage(content=made)

    def test_results_of_several_calls_stay_one_message(self) -> None:
        like = self.results()
        first, second = CODEC.to_wire(like)
        [made] = CODEC.from_wire([first, {**second, "content": "less"}], like)
        assert [(r.content, r.name, r.is_error) for r in made.content] == [("a", "look", False), ("less", "look", True)]
        assert like.content[1].content == "b"
        [fewer] = CODEC.from_wire([second], like)
        assert [r.call_id for r in fewer.content] == ["b"]

    def test_calls_and_the_text_beside_them_come_back(self) -> None:
        call = FunctionCall(id="c", name="look", arguments='{"topic": "ä"}')
        said = AssistantMessage(content=[call], thought="I look.", source="clerk")
        [wire] = CODEC.to_wire(said)
        assert wire["content"] == "I look."
        [made] = CODEC.from_wire([{**wire, "content": None}], said)
        assert (made.content, made.thought, made.source) == ([call], None, "clerk")
        [text] = CODEC.from_wire([{"role": "assistant", "content": "Looked."}], said)
        assert text.content == "Looked."

    def test_pictures_that_stay_are_the_ones_that_came(self) -> None:
        dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        like = UserMessage(content=["see", Image.from_base64(dot)], source="bob")
        [wire] = CODEC.to_wire(like)
        [made] = CODEC.from_wire([{**wire, "content": [{"type": "text", "text": "look"}, wire["content"][1]]}], like)
        assert made.content[0] == "look"
        assert made.content[1] is like.content[1]
        assert made.source == "bob"

    def test_pictures_come_back_where_nothing_tells_what_they_were(self) -> None:
        dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        wire = CODEC.to_wire(UserMessage(content=["see", Image.from_base64(dot)], source="foldaway"))
        assert [part for message in CODEC.from_wire(wire, None) for part in CODEC.to_wire(message)] == wire

    def test_messages_of_our_own_are_made_whole(self) -> None:
        exchange: list[Message] = [
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "r", "type": "function", "function": {"name": "recall", "arguments": '{"ids": "#3"}'}}]},
            {"role": "tool", "tool_call_id": "r", "content": "text"},
        ]  # fmt: skip
        said, result = CODEC.from_wire(exchange, None)
        assert said.content[0].arguments == '{"ids": "#3"}'
        assert (result.content[0].content, result.content[0].name) == ("text", "recall")
        assert [type(m).__name__ for m in CODEC.from_wire([{"role": "user", "content": "n"}], None)] == ["UserMessage"]
