"""The official clients, sync and async: what they send and get is what they would without a proxy."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from foldaway.proxy import ProxySettings
from foldaway.proxy.app import ProxyApp
from foldaway.testing.replies import Call, Reply
from foldaway.testing.upstream import Error

Proxied = Callable[..., Any]
HEADER = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big")
PICTURE = base64.b64encode(HEADER + bytes(range(256)) * 12).decode()
"""640 x 480, as far as its header says."""
READ = Call(name="read", arguments={"path": "a.py"})
LIST = Call(name="list", arguments={"path": "src"})


def hello(asked: Any) -> Reply:
    return Reply(text="Hello.", calls=(READ, LIST) if asked.tools else ())


def tools(format: str) -> list[Any]:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    if format == "anthropic_messages":
        return [{"name": n, "input_schema": schema} for n in ("read", "list")]
    if format == "openai_responses":
        return [{"type": "function", "name": n, "parameters": schema, "strict": False} for n in ("read", "list")]
    return [{"type": "function", "function": {"name": n, "parameters": schema}} for n in ("read", "list")]


def test_async_clients_get_text_and_parallel_calls_plain_and_streamed(proxied: Proxied) -> None:
    made = proxied(hello)

    async def run() -> None:
        http = httpx2.AsyncClient(trust_env=False)
        chat = openai.AsyncOpenAI(api_key="k", base_url=f"{made.url}/v1", http_client=http, max_retries=0)
        claude = anthropic.AsyncAnthropic(api_key="k", base_url=made.url, http_client=http, max_retries=0)
        said: list[Any] = [{"role": "user", "content": "go"}]
        whole = await chat.chat.completions.create(model="m", messages=said, tools=tools(""))
        assert [c.function.name for c in whole.choices[0].message.tool_calls or ()] == ["read", "list"]  # type: ignore[union-attr]
        pieces = []
        stream = await chat.chat.completions.create(
            model="m", messages=said, stream=True, stream_options={"include_usage": True}
        )
        async for chunk in stream:
            pieces += [c.delta.content or "" for c in chunk.choices]
            usage = chunk.usage
        assert "".join(pieces) == "Hello."
        assert usage is not None
        message = await claude.messages.create(
            model="m", max_tokens=9, messages=said, tools=tools("anthropic_messages")
        )
        assert [b.type for b in message.content] == ["text", "tool_use", "tool_use"]
        async with claude.messages.stream(model="m", max_tokens=9, messages=said) as told:
            assert await told.get_final_text() == "Hello."
        response = await chat.responses.create(model="m", input="go", tools=tools("openai_responses"))
        assert [i.type for i in response.output] == ["message", "function_call", "function_call"]
        async with chat.responses.stream(model="m", input="go") as events:
            async for _ in events:
                pass
            assert (await events.get_final_response()).output_text == "Hello."
        await http.aclose()

    asyncio.run(run())
    assert made.upstream.complaints == []


def test_models_and_token_counts_go_straight_through(proxied: Proxied) -> None:
    made = proxied(hello)
    assert [m.id for m in made.openai().models.list()] == ["m"]
    assert [m.id for m in made.anthropic().models.list()] == ["m"]
    count = made.anthropic().messages.count_tokens(model="m", messages=[{"role": "user", "content": "go"}])
    assert count.input_tokens > 0
    assert made.upstream.others == ["GET /v1/models", "GET /v1/models", "POST /v1/messages/count_tokens"]


def test_a_short_request_goes_on_with_every_field_that_the_client_set(proxied: Proxied) -> None:
    made = proxied(hello)
    made.openai().chat.completions.create(
        model="m", messages=[{"role": "user", "content": "go ☃"}], temperature=0.25, seed=7, user="u",
        response_format={"type": "json_object"}, extra_body={"brand_new": {"a": [1, None]}}, logit_bias={"5": 3},
    )  # fmt: skip
    body = made.upstream.requests[-1].body
    assert body == {
        "model": "m", "messages": [{"role": "user", "content": "go ☃"}], "temperature": 0.25, "seed": 7, "user": "u",
        "response_format": {"type": "json_object"}, "brand_new": {"a": [1, None]}, "logit_bias": {"5": 3},
    }  # fmt: skip


IMAGES: dict[str, Any] = {
    "chat": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}", "detail": "low"}},
    "messages": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
    "responses": {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}", "detail": "low"},
}
TEXT = {"chat": "text", "messages": "text", "responses": "input_text"}


@pytest.mark.parametrize("kind", IMAGES)
def test_images_stay_whole_while_recent_and_the_views_valid_when_they_fold(
    kind: str, kit: Any, proxied: Proxied
) -> None:
    made = proxied(kit.task(steps=24), budget=4000)
    agent = kit.agent(kind, made)
    words = {"type": TEXT[kind], "text": "This is the screen."}
    agent.history.append({"role": "user", "content": [words, IMAGES[kind]]})
    agent.step()
    assert IMAGES[kind] in made.upstream.requests[0].messages[-1]["content"]
    for turn in range(60):
        if turn in (5, 12):
            agent.history.append({"role": "user", "content": [words, IMAGES[kind]]})
        if not agent.step():
            break
    assert kit.secret in agent.answers[-1]
    assert made.upstream.complaints == []
    assert max(asked.tokens for asked in made.upstream.requests) <= 4000
    assert PICTURE not in made.upstream.requests[-1].text
    assert "image" in json.dumps(agent.history)


def test_errors_come_as_the_clients_own_exceptions(proxied: Proxied) -> None:
    limited = {"error": {"message": "slow down", "type": "rate_limit_error", "code": "rate_limit_exceeded"}}
    made = proxied(lambda asked: Error(status=429, body=limited, headers={"retry-after": "7"}))
    said: list[Any] = [{"role": "user", "content": "go"}]
    for stream in (False, True):
        with pytest.raises(openai.RateLimitError) as rate:
            made.openai().chat.completions.create(model="m", messages=said, stream=stream)
        assert rate.value.response.headers["retry-after"] == "7"
        assert rate.value.request_id == "r1"
        assert rate.value.body == limited["error"]
    busy = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    made.upstream.script = lambda asked: Error(status=529, body=busy)
    with pytest.raises(anthropic.APIStatusError) as overloaded:
        made.anthropic().messages.create(model="m", max_tokens=5, messages=said)
    assert overloaded.value.status_code == 529
    assert overloaded.value.body == busy


def test_a_stream_reaches_the_client_before_it_is_at_its_end(kit: Any, tmp_path: Any) -> None:
    go_on = threading.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for n, word in enumerate(("first", "second")):
            choice = {"index": 0, "delta": {"content": word}, "finish_reason": None}
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
            event = f"data: {json.dumps(chunk)}\n\n".encode()
            await send({"type": "http.response.body", "body": event, "more_body": True})
            if n == 0:
                assert await asyncio.to_thread(go_on.wait, 20)
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": False})

    upstream = kit.listening(slow)
    settings = ProxySettings(openai_upstream=upstream.url, store=f"sqlite:///{tmp_path}/s.db", time_limit_seconds=20)
    proxy = kit.listening(ProxyApp(settings, transports={"openai": httpx2.AsyncHTTPTransport()}))
    with httpx2.Client(trust_env=False, timeout=30) as http:
        client = openai.OpenAI(api_key="k", base_url=f"{proxy.url}/v1", http_client=http)
        said = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "go"}], stream=True)
        words = []
        for chunk in said:
            words.append(chunk.choices[0].delta.content)
            go_on.set()
    assert words == ["first", "second"]
    proxy.close()
    upstream.close()
