"""What a request must be before anything is done with it: allowed, not too large, not too deep."""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from foldaway.errors import FoldawayError
from foldaway.proxy.settings import ProxySettings

MOST_MESSAGES = 100_000

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


class Refused(FoldawayError):
    """A request that goes no further."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def check_token(settings: ProxySettings, headers: Mapping[str, str]) -> None:
    """Raises Refused (401) unless the client holds the proxy's token, where there is one."""
    given = headers.get("x-foldaway-token", "")
    if settings.token and not hmac.compare_digest(given.encode(), settings.token.encode()):
        raise Refused(401, "this proxy asks for its token in the header x-foldaway-token", "proxy_token")


async def read_body(receive: Receive, most_bytes: int) -> bytes:
    """The body. Raises Refused (413) as soon as it is too large, ConnectionError when the client is gone."""
    parts: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ConnectionError("the client is gone")
        piece = event.get("body", b"")
        size += len(piece)
        if size > most_bytes:
            raise Refused(
                413, f"the body is over {most_bytes:,} bytes; send less or raise --most-body-bytes", "too_large"
            )
        parts.append(piece)
        if not event.get("more_body", False):
            return b"".join(parts)


def parse(raw: bytes, most_depth: int) -> dict[str, Any] | None:
    """The body as an object; None when it is not one. Raises Refused where it is nested or listed beyond reason."""
    try:
        body = json.loads(raw)
    except RecursionError:
        raise Refused(400, "the body is nested too deeply", "too_deep") from None
    except ValueError:
        return None
    if not isinstance(body, dict):
        return None
    for key in ("messages", "input"):
        if isinstance(body.get(key), list) and len(body[key]) > MOST_MESSAGES:
            raise Refused(413, f"{len(body[key]):,} {key}; this proxy takes {MOST_MESSAGES:,} at most", "too_many")
    if raw.count(b"[") + raw.count(b"{") > most_depth and _deeper(body, most_depth):
        raise Refused(400, f"the body is nested more than {most_depth} levels deep", "too_deep")
    return body


def _deeper(body: Any, most: int) -> bool:
    """Whether anything is nested deeper. Level by level, without recursion; linear."""
    level = [body]
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list) and inner
        ]
        if not level:
            return False
    return True
