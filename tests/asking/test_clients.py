from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from foldaway.asking import ChatClient, MessagesClient, Retry
from foldaway.errors import AskError, SettingsError
from foldaway.testing.endpoint import Endpoint, completion, message

KEY = "sk-test-4f1c2b3a9d8e7f60"
ASKED = [{"role": "user", "content": "Say something."}]
ONCE = Retry(attempts=1)


def client(endpoint: Endpoint, **settings: Any) -> ChatClient:
    return ChatClient(**{"url": endpoint.url, "model": "small", "key": KEY, "retry": ONCE, **settings})


def test_a_good_answer_comes_back_and_the_request_is_what_the_protocol_says(endpoint: Endpoint) -> None:
    endpoint.says("Done.")
    assert client(endpoint, fields={"temperature": None, "seed": 1})(ASKED, 99) == "Done."
    assert endpoint.paths == ["/v1/chat/completions"]
    assert endpoint.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert endpoint.requests == [{"model": "small", "messages": ASKED, "max_tokens": 99, "seed": 1}]


def test_an_answer_in_parts_is_joined(endpoint: Endpoint) -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
    endpoint.answers = [(200, completion(None, message={"content": parts}), {})]
    assert client(endpoint)(ASKED, 9) == "one two"


def test_half_a_surrogate_pair_does_not_stop_a_request(endpoint: Endpoint) -> None:
    endpoint.says("Done.")
    assert client(endpoint)([{"role": "user", "content": "cut \ud83d here"}], 9) == "Done."


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((200, b"<html>welcome</html>", {}), "protocol"),
        ((200, b"[]", {}), "protocol"),
        ((200, b'{"choices": []}', {}), "protocol"),
        ((200, b'{"error": {"message": "overloaded"}}', {}), "protocol"),
        ((200, b"[" * 100_000, {}), "protocol"),
        ((200, b"x" * 1_100_000, {}), "protocol"),
        ((200, completion("Half of it", finish_reason="length"), {}), "cut"),
        ((200, completion("", finish_reason="content_filter"), {}), "refusal"),
        ((200, completion(None, message={"refusal": "No."}), {}), "refusal"),
        ((401, b"wrong key", {}), "status"),
        ((307, b"", {"Location": "http://127.0.0.1:1/v1/chat/completions"}), "status"),
    ],
)
def test_what_is_no_usable_answer_is_an_error_of_its_kind(endpoint: Endpoint, answer: Any, kind: str) -> None:
    endpoint.answers = [answer]
    with pytest.raises(AskError) as caught:
        client(endpoint)(ASKED, 9)
    assert caught.value.kind == kind
    assert len(endpoint.requests) == 1


def test_a_busy_server_is_asked_again_after_the_wait_it_wants_but_no_longer_than_allowed(endpoint: Endpoint) -> None:
    busy = [(429, b"", {"Retry-After": "3"}), (503, b"", {"Retry-After": "9999"}), (500, b"", {})]
    endpoint.answers = [*busy, (200, completion("Done."), {})]
    waits: list[float] = []
    retry = Retry(attempts=4, backoff_seconds=0.5, longest_seconds=7)
    assert client(endpoint, retry=retry, sleep=waits.append)(ASKED, 9) == "Done."
    assert waits == [3, 7, 2]


def test_attempts_end(endpoint: Endpoint) -> None:
    endpoint.answers = [(500, b"broken", {})]
    with pytest.raises(AskError, match="answered 500: broken"):
        client(endpoint, retry=Retry(attempts=3), sleep=lambda seconds: None)(ASKED, 9)
    assert len(endpoint.requests) == 3


def test_a_silent_server_times_out(endpoint: Endpoint) -> None:
    endpoint.answers = [lambda handler: endpoint.release.wait(10)]
    with pytest.raises(AskError, match=r"timeout: .* no answer in 0.1 s"):
        client(endpoint, timeout_seconds=0.1)(ASKED, 9)


def test_a_server_that_drips_times_out_as_a_whole(endpoint: Endpoint) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not endpoint.release.wait(0.02):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    endpoint.answers = [drip]
    started = time.monotonic()
    with pytest.raises(AskError, match="timeout"):
        client(endpoint, timeout_seconds=0.3)(ASKED, 9)
    assert time.monotonic() - started < 3


