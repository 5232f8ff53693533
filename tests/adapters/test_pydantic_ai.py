"""Pydantic AI's agents with Foldaway, played with the framework's own function model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

from foldaway import tool as declared_tool
from foldaway.errors import OverBudget, SettingsError
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.testing.adapter_contract import BUDGET, STEPS, TASK, AdapterContract
from foldaway.testing.replies import Reply
from foldaway.testing.scripted_agent import SYSTEM, Agent, Brain, Request, calling, look, looking

REASON = "Pydantic AI is not installed: `make adapters` sets an environment up that has it"
pytest.importorskip("pydantic_ai", reason=REASON)

import pydantic_ai
from pydantic import TypeAdapter
from pydantic_ai import Tool, UserError
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.exceptions import ModelContextWindowExceededError
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from foldaway.adapters._base import ContextWarning
from foldaway.adapters._pydantic_ai_messages import PydanticMessages
from foldaway.adapters.pydantic_ai import Foldaway

CODEC = PydanticMessages()
DUMP: TypeAdapter[Any] = TypeAdapter(list[ModelMessage])
MADE_UP = frozenset({"timestamp", "run_id", "conversation_id", "usage"})


def scripted(brain: Brain) -> FunctionModel:
    """The framework's fake model, answering as a `Brain` does, whole or piece by piece."""

    def reply(messages: list[ModelMessage], info: AgentInfo) -> Reply:
        # A copy through JSON stands for what would be sent.
        wire = [json.loads(json.dumps(part)) for message in messages for part in CODEC.to_wire(message)]
        raw = [_plain(DUMP.dump_python(messages, mode="json")), info.instructions]
        return brain.answer(wire, [tool.name for tool in info.function_tools], raw)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = reply(messages, info)
        calls = [ToolCallPart(call.name, call.text, call.id) for call in said.calls]
        return ModelResponse(parts=[*([TextPart(said.text)] if said.text else ()), *calls])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        said = reply(messages, info)
        if said.text:
            yield said.text
        for at, call in enumerate(said.calls):
            yield {at: DeltaToolCall(name=call.name, json_args=call.text, tool_call_id=call.id)}

    return FunctionModel(answer, stream_function=stream)


def _plain(value: Any) -> Any:
    """Without times and ids that the framework makes up."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items() if key not in MADE_UP}
    return [_plain(part) for part in value] if isinstance(value, list) else value


@contextmanager
def own_loop() -> Iterator[None]:
    """A loop for this thread, closed afterwards: `run_sync` leaves its own open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()


class PydanticAgent:
    """An agent and the histories that a program keeps for it."""

    def __init__(self, agent: Any, foldaway: Foldaway | None, histories: dict[str, list[Any]]) -> None:
        self.agent, self.foldaway, self.histories = agent, foldaway, histories

    def run(self, task: str, *, key: str = "main", mode: str = "sync") -> str:
        given = {"message_history": self.histories.get(key, []), "conversation_id": key}
        given["usage_limits"] = pydantic_ai.UsageLimits(request_limit=None)
        match mode:
            case "sync":
                with own_loop():
                    result = self.agent.run_sync(task, **given)
                output = result.output
            case "async":
                result = asyncio.run(self.agent.run(task, **given))
                output = result.output
            case _:
                result, output = asyncio.run(self._stream(task, given))
        self.histories[key] = result.all_messages()
        return str(output)

    async def _stream(self, task: str, given: dict[str, Any]) -> Any:
        async with self.agent.run_stream(task, **given) as result:
            pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
            return result, "".join(pieces)

    def session(self, key: str = "main") -> Session:
        assert self.foldaway is not None
        return self.foldaway.session(key)


class TestPydanticAI(AdapterContract):
    modes = ("sync", "async", "astream")
    over_budget: ClassVar[type[Exception]] = ModelContextWindowExceededError

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> PydanticAgent:  # fmt: skip
        foldaway = None if budget is None else Foldaway(budget=budget, store=store, **settings)
        agent = pydantic_ai.Agent(
            scripted(brain), instructions=SYSTEM, tools=[Tool(look, description="Looks a topic up.")],
            capabilities=[] if foldaway is None else [foldaway],
        )  # fmt: skip
        return PydanticAgent(agent, foldaway, dict(earlier.histories) if isinstance(earlier, PydanticAgent) else {})
