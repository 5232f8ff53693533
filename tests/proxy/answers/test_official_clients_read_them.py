"""The official clients put together what comes out of a filter: their own accumulators read it without complaint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic
from openai import OpenAI

from foldaway.proxy.answers import BY_FORMAT, Listening
from foldaway.testing.replies import Call, Reply, reply_stream

TOOL = Listening(tool="recall")
RECALL = Call(name="recall", arguments={"ids": "#4"})
READ = Call(name="read", arguments={"path": "a.py"})
LIST = Call(name="list", arguments={"path": "src"})


def filtered(format: str, rounds: Sequence[Reply], listening: Listening = TOOL) -> bytes:
    made = BY_FORMAT[format].filter(listening)
    out = b""
    for number, reply in enumerate(rounds):
        out += made.again() if number else b""
        out += made.feed(b"".join(reply_stream(format, reply)))
    return out + made.finish()


def transport(stream: bytes) -> httpx2.Client:
    headers = {"content-type": "text/event-stream"}
    return httpx2.Client(
        transport=httpx2.MockTransport(lambda request: httpx2.Response(200, headers=headers, content=stream))
    )


def tool(name: str) -> Any:
    properties = {"path": {"type": "string"}}
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


ROUNDS: dict[str, tuple[Reply, ...]] = {
    "recall, then words": (
        Reply(text="Let me see. ", calls=(RECALL,), written_tokens=7), Reply(text="Port 80.", id="2", read_tokens=222)),
    "recall, then own calls": (Reply(calls=(RECALL,)), Reply(text="So.", calls=(READ, LIST), id="2")),
    "two recalls, then words": (
        Reply(thinking="hm", calls=(RECALL,)), Reply(calls=(RECALL, RECALL), id="2"), Reply(text="Port 80.", id="3")),
    "recall among own calls": (Reply(text="So.", calls=(READ, RECALL, LIST)),),
    "recalls alone, no round": (Reply(calls=(RECALL,)),),
    "thinking, recall, thinking": (
        Reply(thinking="hm", calls=(RECALL,)), Reply(thinking="ah", text="Port 80.", id="2")),
}  # fmt: skip
EXPECTED: dict[str, tuple[str, list[str]]] = {
    "recall, then words": ("Let me see. Port 80.", []),
    "recall, then own calls": ("So.", ["read", "list"]),
    "two recalls, then words": ("Port 80.", []),
    "recall among own calls": ("So.", ["read", "list"]),
    "recalls alone, no round": ("(what was asked for could not be brought back)", []),
    "thinking, recall, thinking": ("Port 80.", []),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_openai_chat(name: str) -> None:
    stream = filtered("openai_chat", ROUNDS[name])
    client = OpenAI(api_key="k", base_url="http://up/v1", http_client=transport(stream))
    with client.chat.completions.stream(
        model="m", messages=[{"role": "user", "content": "go"}], tools=[tool("read"), tool("list")],
        stream_options={"include_usage": True},
    ) as events:  # fmt: skip
        kinds = [event.type for event in events]
        final = events.get_final_completion()
    message = final.choices[0].message
    text, calls = EXPECTED[name]
    assert message.content == text
    assert [c.function.name for c in message.tool_calls or ()] == calls
    assert final.choices[0].finish_reason == ("tool_calls" if calls else "stop")
    assert final.usage is not None
    assert final.usage.completion_tokens == sum(r.written_tokens for r in ROUNDS[name])
    assert final.usage.prompt_tokens == ROUNDS[name][-1].read_tokens
    assert final.usage.total_tokens == final.usage.completion_tokens + final.usage.prompt_tokens
    assert kinds.count("content.done") <= 1
    assert stream.count(b'"role"') == 1
    assert stream.count(b"[DONE]") == 1


@pytest.mark.parametrize("name", ROUNDS)
def test_anthropic_messages(name: str) -> None:
    stream = filtered("anthropic_messages", ROUNDS[name])
    client = Anthropic(api_key="k", base_url="http://up", http_client=transport(stream))
    with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "go"}]) as events:
        final = events.get_final_message()
    text, calls = EXPECTED[name]
    assert "".join(b.text for b in final.content if b.type == "text") == text
    assert [(b.name, b.input) for b in final.content if b.type == "tool_use"] == [
        (n, {"read": READ, "list": LIST}[n].arguments) for n in calls
    ]
    signatures = [b.signature for b in final.content if b.type == "thinking"]
    assert signatures == [f"sig-{r.id}" for r in ROUNDS[name] if r.thinking]
    assert final.stop_reason == ("tool_use" if calls else "end_turn")
    assert final.usage.output_tokens == sum(r.written_tokens for r in ROUNDS[name])
    assert final.usage.input_tokens == ROUNDS[name][-1].read_tokens
    assert stream.count(b'"message_start"') == 1
    assert stream.count(b'"message_stop"') == 1


@pytest.mark.parametrize("name", ROUNDS)
def test_openai_responses(name: str) -> None:
    stream = filtered("openai_responses", ROUNDS[name])
    client = OpenAI(api_key="k", base_url="http://up/v1", http_client=transport(stream))
    with client.responses.stream(model="m", input="go") as events:
        numbers = [event.sequence_number for event in events if event.type != "response.output_text.delta"]
        final = events.get_final_response()
    text, calls = EXPECTED[name]
    assert final.output_text == text
    assert [i.name for i in final.output if i.type == "function_call"] == calls
    assert [i.id for i in final.output if i.type == "reasoning"] == [
        f"rs_{r.id}" for r in ROUNDS[name] if r.text and r.thinking
    ]
    assert final.usage is not None
    assert final.usage.output_tokens == sum(r.written_tokens for r in ROUNDS[name])
    assert numbers == sorted(numbers)
    assert stream.count(b'"response.created"') == stream.count(b'"response.completed"') == 1
    assert final.id == "resp_1"


def test_sequence_numbers_of_responses_are_continuous() -> None:
    stream = filtered("openai_responses", ROUNDS["two recalls, then words"])
    numbers = [json.loads(line[6:])["sequence_number"] for line in stream.split(b"\n") if line.startswith(b"data: ")]
    assert numbers == list(range(len(numbers)))


@pytest.mark.parametrize("format", ["openai_chat", "anthropic_messages", "openai_responses"])
def test_a_directive_in_a_stream_of_a_client_is_gone(format: str) -> None:
    directives = Listening(directives=True)
    said = Reply(text="I look. [RETRIEVE: #4]", thinking="hm")
    stream = filtered(format, [said, Reply(text=" It is port 80.", id="2")], directives)
    assert b"RETRIEVE" not in stream
    if format == "openai_chat":
        client = OpenAI(api_key="k", base_url="http://up/v1", http_client=transport(stream))
        with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "go"}]) as events:
            for _ in events:
                pass
            assert events.get_final_completion().choices[0].message.content == "I look.  It is port 80."
    elif format == "anthropic_messages":
        anthropic = Anthropic(api_key="k", base_url="http://up", http_client=transport(stream))
        with anthropic.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "go"}]) as told:
            assert told.get_final_text() == "I look.  It is port 80."
    else:
        client = OpenAI(api_key="k", base_url="http://up/v1", http_client=transport(stream))
        with client.responses.stream(model="m", input="go") as answers:
            for _ in answers:
                pass
            assert answers.get_final_response().output_text == "I look.  It is port 80."
