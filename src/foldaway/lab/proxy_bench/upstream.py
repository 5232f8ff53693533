"""What stands behind every target: answers at once, the same to everybody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from foldaway.lab.proxy_bench.histories import BYTES_A_TOKEN, MODEL

PIECES = 20
"""Of a streamed answer."""
PAUSE_SECONDS = 0.002
"""Between two pieces."""
Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """An ASGI application that speaks as much of Chat Completions as the bench asks for."""
    if scope["type"] != "http":
        return
    body = await whole(receive)
    usage = _usage(len(body))
    if b'"stream":true' not in body and b'"stream": true' not in body:
        await _say(send, b"application/json", json.dumps(_answer(usage)).encode())
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    for piece in _pieces(usage):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        await asyncio.sleep(PAUSE_SECONDS)
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": False})


async def whole(receive: Receive) -> bytes:
    """The body of a request."""
    parts: list[bytes] = []
    while True:
        event = await receive()
        parts.append(event.get("body", b""))
        if not event.get("more_body", False):
            return b"".join(parts)


async def _say(send: Send, kind: bytes, content: bytes) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _usage(size: int) -> dict[str, int]:
    # As near to the real count as can be without counting: a provider's figure corrects the proxy's own.
    prompt = int(size / BYTES_A_TOKEN)
    return {"prompt_tokens": prompt, "completion_tokens": 20, "total_tokens": prompt + 20}


def _answer(usage: Mapping[str, int]) -> dict[str, Any]:
    message = {"role": "assistant", "content": "The module orders drops them; I go on with its tests."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [choice],
        "usage": usage,
    }  # fmt: skip


def _pieces(usage: Mapping[str, int]) -> Iterator[bytes]:
    for number in range(PIECES):
        delta = {"content": f"word {number} "} if number else {"role": "assistant", "content": ""}
        end = "stop" if number == PIECES - 1 else None
        yield _event({"choices": [{"index": 0, "delta": delta, "finish_reason": end}]})
    yield _event({"choices": [], "usage": usage})


def _event(more: Mapping[str, Any]) -> bytes:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    return b"data: " + json.dumps({**head, **more}).encode() + b"\n\n"
