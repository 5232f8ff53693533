"""A reverse proxy that does nothing else: what the same server and the same client cost by themselves."""

from __future__ import annotations

import os

import httpx2

from foldaway.lab.proxy_bench.upstream import Receive, Scope, Send, whole

UPSTREAM = "FOLDAWAY_BENCH_UPSTREAM"
"""Environment variable with the base URL."""
_HOP = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"host", b"content-length", b"upgrade", b"te"})


class Bare:
    """There and back, byte for byte."""

    def __init__(self) -> None:
        self._base = os.environ[UPSTREAM]
        limits = httpx2.Limits(max_connections=256, max_keepalive_connections=64)
        self._client = httpx2.AsyncClient(timeout=600.0, limits=limits, trust_env=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = await whole(receive)
        headers = [(k, v) for k, v in scope["headers"] if k.lower() not in _HOP]
        host = self._base.partition("//")[2].encode()
        request = httpx2.Request(
            scope["method"], self._base + scope["path"], headers=[*headers, (b"host", host)], content=body
        )
        answer = await self._client.send(request, stream=True)
        try:
            kept = [(k, v) for k, v in answer.headers.raw if k.lower() not in _HOP - {b"content-length"}]
            await send({"type": "http.response.start", "status": answer.status_code, "headers": kept})
            async for data in answer.aiter_raw():
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await answer.aclose()


def app() -> Bare:
    """For uvicorn's `--factory`."""
    return Bare()
