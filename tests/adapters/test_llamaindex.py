"""LlamaIndex' agents, chat engines and memories with Foldaway, played with LlamaIndex' own mock model."""

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
from foldaway.stores.memory import MemoryStore
from foldaway.testing.adapter_contract import BUDGET, STEPS, TASK, AdapterContract
from foldaway.testing.replies import Reply
from foldaway.testing.scripted_agent import SYSTEM, Agent, Brain, look, looking

REASON = "LlamaIndex is not installed: `make adapters` sets an environment up that has it"
pytest.importorskip("llama_index.core", reason=REASON)

from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.tools import FunctionTool

from foldaway.adapters._base import ContextWarning
from foldaway.adapters._llamaindex_messages import LlamaIndexMessages
from foldaway.adapters.llamaindex import FoldawayAgent, FoldawayBlock, FoldawayMemory, recall_tool

# LlamaIndex uses older names of pydantic.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")
CODEC = LlamaIndexMessages()
LOOK = FunctionTool.from_defaults(look, description="Looks a topic up.")


def scripted(brain: Brain, *, streamed: bool = False) -> MockFunctionCallingLLM:
    """LlamaIndex' mock, saying what a `Brain` says."""

    def answer(messages: Sequence[ChatMessage], tools: Sequence[Any] = (), **kwargs: Any) -> Any:
        wire = [json.loads(json.dumps(part)) for message in messages for part in CODEC.to_wire(message)]
        raw = [message.model_dump() for message in messages]
        reply: Reply = brain.answer(wire, [tool.metadata.name for tool in tools], raw)
        return _pieces(reply) if streamed else _said(reply, reply.text)

    return MockFunctionCallingLLM(response_generator=answer, is_chat_model=True)


def _said(reply: Reply, text: str) -> ChatMessage:
    blocks: list[Any] = [TextBlock(text=text)] if text else []
    for call in reply.calls:
        blocks.append(ToolCallBlock(tool_call_id=call.id, tool_name=call.name, tool_kwargs=json.loads(call.text)))
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks)


async def _pieces(reply: Reply) -> AsyncIterator[ChatMessage]:
    words = reply.text.split()
    for upto in range(1, len(words)):
        yield ChatMessage(role=MessageRole.ASSISTANT, content=" ".join(words[:upto]))
    yield _said(reply, reply.text)


class LlamaAgents:
    """A function agent, and a memory for each conversation."""

    def __init__(
        self, brain: Brain, budget: int | None, store: Store | None, earlier: Agent | None, settings: dict[str, Any]
    ) -> None:
        self._brain, self._budget, self._store, self._settings = brain, budget, store, settings
        self._earlier = earlier if isinstance(earlier, LlamaAgents) else None
        self.memories: dict[str, Any] = {}

    def run(self, task: str, *, key: str = "main", mode: str = "async") -> str:
        return asyncio.run(self._run(task, key, mode == "astream"))

    def session(self, key: str = "main") -> Session:
        session: Session = self.memories[key].session()
        return session

    async def _run(self, task: str, key: str, streamed: bool) -> str:
        made = FunctionAgent if self._budget is None else FoldawayAgent
        agent = made(
            tools=[LOOK], llm=scripted(self._brain, streamed=streamed), system_prompt=SYSTEM, streaming=streamed,
            timeout=None,
        )  # fmt: skip
        handler = agent.run(user_msg=task, memory=self._memory(key), max_iterations=10_000)
        last = ""
        async for event in handler.stream_events():
            if isinstance(event, AgentStream):
                last = event.response
        said = str((await handler).response.content)
        assert not streamed or last == said
        return said

    def _memory(self, key: str) -> Any:
        if key not in self.memories:
            self.memories[key] = made = self._new(key)
            if self._earlier and key in self._earlier.memories:
                made.set(self._earlier.memories[key].get_all())
        return self.memories[key]

    def _new(self, key: str) -> Any:
        if self._budget is None:
            return ChatMemoryBuffer.from_defaults(token_limit=10**9)
        return FoldawayMemory(budget=self._budget, store=self._store, session_id=key, per_call=True, **self._settings)


