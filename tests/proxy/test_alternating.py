"""Strict chat templates: no two messages of one role in a row, where the client's own history has none either."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

from foldaway.proxy.alternating import takes_turns, taking_turns
from foldaway.testing.scripted_http import Reply, Sent, chat, reply_json

Worlds = Callable[..., Any]
PATH = "/v1/chat/completions"
BUDGET = (b"x-foldaway-budget", b"1500")


def in_text(steps: int) -> list[dict[str, Any]]:
    """An agent without a tool protocol."""
    told: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    told += [{"role": "user", "content": "Read all pages, then tell me the code."}]
    for n in range(steps):
        told += [
            {"role": "assistant", "content": f"READ page-{n}.txt"},
            {"role": "user", "content": f"<output>\npage {n}: " + f"code {n * 7919} " * 60 + "\n</output>"},
        ]
    return told


def strict(sent: Sent) -> Reply:
    """Refuses as the templates of Mistral and Gemma do; asks once for what is folded."""
    roles = [m["role"] for m in sent.body["messages"] if m["role"] != "system"]
    if roles[0] != "user" or any(a == b for a, b in itertools.pairwise(roles)):
        return reply_json({"error": {"message": f"roles must alternate user/assistant: {roles}"}}, 500)
    text = json.dumps(sent.body["messages"])
    return chat("I look. [RETRIEVE: #3]" if "folded away" in text and "[foldaway recall" not in text else "done")


def test_what_is_folded_and_recalled_keeps_the_roles_taking_turns(world: Worlds) -> None:
    made = world(strict, budget=1_500)
    history = in_text(30)
    for end in range(30, len(history) + 1, 4):
        answer = made.ask(PATH, {"model": "m", "messages": history[:end]})
        assert answer.status == 200, answer.content
    assert "[foldaway recall" in made.upstream.sent[-1].content.decode()
    assert made.app.records.metrics.rounds.values[()] > 0


def test_messages_of_the_other_protocol_take_turns_as_well(world: Worlds) -> None:
    made = world([reply_json({"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"})] * 20)
    history = in_text(30)[1:]
    for end in range(29, len(history) + 1, 4):
        made.ask("/v1/messages", {"model": "m", "max_tokens": 9, "messages": history[:end]}, [BUDGET])
    assert any("folded away" in sent.content.decode() for sent in made.upstream.sent)
    for sent in made.upstream.sent:
        roles = [m["role"] for m in sent.body["messages"]]
        assert not any(a == b for a, b in itertools.pairwise(roles)), roles


def test_a_client_that_does_not_take_turns_gets_no_messages_joined(world: Worlds) -> None:
    made = world([chat()], budget=1_500)
    history = [*in_text(30)[:-1], {"role": "assistant", "content": "one"}, {"role": "user", "content": "a"}]
    history += [{"role": "user", "content": "b"}]
    made.ask(PATH, {"model": "m", "messages": history})
    assert made.upstream.sent[0].body["messages"][-2:] == history[-2:]


def test_messages_with_more_than_words_are_never_joined() -> None:
    call: dict[str, Any] = {"role": "assistant", "content": "x", "tool_calls": [{"id": "1"}]}
    named = [{"role": "user", "content": "a", "name": "ann"}, {"role": "user", "content": "b", "name": "bob"}]
    rows: list[list[dict[str, Any]]] = [
        [{"role": "assistant", "content": "w"}, call], [*named], [{"role": "tool", "content": "r"}] * 2,
    ]  # fmt: skip
    for messages in rows:
        assert takes_turns(messages)
        assert taking_turns(messages) == messages


def test_words_and_pictures_are_joined_in_their_order() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "a"}, {"role": "user", "content": [picture]}]
    (joined,) = taking_turns(messages)
    assert joined["content"] == [{"type": "text", "text": "a"}, picture]
    assert messages[0] == {"role": "user", "content": "a"}
