"""A provider's refusal for length is caught once: it teaches the limit, and the request goes out smaller."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from foldaway.testing.scripted_http import Reply, Sent, chat, reply_json
from foldaway.wire import problems

Worlds = Callable[..., Any]


def told(steps: int, words: int = 200) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "user", "content": "Do the task."}]
    for n in range(steps):
        found += [
            {"role": "assistant", "content": f"step {n}"},
            {"role": "user", "content": f"see {n} " + "word " * words},
        ]
    return found


def anthropic_told(steps: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "user", "content": "Do the task."}]
    for n in range(steps):
        use = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"path": f"f{n}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"result {n} " + "word " * 200}
        found += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return found


def model_with_window(window: int, refusal: Callable[[int], Reply], answer: Reply) -> Callable[[Sent], Reply]:
    """Refuses what is longer than the window: four bytes a token."""
    return lambda sent: refusal(len(sent.content) // 4) if len(sent.content) // 4 > window else answer


def openai_refusal(asked: int) -> Reply:
    message = f"This model's maximum context length is 4000 tokens. However, your messages resulted in {asked} tokens."
    return reply_json({"error": {"message": message, "code": "context_length_exceeded"}}, 400)


def anthropic_refusal(asked: int) -> Reply:
    error = {"type": "invalid_request_error", "message": f"prompt is too long: {asked} tokens > 4000 maximum"}
    return reply_json({"type": "error", "error": error}, 400)


def llama_refusal(asked: int) -> Reply:
    error = {"code": 500, "message": "the request exceeds the available context size", "n_prompt_tokens": asked}
    return reply_json({"error": {**error, "type": "exceed_context_size_error", "n_ctx": 4000}}, 500)


def silent_refusal(asked: int) -> Reply:
    return reply_json({"error": {"message": "Your input exceeds the context window of this model."}}, 400)


def hidden_refusal(asked: int) -> Reply:
    message = (
        f"This endpoint's maximum context length is 4000 tokens. However, you requested about {asked} tokens ({asked}"
    )
    return reply_json({"error": {"message": message + " of text input).", "code": 400}}, 200)


@pytest.mark.parametrize("refusal", [openai_refusal, llama_refusal, hidden_refusal])
def test_a_request_that_is_too_long_is_sent_again_smaller_and_the_client_sees_the_answer(
    world: Worlds, refusal: Callable[[int], Reply]
) -> None:
    made = world(model_with_window(4_000, refusal, chat("done")))
    asked = {"model": "local", "messages": told(40), "temperature": 0.5}
    answer = made.ask("/v1/chat/completions", asked)
    assert answer.status == 200
    assert answer.body["choices"][0]["message"]["content"] == "done"
    first, second = made.upstream.sent
    assert first.body == asked
    assert problems("openai_chat", second.body["messages"]) == []
    assert second.body["temperature"] == 0.5
    assert made.upstream.cut == 0


def test_what_was_learned_holds_for_later_requests(world: Worlds) -> None:
    made = world(model_with_window(4_000, openai_refusal, chat("done")))
    messages = told(60)
    for end in range(81, 121, 4):
        assert made.ask("/v1/chat/completions", {"model": "local", "messages": messages[:end]}).status == 200
    assert len(made.upstream.sent) == 11
    made.ask("/v1/chat/completions", {"model": "local", "messages": told(50, 300)})
    assert len(made.upstream.sent) == 12


def test_one_key_learns_nothing_for_another(world: Worlds) -> None:
    made = world(model_with_window(4_000, openai_refusal, chat("done")))
    asked = {"model": "local", "messages": told(40)}
    for key, so_far in ((b"Bearer a", 2), (b"Bearer a", 3), (b"Bearer b", 5)):
        made.ask("/v1/chat/completions", asked, [(b"authorization", key)])
        assert len(made.upstream.sent) == so_far


def test_a_stream_that_is_refused_before_it_starts_is_sent_again(world: Worlds) -> None:
    events = [b'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n', b"data: [DONE]\n\n"]
    stream = Reply(headers=[(b"content-type", b"text/event-stream")], pieces=events)
    made = world(model_with_window(4_000, openai_refusal, stream))
    answer = made.ask("/v1/chat/completions", {"model": "local", "messages": told(40), "stream": True})
    assert answer.status == 200
    assert answer.content == b"".join(events)
    assert len(made.upstream.sent) == 2


def test_anthropic_is_understood_as_well(world: Worlds) -> None:
    text = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "text", "text": "done"}]}
    made = world(model_with_window(4_000, anthropic_refusal, reply_json(text)))
    answer = made.ask("/v1/messages", {"model": "local", "max_tokens": 100, "messages": anthropic_told(40)})
    assert answer.status == 200
    assert problems("anthropic_messages", made.upstream.sent[1].body["messages"]) == []


def test_without_a_number_each_refusal_makes_the_request_smaller(world: Worlds) -> None:
    made = world(model_with_window(7_000, silent_refusal, chat("done")))
    messages = told(40)
    statuses = [made.ask("/v1/chat/completions", {"model": "local", "messages": messages}).status for _ in range(5)]
    assert statuses[-1] == 200
    sizes = [len(sent.content) for sent in made.upstream.sent]
    assert sizes == sorted(sizes, reverse=True)


def test_a_refusal_that_nothing_helps_against_arrives_as_it_was_sent(world: Worlds) -> None:
    refused = reply_json({"error": {"message": "maximum context length is 10 tokens"}}, 400, [(b"x-request-id", b"r1")])
    made = world([refused])
    answer = made.ask("/v1/chat/completions", {"model": "local", "messages": told(1)})
    assert (answer.status, answer.content, answer.header("x-request-id")) == (400, refused.pieces[0], "r1")
    assert len(made.upstream.sent) == 1


def test_a_second_refusal_arrives_as_it_was_sent(world: Worlds) -> None:
    made = world([openai_refusal(9_000), openai_refusal(4_100)])
    answer = made.ask("/v1/chat/completions", {"model": "local", "messages": told(40)})
    assert answer.content == openai_refusal(4_100).pieces[0]
    assert len(made.upstream.sent) == 2


def picture(n: int, size: int = 50_000) -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + random.Random(n).randbytes(size)).decode()


def shots(steps: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "user", "content": "Click through the form."}]
    for n in range(steps):
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture(n)}}
        content = [{"type": "text", "text": f"screen {n}"}, image]
        use = {"type": "tool_use", "id": f"t{n}", "name": "shot", "input": {"screen": n}}
        found.append({"role": "assistant", "content": [{"type": "text", "text": f"looking at {n}"}, use]})
        found.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": content}]})
    return found


DONE = reply_json({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "text", "text": "done"}]})


def test_pictures_fold_first_where_a_body_is_over_the_byte_limit(world: Worlds) -> None:
    made = world([DONE], most_upstream_bytes=600_000)
    messages = shots(14)
    for end in range(3, len(messages) + 1, 2):
        answer = made.ask("/v1/messages", {"model": "m", "max_tokens": 10, "messages": messages[:end]})
        assert answer.status == 200
    for sent in made.upstream.sent:
        assert len(sent.content) <= 600_000
        assert problems("anthropic_messages", sent.body["messages"]) == []
    last = made.upstream.sent[-1].content.decode()
    assert picture(13) in last
    assert picture(0) not in last
    assert all(f"looking at {n}" in last for n in range(8, 14))
    # Folded in a batch, not one with each call: the prefix stays for some calls.
    assert 1 <= sum(made.app.records.metrics.commits.values.values()) <= 4


def test_a_413_teaches_the_byte_limit(world: Worlds) -> None:
    large = b'{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}'
    made = world(lambda sent: Reply(status=413, pieces=[large]) if len(sent.content) > 650_000 else DONE)
    asked = {"model": "m", "max_tokens": 10, "messages": shots(12)}
    assert made.ask("/v1/messages", asked).status == 200
    assert [len(sent.content) > 650_000 for sent in made.upstream.sent] == [True, False]
    assert made.ask("/v1/messages", asked).status == 200
    assert len(made.upstream.sent) == 3


def test_text_folds_where_no_picture_is_left_to_fold(world: Worlds) -> None:
    made = world([chat()], most_upstream_bytes=60_000)
    made.ask("/v1/chat/completions", {"model": "m", "messages": told(150)})
    assert len(made.upstream.sent[0].content) <= 60_000
    assert problems("openai_chat", json.loads(made.upstream.sent[0].content)["messages"]) == []
