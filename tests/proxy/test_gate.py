"""Limits, tokens and clients that leave."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from foldaway.errors import SettingsError
from foldaway.proxy import ProxySettings
from foldaway.testing.scripted_http import Reply, chat

Worlds = Callable[..., Any]
PATH = "/v1/chat/completions"
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize(
    ("settings", "body", "headers", "status"),
    [
        ({"most_body_bytes": 100}, b"x" * 101, [], 413),
        ({"most_body_bytes": 5_000}, gzip.compress(b"x" * 5_001), [(b"content-encoding", b"gzip")], 413),
        ({"most_messages": 3}, {**ASKED, "messages": ASKED["messages"] * 4}, [], 413),
        ({"most_depth": 10}, b'{"messages": ' + b"[" * 20 + b"]" * 20 + b"}", [], 400),
        ({}, b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", [], 400),
        ({"most_header_bytes": 1_000}, ASKED, [(b"x-long", b"x" * 1_000)], 431),
        ({}, ASKED, [(b"x-foldaway-budget", b"many")], 400),
    ],
)
def test_a_request_over_a_limit_is_refused_with_an_error_that_clients_read(
    world: Worlds, settings: dict[str, Any], body: Any, headers: Any, status: int
) -> None:
    made = world([chat()], **settings)
    answer = made.ask(PATH, body, headers)
    assert answer.status == status
    assert answer.body["error"]["message"].startswith("foldaway: ")
    assert answer.header("x-foldaway-error")
    assert made.upstream.sent == []
    assert made.ask(PATH, {"messages": ASKED["messages"]}).status == 200


def test_the_error_has_the_shape_of_the_protocol(world: Worlds) -> None:
    made = world([chat()], most_body_bytes=10)
    assert made.ask("/v1/messages", ASKED).body["type"] == "error"
    assert made.ask("/v1/responses", ASKED).body["error"]["message"]


def test_a_body_that_drips_in_is_given_up(world: Worlds) -> None:
    made = world([chat()], body_seconds=0.1)
    assert made.ask(PATH, pieces=[b"{"] * 100, pause_seconds=0.02).status == 408


def test_over_the_limit_of_requests_under_way_more_are_told_to_come_again(world: Worlds) -> None:
    made = world([Reply(pieces=chat().pieces, pause_seconds=0.2)], most_requests=3)
    answers = made.all(*[(PATH, ASKED)] * 6)
    assert sorted(a.status for a in answers) == [200, 200, 200, 503, 503, 503]
    busy = next(a for a in answers if a.status == 503)
    assert busy.header("retry-after") == "1"
    assert made.app.records.running == 0


@pytest.mark.parametrize("path", [PATH, "/v1/models", "/metrics", "/", "/t/wrong" + PATH, "/t/" + PATH])
def test_without_the_token_nothing_is_reached(world: Worlds, path: str) -> None:
    made = world([chat()], token="secret-1")
    for headers in ([], [(b"x-foldaway-token", b"wrong")], [(b"authorization", b"Bearer secret-1")]):
        assert made.ask(path, ASKED, headers, method="GET" if path == "/metrics" else "POST").status == 401
    assert made.upstream.sent == []


def test_the_token_comes_in_a_header_or_in_front_of_the_path(world: Worlds) -> None:
    made = world([chat()], token="secret-1")
    assert made.ask(PATH, ASKED, [(b"x-foldaway-token", b"secret-1")]).status == 200
    assert made.ask("/t/secret-1" + PATH, ASKED).header("x-foldaway-view")
    assert made.ask("/t/secret-1/v1/models/a%2Fb", None, method="GET").status == 200
    assert made.ask("/t/secret-1/metrics", None, method="GET").status == 200
    assert [s.url for s in made.upstream.sent] == [
        "http://openai.test" + PATH, "http://openai.test" + PATH, "http://openai.test/v1/models/a%2Fb"
    ]  # fmt: skip
    assert all(b"secret-1" not in value for s in made.upstream.sent for _, value in s.headers)


def test_health_needs_no_token_and_tells_little(world: Worlds) -> None:
    made = world([chat()], token="secret-1")
    for path in ("/health", "/health/live", "/health/ready"):
        answer = made.ask(path, None, method="GET")
        assert answer.status == 200
        assert set(answer.body) <= {"status", "store", "upstream"}


def test_health_says_when_the_store_is_down_or_no_upstream_is_set(world: Worlds) -> None:
    made = world([chat()])
    made.app.store.close()
    made.app.store.sessions = lambda _: 1 / 0
    answer = made.ask("/health", None, method="GET")
    assert (answer.status, answer.body["store"]) == (503, "down")
    assert made.ask("/health/live", None, method="GET").status == 200
    bare = world([chat()], openai_upstream="", anthropic_upstream="")
    assert bare.ask("/health/ready", None, method="GET").body["upstream"] == "missing"


def test_health_says_when_the_file_of_the_store_was_deleted(world: Worlds, tmp_path: Path) -> None:
    made = world([chat()], store=f"sqlite:///{tmp_path}/proxy.db")
    assert made.ask("/health", None, method="GET").status == 200
    (tmp_path / "proxy.db").unlink()
    answer = made.ask("/health", None, method="GET")
    assert (answer.status, answer.body["store"]) == (503, "gone")


def test_listening_for_others_needs_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.com", ""):
        with pytest.raises(SettingsError, match="token"):
            ProxySettings().check_host(host)
        ProxySettings(token="x").check_host(host)
    for host in ("127.0.0.1", "localhost", "::1", "[::1]", "127.9.9.9"):
        ProxySettings().check_host(host)


def test_a_token_that_cannot_stand_in_a_path_is_refused() -> None:
    for token in ("a/b", "a b", "é", "a?b"):
        with pytest.raises(SettingsError, match="token"):
            ProxySettings(token=token)


@pytest.mark.parametrize("path", [PATH, "/v1/embeddings"])
def test_a_client_that_leaves_before_the_answer_ends_the_call_upstream(world: Worlds, path: str) -> None:
    made = world([Reply(pieces=[b"a"] * 100, pause_seconds=0.05)])
    answer = made.ask(path, ASKED, leave_after=0)
    assert not answer.complete
    assert len(made.upstream.sent) <= 1
    assert made.app.records.running == 0


def test_a_client_that_leaves_in_the_middle_of_a_stream_ends_it_upstream(world: Worlds) -> None:
    stream = Reply(headers=[(b"content-type", b"text/event-stream")], pieces=[b": x\n\n"] * 500, pause_seconds=0.02)
    made = world([stream])
    answer = made.ask(PATH, {**ASKED, "stream": True}, leave_after=3)
    assert 3 <= len(answer.pieces) < 100
    assert not answer.complete
    assert made.upstream.cut == 1


def test_an_upstream_that_is_not_there_is_told_as_such(world: Worlds) -> None:
    refused = world([Reply(error=httpx2.ConnectError("no"))]).ask(PATH, ASKED)
    assert (refused.status, refused.body["error"]["code"]) == (502, "upstream_down")
    slow = world([Reply(error=httpx2.ReadTimeout("no"))]).ask("/v1/messages", {**ASKED, "max_tokens": 5})
    assert (slow.status, slow.header("x-foldaway-error")) == (504, "upstream_timeout")
    assert slow.body["type"] == "error"


def test_a_stream_that_the_upstream_cuts_is_cut_for_the_client(world: Worlds) -> None:
    stream = Reply(
        headers=[(b"content-type", b"text/event-stream")], pieces=[b"data: 1\n\n"], error=httpx2.ReadError("gone")
    )
    made = world([stream])
    with pytest.raises(ConnectionAbortedError):
        made.ask(PATH, {**ASKED, "stream": True})


def test_websockets_are_refused_clearly(world: Worlds) -> None:
    made = world([chat()])
    said: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(event: dict[str, Any]) -> None:
        said.append(event)

    asyncio.run(made.app({"type": "websocket", "path": "/v1/realtime"}, receive, send))
    assert said == [{"type": "websocket.close", "code": 1003, "reason": "this proxy speaks HTTP"}]


def test_json_of_any_shape_never_breaks_the_proxy(world: Worlds) -> None:
    made = world([chat()])
    shapes: list[Any] = [
        {"messages": [{}]}, {"messages": [{"role": 5}]}, {"messages": [{"role": "user", "content": 7}]},
        {"messages": [{"role": "tool"}]}, {"messages": [{"role": "user", "content": [{"type": None}]}]},
        {"messages": [{"role": "assistant", "tool_calls": "x"}]}, {"messages": ASKED["messages"], "tools": [{}]},
        {"messages": ASKED["messages"], "model": ["m"], "max_tokens": "many", "metadata": 3},
        {"messages": ASKED["messages"], "tools": [{"type": "function", "function": 5}]},
    ]  # fmt: skip
    for shape in shapes:
        for path in (PATH, "/v1/messages", "/v1/responses"):
            body = {**shape, "input": shape["messages"]} if path == "/v1/responses" else shape
            assert made.ask(path, body).status == 200, json.dumps(shape)


def test_a_websocket_handshake_gets_the_status_that_makes_clients_take_plain_http(world: Worlds) -> None:
    made = world([chat()])
    headers = [(b"connection", b"Upgrade"), (b"upgrade", b"websocket"), (b"sec-websocket-version", b"13")]
    assert made.ask("/v1/responses", None, headers, method="GET").status == 426
    assert made.upstream.sent == []
