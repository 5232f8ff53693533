"""Google ADK's agents with Foldaway, played with a model of ADK's own base class."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar

import pytest

from foldaway import tool as declared_tool
from foldaway.errors import OverBudget, SettingsError
from foldaway.model.wire import Message
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.testing.adapter_contract import BUDGET, STEPS, TASK, AdapterContract
from foldaway.testing.replies import Reply
from foldaway.testing.scripted_agent import SYSTEM, Agent, Brain, look, looking

REASON = "Google ADK is not installed: `make adapters` sets an environment up that has it"
pytest.importorskip("google.adk", reason=REASON)

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.adk.runners import InMemoryRunner, Runner
from google.adk.tools import FunctionTool
from google.genai import types

from foldaway.adapters._adk_messages import AdkContents, Numbered, numbered
from foldaway.adapters._base import ContextWarning
from foldaway.adapters.adk import FoldawayPlugin

CODEC = AdkContents()


class ScriptedLlm(BaseLlm):
    """A model that says what a `Brain` says, whole or piece by piece."""

    model: str = "scripted"
    brain: Any
    ids: bool = True

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncIterator[LlmResponse]:
        wire = [json.loads(json.dumps(m)) for one in numbered(llm_request.contents) for m in CODEC.to_wire(one)]
        raw = [content.model_dump() for content in llm_request.contents]
        tools = [one.name for tool in llm_request.config.tools or () for one in tool.function_declarations or ()]
        reply: Reply = self.brain.answer(wire, tools, raw)
        for piece in reply.text.split() if stream else ():
            text = piece if reply.text.startswith(piece) else f" {piece}"
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]), partial=True)
        parts = [types.Part(text=reply.text)] if reply.text else []
        for call in reply.calls:
            made = types.FunctionCall(id=call.id if self.ids else None, name=call.name, args=json.loads(call.text))
            parts.append(types.Part(function_call=made))
        yield LlmResponse(content=types.Content(role="model", parts=parts), partial=False)


class AdkAgent:
    """An app with one agent; ADK keeps the sessions."""

    def __init__(self, runner: Any, plugin: FoldawayPlugin | None) -> None:
        self.runner, self.plugin = runner, plugin

    def run(self, task: str, *, key: str = "main", mode: str = "async") -> str:
        where: dict[str, Any] = {"user_id": "u", "session_id": key}
        asyncio.run(self._opened(where))
        if mode != "sync":
            return asyncio.run(self._run(task, where, mode))
        message = types.Content(role="user", parts=[types.Part(text=task)])
        events = self.runner.run(**where, new_message=message, run_config=RunConfig(max_llm_calls=0))
        texts = [p.text for event in events if event.content for p in event.content.parts or () if p.text]
        return str(texts[-1])

    async def _opened(self, where: dict[str, Any]) -> None:
        sessions = self.runner.session_service
        if await sessions.get_session(app_name="clerk", **where) is None:
            await sessions.create_session(app_name="clerk", **where)

    async def _run(self, task: str, where: dict[str, Any], mode: str) -> str:
        streamed = mode == "astream"
        config = RunConfig(streaming_mode=StreamingMode.SSE if streamed else StreamingMode.NONE, max_llm_calls=0)
        message = types.Content(role="user", parts=[types.Part(text=task)])
        pieces: list[str] = []
        last = ""
        async for event in self.runner.run_async(**where, new_message=message, run_config=config):
            text = "".join(p.text or "" for p in event.content.parts or ()) if event.content else ""
            if event.partial:
                pieces.append(text)
            last = text or last
        return "".join(pieces) if streamed else last

    def session(self, key: str = "main") -> Session:
        assert self.plugin is not None
        return self.plugin.session(f"clerk:u:{key}:clerk")


class TestAdk(AdapterContract):
    format: ClassVar[str] = "anthropic_messages"
    modes: ClassVar[Sequence[str]] = ("async", "sync", "astream")
    over_budget: ClassVar[type[Exception]] = RuntimeError

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> AdkAgent:  # fmt: skip
        plugin = None if budget is None else FoldawayPlugin(budget=budget, store=store, **settings)
        return self.made(brain, plugin, earlier=earlier)

    def made(
        self, brain: Brain, plugin: FoldawayPlugin | None, *, earlier: Agent | None = None, tools: Any = (look,),
        others: Any = (), ids: bool = True,
    ) -> AdkAgent:  # fmt: skip
        model = ScriptedLlm(brain=brain, ids=ids)
        root = LlmAgent(name="clerk", model=model, instruction=SYSTEM, tools=list(tools))
        app = App(name="clerk", root_agent=root, plugins=[*others, *([plugin] if plugin else [])])
        if isinstance(earlier, AdkAgent):
            return AdkAgent(Runner(app=app, session_service=earlier.runner.session_service), plugin)
        return AdkAgent(InMemoryRunner(app=app), plugin)

    def test_an_overflow_has_our_own_error_as_its_cause(self) -> None:
        with pytest.raises(RuntimeError) as caught:
            self.agent(Brain(looking(1)), budget=20).run(TASK)
        assert isinstance(caught.value.__cause__, OverBudget)

    def test_the_session_keeps_all_events(self) -> None:
        agent = self.agent(Brain(looking(STEPS)), budget=BUDGET)
        agent.run(TASK)
        service = agent.runner.session_service
        session = asyncio.run(service.get_session(app_name="clerk", user_id="u", session_id="main"))
        assert look("topic-2") in [
            part.function_response.response["result"]
            for event in session.events
            for part in event.content.parts
            if part.function_response
        ]

    def test_calls_without_ids_are_answered_in_order(self) -> None:
        brain = Brain(looking(STEPS))
        agent = self.made(brain, FoldawayPlugin(budget=BUDGET), ids=False)
        agent.run(TASK)
        agent.run("And the next ones.")
        self.check(brain.seen)
        assert agent.session().branch == 0
        assert any("[foldaway" in request.text for request in brain.seen)
        for request in brain.seen:
            calls = [p["function_call"]["id"] for c in request.raw for p in c["parts"] if p.get("function_call")]
            assert calls.count(None) == len(calls)

    def test_users_with_the_same_session_id_do_not_mix(self) -> None:
        plugin = FoldawayPlugin(budget=BUDGET)
        agent = self.made(Brain(looking(2)), plugin)

        async def both() -> None:
            for user in ("ann", "bob"):
                await agent.runner.session_service.create_session(app_name="clerk", user_id=user, session_id="1")
                said = types.Content(role="user", parts=[types.Part(text=f"I am {user}.")])
                async for _ in agent.runner.run_async(user_id=user, session_id="1", new_message=said):
                    pass

        asyncio.run(both())
        assert "ann" not in json.dumps(plugin.session("clerk:bob:1:clerk").messages)

    def test_another_manager_at_work_is_told_of(self) -> None:
        plugin = FoldawayPlugin(budget=BUDGET)
        agent = self.made(Brain(looking(1)), plugin, others=[ContextFilterPlugin(num_invocations_to_keep=2)])
        with pytest.warns(ContextWarning, match="ContextFilterPlugin is at work"):
            agent.run(TASK)

    def test_a_tool_named_recall_of_the_agents_own_is_refused(self) -> None:
        def recall(product: str) -> str:
            """Recalls a product."""
            return product

        agent = self.made(Brain(looking(1)), FoldawayPlugin(budget=BUDGET), tools=[recall])
        with pytest.raises(RuntimeError, match="a tool named recall") as caught:
            agent.run(TASK)
        assert isinstance(caught.value.__cause__, SettingsError)

    def test_declared_tools_are_linked(self) -> None:
        @declared_tool(reads=["topic"], produces=["result"])
        def find(topic: str) -> str:
            """Looks a topic up."""
            return look(topic)

        agent = self.made(Brain(looking(2)), FoldawayPlugin(budget=BUDGET), tools=[look, FunctionTool(find)])
        agent.run(TASK)
        assert [e["tool"] for e in agent.session().ledger if e["type"] == "declare"] == ["find"]


class TestContents:
    """The codec: there and back without loss, and copies where a view says something else."""

    def called(self) -> list[Numbered]:
        call = types.Part(function_call=types.FunctionCall(name="look", args={"topic": "ä"}), thought_signature=b"s")
        answers = [{"result": "found"}, {"rows": [1]}]
        return numbered([
            types.Content(role="model", parts=[types.Part(text="hm", thought=True), call, call]),
            types.Content(role="user", parts=[
                types.Part(function_response=types.FunctionResponse(name="look", response=a)) for a in answers]),
        ])  # fmt: skip

    def test_calls_and_responses_without_ids_are_paired_by_name_in_order(self) -> None:
        said, answered = self.called()
        assert said.ids == ("", "call_1", "call_2")
        assert answered.ids == ("call_1", "call_2")
        [wire] = CODEC.to_wire(answered)
        assert [b["content"] for b in wire["content"]] == ["found", '{"rows": [1]}']

    def test_a_rewritten_part_keeps_its_signature_and_gets_no_id(self) -> None:
        said, answered = self.called()
        [wire] = CODEC.to_wire(said)
        cut = {**wire["content"][1], "input": {"topic": "o"}}
        [made] = CODEC.from_wire([{**wire, "content": [wire["content"][0], cut, wire["content"][2]]}], said)
        thought, first, second = made.content.parts
        assert thought is said.content.parts[0]
        assert (first.function_call.args, first.function_call.id, first.thought_signature) == (
            {"topic": "o"},
            None,
            b"s",
        )
        assert second is said.content.parts[2]
        [wire] = CODEC.to_wire(answered)
        [folded] = CODEC.from_wire([{**wire, "content": [{**wire["content"][1], "content": "gone"}]}], answered)
        response = folded.content.parts[0].function_response
        assert (response.response, response.name, response.id) == ({"result": "gone"}, "look", None)

    def test_pictures_and_parts_of_other_kinds_stay_as_they_came(self) -> None:
        parts = [
            types.Part(text="see"),
            types.Part(inline_data=types.Blob(data=b"\x00", mime_type="image/png")),
            types.Part(inline_data=types.Blob(data=b"\x01", mime_type="audio/wav")),
            types.Part(executable_code=types.ExecutableCode(code="1", language="PYTHON")),
        ]
        [like] = numbered([types.Content(role="user", parts=parts)])
        [wire] = CODEC.to_wire(like)
        assert json.loads(json.dumps(wire)) == wire
        [made] = CODEC.from_wire([{**wire, "content": [{"type": "text", "text": "less"}, *wire["content"][1:]]}], like)
        assert made.content.parts[0].text == "less"
        assert all(new is old for new, old in zip(made.content.parts[1:], parts[1:], strict=True))
        assert CODEC.to_wire(numbered([types.Content(role="user")])[0]) == []

    def test_parts_of_all_kinds_come_back_where_nothing_tells_what_they_were(self) -> None:
        parts = [
            types.Part(text="see"),
            types.Part(inline_data=types.Blob(data=b"\x00", mime_type="image/png")),
            types.Part(inline_data=types.Blob(data=b"\xff\xfe", mime_type="audio/wav")),
            types.Part(file_data=types.FileData(file_uri="gs://x", mime_type="application/pdf")),
        ]
        [like] = numbered([types.Content(role="user", parts=parts)])
        [made] = CODEC.from_wire(json.loads(json.dumps(CODEC.to_wire(like))), None)
        assert made.content == like.content

    def test_messages_of_our_own_are_made_whole(self) -> None:
        exchange: list[Message] = [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "r", "name": "recall", "input": {"ids": "#3"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "r", "content": "text"}]},
        ]
        said, result = CODEC.from_wire(exchange, None)
        assert said.content.role == "model"
        assert said.content.parts[0].function_call.args == {"ids": "#3"}
        answer = result.content.parts[0].function_response
        assert (answer.id, answer.name, answer.response) == ("r", "recall", {"result": "text"})
