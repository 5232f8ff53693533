"""What real clients and real providers do at the edges: caches, odd encodings, broken answers, old HTTP."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from foldaway.testing.scripted_http import Reply, chat, reply_json
from foldaway.wire import count_marks

Worlds = Callable[..., Any]
PATH, MESSAGES = "/v1/chat/completions", "/v1/messages"
MARK = {"cache_control": {"type": "ephemeral"}}
STREAM = (b"content-type", b"text/event-stream")
THINKING = {"type": "enabled", "budget_tokens": 50}


def claude(text: str = "ok") -> Reply:
    said = {"id": "m1", "type": "message", "role": "assistant", "model": "c", "stop_reason": "end_turn"}
    return reply_json({**said, "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 9}})


def thought(n: int) -> list[dict[str, Any]]:
    """One call of an agent that thinks, and its result."""
    call = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"n": n}}
    mind = {"type": "thinking", "thinking": f"think {n}", "signature": f"sig-{n}"}
    result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": [{"type": "text", "text": f"{n} " * 300}]}
    return [{"role": "assistant", "content": [mind, call]}, {"role": "user", "content": [result]}]


def turns(count: int) -> list[dict[str, Any]]:
    return [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} " + "word " * 100} for n in range(count)]


@pytest.mark.parametrize("own", [0, 2])
def test_a_client_that_moves_its_cache_marks_never_has_more_of_them_than_it_set(world: Worlds, own: int) -> None:
    made = world([claude()], budget=3_000)
    told: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "Do the task."}]}]
    tools = [{"name": "read", "description": "r", "input_schema": {"type": "object"}, **(MARK if own else {})}]
    system = [{"type": "text", "text": "Be brief.", **(MARK if own else {})}]
    for n in range(24):
        sent = copy.deepcopy(told)
        for message in [m for m in sent if m["role"] == "user"][-2:]:
            message["content"][-1].update(MARK)
        asked = {"model": "c", "max_tokens": 100, "system": system, "tools": tools, "thinking": THINKING}
        assert made.ask(MESSAGES, {**asked, "messages": sent}).status == 200
        body = made.upstream.sent[-1].body
        assert count_marks(body["messages"]) <= min(2, n + 1)
        assert count_marks(body["system"]) + count_marks(body["tools"]) == own
        assert body["messages"][-1]["content"][-1]["cache_control"] == MARK["cache_control"]
        told += thought(n)
    # Whatever folds, what a signature vouches for is whole or gone.
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    minds = [b for b in blocks if b["type"] == "thinking"]
    assert 0 < len(minds) < 23
    assert all(b["signature"] == "sig-" + b["thinking"].split()[1] for b in minds)


def test_an_answer_that_says_it_is_compressed_and_is_not_ends_in_an_error(world: Worlds) -> None:
    broken = Reply(headers=[STREAM, (b"content-encoding", b"gzip")], pieces=[b"junk"])
    made = world([broken], budget=1_000)
    with pytest.raises(ConnectionAbortedError):
        made.ask(PATH, {"model": "m", "stream": True, "messages": turns(41)})
    # Where nothing folds nobody looks inside.
    assert made.ask(PATH, {"model": "m", "stream": True, "messages": turns(3)}).content == b"junk"


def test_whatever_fails_inside_the_client_is_told_in_its_own_words(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world([chat()])

    async def fail(*_: Any) -> Any:
        raise KeyError("violet")

    monkeypatch.setattr(made.app.upstream, "send", fail)
    answer = made.ask(PATH, {"model": "m", "messages": turns(3)})
    assert answer.status == 500
    assert answer.body["error"]["code"] == "internal"
    assert "violet" not in json.dumps(answer.body)
    assert made.ask(MESSAGES, {"model": "m", "max_tokens": 5, "messages": turns(3)}).body["type"] == "error"


@pytest.mark.parametrize("content", [b'{"id": "c1", "choi', b""])
def test_an_upstream_that_closes_early_is_an_error_and_no_short_answer(world: Worlds, content: bytes) -> None:
    closed = httpx2.RemoteProtocolError("peer closed connection")
    made = world([Reply(pieces=[content], error=closed)])
    answer = made.ask(PATH, {"model": "m", "messages": turns(3)})
    assert answer.status == 502
    assert answer.body["error"]["code"] == "upstream_down"


def test_a_rate_limit_arrives_with_the_time_to_wait(world: Worlds) -> None:
    limited = reply_json({"error": {"message": "slow down"}}, 429, [(b"retry-after", b"7"), (b"x-ratelimit-a", b"0")])
    made = world([limited], budget=1_000)
    answer = made.ask(PATH, {"model": "m", "messages": turns(41)})
    assert (answer.status, answer.header("retry-after"), answer.header("x-ratelimit-a")) == (429, "7", "0")
    assert len(made.upstream.sent) == 1


def test_several_answers_at_once_with_their_probabilities_go_through_untouched(world: Worlds) -> None:
    choices = [
        {"index": n, "message": {"role": "assistant", "content": f"say {n}\n[RETRIEVE: #1]"}, "finish_reason": "stop",
         "logprobs": {"content": [{"token": "say", "logprob": -0.1, "bytes": None, "top_logprobs": []}]}}
        for n in range(3)
    ]  # fmt: skip
    reply = reply_json({"id": "c", "choices": choices})
    made = world([reply], budget=1_000)
    answer = made.ask(PATH, {"model": "m", "n": 3, "logprobs": True, "messages": turns(41)})
    assert answer.content == b"".join(reply.pieces)
    assert made.upstream.sent[0].body["n"] == 3
    assert len(made.upstream.sent) == 1


def test_a_stream_s_usage_is_asked_for_only_where_the_client_asks(world: Worlds) -> None:
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":400,"completion_tokens":2}}\n\n'
    events = [b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n', usage]
    made = world([Reply(headers=[STREAM], pieces=[*events, b"data: [DONE]\n\n"])], budget=1_000)
    asked = {"model": "m", "stream": True, "messages": turns(41)}
    for options in ({}, {"stream_options": {"include_usage": True}}):
        answer = made.ask(PATH, {**asked, **options})
        assert made.upstream.sent[-1].body.get("stream_options") == options.get("stream_options")
        assert usage in answer.content


def test_a_response_that_is_not_kept_is_continued_by_the_provider_alone(world: Worlds) -> None:
    said = {"id": "r1", "object": "response", "status": "completed", "output": [], "usage": {"input_tokens": 5}}
    made = world([reply_json(said)], budget=1_000)
    made.ask("/v1/responses", {"model": "m", "store": False, "input": "hi"})
    raw = json.dumps({"model": "m", "previous_response_id": "r1", "input": "on"}).encode()
    answer = made.ask("/v1/responses", raw)
    assert answer.header("x-foldaway-passed") == "response id not known"
    assert made.upstream.sent[-1].content == raw


def test_a_response_in_the_background_is_offered_no_recall_and_continued_by_the_provider(world: Worlds) -> None:
    queued = {"id": "r1", "object": "response", "status": "queued", "output": [], "background": True}
    made = world([reply_json(queued)], budget=1_000)
    tool = {"type": "function", "name": "read", "parameters": {"type": "object"}}
    items = [{"type": "message", **turn} for turn in turns(41)]
    made.ask("/v1/responses", {"model": "m", "background": True, "tools": [tool], "input": items})
    assert len(made.upstream.sent[0].content) < 6_000
    assert made.upstream.sent[0].body["tools"] == [tool]
    answer = made.ask("/v1/responses", {"model": "m", "previous_response_id": "r1", "input": "on"})
    assert answer.header("x-foldaway-passed") == "response id not known"
    assert made.upstream.sent[1].body["previous_response_id"] == "r1"


def test_a_request_that_goes_out_again_with_another_body_has_another_idempotency_key(world: Worlds) -> None:
    refusal = reply_json({"error": {"message": "This model's maximum context length is 1500 tokens."}}, 400)
    made = world([refusal, chat()])
    assert made.ask(PATH, {"model": "m", "messages": turns(41)}, [(b"idempotency-key", b"k-1")]).status == 200
    assert [s.header("idempotency-key") for s in made.upstream.sent] == ["k-1", "k-1-foldaway-1"]


def test_tokens_are_counted_by_the_provider_for_what_the_client_has(world: Worlds) -> None:
    made = world([reply_json({"input_tokens": 9})], budget=1_000)
    asked = {"model": "c", "messages": turns(41)}
    assert made.ask(MESSAGES + "/count_tokens", asked).body == {"input_tokens": 9}
    assert made.upstream.sent[0].body == asked
    assert made.upstream.sent[0].url == "http://anthropic.test/v1/messages/count_tokens"


def old(made: Any, asked: Any) -> list[dict[str, Any]]:
    """What an ASGI server is told to send to a client of HTTP/1.0."""
    events: list[dict[str, Any]] = []
    coming = [{"type": "http.request", "body": json.dumps(asked).encode(), "more_body": False}]

    async def receive() -> Any:
        if coming:
            return coming.pop()
        await asyncio.Event().wait()
        return None

    async def send(event: Any) -> None:
        events.append(event)

    scope = {"type": "http", "http_version": "1.0", "method": "POST", "path": PATH, "headers": [], "query_string": b""}
    made.loop.run_until_complete(made.app(scope, receive, send))
    return events


def test_old_http_gets_streams_whole_with_their_length(world: Worlds) -> None:
    pieces = [b'data: {"choices":[]}\n\n', b"data: [DONE]\n\n"]
    closed = httpx2.RemoteProtocolError("peer closed connection")
    made = world([Reply(headers=[STREAM], pieces=pieces), Reply(headers=[STREAM], pieces=pieces, error=closed)])
    start, body = old(made, {"model": "m", "stream": True, "messages": turns(3)})
    assert dict(start["headers"])[b"content-length"] == str(len(b"".join(pieces))).encode()
    assert (body["body"], body["more_body"]) == (b"".join(pieces), False)
    start, body = old(made, {"model": "m", "stream": True, "messages": turns(3)})
    assert start["status"] == 502, "nothing is out yet, so the error can be told"
