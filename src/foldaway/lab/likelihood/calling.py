"""A small local model as an OpenAI-compatible server on a loopback port, one that answers in tool calls.

llama.cpp's own server does not hold a model of this size to `tool_choice: "required"`. This one does, as larger
inference servers do: a grammar made of the request's tools leaves calls only. Which call, and with what in it, is the
model's own choice.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from foldaway.lab.likelihood.llama import post

MOST_ANSWER_TOKENS = 100
CALL_BEGINS = "<tool_call>\n"
"""How the chat template of Qwen 2.5 begins a call."""


@contextmanager
def calling_server(llama: str) -> Iterator[str]:
    """Base URL of a server that knows `POST /v1/chat/completions`, not streamed. `llama`: address of llama.cpp's own,
    as `llama.start` tells it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(llama))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def answered(llama: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """A chat completion that is one call of one of the request's tools.

    Raises FoldawayError when llama.cpp's server refuses.
    """
    tools = body["tools"]
    prompt = post(llama, "/apply-template", {"messages": body["messages"], "tools": tools})["prompt"]
    asked = {
        "prompt": prompt + CALL_BEGINS, "json_schema": {"anyOf": [_schema(tool["function"]) for tool in tools]},
        "n_predict": MOST_ANSWER_TOKENS, "temperature": body.get("temperature", 0), "seed": body.get("seed", 1),
        "cache_prompt": True,
    }  # fmt: skip
    got = post(llama, "/completion", asked)
    usage = {"prompt_tokens": got["tokens_evaluated"], "completion_tokens": got["tokens_predicted"]}
    choices = [_choice(got["content"])]
    return {"id": "small", "object": "chat.completion", "model": body["model"], "choices": choices, "usage": usage}


def _choice(text: str) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except ValueError:  # it ran out of tokens
        return {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"}
    function = {"name": said["name"], "arguments": json.dumps(said["arguments"])}
    message = {
        "role": "assistant", "content": None, "tool_calls": [{"id": "call", "type": "function", "function": function}],
    }  # fmt: skip
    return {"index": 0, "message": message, "finish_reason": "tool_calls"}


def _schema(function: Mapping[str, Any]) -> dict[str, Any]:
    """Of one call, as the template has it: name first."""
    properties = {
        "name": {"const": function["name"]}, "arguments": {**function["parameters"], "additionalProperties": False},
    }  # fmt: skip
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _handler(llama: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            told = json.dumps(answered(llama, body)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed for each request."""

    return Handler
