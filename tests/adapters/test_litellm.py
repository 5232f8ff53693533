"""LiteLLM with Foldaway's logger, played with a custom provider of LiteLLM's own kind."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar

import pytest

from foldaway import tool as declared_tool
from foldaway.errors import OverBudget
from foldaway.model.wire import Message
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.testing.adapter_contract import BUDGET, STEPS, TASK, AdapterContract
from foldaway.testing.replies import reply_body
from foldaway.testing.scripted_agent import ARGUMENT, SYSTEM, TOOL, TOOL_DESCRIPTION, Agent, Brain, look, looking

# Or it asks the network for prices at import.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
REASON = "LiteLLM is not installed: `make adapters` sets an environment up that has it"
pytest.importorskip("litellm", reason=REASON)
pytestmark = [
    # LiteLLM's own: it reads and writes fields of its models in ways that pydantic warns of.
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),
    pytest.mark.filterwarnings("ignore:Items? .* using the `ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

import litellm
import openai
from litellm import CustomLLM, ModelResponse
from litellm.exceptions import ContextWindowExceededError

from foldaway.adapters._base import ContextWarning
from foldaway.adapters.litellm import FoldawayLogger

SCHEMA = {"type": "object", "properties": {ARGUMENT: {"type": "string"}}, "required": [ARGUMENT]}
LOOK = {"type": "function", "function": {"name": TOOL, "description": TOOL_DESCRIPTION, "parameters": SCHEMA}}
_numbers = itertools.count()


class Scripted(CustomLLM):  # type: ignore[misc, unused-ignore]
    """A provider whose models are brains."""

    def __init__(self) -> None:
        super().__init__()
        self.brains: dict[str, Brain] = {}

    def completion(self, model: str, messages: list[Message], optional_params: dict[str, Any], **_: Any) -> Any:
        tools = [tool["function"]["name"] for tool in optional_params.get("tools") or ()]
        sent = json.loads(json.dumps(messages))
        reply = self.brains[model].answer(sent, tools, sent)
        return ModelResponse(**reply_body("openai_chat", reply, model))

    async def acompletion(self, **call: Any) -> Any:
        return self.completion(**call)

    def streaming(self, **call: Any) -> Iterator[dict[str, Any]]:
        message = self.completion(**call).choices[0].message
        chunk = {"text": "", "is_finished": False, "finish_reason": "", "usage": None, "index": 0, "tool_use": None}
        for piece in (message.content or "").partition(" "):
            if piece:
                yield {**chunk, "text": piece}
        for at, made in enumerate(message.tool_calls or ()):
            function = {"name": made.function.name, "arguments": made.function.arguments}
            yield {**chunk, "tool_use": {"id": made.id, "type": "function", "function": function, "index": at}}
        reason = "tool_calls" if message.tool_calls else "stop"
        yield {**chunk, "is_finished": True, "finish_reason": reason}

    async def astreaming(self, **call: Any) -> AsyncIterator[dict[str, Any]]:
        for chunk in self.streaming(**call):
            yield chunk


SCRIPTED = Scripted()


@pytest.fixture(autouse=True)
def scripted_provider() -> Iterator[None]:
    kept, handlers = list(litellm.callbacks), litellm.custom_provider_map
    litellm.custom_provider_map = [{"provider": "scripted", "custom_handler": SCRIPTED}]
    litellm.utils.custom_llm_setup()
    yield
    litellm.callbacks[:] = kept
    litellm.custom_provider_map = handlers
    SCRIPTED.brains.clear()


def model_of(brain: Brain) -> str:
    name = f"brain-{next(_numbers)}"
    SCRIPTED.brains[name] = brain
    return f"scripted/{name}"


class LoopAgent:
    """The loop that a program writes around LiteLLM, and the histories that it keeps."""

    def __init__(self, model: str, foldaway: FoldawayLogger | None, histories: dict[str, list[Message]]) -> None:
        self.model, self.foldaway, self.histories = model, foldaway, histories
        if foldaway is not None:
            litellm.callbacks.append(foldaway)

    def run(self, task: str, *, key: str = "main", mode: str = "sync") -> str:
        history = self.histories.setdefault(key, [{"role": "system", "content": SYSTEM}])
        history.append({"role": "user", "content": task})
        while True:
            said = self._ask(history, key, mode)
            history.append(said)
            if not said.get("tool_calls"):
                return str(said["content"])
            history += [self._answer(call, key) for call in said["tool_calls"]]

    def session(self, key: str = "main") -> Session:
        assert self.foldaway is not None
        return self.foldaway.session(key)

    def _answer(self, call: dict[str, Any], key: str) -> Message:
        given = json.loads(call["function"]["arguments"])
        if call["function"]["name"] == TOOL:
            text = look(**given)
        else:
            assert self.foldaway is not None
            text = self.foldaway.recall(given, key)
        return {"role": "tool", "tool_call_id": call["id"], "content": text}

    def _ask(self, history: list[Message], key: str, mode: str) -> Message:
        tools = [LOOK, *(self.foldaway.tools if self.foldaway else ())]
        call: dict[str, Any] = {
            "model": self.model, "messages": list(history), "tools": tools, "litellm_session_id": key, "num_retries": 0,
        }  # fmt: skip
        complete = litellm.completion if self.foldaway is None else self.foldaway.completion
        match mode:
            case "sync":
                message = complete(**call).choices[0].message
            case "stream":
                chunks = list(complete(**call, stream=True))
                message = litellm.stream_chunk_builder(chunks).choices[0].message
            case "async":
                message = asyncio.run(_awaited(call)).choices[0].message
            case _:
                chunks = asyncio.run(_streamed(call))
                message = litellm.stream_chunk_builder(chunks).choices[0].message
        return _plain(message)


async def _awaited(call: dict[str, Any]) -> Any:
    return await litellm.acompletion(**call)


async def _streamed(call: dict[str, Any]) -> list[Any]:
    return [chunk async for chunk in await litellm.acompletion(**call, stream=True)]


def _plain(message: Any) -> Message:
    said: Message = {"role": "assistant", "content": message.content or None}
    if message.tool_calls:
        said["tool_calls"] = [
            {
                "id": call.id, "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in message.tool_calls
        ]  # fmt: skip
    return said


class TestLiteLLM(AdapterContract):
    over_budget: ClassVar[type[Exception]] = ContextWindowExceededError
    model_error: ClassVar[type[Exception]] = openai.APIError
    recall_tool: ClassVar[str] = ""

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> LoopAgent:  # fmt: skip
        model = model_of(brain)
        if self.recall_tool:
            settings["recall"] = "tool"
        # Callbacks of LiteLLM are the process's; this one looks after its own model.
        foldaway = None
        if budget is not None:
            foldaway = FoldawayLogger(budget=budget, store=store, when=lambda call: call["model"] == model, **settings)
        return LoopAgent(model, foldaway, dict(earlier.histories) if isinstance(earlier, LoopAgent) else {})

    def test_an_overflow_is_also_our_own_error_with_its_figures(self) -> None:
        with pytest.raises(OverBudget) as caught:
            self.agent(Brain(looking(1)), budget=20).run(TASK)
        assert caught.value.missing_tokens > 0

    def test_the_callers_messages_are_left_alone(self) -> None:
        agent = self.agent(Brain(looking(STEPS)), budget=BUDGET)
        agent.run(TASK, mode="async")
        kept = [message["content"] for message in agent.histories["main"] if message["role"] == "tool"]
        assert kept == [look(f"topic-{n}") for n in range(STEPS)]


class TestLiteLLMWithTheTool(TestLiteLLM):
    recall_tool = "recall"


def hooked(foldaway: FoldawayLogger, call: dict[str, Any], kind: str = "acompletion") -> dict[str, Any] | None:
    made: dict[str, Any] | None = asyncio.run(foldaway.async_pre_call_deployment_hook(call, kind))
    return made


class TestLogger:
    def call(self, **more: Any) -> dict[str, Any]:
        return {"model": "m", "messages": [{"role": "user", "content": TASK}], **more}

    def test_callers_of_the_proxy_who_name_their_sessions_alike_do_not_meet(self) -> None:
        foldaway = FoldawayLogger(budget=BUDGET)
        for caller in ("hash-a", "hash-b"):
            hooked(foldaway, self.call(litellm_session_id="s", metadata={"user_api_key_hash": caller}))
        hooked(foldaway, self.call(metadata={"session_id": "t"}))
        assert sorted(session.name for session in foldaway.folding.sessions()) == ["hash-a:s", "hash-b:s", "t"]

    def test_calls_of_other_kinds_are_left_alone(self) -> None:
        foldaway = FoldawayLogger(budget=20)
        assert hooked(foldaway, self.call(), "aembedding") is None
        assert foldaway.folding.sessions() == []

    def test_messages_given_by_position_are_told_of(self) -> None:
        with pytest.warns(ContextWarning, match="by position"):
            assert hooked(FoldawayLogger(budget=BUDGET), {"model": "m"}) is None

    @pytest.mark.parametrize("kind", ["enabled", "disabled"])
    def test_thinking_that_is_switched_on_is_kept_in_the_open_loop(self, kind: str) -> None:
        foldaway, model = FoldawayLogger(budget=BUDGET), model_of(Brain(looking(0)))
        call = {"model": model, "messages": [{"role": "user", "content": TASK}], "thinking": {"type": kind}}
        foldaway._managed(call)
        assert foldaway.session().engine.log.quirks.thinking is (kind == "enabled")

    def test_another_manager_at_work_is_told_of(self) -> None:
        with pytest.warns(ContextWarning, match="context_management"):
            hooked(FoldawayLogger(budget=BUDGET), self.call(context_management={"edits": []}))

    def test_messages_may_be_objects_of_litellm(self) -> None:
        brain = Brain(looking(0))
        foldaway = FoldawayLogger(budget=BUDGET)
        said = litellm.Message(role="assistant", content="Hello.")
        messages = [*self.call()["messages"], said, {"role": "user", "content": "Go on."}]
        foldaway.completion(model=model_of(brain), messages=messages, litellm_session_id="a")
        assert foldaway.session("a").messages[1] == {"role": "assistant", "content": "Hello."}
        assert brain.seen[0].messages[1]["content"] == "Hello."

    def test_declared_tools_are_linked(self) -> None:
        @declared_tool(reads=["topic"], produces=["result"])
        def look_declared(topic: str) -> str:
            return look(topic)

        foldaway = FoldawayLogger(budget=BUDGET, declared=[look_declared])
        hooked(foldaway, self.call(litellm_session_id="a"))
        assert [e["tool"] for e in foldaway.session("a").ledger if e["type"] == "declare"] == ["look_declared"]
