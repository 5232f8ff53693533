"""A scripted model on this machine: an endpoint of Chat Completions or Messages that answers as it was told.

Its server has a thread of its own and listens on the loopback only.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def completion(text: str | None, **choice: Any) -> bytes:
    """The body of a reply with this text; further fields join the choice, `message` its message."""
    message = {"role": "assistant", "content": text, **choice.pop("message", {})}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop", **choice}]}).encode()


def message(text: str, stop_reason: str = "end_turn") -> bytes:
    """The body of a reply of Anthropic's Messages with this text."""
    content = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": text}]
    return json.dumps({"role": "assistant", "content": content, "stop_reason": stop_reason}).encode()


@dataclass(slots=True)
class Endpoint:
    """What it shall answer, and what it was asked."""

    answers: list[Any] = field(default_factory=list)
    """One a request, the last one again and again: (status, body, headers), or a function of the request's handler."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""
    release: threading.Event = field(default_factory=threading.Event)
    """Set when the endpoint goes away: an answer that waits for it holds no thread afterwards."""

    def says(self, text: str | None) -> None:
        self.answers = [(200, completion(text), {})]

    def take(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        self.paths.append(handler.path)
        self.headers.append(dict(handler.headers))
        self.requests.append(json.loads(handler.rfile.read(int(handler.headers["Content-Length"]))))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(answer):
            answer(handler)
            return
        status, body, headers = answer
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gives up is part of the script."""


@contextmanager
def serving() -> Iterator[Endpoint]:
    """An endpoint that listens until the block ends."""
    made = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            made.take(self)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = _Server(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield made
    finally:
        made.release.set()
        server.shutdown()
        server.server_close()
