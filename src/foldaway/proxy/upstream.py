"""The way to the providers: where a request goes, which headers go along, and the connection itself."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from urllib.parse import urlsplit

import httpx2

from foldaway.proxy.routes import MESSAGES, VERSION
from foldaway.proxy.settings import ProxySettings

OWN = b"x-foldaway"
"""Headers that begin like this are for the proxy and go no further."""
HOP = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
        b"trailer", b"transfer-encoding", b"upgrade", b"host", b"content-length", b"expect",
    }
)  # fmt: skip
"""Headers about one connection, not about the request."""
ABOUT_BODY = frozenset({b"content-encoding", b"content-md5", b"content-digest", b"digest", b"repr-digest", b"etag"})
"""Headers about the very bytes of a body."""
RESENDS = 3
"""Kept connections that may turn out closed, one after the other, before a request is given up."""
Headers = list[tuple[bytes, bytes]]


def onward(headers: Sequence[tuple[bytes, bytes]], *, readable: bool, rewritten: bool = False) -> Headers:
    """Request headers for the upstream. `readable`: the answer has to be looked at, so it must not come compressed;
    `rewritten`: the body is no longer the client's own, and is plain."""
    drop = HOP | _named(headers) | (ABOUT_BODY if rewritten else frozenset())
    kept = [(k, v) for k, v in headers if k.lower() not in drop and not k.lower().startswith(OWN)]
    if readable:
        kept = [(k, v) for k, v in kept if k.lower() != b"accept-encoding"]
        kept.append((b"accept-encoding", b"identity"))
    return kept


def sent_again(headers: Headers, times: int) -> Headers:
    """Headers of a request that goes out once more with another body: its idempotency key stands for the first one."""
    names = (b"idempotency-key", b"x-idempotency-key")
    return [(k, v + b"-foldaway-%d" % times if k.lower() in names else v) for k, v in headers]


def back(headers: Sequence[tuple[bytes, bytes]], *, changed: bool) -> Headers:
    """Response headers for the client. `changed`: the body is no longer the upstream's own."""
    drop = (HOP | ABOUT_BODY if changed else HOP - {b"content-length"}) | _named(headers)
    return [(k, v) for k, v in headers if k.lower() not in drop]


def _named(headers: Sequence[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """What the header `connection` says is about this connection alone."""
    return frozenset(token.strip().lower() for k, v in headers if k.lower() == b"connection" for token in v.split(b","))


async def _opening(opened: list[str], event: str, _: object) -> None:
    """Notes each connection that is opened for a request."""
    if event.startswith("connection.connect"):
        opened.append(event)


async def raw_body(answer: httpx2.Response) -> bytes:
    """The whole body as it was sent, compressed or not."""
    return b"".join([piece async for piece in answer.aiter_raw()])


def plain(answer: httpx2.Response, raw: bytes) -> bytes:
    """A body that came with this answer, readable; as it came where it cannot be decoded."""
    if not answer.headers.get("content-encoding"):
        return raw
    try:
        return httpx2.Response(200, headers=answer.headers, content=raw).content
    except httpx2.DecodingError:
        return raw


class Upstream:
    """The providers. One pool of connections; nothing of a request is kept."""

    def __init__(
        self, settings: ProxySettings, transports: Mapping[str, httpx2.AsyncBaseTransport] | None = None
    ) -> None:
        """`transports`: for tests, in place of the network: "openai" and "anthropic"."""
        self._settings = settings
        timeout = httpx2.Timeout(settings.upstream_seconds, connect=30.0)
        limits = httpx2.Limits(max_connections=settings.most_requests, max_keepalive_connections=64)
        made = transports or {}
        self._keeps = not made
        """Connections are kept from request to request."""
        logging.getLogger("httpx2").addFilter(_without_url)
        self._clients = {
            name: httpx2.AsyncClient(
                transport=made.get(name), timeout=timeout, limits=limits, trust_env=name not in made
            )
            for name in ("openai", "anthropic")
        }

    def provider(self, path: str, route: str, headers: Mapping[str, str]) -> str:
        """Whose route this is: by the path where only one has it, else by the headers that only one asks for."""
        if route == MESSAGES or f"{MESSAGES}/" in path or path.startswith("/messages/") or path == "/v1/complete":
            return "anthropic"
        only = "" if self._settings.openai_upstream and self._settings.anthropic_upstream else "one"
        if only:
            return "anthropic" if self._settings.anthropic_upstream else "openai"
        return "anthropic" if "anthropic-version" in headers or "x-api-key" in headers else "openai"

    def url(self, provider: str, path: str, route: str, query: str) -> str:
        """The address at a provider; "" when that provider is not set."""
        base = self._settings.openai_upstream if provider == "openai" else self._settings.anthropic_upstream
        if not base:
            return ""
        base = base.rstrip("/")
        if urlsplit(base).path.endswith("/v1") and (path == "/v1" or path.startswith("/v1/")):
            path = path[3:]
        elif route and VERSION + path == route and urlsplit(base).path in ("", "/"):
            # The client leaves out what stands at the end of most base URLs; nothing at all says that it is there.
            path = route
        return f"{base}{path}" + (f"?{query}" if query else "")

    async def send(self, provider: str, method: str, url: str, headers: Headers, body: bytes | None) -> httpx2.Response:
        """The answer, its body not read yet: close it. Raises httpx2.TransportError when the upstream is not there.

        A kept connection that the upstream closes as the request goes out is no answer: it goes out again on another.
        """
        for left in reversed(range(RESENDS + 1)):
            opened: list[str] = []
            # Made by hand: a client of its own would add headers of its own.
            request = httpx2.Request(
                method, _parsed(url), headers=[*headers, (b"host", _host(url))], content=body or b"",
                extensions={"trace": partial(_opening, opened)},
            )  # fmt: skip
            try:
                return await self._clients[provider].send(request, stream=True)
            except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError):
                if opened or not left or not self._keeps:
                    raise
        raise AssertionError("unreachable")

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()


def _without_url(record: logging.LogRecord) -> bool:
    """The HTTP client logs each address whole, for programs that log everything: a key may stand in it."""
    if isinstance(record.args, tuple):
        record.args = tuple(arg.host if isinstance(arg, httpx2.URL) else arg for arg in record.args)
    return True


def _parsed(url: str) -> httpx2.URL:
    # A query may hold a key, and keys are not kept.
    return httpx2.URL(url) if "?" in url else _known(url)


@lru_cache(maxsize=64)
def _known(url: str) -> httpx2.URL:
    """Nearly all requests go to two or three addresses."""
    return httpx2.URL(url)


def _host(url: str) -> bytes:
    return urlsplit(url).netloc.rpartition("@")[2].encode()
