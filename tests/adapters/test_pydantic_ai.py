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
from foldaway.model.wire import Message
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
    RetryInfo,
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
USAGE = pydantic_ai.RequestUsage(input_tokens=1200, output_tokens=3)
RETRY: Any = RetryInfo(cause="model_retry")
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
            case "stream":
                with own_loop():
                    result = self.agent.run_stream_sync(task, **given)
                    output = "".join(result.stream_text(delta=True, debounce_by=None))
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
    modes = ("sync", "async", "stream", "astream")
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

    def test_an_overflow_is_also_our_own_error_with_its_figures(self) -> None:
        with pytest.raises(OverBudget) as caught:
            self.agent(Brain(looking(1)), budget=20).run(TASK)
        assert caught.value.missing_tokens > 0

    def test_the_history_of_the_run_stays_whole(self) -> None:
        agent = self.agent(Brain(looking(STEPS)), budget=BUDGET)
        agent.run(TASK)
        results = [
            part.content for m in agent.histories["main"] for part in m.parts if isinstance(part, ToolReturnPart)
        ]
        assert results == [look(f"topic-{n}") for n in range(STEPS)]

    def test_another_manager_at_work_is_told_of(self) -> None:
        both = [ProcessHistory(lambda messages: messages[-40:]), Foldaway(budget=BUDGET)]
        agent = pydantic_ai.Agent(scripted(Brain(looking(1))), tools=[look], capabilities=both)
        with pytest.warns(ContextWarning, match="ProcessHistory is at work"):
            asyncio.run(agent.run(TASK))

    def test_a_tool_named_recall_of_the_agents_own_is_refused(self) -> None:
        own = Tool(look, name="recall")
        agent = pydantic_ai.Agent(
            scripted(Brain(looking(1))), tools=[own], capabilities=[Foldaway(budget=BUDGET)]
        )  # fmt: skip
        with pytest.raises((SettingsError, UserError), match="recall"):
            asyncio.run(agent.run(TASK))

    @pytest.mark.parametrize(
        ("name", "given", "kept"),
        [
            ("claude-a", {"anthropic_thinking": {"type": "enabled", "budget_tokens": 1024}}, True),
            ("eu.anthropic.claude-a", {"thinking": "high"}, True),
            ("b", {"bedrock_additional_model_requests_fields": {"thinking": {"type": "adaptive"}}}, True),
            ("claude-a", {"anthropic_thinking": {"type": "disabled"}}, False),
            ("gpt-a", {"thinking": True}, False),
            ("claude-a", {}, False),
        ],
    )
    def test_claudes_thinking_that_is_switched_on_is_kept_in_the_open_loop(
        self, name: str, given: dict[str, Any], kept: bool
    ) -> None:
        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            return ModelResponse(parts=[TextPart("Done.")])

        foldaway, settings = Foldaway(budget=BUDGET), pydantic_ai.ModelSettings(**given)
        model = FunctionModel(answer, model_name=name)
        pydantic_ai.Agent(model, capabilities=[foldaway]).run_sync(TASK, model_settings=settings)
        assert foldaway.folding.sessions()[0].engine.log.quirks.thinking is kept

    def test_declared_tools_are_linked(self) -> None:
        @declared_tool(reads=["topic"], produces=["result"])
        def look_declared(topic: str) -> str:
            """Looks a topic up."""
            return look(topic)

        foldaway = Foldaway(budget=BUDGET)
        agent = pydantic_ai.Agent(
            scripted(Brain(looking(2))), tools=[Tool(look_declared, name="look")], capabilities=[foldaway]
        )  # fmt: skip
        asyncio.run(agent.run(TASK, conversation_id="a"))
        assert [e["tool"] for e in foldaway.session("a").ledger if e["type"] == "declare"] == ["look"]

    def test_what_the_provider_counted_corrects_the_count(self) -> None:
        class Counting(FunctionModel):
            system = "counting"

        model = Counting(lambda messages, info: ModelResponse(parts=[TextPart("Done.")], usage=USAGE))
        foldaway = Foldaway(budget=BUDGET)
        asyncio.run(pydantic_ai.Agent(model, capabilities=[foldaway]).run("x" * 4000, conversation_id="a"))
        assert any(entry["type"] == "usage" for entry in foldaway.session("a").ledger)


class TestTierContract(AdapterContract):
    """Foldaway as a tier of the harness' compaction, which is asked at every call and replaces the history."""

    modes = ("sync", "async", "stream", "astream")
    recall_always_offered = True

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> PydanticAgent:  # fmt: skip
        harness = pytest.importorskip("pydantic_ai_harness.compaction", reason="pydantic-ai-harness is not installed")
        foldaway = None if budget is None else Foldaway(budget=budget, store=store, **settings)
        agent = pydantic_ai.Agent(
            scripted(brain), instructions=SYSTEM, tools=[Tool(look, description="Looks a topic up.")],
            toolsets=[] if foldaway is None else [foldaway.get_toolset()],
            capabilities=[] if foldaway is None else [harness.TieredCompaction(tiers=[foldaway], target_tokens=1)],
        )  # fmt: skip
        return PydanticAgent(agent, foldaway, dict(earlier.histories) if isinstance(earlier, PydanticAgent) else {})

    def test_what_cannot_fit_is_said_before_anything_is_sent(self) -> None:
        for mode in self.modes:
            brain = Brain(looking(2))
            # A tier that finds nothing to do leaves it to the next one; there it is the harness that decides.
            with pytest.warns(ContextWarning, match=r"left to the next tier: .* tokens"):
                assert self.agent(brain, budget=20).run(TASK, mode=mode) == "All looked up."
            assert len(brain.seen) == 3


