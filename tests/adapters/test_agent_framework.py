"""Microsoft Agent Framework's agents with Foldaway, played with a chat client made of the framework's own layers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar

import pytest

from foldaway import tool as declared_tool
from foldaway.errors import OverBudget, SettingsError
from foldaway.model.wire import Message as WireMessage
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.testing.adapter_contract import BUDGET, STEPS, TASK, AdapterContract
from foldaway.testing.replies import Reply
from foldaway.testing.scripted_agent import SYSTEM, Agent, Brain, look, looking

REASON = "Microsoft Agent Framework is not installed: `make adapters` sets an environment up that has it"
pytest.importorskip("agent_framework", reason=REASON)

import agent_framework
from agent_framework import (
    EXCLUDED_KEY,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    FunctionTool,
    Message,
    SlidingWindowStrategy,
)
from agent_framework.exceptions import ChatClientException

from foldaway.adapters._agent_framework_messages import AgentFrameworkMessages
from foldaway.adapters._base import ContextWarning
from foldaway.adapters.agent_framework import FoldawayMiddleware, FoldawayStrategy

CODEC = AgentFrameworkMessages()
LOOK = FunctionTool(name="look", description="Looks a topic up.", func=look)


class ScriptedClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """A chat client that says what a `Brain` says, whole or piece by piece."""

    def __init__(self, brain: Brain) -> None:
        super().__init__()
        self.brain = brain
        self.function_invocation_configuration["max_iterations"] = 10_000

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> Any:
        if stream:
            return self._build_response_stream(self._pieces(messages, options))
        return self._whole(messages, options)

    async def _whole(self, messages: Any, options: Any) -> ChatResponse:
        return ChatResponse(messages=[Message("assistant", _contents(self._reply(messages, options)))])

    async def _pieces(self, messages: Any, options: Any) -> AsyncIterator[ChatResponseUpdate]:
        reply = self._reply(messages, options)
        for piece in reply.text.split():
            text = piece if reply.text.startswith(piece) else f" {piece}"
            yield ChatResponseUpdate(contents=[Content.from_text(text)], role="assistant")
        for content in _contents(reply):
            if content.type != "text":
                yield ChatResponseUpdate(contents=[content], role="assistant")

    def _reply(self, messages: Any, options: Any) -> Reply:
        told = [Message("system", [options["instructions"]])] if options.get("instructions") else []
        wire = [json.loads(json.dumps(part)) for m in [*told, *messages] for part in CODEC.to_wire(m)]
        raw = [_plain(m) for m in [*told, *messages]]
        reply: Reply = self.brain.answer(wire, [tool.name for tool in options.get("tools") or ()], raw)
        return reply


def _plain(message: Message) -> dict[str, Any]:
    """Without what is not sent to services, and without the framework's random ids of calls."""
    told = message.to_dict(exclude={"additional_properties", "message_id"})
    return {**told, "contents": [{k: v for k, v in c.items() if k != "id"} for c in told["contents"]]}


def _contents(reply: Reply) -> list[Content]:
    calls = [Content.from_function_call(c.id, c.name, arguments=c.text) for c in reply.calls]
    return [*([Content.from_text(reply.text)] if reply.text else []), *calls]


class Framework:
    """An agent with one middleware for all sessions, or an agent with a strategy for each."""

    def __init__(
        self, brain: Brain, budget: int | None, store: Store | None, earlier: Agent | None, settings: dict[str, Any],
        *, strategic: bool,
    ) -> None:  # fmt: skip
        self._brain, self._budget, self._store, self._settings = brain, budget, store, settings
        self._strategic = strategic
        self.middleware: FoldawayMiddleware | None = None
        self.strategies: dict[str, FoldawayStrategy] = {}
        self.sessions: dict[str, AgentSession] = {}
        if budget is not None and not strategic:
            self.middleware = FoldawayMiddleware(budget=budget, store=store, **settings)
        if isinstance(earlier, Framework):
            # As they are kept: through their dictionaries.
            self.sessions = {k: AgentSession.from_dict(s.to_dict()) for k, s in earlier.sessions.items()}

    def run(self, task: str, *, key: str = "main", mode: str = "async") -> str:
        return asyncio.run(self._run(task, key, mode))

    def session(self, key: str = "main") -> Session:
        return self.middleware.session(key) if self.middleware else self.strategies[key].session()

    async def _run(self, task: str, key: str, mode: str) -> str:
        session = self.sessions.setdefault(key, AgentSession(session_id=key))
        agent = self._agent(key)
        if mode == "async":
            return str((await agent.run(task, session=session)).messages[-1].text)
        pieces = [update async for update in agent.run(task, session=session, stream=True)]
        ends = [i for i, update in enumerate(pieces) if any(c.type != "text" for c in update.contents)]
        return "".join(update.text for update in pieces[max(ends, default=-1) + 1 :])

    def _agent(self, key: str) -> agent_framework.Agent:
        tools, given = [LOOK], dict[str, Any]()
        if self._strategic and self._budget is not None:
            if key not in self.strategies:
                self.strategies[key] = FoldawayStrategy(
                    budget=self._budget, store=self._store, name=key, system=SYSTEM, tools=[LOOK], **self._settings
                )
            given["compaction_strategy"] = self.strategies[key]
            tools += self.strategies[key].tools
        elif self.middleware:
            given["middleware"] = [self.middleware]
            tools += self.middleware.tools
        return agent_framework.Agent(ScriptedClient(self._brain), instructions=SYSTEM, tools=tools, **given)


