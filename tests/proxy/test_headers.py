"""What passes: every header that matters, both ways, and every byte where nothing is managed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from foldaway.testing.scripted_http import JSON_TYPE, Reply, chat

Worlds = Callable[..., Any]
PATH = "/v1/chat/completions"
ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Authorization", "Bearer sk-1"), ("x-api-key", "sk-ant-1"), ("anthropic-beta", "context-1m,foo"),
        ("anthropic-version", "2023-06-01"), ("OpenAI-Organization", "org-1"), ("OpenAI-Project", "proj-1"),
        ("Idempotency-Key", "k1"), ("x-request-id", "mine"), ("User-Agent", "agent/1.0"), ("x-stainless-lang", "py"),
        ("Accept", "text/event-stream"), ("x-new-thing", "1"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", [PATH, "/v1/models", "/v1/messages"])
def test_a_request_header_goes_on(world: Worlds, path: str, name: str, value: str) -> None:
    made = world([chat()])
    made.ask(path, ASKED, [(name.encode(), value.encode())])
    assert made.upstream.sent[0].header(name) == value


@pytest.mark.parametrize(
    "name",
    ["Connection", "Keep-Alive", "Proxy-Authorization", "TE", "Upgrade", "X-Foldaway-Token", "x-foldaway-budget"],
)
def test_a_header_about_this_hop_goes_no_further(world: Worlds, name: str) -> None:
    made = world([chat()])
    made.ask(PATH, ASKED, [(name.encode(), b"100")])
    assert made.upstream.sent[0].header(name) is None


def test_the_upstream_gets_its_own_host_and_the_length_of_what_is_sent(world: Worlds) -> None:
    made = world([chat()])
    made.ask(
        PATH,
        ASKED,
        [(b"host", b"127.0.0.1:8787"), (b"content-length", b"999"), (b"connection", b"x-mine"), (b"x-mine", b"1")],
    )
    sent = made.upstream.sent[0]
    assert sent.header("host") == "openai.test"
    assert sent.header("content-length") == str(len(sent.content))
    assert sent.header("x-mine") is None


@pytest.mark.parametrize(
    "name",
    [
        "x-request-id", "request-id", "retry-after", "x-ratelimit-remaining-requests", "x-ratelimit-reset-tokens",
        "anthropic-ratelimit-tokens-remaining", "openai-processing-ms", "openai-version", "set-cookie", "x-new-thing",
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", [200, 429])
def test_a_response_header_comes_back(world: Worlds, name: str, status: int) -> None:
    made = world([Reply(status=status, headers=[JSON_TYPE, (name.encode(), b"12")], pieces=chat().pieces)])
    assert made.ask(PATH, ASKED).header(name) == "12"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529])
@pytest.mark.parametrize("path", [PATH, "/v1/messages", "/v1/responses", "/v1/embeddings"])
def test_an_error_arrives_exactly_as_it_was_sent(world: Worlds, path: str, status: int) -> None:
    content = gzip.compress(b'{ "error" : {"message": "no \\u00e9"} }\n')
    headers = [
        (b"content-type", b"application/json; charset=utf-8"), (b"content-encoding", b"gzip"),
        (b"content-length", str(len(content)).encode()), (b"retry-after", b"7"), (b"x-should-retry", b"true"),
    ]  # fmt: skip
    made = world([Reply(status=status, headers=headers, pieces=[content])])
    answer = made.ask(path, {**ASKED, "max_tokens": 5, "input": "hi"})
    assert answer.status == status
    assert answer.content == content
    assert [h for h in answer.headers if not h[0].startswith(b"x-foldaway")] == headers


def test_off_is_byte_identical_both_ways(world: Worlds) -> None:
    reply = Reply(
        headers=[(b"content-type", b"text/event-stream"), (b"content-encoding", b"br")], pieces=[b"\x00", b"\xff\xfe"]
    )
    made = world([reply], budget=10)
    raw = b'{"model":"m" , "messages":[{"role":"user","content":"\\u00e9 ' + b"x" * 5_000 + b'"}],"a":1.0,"a":2}'
    headers = [(b"content-encoding", b"identity"), (b"accept-encoding", b"br"), (b"x-foldaway", b"off")]
    answer = made.ask(PATH + "?x=%2F1", raw, headers)
    assert made.upstream.sent[0].content == raw
    assert made.upstream.sent[0].url == "http://openai.test/v1/chat/completions?x=%2F1"
    assert made.upstream.sent[0].header("accept-encoding") == "br"
    assert answer.content == b"\x00\xff\xfe"
    assert answer.headers == list(reply.headers)


def test_unknown_fields_and_odd_json_go_on_unchanged_where_nothing_folds(world: Worlds) -> None:
    made = world([chat()])
    raw = b'{ "model":"m","messages":[ {"role":"user","content":"hi","x":1e2} ],"n_e_w":{"b":[1,2.50]},"model":"m" }'
    assert made.ask(PATH, raw).status == 200
    assert made.upstream.sent[0].content == raw


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff\xfe", b'{"messages": 5}', b'{"messages": [1]}', b"null"])
def test_what_is_not_understood_goes_on_unchanged_and_is_counted(world: Worlds, raw: bytes) -> None:
    made = world([chat()])
    answer = made.ask(PATH, raw)
    assert answer.status == 200
    assert made.upstream.sent[0].content == raw
    assert answer.header("x-foldaway-passed") == "not understood"
    assert made.app.records.metrics.passed.values == {(("reason", "not understood"),): 1}


def test_unknown_routes_and_methods_pass(world: Worlds) -> None:
    made = world([Reply(status=204, headers=[], pieces=[])])
    for method, path in (("GET", "/v1/models"), ("DELETE", "/v1/responses/r%2F1"), ("PUT", "/v9/new"), ("GET", PATH)):
        assert made.ask(path, None, method=method).status == 204
    told = [(s.method, s.url.removeprefix("http://openai.test")) for s in made.upstream.sent]
    assert told == [("GET", "/v1/models"), ("DELETE", "/v1/responses/r%2F1"), ("PUT", "/v9/new"), ("GET", PATH)]


def test_a_compressed_request_is_read_and_goes_on_as_it_came_where_nothing_folds(world: Worlds) -> None:
    made = world([chat()])
    raw = gzip.compress(json.dumps(ASKED).encode())
    answer = made.ask(PATH, raw, [(b"content-encoding", b"gzip")])
    assert answer.header("x-foldaway-view")
    assert made.upstream.sent[0].content == raw
    assert made.upstream.sent[0].header("content-encoding") == "gzip"


def test_a_compressed_request_that_folds_goes_on_plain(world: Worlds) -> None:
    made = world([chat()], budget=2_000)
    messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} " + "word " * 100} for n in range(61)]
    raw = gzip.compress(json.dumps({"model": "m", "messages": messages}).encode())
    assert made.ask(PATH, raw, [(b"content-encoding", b"gzip")]).status == 200
    assert made.upstream.sent[0].header("content-encoding") is None
    assert len(made.upstream.sent[0].body["messages"]) < 61


@pytest.mark.parametrize(
    ("raw", "encoding"), [(b"\x28\xb5\x2f\xfd", b"zstd"), (b"no gzip", b"gzip"), (b"x", b"gzip, br")]
)
def test_an_encoding_that_cannot_be_read_passes_and_is_counted(world: Worlds, raw: bytes, encoding: bytes) -> None:
    made = world([chat()])
    answer = made.ask(PATH, raw, [(b"content-encoding", encoding)])
    assert made.upstream.sent[0].content == raw
    assert made.upstream.sent[0].header("content-encoding") == encoding.decode()
    assert answer.header("x-foldaway-passed") == "encoding not known"


def test_a_compressed_answer_that_nothing_was_taken_out_of_arrives_compressed(world: Worlds) -> None:
    content = gzip.compress(chat("hello").pieces[0])
    made = world([Reply(headers=[JSON_TYPE, (b"content-encoding", b"gzip")], pieces=[content])])
    answer = made.ask(PATH, ASKED)
    assert answer.content == content
    assert answer.header("content-encoding") == "gzip"


def test_no_header_of_a_connection_comes_back(world: Worlds) -> None:
    headers = [JSON_TYPE, (b"connection", b"close, x-hop"), (b"x-hop", b"1"), (b"transfer-encoding", b"chunked")]
    made = world([Reply(headers=headers, pieces=chat().pieces)])
    names = {k for k, _ in made.ask(PATH, ASKED).headers}
    assert names == {b"content-type", b"x-foldaway-view"}


def test_where_both_providers_have_a_route_the_headers_tell_whose_it_is(world: Worlds) -> None:
    made = world([chat()])
    made.ask("/v1/models", None, [(b"x-api-key", b"k"), (b"anthropic-version", b"2023-06-01")], method="GET")
    made.ask("/v1/models", None, [(b"authorization", b"Bearer k")], method="GET")
    assert [s.header("host") for s in made.upstream.sent] == ["anthropic.test", "openai.test"]


@pytest.mark.parametrize("path", [PATH, "/v1/messages"])
@pytest.mark.parametrize("content", [None, "", []])
def test_a_history_that_says_nothing_passes_as_it_came(world: Worlds, path: str, content: Any) -> None:
    made = world([chat()], budget=1_000)
    raw = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]}).encode()
    made.ask(path, raw)
    assert made.upstream.sent[0].content == raw