class TestTier:
    """Inside the compaction of the framework's harness."""

    def agent(self, brain: Brain, foldaway: Foldaway) -> Any:
        harness = pytest.importorskip("pydantic_ai_harness.compaction", reason="pydantic-ai-harness is not installed")
        tiers = harness.TieredCompaction(tiers=[foldaway], target_tokens=BUDGET)
        return pydantic_ai.Agent(
            scripted(brain), instructions=SYSTEM, tools=[look], toolsets=[foldaway.get_toolset()], capabilities=[tiers]
        )  # fmt: skip

    def test_the_harness_replaces_the_history_by_the_view_and_foldaway_goes_on_with_it(self) -> None:
        brain, foldaway = Brain(looking(2 * STEPS)), Foldaway(budget=BUDGET)
        limits = pydantic_ai.UsageLimits(request_limit=None)
        result = asyncio.run(self.agent(brain, foldaway).run(TASK, conversation_id="a", usage_limits=limits))
        assert result.output == "All looked up."
        AdapterContract().check(brain.seen, 2 * BUDGET)
        session = foldaway.session("a")
        assert session.branch == 0
        assert session.count() > 3 * BUDGET
        assert any("[foldaway" in request.text for request in brain.seen)
        # The log holds the whole task once, byte for byte.
        texts = [session.engine.log.text_of(item) for item in session.items()]
        # (The last steps were never handed over: the history still fitted.)
        assert [sum(look(f"topic-{n}") in text for text in texts) for n in range(STEPS)] == [1] * STEPS

    def test_the_model_gets_back_what_the_harness_replaced(self) -> None:
        def script(n: int, request: Request) -> Reply:
            return calling("recall", n, ids="entry of topic-1") if n == STEPS else looking(STEPS + 1)(n, request)

        brain, foldaway = Brain(script), Foldaway(budget=BUDGET)
        asyncio.run(self.agent(brain, foldaway).run(TASK, conversation_id="a"))
        assert "entry of topic-1\n" not in brain.seen[STEPS].text
        assert "entry of topic-1\n" in brain.seen[STEPS + 1].text


class TestMessages:
    """The codec: there and back without loss, and copies where a view says something else."""

    def both(self) -> tuple[ModelRequest, ModelResponse]:
        picture = BinaryContent(b"AAAA", media_type="image/png")
        asked = ModelRequest(parts=[
            SystemPromptPart("s"), UserPromptPart(["see", picture, ImageUrl("https://e.org/a.png")]),
            ToolReturnPart("look", {"rows": 3}, "c0", metadata={"m": 1}), ToolReturnPart("look", "found", "c1"),
            RetryFeedbackPart("again", retry=RETRY),
        ], instructions="i")  # fmt: skip
        said = ModelResponse(
            parts=[ThinkingPart("hm", signature="s"), TextPart("I look."), ToolCallPart("look", {"topic": "ä"}, "c1")],
            model_name="m",
        )
        return asked, said

    def test_a_rewritten_result_leaves_the_parts_beside_it_alone(self) -> None:
        asked, _ = self.both()
        wire = CODEC.to_wire(asked)
        assert [w["role"] for w in wire] == ["system", "user", "tool", "tool", "user"]
        [made] = CODEC.from_wire([*wire[:3], {**wire[3], "content": "less"}, wire[4]], asked)
        assert [new is old for new, old in zip(made.parts, asked.parts, strict=True)] == [True] * 3 + [False, True]
        assert (made.parts[3].content, made.parts[3].tool_call_id, made.instructions) == ("less", "c1", "i")
        assert asked.parts[3].content == "found"

    def test_parts_that_a_view_leaves_out_are_gone(self) -> None:
        asked, said = self.both()
        wire = CODEC.to_wire(asked)
        [made] = CODEC.from_wire([wire[0], wire[3]], asked)
        assert [part.part_kind for part in made.parts] == ["system-prompt", "tool-return"]
        [plain] = CODEC.to_wire(said)
        [silent] = CODEC.from_wire([{**plain, "content": plain["content"][1:]}], said)
        assert silent.parts == said.parts[1:]
        [short] = CODEC.from_wire([{"role": "assistant", "content": "less"}], said)
        assert [part.part_kind for part in short.parts] == ["text"]

    def test_arguments_are_rewritten_in_the_form_that_came(self) -> None:
        _, said = self.both()
        [wire] = CODEC.to_wire(said)
        call = {**wire["tool_calls"][0], "function": {"name": "look", "arguments": '{"topic":"x"}'}}
        [made] = CODEC.from_wire([{**wire, "tool_calls": [call]}], said)
        assert made.parts[2].args == {"topic": "x"}
        assert made.parts[:2] == said.parts[:2]

    def test_messages_of_our_own_come_back_as_they_were(self) -> None:
        exchange: list[Message] = [
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "r", "type": "function", "function": {"name": "recall", "arguments": '{"ids": "#3"}'}}]},
            {"role": "tool", "tool_call_id": "r", "content": "text"},
            {"role": "user", "content": "[foldaway] note"},
        ]  # fmt: skip
        made = CODEC.from_wire(exchange, None)
        assert made[1].parts[0].tool_name == "recall"
        assert [wire for message in made for wire in CODEC.to_wire(message)] == exchange
