"""Refusals for length are read in the words of each provider, and other refusals are not taken for one."""

from __future__ import annotations

import json

import pytest

from foldaway.proxy.told import Refusal, Tail, refusal_of

OPENAI = "This model's maximum context length is {} tokens. However, "
WORDINGS = [
    (400, OPENAI.format(8192) + "your messages resulted in 8227 tokens. Please reduce the length.", 8192, 8227),
    (400, OPENAI.format(4096) + "you requested 4118 tokens (3118 in the messages, 1000 in the answer).", 4096, 3118),
    (400, "Your input exceeds the context window of this model. Please adjust your input and try again.", None, None),
    (400, "prompt is too long: 213462 tokens > 200000 maximum", 200_000, 213_462),
    (400, "input length and `max_tokens` exceed context limit: 189136 + 20000 > 204648, decrease", 204_648, 189_136),
    (413, "Request size exceeds model context window", None, None),
    (400, OPENAI.format(2048) + "your request has 2041 input tokens plus 2045 'max_tokens'.", 2048, 2041),
    (400, "max_tokens must be at least 1, got -186.", None, None),
    (
        400,
        "This endpoint's maximum context length is 65536 tokens. However, you requested about 92208 tokens (60833 of "
        "text input, 10042 of tool input, 21333 in the output).",
        65_536, 70_875,
    ),
    (400, "Trying to keep the first 11490 tokens. The model is loaded with context length of only 3276", 3_276, 11_490),
    (500, "Requested tokens (2285) exceed context window of 2048", 2048, 2285),
    (400, "The input token count (1200) exceeds the maximum number of tokens allowed (1000).", 1_000, 1_200),
    (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072, 537_812),
    (400, "This model's maximum context length is 8,192 tokens.", 8192, None),
]  # fmt: skip
OTHERS = [
    (400, "max_tokens: 10000 > 4096, which is the maximum allowed number of output tokens for this model"),
    (400, "messages: roles must alternate"),
    (401, "prompt is too long: 1 tokens > 0 maximum"),
    (429, "Request too large for model on tokens per min (TPM): Limit 30000, Requested 40000"),
    (413, "Request too large for model on tokens per minute (TPM): Limit 6000, Requested 8000"),
    (404, "the model does not exist"),
]


def error(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()


@pytest.mark.parametrize(("status", "message", "window", "asked"), WORDINGS)
def test_a_refusal_for_length_is_read(status: int, message: str, window: int | None, asked: int | None) -> None:
    assert refusal_of(status, error(message)) == Refusal(window=window, asked=asked)


@pytest.mark.parametrize(("status", "message"), OTHERS)
def test_other_refusals_are_not_taken_for_one(status: int, message: str) -> None:
    assert refusal_of(status, error(message)) is None


def test_llama_cpp_tells_both_numbers_in_fields() -> None:
    told = {"code": 400, "message": "the request exceeds the available context size", "n_prompt_tokens": 1407}
    body = json.dumps({"error": {**told, "type": "exceed_context_size_error", "n_ctx": 256}}).encode()
    assert refusal_of(500, body) == refusal_of(400, body) == Refusal(window=256, asked=1407)


def test_a_body_too_large_in_bytes_is_another_refusal() -> None:
    body = b'{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}'
    assert refusal_of(413, body) == Refusal(by_bytes=True)
    assert refusal_of(413, b"<html>413 Request Entity Too Large</html>") == Refusal(by_bytes=True)


def test_an_answer_that_speaks_of_context_windows_is_no_refusal() -> None:
    assert refusal_of(200, b'{"choices": [{"message": {"content": "maximum context length is 5 tokens"}}]}') is None
    assert refusal_of(200, b'{"error": {"message": "maximum context length is 5 tokens"}}') == Refusal(window=5)


def test_a_refusal_inside_a_stream_is_found_but_not_in_what_a_client_said() -> None:
    said = {
        "type": "response.created",
        "response": {"error": None, "instructions": "the context_length_exceeded error"},
    }
    tail = Tail()
    tail.feed(b"event: x\ndata: " + json.dumps(said).encode() + b"\n\n")
    assert tail.refusal() is None
    tail.feed(b'data: {"type":"error","error":{"code":"context_length_exceeded","message":"too long"}}\n\n')
    assert tail.refusal() == Refusal()


def test_the_room_of_the_next_request_is_always_smaller_than_what_was_refused() -> None:
    assert Refusal().room(10_000, 1_000) == 8_500
    assert Refusal(window=8_000).room(10_000, 1_000) == 7_000
    assert Refusal(window=8_000).room(5_000, 1_000) == 4_500
    # Counted here as 5,000, there as 10,000: 7,000 of theirs are 3,500 of ours.
    assert Refusal(window=8_000, asked=10_000).room(5_000, 1_000) == 3_500