class TestLlamaIndex(AdapterContract):
    modes: ClassVar[Sequence[str]] = ("async", "astream")

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> LlamaAgents:  # fmt: skip
        return LlamaAgents(brain, budget, store, earlier, settings)

    async def once(self, agent: Any, memory: Any) -> Any:
        return await agent.run(user_msg=TASK, memory=memory)

    def test_the_memory_keeps_the_whole_history(self) -> None:
        agent = self.agent(Brain(looking(STEPS)), budget=BUDGET)
        agent.run(TASK)
        kept = agent.memories["main"].get_all()
        assert look("topic-2") in [m.content for m in kept]
        assert len(kept) == 2 * STEPS + 2

    def test_a_memory_that_cuts_itself_is_refused(self) -> None:
        agent = FoldawayAgent(tools=[LOOK], llm=scripted(Brain(looking(1))), streaming=False)
        for memory in (ChatMemoryBuffer.from_defaults(), FoldawayMemory(budget=BUDGET)):
            with pytest.raises(SettingsError, match="per_call=True"):
                asyncio.run(self.once(agent, memory))

    def test_another_agent_with_a_memory_for_ours_is_told_of(self) -> None:
        agent = FunctionAgent(tools=[LOOK], llm=scripted(Brain(looking(6))), streaming=False)
        with pytest.warns(ContextWarning, match="this memory is for FoldawayAgent"):
            asyncio.run(self.once(agent, FoldawayMemory(budget=BUDGET, per_call=True)))

    def test_a_tool_named_recall_of_the_agents_own_is_refused(self) -> None:
        own = FunctionTool.from_defaults(look, name="recall", description="Recalls a product.")
        agent = FoldawayAgent(tools=[own], llm=scripted(Brain(looking(1))), streaming=False)
        with pytest.raises(SettingsError, match="recall"):
            asyncio.run(self.once(agent, FoldawayMemory(budget=BUDGET, per_call=True)))

    def test_declared_tools_are_linked(self) -> None:
        @declared_tool(reads=["topic"], produces=["result"])
        def find(topic: str) -> str:
            """Looks a topic up."""
            return look(topic)

        @declared_tool(reads=["topic"], produces=["result"])
        async def seek(topic: str) -> str:
            """Looks a topic up."""
            return look(topic)

        agent = FoldawayAgent(tools=[LOOK, find, seek], llm=scripted(Brain(looking(2))), streaming=False)
        memory = FoldawayMemory(budget=BUDGET, per_call=True)
        asyncio.run(self.once(agent, memory))
        assert [e["tool"] for e in memory.session().ledger if e["type"] == "declare"] == ["find", "seek"]


class LoopAgents(LlamaAgents):
    """The loop that a program writes around a model and a memory: the memory manages each of its calls."""

    def run(self, task: str, *, key: str = "main", mode: str = "sync") -> str:
        memory, llm = self._memory(key), scripted(self._brain)
        tools = [LOOK] if self._budget is None else [LOOK, recall_tool()]
        memory.put(ChatMessage(task))
        while True:
            seen = asyncio.run(memory.aget()) if mode == "async" else memory.get()
            history = [ChatMessage(SYSTEM, role="system"), *seen]
            answer = llm.chat_with_tools(tools=tools, chat_history=history)
            memory.put(answer.message)
            calls = [block for block in answer.message.blocks if isinstance(block, ToolCallBlock)]
            if not calls:
                return str(answer.message.content)
            for call in calls:
                memory.put(
                    ChatMessage(
                        self._result(memory, call), role="tool", additional_kwargs={"tool_call_id": call.tool_call_id}
                    )
                )

    def _result(self, memory: Any, call: ToolCallBlock) -> str:
        given = dict(call.tool_kwargs)
        if call.tool_name == "look":
            return look(**given)
        said: str = memory.folding.recall(given, key=memory.session_id)
        return said

    def _new(self, key: str) -> Any:
        if self._budget is None:
            return ChatMemoryBuffer.from_defaults(token_limit=10**9)
        return FoldawayMemory(
            budget=self._budget, store=self._store, session_id=key, system=SYSTEM, **self._settings
        )  # fmt: skip


class TestMemoryInALoop(AdapterContract):
    modes: ClassVar[Sequence[str]] = ("sync", "async")
    recall_always_offered = True

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> LoopAgents:  # fmt: skip
        return LoopAgents(brain, budget, store, earlier, settings)

    def test_declared_tools_are_linked(self) -> None:
        @declared_tool(reads=["topic"], produces=["result"])
        def look(topic: str) -> str:
            return topic

        agent = self.agent(Brain(looking(2)), budget=BUDGET, declared=[look])
        agent.run(TASK)
        assert [e["tool"] for e in agent.session().ledger if e["type"] == "declare"] == ["look"]


