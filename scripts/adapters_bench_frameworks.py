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
from adapters_bench import BUDGET
from adapters_bench_recorder import COUNTER, MODEL, Recorder
from agents.extensions import ToolOutputTrimmer
from agents.testing import ModelStep, ScriptedModel
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.model_context import TokenLimitedChatCompletionContext
from autogen_core.models import ChatCompletionClient, CreateResult, ModelInfo, RequestUsage
from autogen_core.tools import BaseTool
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    SummarizationMiddleware,
    wrap_model_call,
)
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from openai.types.responses import ResponseOutputItem
from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness.compaction import SlidingWindowCompaction
from strands.agent.conversation_manager import NullConversationManager, SlidingWindowConversationManager
from strands.models.model import Model
from strands.tools.tools import PythonAgentTool

from foldaway.adapters._autogen_messages import AutoGenMessages
from foldaway.adapters._langchain_messages import LangChainMessages
from foldaway.adapters._pydantic_ai_messages import PydanticMessages
from foldaway.adapters._strands_messages import StrandsMessages
from foldaway.adapters.autogen import FoldawayContext
from foldaway.adapters.langchain import FoldawayMiddleware
from foldaway.adapters.openai_agents import FoldawayFilter
from foldaway.adapters.pydantic_ai import Foldaway
from foldaway.adapters.strands import FoldawayConversationManager
from foldaway.testing.replies import reply_body
from foldaway.tokens import RequestCounter

MOST_CALLS = 2_000
ANY: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}
"""Arguments of a tool: whatever was recorded."""
Play = Callable[[Recorder], None]
"""Plays a whole script: what the user says, one after the other."""


def asks(recorder: Recorder) -> list[str]:
    return [turn.ask for turn in recorder.script.turns]


def about(tool: str) -> str:
    return f"The tool {tool}."


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


class Summariser(Chat):
    """The model that LangChain's summarising middleware asks."""

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kw: Any) -> Any:
        text = self.recorder.summarise("\n\n".join(str(message.content) for message in messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])


def langchain(middleware: Callable[[Recorder], Sequence[Any]]) -> Play:
    def play(recorder: Recorder) -> None:
        def tool(name: str) -> StructuredTool:
            def call(**arguments: Any) -> str:
                return recorder.call(name, arguments)

            return StructuredTool(name=name, description=about(name), args_schema=ANY, func=call)

        graph = create_agent(
            Chat(recorder=recorder), [tool(name) for name in recorder.script.tools],
            system_prompt=recorder.script.system, middleware=list(middleware(recorder)), checkpointer=InMemorySaver(),
        )  # fmt: skip
        config = {"configurable": {"thread_id": "t"}, "recursion_limit": 10_000}
        for ask in asks(recorder):
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
    def play(recorder: Recorder) -> None:
        def respond(call: Any) -> list[Any]:
            recorder.arrive()
            reply = recorder.answer(call.input, [tool.name for tool in call.tools])
            return OUTPUT.validate_python(reply_body("openai_responses", reply)["output"])

        def tool(name: str) -> agents.FunctionTool:
            async def call(context: Any, arguments: str) -> str:
                return recorder.call(name, arguments)

            return agents.FunctionTool(
                name=name, description=about(name), params_json_schema=ANY, on_invoke_tool=call,
                strict_json_schema=False,
            )  # fmt: skip

        made = filter()
        agent = agents.Agent(
            name="agent", instructions=recorder.script.system,
            tools=[*map(tool, recorder.script.tools), *getattr(made, "tools", ())],
            model=ScriptedModel([ModelStep.respond(respond) for _ in range(MOST_CALLS)]),
        )  # fmt: skip
        asyncio.run(talk(agent, made, asks(recorder)))

    async def talk(agent: Any, made: Any, said: Sequence[str]) -> None:
        session = agents.SQLiteSession("s")
        if isinstance(made, FoldawayFilter):
            config = made.run_config(session)
        else:
            config = agents.RunConfig(call_model_input_filter=made)
        for ask in said:
            await agents.Runner.run(agent, ask, session=session, run_config=config, max_turns=MOST_CALLS)

    return play


# -- Pydantic AI


def pydantic(capabilities: Callable[[], Sequence[Any]]) -> Play:
    def play(recorder: Recorder) -> None:
        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            recorder.arrive()
            wire = [part for message in messages for part in PydanticMessages().to_wire(message)]
            reply = recorder.answer(wire, [tool.name for tool in info.function_tools])
            calls = [ToolCallPart(call.name, call.text, call.id) for call in reply.calls]
            # Said, as the framework would make a number up.
            usage = pydantic_ai.RequestUsage(input_tokens=recorder.tokens[-1], output_tokens=10)
            return ModelResponse(parts=[*([TextPart(reply.text)] if reply.text else ()), *calls], usage=usage)

        def tool(name: str) -> pydantic_ai.Tool:
            def call(**arguments: Any) -> str:
                return recorder.call(name, arguments)

            return pydantic_ai.Tool.from_schema(call, name=name, description=about(name), json_schema=ANY)

        agent = pydantic_ai.Agent(
            FunctionModel(answer, model_name=MODEL), instructions=recorder.script.system,
            capabilities=list(capabilities()),
            tools=[tool(name) for name in recorder.script.tools],
        )  # fmt: skip
        asyncio.run(talk(agent, asks(recorder)))

    async def talk(agent: Any, said: Sequence[str]) -> None:
        history: list[Any] = []
        for ask in said:
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
    def play(recorder: Recorder) -> None:
        def tool(name: str) -> PythonAgentTool:
            def call(use: Any, **context: Any) -> Any:
                text = recorder.call(name, use["input"])
                return {"toolUseId": use["toolUseId"], "status": "success", "content": [{"text": text}]}

            spec = {"name": name, "description": about(name), "inputSchema": {"json": ANY}}
            return PythonAgentTool(name, spec, call)

        agent = strands.Agent(
            StrandsModel(recorder), tools=[tool(name) for name in recorder.script.tools],
            system_prompt=recorder.script.system, conversation_manager=manager(), callback_handler=None,
        )  # fmt: skip
        for ask in asks(recorder):
            agent(ask)

    return play


