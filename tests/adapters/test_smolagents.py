"""smolagents' agents with Foldaway, played with a scripted model of smolagents' own base class."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from foldaway import tool as declared_tool
from foldaway.errors import SettingsError
from foldaway.model.wire import Message
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.testing.adapter_contract import BUDGET, STEPS, TASK, AdapterContract
from foldaway.testing.replies import Call, Reply
from foldaway.testing.scripted_agent import SYSTEM, Agent, Brain, Request, calling, look, looking

REASON = "smolagents is not installed: `make adapters` sets an environment up that has it"
pytest.importorskip("smolagents", reason=REASON)
pytestmark = pytest.mark.filterwarnings("ignore:Function 'look_declared' has decorators other than")

from smolagents import CodeAgent, Tool, ToolCallingAgent
from smolagents import tool as smol_tool
from smolagents.agents import AgentGenerationError, PromptTemplates
from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    MessageRole,
    Model,
    agglomerate_stream_deltas,
    get_clean_message_list,
    tool_role_conversions,
)
from smolagents.monitoring import LogLevel

from foldaway.adapters._base import ContextWarning
from foldaway.adapters._smolagents_messages import SmolMessages, turns
from foldaway.adapters.smolagents import FoldawayModel

CODEC = SmolMessages()


class Look(Tool):  # type: ignore[misc, unused-ignore]
    name = "look"
    description = "Looks a topic up."
    inputs = {"topic": {"type": "string", "description": "which"}}  # noqa: RUF012
    output_type = "string"

    def forward(self, topic: str) -> str:
        return look(topic)


class ScriptedModel(Model):  # type: ignore[misc, unused-ignore]
    """A model that says what a `Brain` says, whole or piece by piece."""

    def __init__(self, brain: Brain) -> None:
        super().__init__(model_id="scripted")
        self.brain = brain

    def generate(self, messages: list[ChatMessage], **given: Any) -> ChatMessage:
        return agglomerate_stream_deltas(list(self.generate_stream(messages, **given)))

    def generate_stream(self, messages: list[ChatMessage], **given: Any) -> Iterator[ChatMessageStreamDelta]:
        tools = given.get("tools_to_call_from") or []
        # What the framework's own models make of messages before they send them.
        raw = get_clean_message_list(messages, role_conversions=tool_role_conversions)
        wire = [json.loads(json.dumps(part)) for turn in turns(messages) for part in CODEC.to_wire(turn)]
        reply = self.brain.answer(wire, [tool.name for tool in tools], raw)
        if reply.calls and reply.text:
            yield ChatMessageStreamDelta(content=reply.text)
        ending = (Call(name="final_answer", arguments={"answer": reply.text}, id=f"end_{len(self.brain.seen)}"),)
        for at, call in enumerate(reply.calls or ending):
            function = ChatMessageToolCallFunction(name=call.name, arguments=call.text)
            delta = ChatMessageToolCallStreamDelta(index=at, id=call.id, type="function", function=function)
            yield ChatMessageStreamDelta(content="", tool_calls=[delta])


class SmolAgent:
    """smolagents keeps a conversation in an agent, so there is an agent for each."""

    def __init__(self, model: Any, foldaway: FoldawayModel | None, earlier: Agent | None) -> None:
        self.model, self.foldaway = model, foldaway
        self.agents: dict[str, Any] = {}
        self._earlier = earlier.agents if isinstance(earlier, SmolAgent) else {}

    def run(self, task: str, *, key: str = "main", mode: str = "sync") -> str:
        agent = self.agents.get(key) or self._new(key)
        agent.stream_outputs = mode == "stream"
        result = agent.run(task, reset=False, stream=mode == "stream")
        return str(result if mode == "sync" else list(result)[-1].output)

    def session(self, key: str = "main") -> Session:
        assert self.foldaway is not None
        return self.foldaway.session(key)

    def _new(self, key: str) -> Any:
        model = self.model if self.foldaway is None else self.foldaway.named(key)
        agent = self.agents[key] = tool_calling(model, [Look(), *(self.foldaway.tools if self.foldaway else ())])
        if key in self._earlier:
            agent.memory.steps = list(self._earlier[key].memory.steps)
        return agent


def tool_calling(model: Any, tools: list[Any], **given: Any) -> Any:
    made = ToolCallingAgent(tools=tools, model=model, max_steps=1_000, verbosity_level=LogLevel.OFF, **given)
    # The framework's own prompt lists the tools, so it would tell of the recall tool.
    made.prompt_templates = PromptTemplates(**{**made.prompt_templates, "system_prompt": SYSTEM})
    return made


class TestSmolagents(AdapterContract):
    modes = ("sync", "stream")
    over_budget: ClassVar[type[Exception]] = AgentGenerationError
    model_error: ClassVar[type[Exception]] = AgentGenerationError

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> SmolAgent:  # fmt: skip
        model = ScriptedModel(brain)
        foldaway = None if budget is None else FoldawayModel(model, budget=budget, store=store, **settings)
        return SmolAgent(model, foldaway, earlier)

    def test_the_agents_memory_stays_whole(self) -> None:
        agent = self.agent(Brain(looking(STEPS)), budget=BUDGET)
        agent.run(TASK)
        steps = agent.agents["main"].memory.steps
        assert [step.observations for step in steps[1:-1]] == [look(f"topic-{n}") for n in range(STEPS)]


class TestModel:
    def test_a_code_agent_sees_its_steps_folded_and_may_recall_in_code(self) -> None:
        def script(n: int, request: Request) -> Reply:
            if n == STEPS:
                return Reply(text='print(recall(ids="topic-2"))')
            return Reply(text=f'print(look("topic-{n}"))' if n < STEPS else 'final_answer("All done.")')

        brain = Brain(script)
        foldaway = FoldawayModel(CodingModel(brain), budget=2 * BUDGET, session="code")
        agent = CodeAgent(tools=[Look(), *foldaway.tools], model=foldaway, max_steps=50, verbosity_level=LogLevel.OFF)
        agent.prompt_templates = PromptTemplates(**{**agent.prompt_templates, "system_prompt": SYSTEM})
        assert agent.run(TASK) == "All done."
        assert "entry of topic-2\n" not in brain.seen[STEPS].text
        assert "entry of topic-2\n" in brain.seen[STEPS + 1].text
        AdapterContract().check(brain.seen, 2 * BUDGET)
        assert foldaway.session().branch == 0

    def test_plans_and_managed_agents_on_the_same_model_are_conversations_of_their_own(self) -> None:
        brain = Brain(looking(4))
        foldaway = FoldawayModel(ScriptedModel(brain), budget=BUDGET, session="main")
        boss = tool_calling(foldaway, [Look(), *foldaway.tools])
        boss.run(TASK)
        helper = tool_calling(foldaway, [Look(), *foldaway.tools])
        helper.prompt_templates = PromptTemplates(**{**helper.prompt_templates, "system_prompt": "You help."})
        helper.run("INNER task")
        boss.provide_final_answer(TASK)
        session = foldaway.session()
        assert session.branch == 0
        assert "INNER" not in json.dumps(session.messages)
        assert "INNER" not in brain.seen[-1].text

    def test_an_agent_that_plans_first_has_its_steps_and_not_its_plan_in_the_session(self) -> None:
        def script(n: int, request: Request) -> Reply:
            return calling("look", n, topic=f"topic-{n}") if n < 8 and request.tools else Reply(text="Then.")

        foldaway = FoldawayModel(ScriptedModel(Brain(script)), budget=BUDGET, session="main")
        tool_calling(foldaway, [Look(), *foldaway.tools], planning_interval=5).run(TASK)
        messages = foldaway.session("main").messages
        assert messages[0] == {"role": "system", "content": SYSTEM}
        assert "end of topic-4" in json.dumps(messages)

    def test_an_agent_without_the_recall_tool_is_told_of(self) -> None:
        agent = tool_calling(FoldawayModel(ScriptedModel(Brain(looking(1))), budget=BUDGET), [Look()])
        with pytest.warns(ContextWarning, match="no recall tool"):
            agent.run(TASK)

    def test_a_tool_named_recall_of_the_agents_own_is_refused(self) -> None:
        own = Look()
        own.name = "recall"
        agent = tool_calling(FoldawayModel(ScriptedModel(Brain(looking(1))), budget=BUDGET), [own])
        with pytest.raises(AgentGenerationError, match="recall") as caught:
            agent.run(TASK)
        assert isinstance(caught.value.__cause__, SettingsError)

    def test_declared_tools_are_linked(self) -> None:
        @smol_tool
        @declared_tool(reads=["topic"], produces=["result"])
        def look_declared(topic: str) -> str:
            """Looks a topic up.

            Args:
                topic: which
            """
            return "found"

        foldaway = FoldawayModel(ScriptedModel(Brain(looking(1))), budget=BUDGET, session="a")
        tool_calling(foldaway, [look_declared, Look(), *foldaway.tools]).run(TASK)
        assert [e["tool"] for e in foldaway.session().ledger if e["type"] == "declare"] == ["look_declared"]

    def test_in_all_else_it_is_the_model_it_wraps(self) -> None:
        class Silent(Model):  # type: ignore[misc, unused-ignore]
            def generate(self, messages: Any, **given: Any) -> ChatMessage:
                return ChatMessage(MessageRole.ASSISTANT, "x")

        inner = Silent(model_id="m", temperature=1)
        wrapped = FoldawayModel(inner, budget=BUDGET)
        assert (wrapped.model_id, wrapped.kwargs) == ("m", {"temperature": 1})
        assert wrapped.to_dict() == inner.to_dict()
        assert not hasattr(wrapped, "generate_stream")
        assert wrapped([{"role": "user", "content": [{"type": "text", "text": "hi"}]}]).content == "x"


class CodingModel(ScriptedModel):
    """Answers in code, as a code agent wants it."""

    def generate(self, messages: list[ChatMessage], **given: Any) -> ChatMessage:
        wire = [json.loads(json.dumps(part)) for turn in turns(messages) for part in CODEC.to_wire(turn)]
        reply = self.brain.answer(wire, [], None)
        return ChatMessage(MessageRole.ASSISTANT, f"Thought: next.\n<code>\n{reply.text}\n</code>")


def message(role: MessageRole, text: str) -> ChatMessage:
    return ChatMessage(role, [{"type": "text", "text": text}])


class TestMessages:
    """Steps as tool spans and back."""

    def step(self, calls: list[dict[str, Any]], *results: str) -> list[ChatMessage]:
        return [
            message(MessageRole.ASSISTANT, "I look."),
            message(MessageRole.TOOL_CALL, f"Calling tools:\n{calls}"),
            *(message(MessageRole.TOOL_RESPONSE, text) for text in results),
        ]

    def call(self, id: str, topic: str) -> dict[str, Any]:
        return {"id": id, "type": "function", "function": {"name": "look", "arguments": {"topic": topic}}}

    def test_the_messages_of_a_step_are_a_call_and_its_result(self) -> None:
        step = self.step([self.call("c1", "ä")], "Observation:\nfound", "Error:\nlate")
        [task, turn] = turns([message(MessageRole.USER, "t"), *step])
        assert turn.messages == tuple(step)
        said, got = CODEC.to_wire(turn)
        assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {"topic": "ä"}
        assert said["tool_calls"][0]["id"] == got["tool_call_id"] == "c1"
        assert [block["text"] for block in got["content"]] == ["Observation:\nfound", "Error:\nlate"]
        assert CODEC.to_wire(task) == [{"role": "user", "content": "t"}]

    def test_several_calls_of_a_step_share_its_result(self) -> None:
        [turn] = turns(self.step([self.call("c1", "a"), self.call("c2", "b")], "Observation:\nboth"))
        said, got = CODEC.to_wire(turn)
        assert said["tool_calls"][0]["function"]["name"] == "look+look"
        assert said["tool_calls"][0]["id"] == got["tool_call_id"] == "step_0"

    def test_ids_that_repeat_are_told_by_their_place(self) -> None:
        step = self.step([self.call("c1", "a")], "Observation:\nfound")
        assert [turn.call for turn in turns([*step, *step])] == ["c1", "step_1"]

    def test_a_step_that_failed_before_any_call_is_one_too(self) -> None:
        failed = [message(MessageRole.ASSISTANT, "{"), message(MessageRole.TOOL_RESPONSE, "Error:\nno JSON")]
        [turn] = turns(failed)
        said, got = CODEC.to_wire(turn)
        [back] = CODEC.from_wire([said, {**got, "content": "less"}], turn)
        assert [m.role for m in back.messages] == [MessageRole.ASSISTANT, MessageRole.TOOL_RESPONSE]
        assert back.messages[0] is failed[0]

    def test_a_rewritten_result_leaves_the_call_alone(self) -> None:
        step = self.step([self.call("c1", "a")], "Observation:\nfound")
        [turn] = turns(step)
        said, got = CODEC.to_wire(turn)
        [back] = CODEC.from_wire([said, {**got, "content": "less"}], turn)
        assert back.messages[:2] == tuple(step[:2])
        assert back.messages[2] == message(MessageRole.TOOL_RESPONSE, "less")

    def test_messages_of_our_own_are_made_whole(self) -> None:
        exchange: list[Message] = [
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "r", "type": "function", "function": {"name": "recall", "arguments": '{"ids": "#3"}'}}]},
            {"role": "tool", "tool_call_id": "r", "content": "text"},
        ]  # fmt: skip
        made = [m for turn in CODEC.from_wire(exchange, None) for m in turn.messages]
        [turn] = turns(made)
        assert CODEC.to_wire(turn) == exchange

    def test_pictures_go_with_the_result_of_their_step(self) -> None:
        image = pytest.importorskip("PIL.Image", reason="pillow is not installed").new("RGB", (2, 2))
        step = self.step([self.call("c1", "a")], "Observation:\nfound")
        step.insert(2, ChatMessage(MessageRole.USER, [{"type": "image", "image": image}]))
        [turn] = turns(step)
        said, got = CODEC.to_wire(turn)
        assert [block["type"] for block in got["content"]] == ["image_url", "text"]
        [same] = CODEC.from_wire([{**said, "content": "Less."}, got], turn)
        assert same.messages[2] is step[2]
        [less] = CODEC.from_wire([said, {**got, "content": "less"}], turn)
        assert [m.role for m in less.messages] == ["assistant", "tool-call", "tool-response"]
