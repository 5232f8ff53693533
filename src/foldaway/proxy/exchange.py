"""One HTTP request under way: what came, and how its answer goes out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from foldaway.proxy.records import Record
from foldaway.proxy.upstream import Headers

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(slots=True)
class Exchange:
    """One HTTP request under way."""

    path: str
    """Without a token in front of it."""
    raw_path: str
    """As it was sent, percent signs and all."""
    token: str
    """The one that stood in front of the path."""
    query: str
    method: str
    raw_headers: Headers
    headers: Mapping[str, str]
    receive: Receive
    send: Send
    record: Record
    started: bool = False
    """The answer's status is out: errors can no longer be said."""

    async def start(self, status: int, headers: Headers) -> None:
        self.started = True
        self.record.status = status
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def piece(self, data: bytes, *, more: bool = True) -> None:
        if data or not more:
            await self.send({"type": "http.response.body", "body": data, "more_body": more})

    async def whole(self, status: int, content: bytes, kind: bytes = b"application/json", extra: Headers = []) -> None:  # noqa: B006
        headers = [(b"content-type", kind), (b"content-length", str(len(content)).encode()), *extra]
        await self.start(status, headers)
        await self.piece(content, more=False)