# -- AutoGen


class Anything(BaseModel):
    """Arguments of AutoGen's tools."""

    model_config = ConfigDict(extra="allow")


class AutoGenTool(BaseTool[Anything, str]):  # type: ignore[misc, unused-ignore]
    """One of the script's tools."""

    def __init__(self, recorder: Recorder, name: str) -> None:
        super().__init__(Anything, str, name, about(name))
        self._recorder = recorder

    async def run(self, args: Anything, cancellation_token: Any) -> str:
        return self._recorder.call(self.name, args.model_dump())


class AutoGenClient(ChatCompletionClient):  # type: ignore[misc, unused-ignore]
    """AutoGen's model."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._counted: dict[int, tuple[Any, int]] = {}

    async def create(self, messages: Sequence[Any], *, tools: Sequence[Any] = (), **kwargs: Any) -> CreateResult:
        self.recorder.arrive()
        reply = self.recorder.answer(self._wire(messages), [tool["name"] for tool in tools])
        calls = [FunctionCall(id=call.id, name=call.name, arguments=call.text) for call in reply.calls]
        reason = "function_calls" if calls else "stop"
        return CreateResult(
            finish_reason=reason, content=calls or reply.text, usage=self.actual_usage(), cached=False
        )  # fmt: skip

    def count_tokens(self, messages: Sequence[Any], *, tools: Sequence[Any] = ()) -> int:
        """Each message once: the framework counts all anew for each one it drops."""
        total = 0
        for message in messages:
            if id(message) not in self._counted:
                counter = RequestCounter(COUNTER, "openai_chat")
                # The message is kept with its count, so that no other gets its id.
                self._counted[id(message)] = message, sum(counter.message(part) for part in self._wire([message]))
            total += self._counted[id(message)][1]
        return total

    def _wire(self, messages: Sequence[Any]) -> list[Any]:
        return [part for message in messages for part in AutoGenMessages().to_wire(message)]

    def create_stream(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def close(self) -> None: ...

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    total_usage = actual_usage

    def remaining_tokens(self, messages: Sequence[Any], *, tools: Sequence[Any] = ()) -> int:
        return BUDGET - self.count_tokens(messages)

    @property
    def capabilities(self) -> ModelInfo:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False
        )  # fmt: skip


def autogen(context: Callable[[AutoGenClient], Any]) -> Play:
    def play(recorder: Recorder) -> None:
        client = AutoGenClient(recorder)
        made = context(client)
        agent = AssistantAgent(
            "agent", client, tools=[*(AutoGenTool(recorder, name) for name in recorder.script.tools),
            *getattr(made, "tools", ())], model_context=made, system_message=recorder.script.system,
            max_tool_iterations=MOST_CALLS,
        )  # fmt: skip
        asyncio.run(talk(agent, asks(recorder)))

    async def talk(agent: AssistantAgent, said: Sequence[str]) -> None:
        for ask in said:
            await agent.run(task=ask)

    return play


FOLDAWAY = {"budget": BUDGET, "model": MODEL}
FRAMEWORKS: dict[str, tuple[str, dict[str, Play]]] = {
    "LangChain": ("openai_chat", {
        "nothing": langchain(lambda _: ()),
        "`ContextEditingMiddleware`": langchain(
            lambda _: [ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=BUDGET)])]
        ),
        "`SummarizationMiddleware`": langchain(
            lambda recorder: [SummarizationMiddleware(Summariser(recorder=recorder), trigger=("tokens", BUDGET))]
        ),
        "`trim_messages`": langchain(lambda _: [trimmed]),
        "Foldaway": langchain(lambda _: [FoldawayMiddleware(**FOLDAWAY)]),
    }),
    "OpenAI Agents": ("openai_responses", {
        "nothing": openai_agents(lambda: None),
        "`ToolOutputTrimmer`": openai_agents(ToolOutputTrimmer),
        "Foldaway": openai_agents(lambda: FoldawayFilter(**FOLDAWAY)),
    }),
    "AutoGen": ("openai_chat", {
        "nothing": autogen(lambda _: None),
        "`TokenLimitedChatCompletionContext`": autogen(
            lambda client: TokenLimitedChatCompletionContext(client, token_limit=BUDGET)
        ),
        "Foldaway": autogen(lambda _: FoldawayContext(**FOLDAWAY)),
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
