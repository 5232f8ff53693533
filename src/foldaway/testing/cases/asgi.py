"""Requests to an ASGI application, and a stub upstream that is one itself: no socket is opened."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from foldaway.testing.cases.system import Answer, Json

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


async def call(app: App, path: str, body: bytes) -> Answer:
    """POST this body, in one piece, and wait for the whole answer."""
    status, pieces = 500, [b""]
    waiting: list[Event] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Event:
        if not waiting:
            # The client stays: a disconnect would tell the proxy to give up.
            await asyncio.Event().wait()
        return waiting.pop()

    async def send(event: Event) -> None:
        nonlocal status
        if event["type"] == "http.response.start":
            status = int(event["status"])
        elif event["type"] == "http.response.body":
            pieces.append(event.get("body", b""))

    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), (b"host", b"stub")]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await app(scope, receive, send)
    return Answer(status=status, body=b"".join(pieces))


class StubUpstream:
    """Answers every request with one text, in the shape that the path asks for, and keeps what was asked."""

    def __init__(self) -> None:
        self.reply_text = ""
        self.requests: list[Json] = []

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            event = await receive()
            body += event.get("body", b"")
            more = bool(event.get("more_body", False))
        self.requests.append(json.loads(body or b"null"))
        content = json.dumps(_reply(scope["path"], self.reply_text)).encode()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content, "more_body": False})


def _reply(path: str, text: str) -> Json:
    if path.endswith("/messages"):
        usage = {"input_tokens": 1, "output_tokens": 1}
        content = [{"type": "text", "text": text}]
        head = {"id": "msg_stub", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
        return {**head, "content": content, "usage": usage}
    if path.endswith("/responses"):
        block = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": "msg_stub", "role": "assistant", "status": "completed", "content": [block]}
        return {"id": "resp_stub", "object": "response", "status": "completed", "model": "m", "output": [item]}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "chat_stub", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


class AsgiProxy:
    """A proxy that is an ASGI application, in front of the stub upstream."""

    def __init__(self, make: Callable[[App], App]) -> None:
        self._upstream = StubUpstream()
        self._app = make(self._upstream)
        self._loop = asyncio.new_event_loop()

    def upstream(self, reply_text: str) -> None:
        self._upstream.reply_text = reply_text

    def request(self, path: str, body: bytes) -> Answer:
        return self._loop.run_until_complete(call(self._app, path, body))

    def upstream_requests(self) -> list[Json]:
        return self._upstream.requests

    def close(self) -> None:
        self._loop.close()
