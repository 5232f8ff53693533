"""The frameworks of `adapters_bench`: for each its fake model, and an agent for each way to manage its context.

Their own ways are as they come, but for the budget where one can be said.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")

import agents
import pydantic_ai
import strands
from adapters_bench import BUDGET, MODEL, SYSTEM, Recorder
from agents.extensions import ToolOutputTrimmer
from agents.testing import ModelStep, ScriptedModel
from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, wrap_model_call
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from openai.types.responses import ResponseOutputItem
from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness.compaction import SlidingWindowCompaction
from strands.agent.conversation_manager import NullConversationManager, SlidingWindowConversationManager
from strands.models.model import Model

from foldaway.adapters._langchain_messages import LangChainMessages
from foldaway.adapters._pydantic_ai_messages import PydanticMessages
from foldaway.adapters._strands_messages import StrandsMessages
from foldaway.adapters.langchain import FoldawayMiddleware
from foldaway.adapters.openai_agents import FoldawayFilter
from foldaway.adapters.pydantic_ai import Foldaway
from foldaway.adapters.strands import FoldawayConversationManager
from foldaway.testing.replies import reply_body

MOST_CALLS = 2_000
READ = "Reads a record."
Play = Callable[[Recorder, Sequence[str]], None]
"""Plays a whole conversation: what the user says, one after the other."""


# -- LangChain


class Chat(BaseChatModel):  # type: ignore[misc, unused-ignore]
    """LangChain's model."""

    recorder: Any

    @property
    def _llm_type(self) -> str:
        return "recorder"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kw: Any) -> Any:
        self.recorder.arrive()
        wire = [part for message in messages for part in LangChainMessages().to_wire(message)]
        reply = self.recorder.answer(wire, [tool["function"]["name"] for tool in kw.get("tools", ())])
        calls = [{"name": call.name, "args": json.loads(call.text), "id": call.id} for call in reply.calls]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=reply.text, tool_calls=calls))])


def langchain(middleware: Callable[[], Sequence[Any]]) -> Play:
    def play(recorder: Recorder, asks: Sequence[str]) -> None:
        tool = StructuredTool.from_function(recorder.task.read, name="read", description=READ)
        graph = create_agent(
            Chat(recorder=recorder), [tool], system_prompt=SYSTEM, middleware=list(middleware()),
            checkpointer=InMemorySaver(),
        )  # fmt: skip
        config = {"configurable": {"thread_id": "t"}, "recursion_limit": 10_000}
        for ask in asks:
            graph.invoke({"messages": [HumanMessage(ask)]}, config)

    return play


@wrap_model_call  # type: ignore[misc, unused-ignore]
def trimmed(request: Any, handler: Any) -> Any:
    """`trim_messages` as its documentation recommends it, but for `start_on`: "human" leaves nothing of a long turn."""
    kept = trim_messages(
        request.messages, strategy="last", max_tokens=BUDGET, token_counter=count_tokens_approximately,
        start_on=("human", "ai"), end_on=("human", "tool"),
    )  # fmt: skip
    return handler(request.override(messages=kept))


# -- OpenAI Agents SDK

OUTPUT: TypeAdapter[list[Any]] = TypeAdapter(list[ResponseOutputItem])


def openai_agents(filter: Callable[[], Any]) -> Play:
    def play(recorder: Recorder, asks: Sequence[str]) -> None:
        def respond(call: Any) -> list[Any]:
            recorder.arrive()
            reply = recorder.answer(call.input, [tool.name for tool in call.tools])
            return OUTPUT.validate_python(reply_body("openai_responses", reply)["output"])

        made = filter()
        read = agents.function_tool(recorder.task.read, name_override="read", description_override=READ)
        agent = agents.Agent(
            name="clerk", instructions=SYSTEM, tools=[read, *getattr(made, "tools", ())],
            model=ScriptedModel([ModelStep.respond(respond) for _ in range(MOST_CALLS)]),
        )  # fmt: skip
        asyncio.run(talk(agent, made, asks))

    async def talk(agent: Any, made: Any, asks: Sequence[str]) -> None:
        session = agents.SQLiteSession("s")
        if isinstance(made, FoldawayFilter):
            config = made.run_config(session)
        else:
            config = agents.RunConfig(call_model_input_filter=made)
        for ask in asks:
            await agents.Runner.run(agent, ask, session=session, run_config=config, max_turns=MOST_CALLS)

    return play


