"""Strands' agents with Foldaway, played with a model of Strands' own base class."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from pathlib import Path
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

REASON = "Strands is not installed: `make adapters` sets an environment up that has it"
pytest.importorskip("strands", reason=REASON)

import strands
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.middleware import InvokeModelStage
from strands.models.model import Model
from strands.session import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException, EventLoopException

from foldaway.adapters._base import ContextWarning
from foldaway.adapters._strands_messages import StrandsMessages
from foldaway.adapters.strands import OFFLOADER, FoldawayConversationManager

CODEC = StrandsMessages()
LOOK = strands.tool(look, description="Looks a topic up.")


class ScriptedModel(Model):
    """A model that says what a `Brain` says, piece by piece."""

    def __init__(self, brain: Brain) -> None:
        self.brain = brain

    def update_config(self, **config: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, tool_specs: Any = None, *args: Any, **kw: Any) -> AsyncIterator[Any]:
        wire = [json.loads(json.dumps(part)) for message in messages for part in CODEC.to_wire(message)]
        raw = [{k: v for k, v in m.items() if k in ("role", "content")} for m in messages]
        reply: Reply = self.brain.answer(wire, [spec["name"] for spec in tool_specs or ()], raw)
        yield {"messageStart": {"role": "assistant"}}
        if reply.text:
            yield {"contentBlockStart": {"start": {}}}
            for piece in reply.text.split():
                text = piece if reply.text.startswith(piece) else f" {piece}"
                yield {"contentBlockDelta": {"delta": {"text": text}}}
            yield {"contentBlockStop": {}}
        for call in reply.calls:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": call.name, "toolUseId": call.id}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": call.text}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if reply.calls else "end_turn"}}


class StrandsAgents:
    """An agent for each conversation: Strands keeps one history an agent. One manager serves all of them."""

    def __init__(
        self, brain: Brain, budget: int | None, store: Store | None, earlier: Agent | None, settings: dict[str, Any]
    ) -> None:
        self._brain, self._budget, self._store, self._settings = brain, budget, store, settings
        self._earlier = earlier if isinstance(earlier, StrandsAgents) else None
        self._shared = None if store is not None or budget is None else self._manager("")
        self.agents: dict[str, strands.Agent] = {}

    def run(self, task: str, *, key: str = "main", mode: str = "sync") -> str:
        agent = self.agents.get(key) or self._agent(key)
        match mode:
            case "sync":
                return str(agent(task)).strip()
            case "async":
                return str(asyncio.run(agent.invoke_async(task))).strip()
            case _:
                return asyncio.run(_last(agent, task))

    def session(self, key: str = "main") -> Session:
        agent = self.agents[key]
        session: Session = agent.conversation_manager.session(agent.conversation_manager.key(agent))
        return session

    def _manager(self, name: str) -> FoldawayConversationManager:
        return FoldawayConversationManager(budget=self._budget, store=self._store, name=name, **self._settings)

    def _agent(self, key: str) -> strands.Agent:
        manager = self._shared if self._budget is None or self._shared else self._manager(key)
        if self._budget is None:
            manager = SlidingWindowConversationManager(window_size=10_000)
        known = self._earlier.agents[key].messages if self._earlier and key in self._earlier.agents else []
        made = self.agents[key] = strands.Agent(
            ScriptedModel(self._brain), tools=[LOOK], system_prompt=SYSTEM, conversation_manager=manager,
            messages=list(known), callback_handler=None,
        )  # fmt: skip
        return made


async def _last(agent: strands.Agent, task: str) -> str:
    pieces: list[str] = []
    async for event in agent.stream_async(task):
        if event.get("start_event_loop"):
            pieces.clear()
        if "data" in event:
            pieces.append(event["data"])
    return "".join(pieces)


class TestStrands(AdapterContract):
    format: ClassVar[str] = "anthropic_messages"
    modes: ClassVar[Sequence[str]] = ("sync", "async", "astream")
    over_budget: ClassVar[type[Exception]] = ContextWindowOverflowException
    model_error: ClassVar[type[Exception]] = EventLoopException

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> StrandsAgents:  # fmt: skip
        return StrandsAgents(brain, budget, store, earlier, settings)

    def made(self, brain: Brain, **given: Any) -> strands.Agent:
        given.setdefault("conversation_manager", FoldawayConversationManager(budget=BUDGET))
        given.setdefault("tools", [LOOK])
        return strands.Agent(ScriptedModel(brain), callback_handler=None, **given)

    def test_the_agent_keeps_the_whole_history(self) -> None:
        agents = self.agent(Brain(looking(STEPS)), budget=BUDGET)
        agents.run(TASK)
        assert look("topic-2") in json.dumps(agents.agents["main"].messages).replace("\\n", "\n")
        assert len(agents.agents["main"].messages) == 2 * STEPS + 2

    def test_a_session_manager_gives_the_session_and_all_that_another_manager_took_out(self, tmp_path: Path) -> None:
        def stored(manager: Any, brain: Brain) -> strands.Agent:
            kept = FileSessionManager(session_id="s1", storage_dir=str(tmp_path))
            return self.made(brain, agent_id="clerk", session_manager=kept, conversation_manager=manager)

        stored(SlidingWindowConversationManager(window_size=4), Brain(looking(STEPS)))(TASK)
        brain = Brain(looking(2, prefix="later"))
        manager = FoldawayConversationManager(budget=BUDGET)
        stored(manager, brain)("And the next ones.")
        assert TASK in brain.seen[0].text
        assert len(manager.session("clerk:s1").messages) > 2 * STEPS + 2
        self.check(brain.seen)

    def test_a_store_without_a_name_that_lasts_is_refused(self) -> None:
        manager = FoldawayConversationManager(budget=BUDGET, store="memory")
        with pytest.raises(SettingsError, match="session_manager"):
            self.made(Brain(looking(1)), conversation_manager=manager)

    def test_a_named_manager_serves_one_agent(self) -> None:
        manager = FoldawayConversationManager(budget=BUDGET, name="s")
        self.made(Brain(looking(1)), conversation_manager=manager)
        with pytest.raises(SettingsError, match="one for each"):
            self.made(Brain(looking(1)), conversation_manager=manager)

    def test_an_overflow_at_the_provider_shrinks_the_budget(self) -> None:
        def script(n: int, request: Any) -> Reply:
            if n in (STEPS, STEPS + 1):
                raise ContextWindowOverflowException("too long")
            return looking(STEPS + 2)(n, request)

        brain = Brain(script)
        agent = self.made(brain, conversation_manager=FoldawayConversationManager(budget=3 * BUDGET))
        with pytest.warns(ContextWarning, match="the provider took no request"):
            agent(TASK)
        sizes = [len(json.dumps(request.messages)) for request in brain.seen]
        assert sizes[STEPS] > sizes[STEPS + 1] > sizes[STEPS + 2]
        assert len(brain.seen) == STEPS + 3

    def test_an_overflow_that_nothing_helps_against_comes_through(self) -> None:
        def script(n: int, request: Any) -> Reply:
            raise ContextWindowOverflowException("too long")

        brain = Brain(script)
        agent = self.made(brain, conversation_manager=FoldawayConversationManager(budget=3 * BUDGET))
        with pytest.warns(ContextWarning), pytest.raises(ContextWindowOverflowException, match="too long"):
            agent(look("topic-1") * 20)
        assert len(brain.seen) <= 3

    def test_blocks_made_anew_for_each_call_do_not_enter_the_history(self) -> None:
        brain = Brain(looking(STEPS))
        agent = self.made(brain)
        count = iter(range(100))

        def clock(context: Any) -> Any:
            last = {**context.messages[-1], "content": [*context.messages[-1]["content"], {"text": f"t{next(count)}"}]}
            return context.replace(messages=[*context.messages[:-1], last], dynamic_trailing_blocks=1)

        agent.add_middleware(InvokeModelStage.Input, clock)
        agent(TASK)
        assert [r.messages[-1]["content"][-1]["text"] for r in brain.seen] == [f"t{n}" for n in range(STEPS + 1)]
        session = agent.conversation_manager.session()
        assert session.branch == 0
        assert "t3" not in [b.get("text") for m in session.messages for b in m["content"]]
        self.check(brain.seen)

    def test_user_and_assistant_take_turns_as_bedrock_wants_it(self) -> None:
        def script(n: int, request: Any) -> Reply:
            return looking(1, last=look(f"topic-{n}"))(n, request)

        brain = Brain(script)
        agent = self.made(brain, conversation_manager=FoldawayConversationManager(budget=2 * BUDGET))
        for turn in range(12):
            agent(f"Task {turn}.")
        self.check(brain.seen, 2 * BUDGET)
        for request in brain.seen:
            roles = [m["role"] for m in request.raw]
            assert all(one != other for one, other in pairwise(roles))
        last = [block for m in brain.seen[-1].raw for block in m["content"]]
        assert [b["text"] for b in last if b.get("text", "").startswith("Task")] == [f"Task {n}." for n in range(12)]

    @pytest.mark.parametrize("place", ["params", "additional_request_fields"])
    @pytest.mark.parametrize("kind", ["enabled", "adaptive", "disabled"])
    def test_thinking_that_is_switched_on_is_kept_in_the_open_loop(self, place: str, kind: str) -> None:
        class Thinking(ScriptedModel):
            def get_config(self) -> dict[str, Any]:
                return {place: {"thinking": {"type": kind}}, "params" if place != "params" else "other": None}

        manager = FoldawayConversationManager(budget=BUDGET)
        strands.Agent(Thinking(Brain(looking(1))), tools=[LOOK], conversation_manager=manager, callback_handler=None)(
            TASK
        )
        assert manager.session().engine.log.quirks.thinking is (kind != "disabled")

    def test_an_offloader_at_work_is_told_of(self) -> None:
        offloader = strands.tool(look, name=OFFLOADER, description="Brings back.")
        with pytest.warns(ContextWarning, match="context offloader is at work"):
            self.made(Brain(looking(1)), tools=[LOOK, offloader])(TASK)

    def test_a_tool_named_recall_of_the_agents_own_is_refused(self) -> None:
        own = strands.tool(look, name="recall", description="Recalls a product.")
        with pytest.raises(SettingsError, match="recall"):
            self.made(Brain(looking(1)), tools=[own])

    def test_declared_tools_are_linked(self) -> None:
        @strands.tool(name="seek", description="Looks a topic up.")
        @declared_tool(reads=["topic"], produces=["result"])
        def find(topic: str) -> str:
            return look(topic)

        agent = self.made(Brain(looking(2)), tools=[LOOK, find])
        agent(TASK)
        ledger = agent.conversation_manager.session().ledger
        assert [e["tool"] for e in ledger if e["type"] == "declare"] == ["seek"]


class TestMessages:
    """The codec: there and back without loss, and copies where a view says something else."""

    def test_what_stays_of_a_message_is_the_very_block_that_came(self) -> None:
        picture = {"image": {"format": "png", "source": {"bytes": b"\x00\x01"}}}
        paper = {"document": {"format": "pdf", "name": "p", "source": {"bytes": b"%PDF"}}}
        like: dict[str, Any] = {
            "role": "user", "content": [{"text": "see"}, picture, paper], "metadata": {"custom": {}},
        }  # fmt: skip
        [wire] = CODEC.to_wire(like)
        assert json.loads(json.dumps(wire)) == wire
        [made] = CODEC.from_wire([{**wire, "content": [{"type": "text", "text": "less"}, *wire["content"][1:]]}], like)
        assert made["content"][0] == {"text": "less"}
        assert made["content"][1] is picture
        assert made["content"][2] is paper
        assert made["metadata"] == {"custom": {}}
        assert like["content"][0] == {"text": "see"}

    def test_blocks_of_all_kinds_come_back_where_nothing_tells_what_they_were(self) -> None:
        kinds: list[dict[str, Any]] = [
            {"text": "see"},
            {"image": {"format": "png", "source": {"bytes": b"\x00\x01"}}},
            {"document": {"format": "pdf", "name": "p", "source": {"bytes": b"%PDF"}}},
            {"video": {"format": "mp4", "source": {"location": {"type": "s3", "uri": "s3://x"}}}},
        ]
        like = {"role": "user", "content": kinds}
        assert CODEC.from_wire(json.loads(json.dumps(CODEC.to_wire(like))), None) == [like]

    def test_results_keep_status_and_the_parts_that_stay(self) -> None:
        table = {"json": {"rows": [1]}}
        result = {"toolUseId": "c1", "status": "error", "content": [table, {"text": "long"}]}
        like = {"role": "user", "content": [{"toolResult": result}]}
        [wire] = CODEC.to_wire(like)
        block = wire["content"][0]
        assert block["is_error"] is True
        shorter = {**block, "content": [block["content"][0], {"type": "text", "text": "short"}]}
        [made] = CODEC.from_wire([{**wire, "content": [shorter]}], like)
        assert made["content"][0]["toolResult"] == {**result, "content": [table, {"text": "short"}]}
        [folded] = CODEC.from_wire([{**wire, "content": [{**block, "content": "gone"}]}], like)
        assert folded["content"][0]["toolResult"]["content"] == [{"text": "gone"}]

    def test_reasoning_goes_there_and_back(self) -> None:
        thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}
        sealed = {"reasoningContent": {"redactedContent": b"x"}}
        use = {"toolUse": {"toolUseId": "c", "name": "look", "input": {"topic": "ä"}, "reasoningSignature": "r"}}
        like = {"role": "assistant", "content": [thought, sealed, use]}
        [wire] = CODEC.to_wire(like)
        assert [b["type"] for b in wire["content"]] == ["thinking", "redacted_thinking", "tool_use"]
        cut = {**wire["content"][2], "input": {"topic": "o"}}
        [made] = CODEC.from_wire([{**wire, "content": [*wire["content"][:2], cut]}], like)
        assert made["content"][:2] == [thought, sealed]
        assert made["content"][2]["toolUse"] == {**use["toolUse"], "input": {"topic": "o"}}

    def test_messages_of_our_own_are_made_whole(self) -> None:
        exchange: list[Message] = [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "r", "name": "recall", "input": {"ids": "#3"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "r", "content": "text"}]},
            {"role": "user", "content": "[foldaway] note"},
        ]
        said, result, note = CODEC.from_wire(exchange, None)
        assert said["content"][0]["toolUse"]["input"] == {"ids": "#3"}
        assert result["content"][0]["toolResult"] == {
            "toolUseId": "r", "status": "success", "content": [{"text": "text"}],
        }  # fmt: skip
        assert note == {"role": "user", "content": [{"text": "[foldaway] note"}]}
