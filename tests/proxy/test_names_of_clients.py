"""A client's own tool that is called as the proxy's is."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from foldaway.testing.scripted_http import Answer, Reply, Sent, chat, reply_json

Worlds = Callable[..., Any]


def in_chat(steps: int) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [{"role": "user", "content": "See to the quays."}]
    for n in range(steps):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        told.append({"role": "assistant", "content": None, "tool_calls": [call]})
        told.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"berth {n} is free\n" * 20})
    return told


def in_blocks(steps: int) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [{"role": "user", "content": "See to the quays."}]
    for n in range(steps):
        call = {"type": "tool_use", "id": f"c{n}", "name": "look", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": f"berth {n} is free\n" * 20}
        told += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return told


def chat_tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}


def block_tool(name: str) -> dict[str, Any]:
    return {"name": name, "input_schema": {"type": "object", "properties": {}}}


def names(sent: Sent) -> list[str]:
    return [t.get("name") or t["function"]["name"] for t in sent.body["tools"]]


def calls_recall(path: str) -> Reply:
    """A model that calls a tool of that name, in words that the proxy's own would take too."""
    if path == "/v1/messages":
        used = {"type": "tool_use", "id": "own", "name": "recall", "input": {"ids": "#3"}}
        said = {"id": "a", "type": "message", "role": "assistant", "model": "m", "content": [used]}
        return reply_json({**said, "stop_reason": "tool_use"})
    call = {"id": "own", "type": "function", "function": {"name": "recall", "arguments": json.dumps({"ids": "#3"})}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return reply_json({"id": "a", "object": "chat.completion", "model": "m", "choices": [choice]})


@pytest.mark.parametrize("recall", ["auto", "tool"])
@pytest.mark.parametrize(
    ("path", "history", "tool"), [("/v1/chat/completions", in_chat, chat_tool), ("/v1/messages", in_blocks, block_tool)]
)
def test_a_tool_of_that_name_that_comes_on_the_way_is_the_clients_alone(
    world: Worlds, path: str, history: Callable[[int], list[Any]], tool: Callable[[str], Any], recall: str
) -> None:
    made = world([chat(), calls_recall(path), chat()], budget=1_500, recall=recall)

    def ask(steps: int, *tools: str) -> Answer:
        body = {"model": "m", "max_tokens": 9, "messages": history(steps), "tools": [tool(name) for name in tools]}
        answer: Answer = made.ask(path, body)
        return answer

    ask(20, "look")
    assert names(made.upstream.sent[0]) == ["look", "recall"]
    answer = ask(21, "look", "recall")
    assert "folded away" in made.upstream.sent[1].content.decode()
    assert made.upstream.sent[1].body["tools"] == [tool("look"), tool("recall")]
    assert len(made.upstream.sent) == 2, "the call is the client's to answer"
    assert b'"own"' in answer.content
