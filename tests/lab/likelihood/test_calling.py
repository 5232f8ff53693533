from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

import pytest

from foldaway.lab.likelihood import calling

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}, "required": []}}}
    for name in ("look", "recall")
]
BODY = {"model": "m", "messages": [{"role": "user", "content": "Look."}], "tools": TOOLS, "temperature": 0.2, "seed": 7}


class Llama:
    """Stands in for llama.cpp's server: says the same each time, and keeps what it was asked."""

    def __init__(self, says: str) -> None:
        self.says, self.asked = says, list[tuple[str, Mapping[str, Any]]]()

    def __call__(self, address: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append((path, body))
        if path == "/apply-template":
            return {"prompt": "<user>Look."}
        return {"content": self.says, "tokens_evaluated": 11, "tokens_predicted": 5}


def test_the_model_is_held_to_the_tools_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    llama = Llama('{"name": "recall", "arguments": {"ids": "#3"}}')
    monkeypatch.setattr(calling, "post", llama)
    told = calling.answered("http://llama", BODY)
    function = told["choices"][0]["message"]["tool_calls"][0]["function"]
    assert (function["name"], json.loads(function["arguments"])) == ("recall", {"ids": "#3"})
    assert told["choices"][0]["finish_reason"] == "tool_calls"
    assert told["usage"] == {"prompt_tokens": 11, "completion_tokens": 5}
    path, asked = llama.asked[1]
    assert (path, asked["seed"], asked["temperature"]) == ("/completion", 7, 0.2)
    assert asked["prompt"].startswith("<user>Look.")
    ways = asked["json_schema"]["anyOf"]
    assert [way["properties"]["name"]["const"] for way in ways] == ["look", "recall"]
    assert not any(way["properties"]["arguments"]["additionalProperties"] for way in ways)


def test_a_call_cut_off_is_text_that_ended_by_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "post", Llama('{"name": "recall", "arguments": {"ids": "#3, #4, '))
    told = calling.answered("http://llama", BODY)["choices"][0]
    assert told["finish_reason"] == "length"
    assert "tool_calls" not in told["message"]


def test_it_is_served_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "post", Llama('{"name": "look", "arguments": {}}'))
    with calling.calling_server("http://llama") as url:
        assert url.startswith("http://127.0.0.1:")
        request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(BODY).encode())
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as reply:
            assert json.load(reply)["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "look"