class TestMemory:
    """The memory alone, in chat engines and plain agents: between the runs."""

    def test_a_chat_engine_shows_its_model_what_fits(self) -> None:
        brain = Brain(lambda n, request: Reply(text=look(f"topic-{n}")))
        memory = FoldawayMemory(budget=BUDGET, recall="directive")
        engine = SimpleChatEngine.from_defaults(llm=scripted(brain), memory=memory)
        for n in range(STEPS):
            engine.chat(f"Topic {n}?")
        assert memory.session().count() > BUDGET
        AdapterContract().check(brain.seen)
        assert "[foldaway" in brain.seen[-1].text
        assert len(memory.get_all()) == 2 * STEPS

    def test_with_room_it_gives_the_very_messages_that_came(self) -> None:
        memory = FoldawayMemory.from_defaults(chat_history=[ChatMessage("Hello.")], budget=BUDGET)
        assert memory.get(input="Hello.")[0] is memory.get_all()[0]
        assert asyncio.run(memory.aget())[0] is memory.get_all()[0]

    def test_it_goes_through_a_dictionary_with_its_settings(self) -> None:
        memory = FoldawayMemory(budget=BUDGET, session_id="s", policy="lru")
        again = FoldawayMemory.from_dict(json.loads(json.dumps(memory.to_dict())))
        assert (again.session_id, again.budget, again.settings) == ("s", BUDGET, {"policy": "lru"})
        again.put(ChatMessage("Hello."))
        assert [m.content for m in again.get()] == ["Hello."]

    def test_a_store_needs_a_name(self) -> None:
        for made in (FoldawayMemory, FoldawayBlock):
            with pytest.raises(SettingsError, match="session_id"):
                made(budget=BUDGET, store="memory")


class TestBlock:
    def test_what_the_frameworks_memory_flushes_is_folded_and_can_be_recalled(self) -> None:
        block = FoldawayBlock(budget=600)
        memory = Memory.from_defaults(token_limit=1000, token_flush_size=200, memory_blocks=[block])

        async def shown() -> list[ChatMessage]:
            for n in range(STEPS):
                await memory.aput(ChatMessage(f"Topic {n}?"))
                await memory.aput(ChatMessage(look(f"topic-{n}"), role="assistant"))
            shown = list(await memory.aget())
            await memory.sql_store._async_engine.dispose()
            return shown

        messages = asyncio.run(shown())
        assert messages[0].role == "system"
        text = str(messages[0].content)
        assert "Topic 0?" in text
        assert look("topic-0") not in text
        session = block.session()
        [item] = [i.id for i in session.items() if "entry of topic-0\n" in session.engine.log.text_of(i)]
        [tool] = block.tools
        assert look("topic-0") in tool.call(ids=f"#{item}").content
        assert "Nothing was brought back" in tool.call(ids="").content or "99" in tool.call(ids="#999").content

    def test_a_pin_holds_and_a_block_resumes_from_its_store_alone(self) -> None:
        store = MemoryStore()
        said = [ChatMessage(look(f"topic-{n}"), role=("user", "assistant")[n % 2]) for n in range(10)]
        block = FoldawayBlock(budget=1_200, store=store, session_id="a")
        asyncio.run(block.aput(said))
        assert look("topic-1") not in asyncio.run(block.aget())
        session = block.session()
        [item] = [i.id for i in session.items() if "entry of topic-1\n" in session.engine.log.text_of(i)]
        session.pin(item)
        shown = asyncio.run(block.aget())
        assert look("topic-1") in shown
        assert asyncio.run(FoldawayBlock(budget=1_200, store=store, session_id="a").aget()) == shown
        assert asyncio.run(FoldawayBlock(budget=1_200, store=store, session_id="b").aget()) == ""

    def test_calls_are_told_in_words_and_an_empty_block_says_nothing(self) -> None:
        block = FoldawayBlock(budget=600)
        assert asyncio.run(block.aget()) == ""
        call = ToolCallBlock(tool_call_id="c", tool_name="look", tool_kwargs={"topic": "x"})
        said = [
            ChatMessage("Look."), ChatMessage(role="assistant", blocks=[call]),
            ChatMessage("found", role="tool", additional_kwargs={"tool_call_id": "c"}),
        ]  # fmt: skip
        asyncio.run(block.aput(said, from_short_term_memory=True, session_id="s"))
        assert asyncio.run(block.aget()) == 'user: Look.\nassistant calls look({"topic": "x"})\ntool: found'

    def test_it_truncates_by_folding_more(self) -> None:
        block = FoldawayBlock(budget=4_000)
        said = [ChatMessage(look(f"topic-{n}"), role=("user", "assistant")[n % 2]) for n in range(10)]
        asyncio.run(block.aput(said))
        whole = asyncio.run(block.aget())
        less = asyncio.run(block.atruncate(whole, 500))
        assert less is not None
        assert len(less) < len(whole)
        assert asyncio.run(block.atruncate(whole, 100_000)) is None


