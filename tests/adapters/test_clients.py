"""The official clients, wrapped: small agents on them, and a scripted model behind a transport that opens no socket."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar

import pytest

from foldaway import tool as declared_tool
from foldaway.errors import RecallError, SettingsError
from foldaway.model.wire import Message
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.testing.adapter_contract import BUDGET, STEPS, TASK, AdapterContract
from foldaway.testing.replies import Reply
from foldaway.testing.scripted_agent import (
    ARGUMENT,
    SYSTEM,
    TOOL,
    TOOL_DESCRIPTION,
    Agent,
    Brain,
    calling,
    look,
    looking,
)

for needed in ("httpx2", "openai", "anthropic"):
    pytest.importorskip(needed, reason=f"{needed} is not installed: pip install 'foldaway[openai,anthropic]'")

import anthropic
import httpx2
import openai

from foldaway.adapters import anthropic as for_anthropic
from foldaway.adapters import openai as for_openai
from foldaway.adapters._base import ContextWarning
from foldaway.adapters._http import SESSION_HEADER
from foldaway.testing.offline import Provider

SCHEMA = {"type": "object", "properties": {ARGUMENT: {"type": "string"}}, "required": [ARGUMENT]}
Asked = tuple[str, list[tuple[str, str, dict[str, Any]]], list[Message]]
"""What the model said, the calls it made (id, name, arguments), and the messages that tell of it."""


class ClientAgent:
    """The loop that a program writes around a client."""

    format: ClassVar[str]

    def __init__(self, upstream: Provider, wrapped: Any, async_wrapped: Any, earlier: Agent | None) -> None:
        self.upstream, self.client, self.async_client = upstream, wrapped, async_wrapped
        self.histories: dict[str, list[Message]] = earlier.histories if isinstance(earlier, ClientAgent) else {}
        self.used: Any = wrapped

    def run(self, task: str, *, key: str = "main", mode: str = "sync") -> str:
        history = self.histories.setdefault(key, [])
        history.append({"role": "user", "content": task})
        self.used = self.async_client if mode.startswith("a") else self.client
        while True:
            text, calls, said = self.ask(history, mode, {SESSION_HEADER: key})
            history += said
            if not calls:
                return text
            history += self.results([(id, look(**arguments)) for id, name, arguments in calls])

    def session(self, key: str = "main") -> Session:
        raise NotImplementedError

    def ask(self, history: list[Message], mode: str, headers: dict[str, str]) -> Asked:
        raise NotImplementedError

    def results(self, results: list[tuple[str, str]]) -> list[Message]:
        raise NotImplementedError


class ChatAgent(ClientAgent):
    format = "openai_chat"

    def ask(self, history: list[Message], mode: str, headers: dict[str, str]) -> Asked:
        function = {"name": TOOL, "description": TOOL_DESCRIPTION, "parameters": SCHEMA}
        request: dict[str, Any] = {
            "model": "m", "messages": [{"role": "system", "content": SYSTEM}, *history], "extra_headers": headers,
            "tools": [{"type": "function", "function": function}],
        }  # fmt: skip
        completions, later = self.client.chat.completions, self.async_client.chat.completions
        match mode:
            case "sync":
                answer = completions.create(**request)
            case "async":
                answer = asyncio.run(_awaited(later.create(**request)))
            case "stream":
                with completions.stream(**request) as stream:
                    answer = stream.get_final_completion()
            case _:
                answer = asyncio.run(_final(later.stream(**request), "get_final_completion"))
        message = answer.choices[0].message
        calls = [(c.id, c.function.name, json.loads(c.function.arguments)) for c in message.tool_calls or ()]
        kept: Message = {"role": "assistant", "content": message.content}
        if calls:
            kept["tool_calls"] = [
                {
                    "id": c.id,
                    "type": "function",
                    "function": {"name": c.function.name, "arguments": c.function.arguments},
                }
                for c in message.tool_calls
            ]
        return message.content or "", calls, [kept]

    def results(self, results: list[tuple[str, str]]) -> list[Message]:
        return [{"role": "tool", "tool_call_id": id, "content": text} for id, text in results]

    def session(self, key: str = "main") -> Session:
        return for_openai.session(self.used, key or None)


class ResponsesAgent(ClientAgent):
    format = "openai_responses"

    def ask(self, history: list[Message], mode: str, headers: dict[str, str]) -> Asked:
        tool = {
            "type": "function",
            "name": TOOL,
            "description": TOOL_DESCRIPTION,
            "parameters": SCHEMA,
            "strict": False,
        }
        request: dict[str, Any] = {
            "model": "m", "instructions": SYSTEM, "input": "", "tools": [tool], "extra_headers": headers,
            # The client takes 2 ms for each item of `input` to look at its type; beside it goes the same as it is.
            "store": False, "extra_body": {"input": history},
        }  # fmt: skip
        match mode:
            case "sync":
                answer = self.client.responses.create(**request)
            case "async":
                answer = asyncio.run(_awaited(self.async_client.responses.create(**request)))
            case "stream":
                with self.client.responses.stream(**request) as stream:
                    answer = stream.get_final_response()
            case _:
                answer = asyncio.run(_final(self.async_client.responses.stream(**request), "get_final_response"))
        calls = [(i.call_id, i.name, json.loads(i.arguments)) for i in answer.output if i.type == "function_call"]
        # The stream's helper adds fields of its own that no request takes.
        extra = {"parsed_arguments": True, "content": {"__all__": {"parsed"}}}
        kept = [
            json.loads(json.dumps(i.model_dump(exclude_unset=True, exclude=_known(i, extra)))) for i in answer.output
        ]
        return answer.output_text, calls, kept

    def results(self, results: list[tuple[str, str]]) -> list[Message]:
        return [{"type": "function_call_output", "call_id": id, "output": text} for id, text in results]

    def session(self, key: str = "main") -> Session:
        return for_openai.session(self.used, key or None)


class MessagesAgent(ClientAgent):
    format = "anthropic_messages"

    def ask(self, history: list[Message], mode: str, headers: dict[str, str]) -> Asked:
        tool = {"name": TOOL, "description": TOOL_DESCRIPTION, "input_schema": SCHEMA}
        request: dict[str, Any] = {
            "model": "m", "system": SYSTEM, "messages": history, "tools": [tool], "max_tokens": 1000,
            "extra_headers": headers,
        }  # fmt: skip
        match mode:
            case "sync":
                answer = self.client.messages.create(**request)
            case "async":
                answer = asyncio.run(_awaited(self.async_client.messages.create(**request)))
            case "stream":
                with self.client.messages.stream(**request) as stream:
                    answer = stream.get_final_message()
            case _:
                answer = asyncio.run(_final(self.async_client.messages.stream(**request), "get_final_message"))
        text = "".join(block.text for block in answer.content if block.type == "text")
        calls = [(b.id, b.name, dict(b.input)) for b in answer.content if b.type == "tool_use"]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        blocks += [{"type": "tool_use", "id": id, "name": name, "input": given} for id, name, given in calls]
        return text, calls, [{"role": "assistant", "content": blocks}]

    def results(self, results: list[tuple[str, str]]) -> list[Message]:
        blocks = [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in results]
        return [{"role": "user", "content": blocks}]

    def session(self, key: str = "main") -> Session:
        return for_anthropic.session(self.used, key or None)


def _known(item: Any, fields: dict[str, Any]) -> dict[str, Any]:
    return {name: what for name, what in fields.items() if name in item.model_dump()}


async def _awaited(call: Any) -> Any:
    return await call


async def _final(manager: Any, method: str) -> Any:
    async with manager as stream:
        return await getattr(stream, method)()


class ClientContract(AdapterContract):
    agents: ClassVar[type[ClientAgent]]
    model = "m"

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> ClientAgent:  # fmt: skip
        upstream = Provider(self.format, brain)
        clients = self.clients(upstream)
        if budget is not None:
            wrap = for_anthropic.wrap if self.format == "anthropic_messages" else for_openai.wrap
            clients = [wrap(c, budget=budget, store=store, **settings) for c in clients]
        return self.agents(upstream, clients[0], clients[1], earlier)

    def clients(self, upstream: Provider) -> list[Any]:
        common: dict[str, Any] = {"api_key": "key", "max_retries": 0}
        return [
            openai.OpenAI(http_client=upstream.http_client(), **common),
            openai.AsyncOpenAI(http_client=upstream.async_http_client(), **common),
        ]

    def test_a_recall_is_answered_within_the_call(self) -> None:
        for mode in self.modes:

            def script(n: int, request: Any) -> Any:
                return calling("recall", n, ids="#3") if n == STEPS else looking(STEPS + 1)(n, request)

            brain = Brain(script)
            agent = self.agent(brain, budget=BUDGET)
            assert agent.run(TASK, mode=mode) == "All looked up."
            assert "recall" in brain.seen[STEPS].tools
            assert "[foldaway recall" in brain.seen[STEPS + 1].text
            assert "recall" not in json.dumps(agent.histories["main"])
            self.check(brain.seen)

    def test_a_recall_beside_another_call_stands_in_the_next_request(self) -> None:
        for mode in self.modes:

            def script(n: int, request: Any) -> Any:
                if n != STEPS:
                    return looking(STEPS + 1)(n, request)
                both = (*calling("recall", 1000, ids="#3").calls, *calling(TOOL, n, topic="topic-77").calls)
                return Reply(calls=both, id=str(n))

            brain = Brain(script)
            agent = self.agent(brain, budget=BUDGET)
            assert agent.run(TASK, mode=mode) == "All looked up."
            assert "[foldaway recall" in brain.seen[STEPS + 1].text
            assert look("topic-77") in brain.seen[STEPS + 1].text
            assert "recall" not in json.dumps(agent.histories["main"])
            self.check(brain.seen)

    def test_declared_tools_are_linked(self) -> None:
        @declared_tool(reads=[ARGUMENT], produces=["result"])
        def look(topic: str) -> str:
            return topic

        agent = self.agent(Brain(looking(2)), budget=BUDGET, declared=[look])
        agent.run(TASK)
        assert [e["tool"] for e in agent.session().ledger if e["type"] == "declare"] == [TOOL]

    def test_headers_of_our_own_do_not_go_out(self) -> None:
        agent = self.agent(Brain(looking(1)), budget=BUDGET)
        agent.run(TASK)
        assert all(SESSION_HEADER not in headers for headers in agent.upstream.headers)

    def test_without_a_key_a_conversation_is_told_by_its_history(self) -> None:
        brain = Brain(looking(STEPS))
        agent = self.agent(brain, budget=BUDGET)
        agent.run(TASK, key="")
        assert len(agent.session("").messages) > STEPS
        self.check(brain.seen)


class TestChatCompletions(ClientContract):
    format = "openai_chat"
    agents = ChatAgent
    over_budget = openai.BadRequestError
    model_error = openai.InternalServerError

    def test_the_client_given_stays_as_it_is(self) -> None:
        upstream = Provider(self.format, looking(1))
        plain = openai.OpenAI(api_key="key", http_client=upstream.http_client())
        managed = for_openai.wrap(plain, budget=BUDGET)
        assert type(managed) is openai.OpenAI
        assert plain._client is not managed._client
        with pytest.raises(SettingsError, match="wrapped already"):
            for_openai.wrap(managed, budget=BUDGET)
        with pytest.raises(SettingsError, match="not wrapped"):
            for_openai.session(plain)
        with pytest.raises(RecallError, match="0 conversations"):
            for_openai.session(managed)

    def test_other_requests_pass(self) -> None:
        def models(request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, json={"object": "list", "data": []})

        inner = httpx2.Client(transport=httpx2.MockTransport(models))
        client = for_openai.wrap(openai.OpenAI(api_key="key", http_client=inner), budget=BUDGET)
        assert client.models.list().data == []

    def test_an_answer_can_be_had_raw(self) -> None:
        agent = self.agent(Brain(looking(0)), budget=BUDGET)
        raw = agent.client.chat.completions.with_raw_response.create(
            model="m", messages=[{"role": "user", "content": "hello"}]
        )
        assert raw.parse().choices[0].message.content == "All looked up."

    def test_settings_that_no_session_takes_are_told_of_at_once(self) -> None:
        with pytest.raises(SettingsError, match="budget"):
            self.agent(Brain(looking(0)), budget=-1)

    def test_a_recall_tool_of_the_programs_own_is_left_alone(self) -> None:
        brain = Brain(looking(0))
        client = self.agent(brain, budget=BUDGET).client
        function = {"name": "recall", "description": "Recalls a product.", "parameters": SCHEMA}
        filler = [{"role": role, "content": look(f"topic-{n}")} for n in range(20) for role in ("user", "assistant")]
        for message in filler[::2]:
            message["content"] = "Go on."
        client.chat.completions.create(
            model="m", messages=[*filler, {"role": "user", "content": "go"}],
            tools=[{"type": "function", "function": function}],
        )  # fmt: skip
        assert brain.seen[0].tools == ("recall",)
        assert "[RETRIEVE" in brain.seen[0].text


@pytest.mark.slow  # the way through the client is the one of Chat Completions
class TestResponses(ClientContract):
    format = "openai_responses"
    agents = ResponsesAgent
    over_budget = openai.BadRequestError
    model_error = openai.InternalServerError

    def test_a_conversation_kept_by_the_provider_passes_with_a_warning(self) -> None:
        brain = Brain(looking(0))
        client = self.agent(brain, budget=BUDGET).client
        given = [{"role": "user", "content": look("topic-1") * 40}]
        with pytest.warns(ContextWarning, match="kept by the provider"):
            client.responses.create(model="m", input=given, previous_response_id="resp_1")
        assert brain.seen[0].messages == given

    def test_another_manager_at_work_is_told_of(self) -> None:
        client = self.agent(Brain(looking(0)), budget=BUDGET).client
        with pytest.warns(ContextWarning, match=r"truncation='auto'.* and Foldaway are both at work"):
            client.responses.create(model="m", input="Hello.", truncation="auto")
        with pytest.warns(ContextWarning, match="context_management"):
            client.responses.create(
                model="m", input="Hello.", context_management=[{"type": "compaction", "compact_threshold": 1000}]
            )


class TestMessages(ClientContract):
    format = "anthropic_messages"
    agents = MessagesAgent
    over_budget = anthropic.BadRequestError
    model_error = anthropic.InternalServerError

    def clients(self, upstream: Provider) -> list[Any]:
        common: dict[str, Any] = {"api_key": "key", "max_retries": 0}
        return [
            anthropic.Anthropic(http_client=upstream.http_client(), **common),
            anthropic.AsyncAnthropic(http_client=upstream.async_http_client(), **common),
        ]

    def test_another_manager_at_work_is_told_of(self) -> None:
        client = self.agent(Brain(looking(0)), budget=BUDGET).client
        edits = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}
        with pytest.warns(ContextWarning, match="context_management"):
            client.messages.create(
                model="m", max_tokens=100, messages=[{"role": "user", "content": "Hello."}], extra_body=edits
            )