class TestMiddleware(AdapterContract):
    modes: ClassVar[Sequence[str]] = ("async", "astream")
    over_budget: ClassVar[type[Exception]] = ChatClientException

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> Framework:  # fmt: skip
        return Framework(brain, budget, store, earlier, settings, strategic=False)

    def made(self, brain: Brain, middleware: FoldawayMiddleware, *tools: Any, **given: Any) -> agent_framework.Agent:
        tools = (LOOK, *tools, *middleware.tools)
        return agent_framework.Agent(ScriptedClient(brain), tools=list(tools), middleware=[middleware], **given)

    def test_an_overflow_is_also_our_own_error_with_its_figures(self) -> None:
        with pytest.raises(OverBudget) as caught:
            self.agent(Brain(looking(1)), budget=20).run(TASK)
        assert caught.value.missing_tokens > 0

    def test_the_session_keeps_the_whole_history(self) -> None:
        agent = self.agent(Brain(looking(STEPS)), budget=BUDGET)
        agent.run(TASK)
        kept = json.dumps(agent.sessions["main"].to_dict())
        assert all(f"end of topic-{n}" in kept for n in range(STEPS))

    def test_runs_without_a_session_are_told_by_their_history(self) -> None:
        brain = Brain(looking(STEPS))
        middleware = FoldawayMiddleware(budget=BUDGET)
        asyncio.run(self.made(brain, middleware).run(TASK))
        assert middleware.session().branch == 0
        assert len(middleware.session().messages) == 2 * STEPS + 1
        self.check(brain.seen)

    def test_another_manager_at_work_is_told_of(self) -> None:
        middleware = FoldawayMiddleware(budget=BUDGET)
        window = SlidingWindowStrategy(keep_last_groups=3)
        with pytest.warns(ContextWarning, match="SlidingWindowStrategy is at work"):
            asyncio.run(self.made(Brain(looking(3)), middleware, compaction_strategy=window).run(TASK))

    def test_a_conversation_that_the_service_keeps_is_left_alone(self) -> None:
        brain = Brain(looking(1))
        middleware = FoldawayMiddleware(budget=BUDGET)
        with pytest.warns(ContextWarning, match="leaves it alone"):
            asyncio.run(self.made(brain, middleware).run(TASK, options={"conversation_id": "c1"}))
        assert middleware.folding.sessions() == []

    def test_a_tool_named_recall_of_the_agents_own_is_refused(self) -> None:
        own = FunctionTool(name="recall", description="Recalls a product.", func=look)
        middleware = FoldawayMiddleware(budget=BUDGET)
        agent = agent_framework.Agent(ScriptedClient(Brain(looking(1))), tools=[own], middleware=[middleware])
        with pytest.raises(SettingsError, match="recall"):
            asyncio.run(agent.run(TASK))

    def test_declared_tools_are_linked(self) -> None:
        @declared_tool(reads=["topic"], produces=["result"])
        def find(topic: str) -> str:
            """Looks a topic up."""
            return look(topic)

        middleware = FoldawayMiddleware(budget=BUDGET)
        asyncio.run(self.made(Brain(looking(2)), middleware, find).run(TASK))
        assert [e["tool"] for e in middleware.session().ledger if e["type"] == "declare"] == ["find"]