def test_an_endpoint_that_is_down_is_unreachable(endpoint: Endpoint) -> None:
    down = ChatClient(url="http://127.0.0.1:9/v1", model="small", retry=ONCE)
    with pytest.raises(AskError, match=r"unreachable: 127\.0\.0\.1:9"):
        down(ASKED, 9)


def test_the_key_is_in_no_message_and_no_repr(endpoint: Endpoint) -> None:
    endpoint.answers = [(403, json.dumps({"error": f"the key {KEY} is blocked"}).encode(), {})]
    with pytest.raises(AskError, match="is blocked") as caught:
        client(endpoint)(ASKED, 9)
    assert KEY not in str(caught.value)
    assert KEY not in repr(client(endpoint))


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel"])
def test_a_key_that_no_header_may_hold_is_refused_without_saying_it(key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        ChatClient(url="https://models.example/v1", model="small", key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://models.example/v1", "in the open"),
        ("http://127.0.0.1.models.example/v1", "in the open"),
        ("ftp://models.example", "expected https"),
        ("models.example/v1", "expected https"),
        ("https://models.example:secret/v1", "cannot be read"),
        ("https://[::1/v1", "cannot be read"),
        ("https://me:secret@models.example/v1", "no user"),
        ("https://models.example/v1?key=secret", "no user, no query"),
    ],
)
def test_an_address_that_would_leak_is_refused_without_saying_it_all(url: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why) as caught:
        ChatClient(url=url, model="small")
    assert "secret" not in str(caught.value)


def test_plain_http_is_for_this_machine() -> None:
    for url in ("http://localhost:8080/v1", "http://127.0.0.1:8080/v1", "http://[::1]:8080/v1"):
        assert ChatClient(url=url, model="small").url == url


def messages_client(endpoint: Endpoint, **settings: Any) -> MessagesClient:
    return MessagesClient(**{"url": endpoint.url, "model": "small", "key": KEY, "retry": ONCE, **settings})


def test_a_messages_endpoint_is_asked_in_its_own_protocol(endpoint: Endpoint) -> None:
    endpoint.answers = [(200, message("Done."), {})]
    asked = [{"role": "system", "content": "Be short."}, *ASKED]
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    assert messages_client(endpoint)(asked, 99, {"tools": tools}) == "Done."
    assert endpoint.paths == ["/v1/messages"]
    headers = {name.lower(): value for name, value in endpoint.headers[0].items()}
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in headers
    assert endpoint.requests == [
        {"model": "small", "messages": ASKED, "max_tokens": 99, "system": "Be short.", "tools": tools}
    ]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((200, b"<html>welcome</html>", {}), "protocol"),
        ((200, completion("of the other protocol"), {}), "protocol"),
        ((200, b'{"content": [1]}', {}), "protocol"),
        ((200, b"[" * 100_000, {}), "protocol"),
        ((200, message("Half of it", "max_tokens"), {}), "cut"),
        ((200, message("", "refusal"), {}), "refusal"),
        ((401, b"wrong key", {}), "status"),
    ],
)
def test_what_is_no_usable_message_is_an_error_of_its_kind(endpoint: Endpoint, answer: Any, kind: str) -> None:
    endpoint.answers = [answer]
    with pytest.raises(AskError) as caught:
        messages_client(endpoint)(ASKED, 9)
    assert caught.value.kind == kind


def test_an_overloaded_messages_endpoint_is_asked_again(endpoint: Endpoint) -> None:
    endpoint.answers = [(529, b'{"type": "error"}', {}), (200, message("Done."), {})]
    made = messages_client(endpoint, retry=Retry(attempts=2), sleep=lambda seconds: None)
    assert made(ASKED, 9) == "Done."
    assert KEY not in repr(made)


def test_what_may_be_a_part_of_a_key_is_not_repeated(endpoint: Endpoint) -> None:
    endpoint.answers = [(401, b"Incorrect API key: sk-proj-4f1c2b3a...9d8e7f60aa11bb22", {})]
    with pytest.raises(AskError, match="Incorrect API key") as caught:
        client(endpoint)(ASKED, 9)
    assert "4f1c" not in str(caught.value)
    assert "9d8e" not in str(caught.value)
