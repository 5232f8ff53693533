"""HTTP without a socket, byte by byte: an upstream that answers by script, and requests to an ASGI application.

Unlike a client of the usual kind it adds no header, decodes nothing and keeps what went over, so that a proxy between
the two can be held to every byte. Needs `httpx2`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2

RawHeaders = Sequence[tuple[bytes, bytes]]
App = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]
JSON_TYPE = (b"content-type", b"application/json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the upstream answers."""

    status: int = 200
    headers: RawHeaders = (JSON_TYPE,)
    pieces: Sequence[bytes] = ()
    pause_seconds: float = 0.0
    """Before each piece."""
    error: Exception | None = None
    """Raised instead of an answer, or after the pieces where there are some."""


def reply_json(value: Any, status: int = 200, headers: RawHeaders = ()) -> Reply:
    return Reply(status=status, headers=[JSON_TYPE, *headers], pieces=[json.dumps(value).encode()])


def chat(text: str = "ok", **more: Any) -> Reply:
    """An answer of Chat Completions."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return reply_json({"id": "c1", "object": "chat.completion", "model": "m", "choices": [choice], **more})


@dataclass(slots=True)
class Sent:
    """One request as it came to the upstream."""

    method: str
    url: str
    headers: list[tuple[bytes, bytes]]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    def header(self, name: str) -> str | None:
        """The only header of this name; None when there is none."""
        found = [v for k, v in self.headers if k.lower() == name.lower().encode()]
        assert len(found) < 2, f"{name} twice"
        return found[0].decode("latin-1") if found else None


class _Pieces(httpx2.AsyncByteStream):
    def __init__(self, upstream: Upstream, reply: Reply) -> None:
        self._upstream, self._reply, self._ended = upstream, reply, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._reply.pieces:
            await asyncio.sleep(self._reply.pause_seconds)
            yield piece
        if self._reply.error is not None:
            raise self._reply.error
        self._ended = True

    async def aclose(self) -> None:
        if not self._ended:
            self._upstream.cut += 1


@dataclass(eq=False)
class Upstream(httpx2.AsyncBaseTransport):
    """Answers from a script: the last reply is given again and again. A function is asked with each request."""

    script: Sequence[Reply] | Callable[[Sent], Reply] = (Reply(),)
    sent: list[Sent] = field(default_factory=list)
    cut: int = 0
    """Answers that were closed before their end."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        content = await request.aread()
        sent = Sent(request.method, str(request.url), list(request.headers.raw), content)
        self.sent.append(sent)
        reply = self.script(sent) if callable(self.script) else self.script[min(len(self.sent), len(self.script)) - 1]
        if reply.error is not None and not reply.pieces:
            raise reply.error
        return httpx2.Response(reply.status, headers=list(reply.headers), stream=_Pieces(self, reply))


@dataclass(slots=True)
class Answer:
    """What the client got."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)
    complete: bool = False

    @property
    def content(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    def header(self, name: str) -> str | None:
        found = [v for k, v in self.headers if k.lower() == name.lower().encode()]
        return found[0].decode("latin-1") if found else None


async def ask(
    app: App, path: str, body: Any = None, headers: RawHeaders = (), *, method: str = "POST", leave_after: int = -1,
    pieces: Sequence[bytes] | None = None, pause_seconds: float = 0.0,
) -> Answer:  # fmt: skip
    """Send a request and wait for the whole answer. `leave_after`: disconnect once so many pieces of the answer came
    (0: as soon as the request is sent)."""
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    answer, left = Answer(), asyncio.Event()
    coming = list(pieces if pieces is not None else [content])

    async def receive() -> MutableMapping[str, Any]:
        if coming:
            await asyncio.sleep(pause_seconds)
            return {"type": "http.request", "body": coming.pop(0), "more_body": bool(coming)}
        if leave_after != 0:
            await left.wait()
        return {"type": "http.disconnect"}

    async def send(event: MutableMapping[str, Any]) -> None:
        if event["type"] == "http.response.start":
            answer.status, answer.headers = event["status"], list(event["headers"])
            return
        answer.pieces.append(event.get("body", b""))
        answer.complete = not event.get("more_body", False)
        if answer.complete or len(answer.pieces) == leave_after:
            left.set()

    path, _, query = path.partition("?")
    await app(
        {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(k.lower(), v) for k, v in headers], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        },
        receive, send,
    )  # fmt: skip
    return answer
