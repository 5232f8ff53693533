"""LangChain's and LangGraph's agents with Foldaway, played with a fake chat model of LangChain's own base class."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, ClassVar

import pytest

from foldaway import tool as declared_tool
from foldaway.errors import OverBudget, SettingsError
from foldaway.model.wire import Message
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.testing.adapter_contract import BUDGET, STEPS, TASK, AdapterContract
from foldaway.testing.replies import Call, Reply
from foldaway.testing.scripted_agent import SYSTEM, Agent, Brain, Request, look, looking

REASON = "LangChain is not installed: `make adapters` sets an environment up that has it"
pytest.importorskip("langchain", reason=REASON)
pytest.importorskip("langgraph", reason=REASON)

from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent

from foldaway.adapters._base import ContextWarning, Folding
from foldaway.adapters._langchain_messages import LangChainMessages
from foldaway.adapters.langchain import FoldawayMiddleware
from foldaway.adapters.langgraph import PreModelHook

CODEC = LangChainMessages()
LOOK = StructuredTool.from_function(look, description="Looks a topic up.")


class ScriptedChat(BaseChatModel):
    """A chat model that says what a `Brain` says, whole or piece by piece."""

    brain: Any
    thinking: Any = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(t) for t in tools], **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kw: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_said(self._reply(messages, kw)))])

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kw: Any
    ) -> Iterator[ChatGenerationChunk]:
        reply = self._reply(messages, kw)
        for piece in reply.text.split():
            text = piece if reply.text.startswith(piece) else f" {piece}"
            yield ChatGenerationChunk(message=AIMessageChunk(content=text))
        for at, call in enumerate(reply.calls):
            part = {"name": call.name, "args": call.text, "id": call.id, "index": at}
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[part]))
        yield ChatGenerationChunk(message=AIMessageChunk(content="", chunk_position="last"))

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kw: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, **kw):
            yield chunk

    def _reply(self, messages: list[BaseMessage], kw: dict[str, Any]) -> Reply:
        # Providers take no other messages than these; a copy through JSON stands for what would be sent.
        convert_to_messages(messages)
        wire = [json.loads(json.dumps(part)) for message in messages for part in CODEC.to_wire(message)]
        raw = [message.model_dump(exclude={"id"}) for message in messages]
        reply: Reply = self.brain.answer(wire, [t["function"]["name"] for t in kw.get("tools", ())], raw)
        return reply


def _said(reply: Reply) -> AIMessage:
    calls = [{"name": c.name, "args": json.loads(c.text), "id": c.id} for c in reply.calls]
    return AIMessage(content=reply.text, tool_calls=calls)


class GraphAgent:
    """A compiled graph, run in each of the ways there are."""

    def __init__(self, graph: Any, folding: Folding[Any] | None, name: str = "") -> None:
        self.graph, self.folding, self._name = graph, folding, name

    def run(self, task: str, *, key: str = "main", mode: str = "sync") -> str:
        config = {"configurable": {"thread_id": key}, "recursion_limit": 10_000}
        given = {"messages": [HumanMessage(task)]}
        match mode:
            case "sync":
                last = self.graph.invoke(given, config)["messages"][-1]
            case "async":
                last = asyncio.run(self.graph.ainvoke(given, config))["messages"][-1]
            case "stream":
                streamed = [m for m, about in self.graph.stream(given, config, stream_mode="messages")]
                return _tail(streamed)
            case _:
                return _tail(asyncio.run(_collect(self.graph.astream(given, config, stream_mode="messages"))))
        return str(last.text)

    def session(self, key: str = "main") -> Session:
        assert self.folding is not None
        return self.folding.session(key)


async def _collect(stream: Any) -> list[Any]:
    return [message async for message, about in stream]


def _tail(streamed: list[Any]) -> str:
    """The pieces of the last answer, joined."""
    ids = [m.id for m in streamed if isinstance(m, AIMessageChunk)]
    return "".join(str(m.text) for m in streamed if m.id == ids[-1])


class TestLangChain(AdapterContract):
    over_budget: ClassVar[type[Exception]] = ContextOverflowError

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> GraphAgent:  # fmt: skip
        middleware = [] if budget is None else [FoldawayMiddleware(budget=budget, store=store, **settings)]
        saver = earlier.graph.checkpointer if isinstance(earlier, GraphAgent) else InMemorySaver()
        graph = create_agent(
            ScriptedChat(brain=brain), [LOOK], middleware=middleware, system_prompt=SYSTEM, checkpointer=saver
        )
        return GraphAgent(graph, middleware[0].folding if middleware else None)

    def test_an_overflow_is_also_our_own_error_with_its_figures(self) -> None:
        with pytest.raises(OverBudget) as caught:
            self.agent(Brain(looking(1)), budget=20).run(TASK)
        assert caught.value.missing_tokens > 0

    def test_the_state_of_the_graph_keeps_the_whole_history(self) -> None:
        agent = self.agent(Brain(looking(STEPS)), budget=BUDGET)
        agent.run(TASK)
        kept = agent.graph.get_state({"configurable": {"thread_id": "main"}}).values["messages"]
        assert look("topic-2") in [m.content for m in kept]
        assert len(kept) == 2 * STEPS + 2

    def test_runs_without_a_thread_are_told_by_their_history(self) -> None:
        brain = Brain(looking(STEPS))
        middleware = FoldawayMiddleware(budget=BUDGET)
        graph = create_agent(ScriptedChat(brain=brain), [LOOK], middleware=[middleware], system_prompt=SYSTEM)
        out = graph.invoke({"messages": [HumanMessage(TASK)]}, {"recursion_limit": 1_000})
        graph.invoke({"messages": [*out["messages"], HumanMessage("Go on.")]}, {"recursion_limit": 1_000})
        session = middleware.session()
        assert len(session.messages) > 2 * STEPS + 2
        assert session.branch == 0
        self.check(brain.seen)

    def test_agents_that_a_tool_calls_are_conversations_of_their_own(self) -> None:
        middleware = FoldawayMiddleware(budget=BUDGET)
        inner = create_agent(
            ScriptedChat(brain=Brain(lambda n, request: Reply(text="Found."))), middleware=[middleware]
        )

        def ask(topic: str) -> str:
            """Asks a helper."""
            return str(inner.invoke({"messages": [HumanMessage(f"INNER {topic}")]})["messages"][-1].text)

        def script(n: int, request: Request) -> Reply:
            calls = [Call(name="ask", arguments={"topic": f"{n}{side}"}, id=f"c{n}{side}") for side in "ab"]
            return Reply(calls=calls) if n < 2 else Reply(text="Done.")

        outer = create_agent(
            ScriptedChat(brain=Brain(script)), [ask], middleware=[middleware], checkpointer=InMemorySaver()
        )
        outer.invoke({"messages": [HumanMessage(TASK)]}, {"configurable": {"thread_id": "main"}})
        main, *helpers = middleware.folding.sessions()
        assert main is middleware.session("main")
        assert "INNER" not in json.dumps(main.messages)
        assert len(main.messages) == 7
        assert sorted(helper.messages[0]["content"] for helper in helpers) == [
            "INNER 0a", "INNER 0b", "INNER 1a", "INNER 1b",
        ]  # fmt: skip

    def test_agents_without_names_in_one_graph_have_their_nodes(self) -> None:
        middleware = FoldawayMiddleware(budget=BUDGET)
        graph: Any = StateGraph(MessagesState)
        for name in ("alice", "bob"):
            brain = Brain(lambda n, request: Reply(text="Well."))
            graph.add_node(name, create_agent(ScriptedChat(brain=brain), middleware=[middleware]))
        graph.add_edge(START, "alice").add_edge("alice", "bob")
        whole = graph.compile(checkpointer=InMemorySaver())
        for _ in range(2):
            whole.invoke({"messages": [HumanMessage(TASK)]}, {"configurable": {"thread_id": "main"}})
        assert sorted(session.name for session in middleware.folding.sessions()) == ["main:alice", "main:bob"]

    def test_another_manager_at_work_is_told_of(self) -> None:
        brain = Brain(looking(STEPS))
        editing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=800, keep=2)])
        middleware = [editing, FoldawayMiddleware(budget=BUDGET)]
        graph = create_agent(ScriptedChat(brain=brain), [LOOK], middleware=middleware)
        with pytest.warns(ContextWarning, match="ContextEditingMiddleware is at work"):
            graph.invoke({"messages": [HumanMessage(TASK)]}, {"recursion_limit": 1_000})

    def test_a_tool_named_recall_of_the_agents_own_is_refused(self) -> None:
        own = StructuredTool.from_function(look, name="recall", description="Recalls a product.")
        graph = create_agent(
            ScriptedChat(brain=Brain(looking(1))), [own], middleware=[FoldawayMiddleware(budget=BUDGET)]
        )
        with pytest.raises((SettingsError, ValueError), match="recall"):
            graph.invoke({"messages": [HumanMessage(TASK)]})

    def test_thinking_that_is_switched_on_is_kept_in_the_open_loop(self) -> None:
        brain = Brain(looking(2))
        middleware = FoldawayMiddleware(budget=BUDGET)
        model = ScriptedChat(brain=brain, thinking={"type": "enabled", "budget_tokens": 1024})
        create_agent(model, [LOOK], middleware=[middleware]).invoke({"messages": [HumanMessage(TASK)]})
        assert middleware.session().engine.log.quirks.thinking

    def test_declared_tools_are_linked(self) -> None:
        @declared_tool(reads=["topic"], produces=["result"])
        def look_declared(topic: str) -> str:
            """Looks a topic up."""
            return look(topic)

        middleware = FoldawayMiddleware(budget=BUDGET)
        graph = create_agent(ScriptedChat(brain=Brain(looking(2))), [look_declared, LOOK], middleware=[middleware])
        graph.invoke({"messages": [HumanMessage(TASK)]})
        assert [e["tool"] for e in middleware.session().ledger if e["type"] == "declare"] == ["look_declared"]


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
class TestLangGraph(AdapterContract):
    over_budget: ClassVar[type[Exception]] = ContextOverflowError
    recall_always_offered = True

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> GraphAgent:  # fmt: skip
        given: dict[str, Any] = {"system": SYSTEM, "tools": [LOOK], **settings}
        hook = None if budget is None else PreModelHook(budget=budget, store=store, **given)
        saver = earlier.graph.checkpointer if isinstance(earlier, GraphAgent) else InMemorySaver()
        tools = [LOOK, *(hook.tools if hook else ())]
        graph = create_react_agent(
            ScriptedChat(brain=brain), tools, prompt=SYSTEM, pre_model_hook=hook, checkpointer=saver
        )
        return GraphAgent(graph, hook.folding if hook else None)

    def test_declared_tools_are_linked(self) -> None:
        @declared_tool(reads=["topic"], produces=["result"])
        def look_declared(topic: str) -> str:
            """Looks a topic up."""
            return look(topic)

        hook = PreModelHook(budget=BUDGET, tools=[LOOK, look_declared])
        tools = [LOOK, StructuredTool.from_function(look_declared), *hook.tools]
        graph = create_react_agent(ScriptedChat(brain=Brain(looking(2))), tools, pre_model_hook=hook)
        graph.invoke({"messages": [HumanMessage(TASK)]}, {"recursion_limit": 1_000})
        assert [e["tool"] for e in hook.session().ledger if e["type"] == "declare"] == ["look_declared"]

    def test_a_state_that_is_trimmed_or_summarised_is_told_of(self) -> None:
        hook, thread = PreModelHook(budget=BUDGET), {"configurable": {"thread_id": "t"}}
        talk = [
            HumanMessage(TASK),
            *(m for n in range(8) for m in (AIMessage(look(f"topic-{n}")), HumanMessage("On."))),
        ]
        hook.invoke({"messages": talk}, thread)
        with pytest.warns(ContextWarning, match="something else"):
            hook.invoke({"messages": [*talk[5:], AIMessage("Yes."), HumanMessage("And?")]}, thread)
        summary = HumanMessage("So far: ...", additional_kwargs={"lc_source": "summarization"})
        with pytest.warns(ContextWarning, match="SummarizationMiddleware is at work"):
            hook.invoke({"messages": [summary, HumanMessage("And?")]}, {"configurable": {"thread_id": "u"}})

    def test_a_graph_of_ones_own_reads_what_the_hook_writes(self) -> None:
        hook = PreModelHook(budget=BUDGET, recall="directive", messages_key="talk")
        assert hook.tools == []
        said = [HumanMessage(TASK), AIMessage("Done.")]
        assert hook.invoke({"talk": said}) == {"llm_input_messages": said}
        assert asyncio.run(hook.ainvoke({"talk": said}))["llm_input_messages"][0] is said[0]


class TestMessages:
    """The codec: there and back without loss, and copies where a view says something else."""

    def both(self) -> list[BaseMessage]:
        call = {"name": "look", "args": {"topic": "ä"}, "id": "c1", "type": "tool_call"}
        blocks: list[Any] = [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {"topic": "ä"}},
        ]
        picture = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
        return [
            SystemMessage("s"),
            HumanMessage([{"type": "text", "text": "see"}, picture], id="h", name="bob"),
            AIMessage(blocks, tool_calls=[call], id="a", response_metadata={"model": "m"}),
            ToolMessage("found", tool_call_id="c1", name="look", artifact={"rows": 3}, status="error", id="t"),
        ]

    def test_a_rewritten_message_keeps_ids_names_and_artifacts(self) -> None:
        result = self.both()[3]
        [made] = CODEC.from_wire([{**CODEC.to_wire(result)[0], "content": "less"}], result)
        assert made.content == "less"
        assert (made.id, made.name, made.artifact, made.status) == ("t", "look", {"rows": 3}, "error")
        assert result.content == "found"

    def test_blocks_that_stay_are_the_ones_that_came(self) -> None:
        said = self.both()[2]
        [wire] = CODEC.to_wire(said)
        [made] = CODEC.from_wire([{**wire, "content": wire["content"][1:]}], said)
        assert made.content == said.content[1:]
        assert made.tool_calls == said.tool_calls
        [seen] = CODEC.from_wire([{**CODEC.to_wire(self.both()[1])[0]}], self.both()[1])
        assert seen.content == self.both()[1].content

    def test_a_call_that_goes_takes_its_block_along(self) -> None:
        said = self.both()[2]
        [wire] = CODEC.to_wire(said)
        gone = {key: value for key, value in wire.items() if key != "tool_calls"}
        [made] = CODEC.from_wire([gone], said)
        assert made.tool_calls == []
        assert [b["type"] for b in made.content] == ["thinking", "text"]

    def test_messages_of_our_own_are_made_whole(self) -> None:
        exchange: list[Message] = [
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "r", "type": "function", "function": {"name": "recall", "arguments": '{"ids": "#3"}'}}]},
            {"role": "tool", "tool_call_id": "r", "content": "text"},
        ]  # fmt: skip
        said, result = CODEC.from_wire(exchange, None)
        assert said.tool_calls[0]["args"] == {"ids": "#3"}
        assert (result.content, result.name) == ("text", "recall")