class TestMessages:
    """The codec: there and back without loss, and copies where a view says something else."""

    def said(self) -> ChatMessage:
        call = ToolCallBlock(tool_call_id="c1", tool_name="look", tool_kwargs={"topic": "ä"})
        blocks = [
            ThinkingBlock(content="hm", additional_information={"signature": "s"}),
            TextBlock(text="I look."),
            call,
        ]
        return ChatMessage(role="assistant", blocks=blocks, additional_kwargs={"x": 1})

    def test_blocks_that_stay_are_the_ones_that_came(self) -> None:
        said = self.said()
        [wire] = CODEC.to_wire(said)
        assert wire["reasoning_content"] == "hm"
        assert wire["tool_calls"][0]["function"]["arguments"] == '{"topic": "ä"}'
        [made] = CODEC.from_wire([{**wire, "content": "Less."}], said)
        assert made.blocks[0] is said.blocks[0]
        assert made.blocks[1].text == "Less."
        assert made.blocks[2] is said.blocks[2]
        assert made.additional_kwargs == {"x": 1}
        [gone] = CODEC.from_wire([{"role": "assistant", "content": "I look."}], said)
        assert [type(b) for b in gone.blocks] == [TextBlock]

    def test_calls_in_the_additional_kwargs_are_read_and_written_too(self) -> None:
        calls = [
            {"id": name, "type": "function", "function": {"name": "look", "arguments": '{"topic": "x"}'}}
            for name in "ab"
        ]
        said = ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": calls})
        [wire] = CODEC.to_wire(said)
        assert [c["id"] for c in wire["tool_calls"]] == ["a", "b"]
        cut = {**wire["tool_calls"][1], "function": {"name": "look", "arguments": "{}"}}
        [made] = CODEC.from_wire([{**wire, "tool_calls": [cut]}], said)
        assert [c["function"]["arguments"] for c in made.additional_kwargs["tool_calls"]] == ["{}"]
        assert len(said.additional_kwargs["tool_calls"]) == 2

    def test_pictures_stay_as_they_came(self) -> None:
        picture = ImageBlock(image=b"\x89PNG\r\n\x1a\n", image_mimetype="image/png")
        like = ChatMessage(role="user", blocks=[TextBlock(text="see"), picture])
        [wire] = CODEC.to_wire(like)
        assert wire["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
        [made] = CODEC.from_wire([{**wire, "content": [{"type": "text", "text": "less"}, wire["content"][1]]}], like)
        assert made.blocks[1] is picture

    def test_blocks_of_all_kinds_come_back_where_nothing_tells_what_they_were(self) -> None:
        blocks = [
            TextBlock(text="see"),
            ImageBlock(image=b"\x89PNG\r\n\x1a\n", image_mimetype="image/png"),
            ImageBlock(url="https://example.org/a.png"),
            DocumentBlock(data=b"%PDF-1.4 abc", document_mimetype="application/pdf"),
        ]
        wire = CODEC.to_wire(ChatMessage(role="user", blocks=blocks))
        [made] = CODEC.from_wire(json.loads(json.dumps(wire)), None)
        assert CODEC.to_wire(made) == wire
        assert [type(block) for block in made.blocks] == [type(block) for block in blocks]

    def test_messages_of_our_own_are_made_whole(self) -> None:
        exchange: list[Message] = [
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "r", "type": "function", "function": {"name": "recall", "arguments": '{"ids": "#3"}'}}]},
            {"role": "tool", "tool_call_id": "r", "content": "text"},
        ]  # fmt: skip
        said, result = CODEC.from_wire(exchange, None)
        assert said.blocks[0].tool_kwargs == {"ids": "#3"}
        assert result.additional_kwargs == {"tool_call_id": "r", "name": "recall"}
