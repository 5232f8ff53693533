"""Recall rounds: what the client gets when they go wrong, go on for ever, or cannot be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest

from foldaway.proxy import app_in_front_of

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
Answer = Callable[[dict[str, Any], int], tuple[int, dict[str, Any]]]


def history() -> list[dict[str, Any]]:
    """More than the budget of these tests."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "See to the quays."}]
    for n in range(20):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"berth {n} is free\n" * 20})
    return messages


def asks(text: str = "", ids: str = "#3") -> dict[str, Any]:
    call = {"id": "r1", "type": "function", "function": {"name": "recall", "arguments": json.dumps({"ids": ids})}}
    return {"role": "assistant", "content": text or None, "tool_calls": [call]}


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def offers(request: dict[str, Any]) -> bool:
    return any(t["function"]["name"] == "recall" for t in request.get("tools", ()))


class Upstream:
    """Answers by a function of the request and its number; as a stream where asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.requests = answer, list[dict[str, Any]]()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        request = json.loads(body)
        status, message = self.answer(request, len(self.requests))
        self.requests.append(request)
        content, kind = self._content(request, status, message)
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": content})

    def _content(self, request: dict[str, Any], status: int, message: dict[str, Any]) -> tuple[bytes, bytes]:
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        head = {"id": "a1", "created": 1, "model": "m"}
        if status != 200:
            return json.dumps(message).encode(), b"application/json"
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return json.dumps({**head, "object": "chat.completion", "choices": [choice]}).encode(), b"application/json"
        calls = [{**call, "index": n} for n, call in enumerate(message.get("tool_calls") or ())]
        delta = {**message, **({"tool_calls": calls} if calls else {})}
        chunks = [
            {"index": 0, "delta": delta, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": reason},
        ]
        events = [json.dumps({**head, "object": "chat.completion.chunk", "choices": [c]}) for c in chunks]
        return "".join(f"data: {e}\n\n" for e in [*events, "[DONE]"]).encode(), b"text/event-stream"


def ask(
    tmp_path: Path, upstream: Upstream, headers: dict[bytes, bytes] | None = None, **fields: Any
) -> httpx2.Response:
    async def go() -> httpx2.Response:
        app = app_in_front_of(upstream, store=tmp_path / "s.db", budget=1_500, time_limit_seconds=60.0)
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=cast(Any, app)), base_url="http://proxy"
        ) as client:
            body = {"model": "m", "messages": history(), "tools": [TOOL], **fields}
            answer = await client.post("/v1/chat/completions", json=body, headers=headers or {})
        await app.close()
        return answer

    return asyncio.run(go())


def test_a_round_that_the_provider_refuses_reaches_the_client_as_the_provider_said_it(tmp_path: Path) -> None:
    refusal = {"error": {"message": "slow down", "type": "rate_limit"}}
    upstream = Upstream(lambda request, n: (200, asks("Let me look.")) if n == 0 else (429, refusal))
    answer = ask(tmp_path, upstream)
    assert (answer.status_code, answer.json()) == (429, refusal)
    assert len(upstream.requests) == 2


def test_in_a_stream_it_is_an_error_event_and_no_finished_answer(tmp_path: Path) -> None:
    refusal = {"error": {"message": "slow down", "type": "rate_limit"}}
    answer = ask(
        tmp_path, Upstream(lambda request, n: (200, asks("Let me look.")) if n == 0 else (500, refusal)), stream=True
    )
    assert "Let me look." in answer.text
    assert json.dumps(refusal, separators=(",", ":")) in answer.text
    assert '"finish_reason": "stop"' not in answer.text
    assert "[DONE]" not in answer.text


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_asks_without_end_is_asked_once_more_without_recall(tmp_path: Path, stream: bool) -> None:
    upstream = Upstream(
        lambda request, n: (200, asks("More.", ids=f"#{3 + n}") if offers(request) else says("Berth 3 it is."))
    )
    answer = ask(tmp_path, upstream, stream=stream)
    assert "Berth 3 it is." in answer.text
    assert "recall" not in answer.text
    assert [offers(request) for request in upstream.requests] == [True] * 5 + [False]


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_asks_for_what_it_just_got_has_to_answer(tmp_path: Path, stream: bool) -> None:
    asked = ["#3", "#3:1-5", "#3"]
    upstream = Upstream(
        lambda request, n: (200, asks("More.", ids=asked[n]) if offers(request) else says("Berth 3 it is."))
    )
    answer = ask(tmp_path, upstream, stream=stream)
    assert "Berth 3 it is." in answer.text
    # Other lines of the same item are news; the item once more is not.
    assert [offers(request) for request in upstream.requests] == [True, True, True, False]


def test_what_was_said_before_and_after_a_recall_is_not_glued(tmp_path: Path) -> None:
    upstream = Upstream(lambda request, n: (200, asks("Let me look") if n == 0 else says("Found it")))
    told = ask(tmp_path, upstream).json()["choices"][0]
    assert (told["message"]["content"], told["finish_reason"]) == ("Let me look\n\nFound it", "stop")
    upstream = Upstream(lambda request, n: (200, asks("Let me look") if n == 0 else says("Found it")))
    chunks = [json.loads(line[6:]) for line in ask(tmp_path, upstream, stream=True).text.split("\n") if "{" in line]
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks) == "Let me look\n\nFound it"


def test_what_was_said_in_several_rounds_is_not_glued_either(tmp_path: Path) -> None:
    said = ["One", "Two", "Three"]
    upstream = Upstream(lambda request, n: (200, asks(said[n], f"#{n + 3}") if n < 2 else says(said[n])))
    assert ask(tmp_path, upstream).json()["choices"][0]["message"]["content"] == "One\n\nTwo\n\nThree"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("tools", [[TOOL], None])
def test_a_model_that_asks_though_it_is_offered_nothing_is_not_heard_by_the_client(
    tmp_path: Path, stream: bool, tools: list[Any] | None
) -> None:
    answer = asks("Let me look.") if tools else says("Let me look.\n[RETRIEVE: #3]")
    upstream = Upstream(lambda request, n: (200, answer))
    told = ask(tmp_path, upstream, stream=stream, tools=tools).text
    assert len(upstream.requests) == 3
    assert "Let me look." in told
    assert not any(word in told for word in ("RETRIEVE", "recall"))
    assert '"stop"' in told


def test_several_answers_at_once_are_offered_no_recall(tmp_path: Path) -> None:
    upstream = Upstream(lambda request, n: (200, says("fine")))
    assert ask(tmp_path, upstream, n=2).status_code == 200
    assert not offers(upstream.requests[0])
    assert "folded away" in json.dumps(upstream.requests[0])


@pytest.mark.parametrize(
    ("name", "value"), [("budget", "²"), ("budget", "9" * 5_000), ("budget", "-1"), ("policy", "no-such-thing")]
)
def test_headers_of_ours_that_cannot_be_followed_are_refused(tmp_path: Path, name: str, value: str) -> None:
    upstream = Upstream(lambda request, n: (200, says("fine")))
    answer = ask(tmp_path, upstream, headers={f"x-foldaway-{name}".encode(): value.encode("latin-1")})
    assert answer.status_code == 400
    assert f"x-foldaway-{name}" in answer.json()["error"]["message"]