# -- Pydantic AI


def pydantic(capabilities: Callable[[], Sequence[Any]]) -> Play:
    def play(recorder: Recorder, asks: Sequence[str]) -> None:
        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            recorder.arrive()
            wire = [part for message in messages for part in PydanticMessages().to_wire(message)]
            reply = recorder.answer(wire, [tool.name for tool in info.function_tools])
            calls = [ToolCallPart(call.name, call.text, call.id) for call in reply.calls]
            # Said, as the framework would make a number up.
            usage = pydantic_ai.RequestUsage(input_tokens=recorder.tokens[-1], output_tokens=10)
            return ModelResponse(parts=[*([TextPart(reply.text)] if reply.text else ()), *calls], usage=usage)

        agent = pydantic_ai.Agent(
            FunctionModel(answer), instructions=SYSTEM, capabilities=list(capabilities()),
            tools=[pydantic_ai.Tool(recorder.task.read, name="read", description=READ)],
        )  # fmt: skip
        asyncio.run(talk(agent, asks))

    async def talk(agent: Any, asks: Sequence[str]) -> None:
        history: list[Any] = []
        for ask in asks:
            limits = pydantic_ai.UsageLimits(request_limit=None)
            result = await agent.run(ask, message_history=history, conversation_id="c", usage_limits=limits)
            history = result.all_messages()

    return play


# -- Strands


class StrandsModel(Model):  # type: ignore[misc, unused-ignore]
    """Strands' model."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def update_config(self, **config: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, tool_specs: Any = None, *args: Any, **kw: Any) -> AsyncIterator[Any]:
        self.recorder.arrive()
        wire = [part for message in messages for part in StrandsMessages().to_wire(message)]
        reply = self.recorder.answer(wire, [spec["name"] for spec in tool_specs or ()])
        yield {"messageStart": {"role": "assistant"}}
        if reply.text:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": reply.text}}}
            yield {"contentBlockStop": {}}
        for call in reply.calls:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": call.name, "toolUseId": call.id}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": call.text}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if reply.calls else "end_turn"}}


def strands_agents(manager: Callable[[], Any]) -> Play:
    def play(recorder: Recorder, asks: Sequence[str]) -> None:
        def read(path: str, codes: str = "") -> str:
            """Reads a record."""
            return recorder.task.read(path, codes)

        agent = strands.Agent(
            StrandsModel(recorder), tools=[strands.tool(read)], system_prompt=SYSTEM,
            conversation_manager=manager(), callback_handler=None,
        )  # fmt: skip
        for ask in asks:
            agent(ask)

    return play


FOLDAWAY = {"budget": BUDGET, "model": MODEL}
FRAMEWORKS: dict[str, tuple[str, dict[str, Play]]] = {
    "LangChain": ("openai_chat", {
        "nothing": langchain(lambda: ()),
        "`ContextEditingMiddleware`": langchain(
            lambda: [ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=BUDGET)])]
        ),
        "`trim_messages`": langchain(lambda: [trimmed]),
        "Foldaway": langchain(lambda: [FoldawayMiddleware(**FOLDAWAY)]),
    }),
    "OpenAI Agents": ("openai_responses", {
        "nothing": openai_agents(lambda: None),
        "`ToolOutputTrimmer`": openai_agents(ToolOutputTrimmer),
        "Foldaway": openai_agents(lambda: FoldawayFilter(**FOLDAWAY)),
    }),
    "Pydantic AI": ("openai_chat", {
        "nothing": pydantic(lambda: ()),
        "`SlidingWindowCompaction`": pydantic(lambda: [SlidingWindowCompaction(max_tokens=BUDGET)]),
        "Foldaway": pydantic(lambda: [Foldaway(**FOLDAWAY)]),
    }),
    "Strands": ("anthropic_messages", {
        "nothing": strands_agents(NullConversationManager),
        "`SlidingWindowConversationManager`": strands_agents(SlidingWindowConversationManager),
        "Foldaway": strands_agents(lambda: FoldawayConversationManager(**FOLDAWAY)),
    }),
}  # fmt: skip
"""Name: the wire format of its fake model, and the arms."""