class TestStrategy(AdapterContract):
    modes: ClassVar[Sequence[str]] = ("async", "astream")
    over_budget: ClassVar[type[Exception]] = ChatClientException
    recall_always_offered = True

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> Framework:  # fmt: skip
        return Framework(brain, budget, store, earlier, settings, strategic=True)

    def played(self, strategy: FoldawayStrategy, messages: list[Message]) -> bool:
        return asyncio.run(strategy(messages))

    def long(self) -> list[Message]:
        said = [Message("user", [TASK])]
        for n in range(STEPS):
            call = Content.from_function_call(f"c{n}", "look", arguments={"topic": f"topic-{n}"})
            said.append(Message("assistant", [call]))
            said.append(Message("tool", [Content.from_function_result(f"c{n}", result=look(f"topic-{n}"))]))
        return said

    def test_what_is_folded_stays_in_the_list_and_is_marked(self) -> None:
        strategy, messages = FoldawayStrategy(budget=BUDGET), self.long()
        originals = list(messages)
        assert self.played(strategy, messages) is True
        assert [m for m in messages if m in originals] == originals
        assert any(m.additional_properties.get(EXCLUDED_KEY) for m in originals)
        shown = [m for m in messages if not m.additional_properties.get(EXCLUDED_KEY)]
        assert "[foldaway" in json.dumps([m.to_dict() for m in shown])
        # Again with the list as it is now: nothing new.
        assert [m.to_dict() for m in shown] == self.again(strategy, messages)

    def again(self, strategy: FoldawayStrategy, messages: list[Message]) -> list[dict[str, Any]]:
        self.played(strategy, messages)
        return [m.to_dict() for m in messages if not m.additional_properties.get(EXCLUDED_KEY)]

    def test_what_another_strategy_excluded_is_left_out_and_told_of(self) -> None:
        strategy, messages = FoldawayStrategy(budget=BUDGET), self.long()
        for message in messages[1:3]:
            message.additional_properties[EXCLUDED_KEY] = True
        with pytest.warns(ContextWarning, match="another compaction strategy is at work"):
            self.played(strategy, messages)
        assert len(strategy.session().messages) == 2 * STEPS - 1

    def test_a_store_needs_a_name(self) -> None:
        with pytest.raises(SettingsError, match="name="):
            FoldawayStrategy(budget=BUDGET, store="memory")

    def test_declared_tools_are_linked(self) -> None:
        @declared_tool(reads=["topic"], produces=["result"])
        def find(topic: str) -> str:
            """Looks a topic up."""
            return look(topic)

        strategy = FoldawayStrategy(budget=BUDGET, tools=[find])
        self.played(strategy, self.long())
        assert [e["tool"] for e in strategy.session().ledger if e["type"] == "declare"] == ["find"]


class TestMessages:
    """The codec: there and back without loss, and copies where a view says something else."""

    def said(self) -> Message:
        call = Content.from_function_call("c1", "look", arguments={"topic": "ä"})
        thought = Content.from_text_reasoning(text="hm", protected_data="sealed")
        return Message("assistant", [thought, "I look.", call], message_id="m1", additional_properties={"x": 1})

    def test_contents_that_stay_are_the_ones_that_came(self) -> None:
        said = self.said()
        [wire] = CODEC.to_wire(said)
        assert (wire["reasoning_content"], wire["content"]) == ("hm", "I look.")
        [made] = CODEC.from_wire([{**wire, "content": "Less."}], said)
        assert made.contents[0] is said.contents[0]
        assert made.contents[1].text == "Less."
        assert made.contents[2] is said.contents[2]
        assert (made.message_id, made.additional_properties) == ("m1", {"x": 1})
        [cut] = CODEC.from_wire([{**wire, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}], said)  # fmt: skip
        assert cut.contents[2].arguments == "{}"
        assert said.contents[2].arguments == {"topic": "ä"}

    def test_results_of_several_calls_stay_one_message(self) -> None:
        like = Message("tool", [Content.from_function_result(t, result=t, exception=None) for t in "ab"])
        first, second = CODEC.to_wire(like)
        [made] = CODEC.from_wire([first, {**second, "content": "less"}], like)
        assert made.contents[0] is like.contents[0]
        assert (made.contents[1].result, made.contents[1].items[0].text) == ("less", "less")
        assert like.contents[1].result == "b"
        [fewer] = CODEC.from_wire([second], like)
        assert [c.call_id for c in fewer.contents] == ["b"]

    def test_pictures_and_contents_of_other_kinds_stay_as_they_came(self) -> None:
        contents = [
            Content.from_text("see"),
            Content.from_data(b"\x00", media_type="image/png"),
            Content.from_hosted_file("f1"),
        ]
        like = Message("user", contents)
        [wire] = CODEC.to_wire(like)
        assert json.loads(json.dumps(wire)) == wire
        [made] = CODEC.from_wire([{**wire, "content": [{"type": "text", "text": "less"}, *wire["content"][1:]]}], like)
        assert made.contents[0].text == "less"
        assert all(new is old for new, old in zip(made.contents[1:], contents[1:], strict=True))

    def test_contents_of_all_kinds_come_back_where_nothing_tells_what_they_were(self) -> None:
        contents = [
            Content.from_text("see"),
            Content.from_data(b"\x00", media_type="image/png"),
            Content.from_uri("https://example.org/a.png", media_type="image/png"),
            Content.from_data(b"%PDF", media_type="application/pdf"),
            Content.from_hosted_file("f1"),
        ]
        wire = CODEC.to_wire(Message("user", contents))
        [made] = CODEC.from_wire(json.loads(json.dumps(wire)), None)
        assert CODEC.to_wire(made) == wire

    def test_messages_of_our_own_are_made_whole(self) -> None:
        exchange: list[WireMessage] = [
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "r", "type": "function", "function": {"name": "recall", "arguments": '{"ids": "#3"}'}}]},
            {"role": "tool", "tool_call_id": "r", "content": "text"},
        ]  # fmt: skip
        said, result = CODEC.from_wire(exchange, None)
        assert (said.contents[0].name, said.contents[0].arguments) == ("recall", '{"ids": "#3"}')
        assert (result.contents[0].call_id, result.contents[0].result) == ("r", "text")
