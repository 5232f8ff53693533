"""One HTTP request under way: what came, and how its answer goes out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
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
    route: str
    """The managed route that the path stands for; "" for others."""
    token: str
    """The one that stood in front of the path."""
    query: str
    method: str
    raw_headers: Headers
    headers: Mapping[str, str]
    receive: Receive
    send: Send
    record: Record
    in_one: bool = False
    """The client knows no chunks (HTTP/1.0): an answer whose length nobody told goes out once it is whole."""
    started: bool = False
    """The answer's status is out: errors can no longer be said."""
    _late: tuple[int, Headers] | None = None
    _kept: list[bytes] = field(default_factory=list)

    async def start(self, status: int, headers: Headers) -> None:
        self.record.status = status
        self._late = None
        if self.in_one and not any(k.lower() == b"content-length" for k, _ in headers):
            self._late = status, headers
            return
        self.started = True
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def piece(self, data: bytes, *, more: bool = True) -> None:
        if self._late is not None:
            self._kept.append(data)
            if more:
                return
            data, (status, headers) = b"".join(self._kept), self._late
            await self.start(status, [*headers, (b"content-length", str(len(data)).encode())])
        if data or not more:
            await self.send({"type": "http.response.body", "body": data, "more_body": more})

    async def whole(self, status: int, content: bytes, kind: bytes = b"application/json", extra: Headers = []) -> None:  # noqa: B006
        headers = [(b"content-type", kind), (b"content-length", str(len(content)).encode()), *extra]
        await self.start(status, headers)
        await self.piece(content, more=False)
