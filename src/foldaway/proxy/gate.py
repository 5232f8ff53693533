"""What a request must be before anything is done with it: allowed, not too large, not too deep."""

from __future__ import annotations

import asyncio
import hmac
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from foldaway.errors import FoldawayError
from foldaway.proxy import jsons
from foldaway.proxy.settings import ProxySettings

TOKEN_PATH = "/t/"
"""In front of a path, with the token behind it: for clients that let one set a base URL and nothing else."""

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


class Refused(FoldawayError):
    """A request that goes no further."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def split_token(path: str) -> tuple[str, str]:
    """(token, path) of a path that may begin with a token; the token is "" where it does not."""
    if not path.startswith(TOKEN_PATH):
        return "", path
    token, slash, rest = path[len(TOKEN_PATH) :].partition("/")
    return token, slash + rest


def check_token(settings: ProxySettings, headers: Mapping[str, str], in_path: str = "") -> None:
    """Raises Refused (401) unless the client holds the proxy's token, where there is one."""
    given = headers.get("x-foldaway-token") or in_path
    if settings.token and not hmac.compare_digest(given.encode("utf-8", "replace"), settings.token.encode()):
        raise Refused(
            401, "this proxy asks for its token: in the header x-foldaway-token, or as /t/TOKEN in front of the path",
            "proxy_token",
        )  # fmt: skip


def check_headers(settings: ProxySettings, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Raises Refused (431) where they are too large."""
    size = sum(len(k) + len(v) for k, v in headers)
    if size > settings.most_header_bytes:
        raise Refused(431, f"headers of {size:,} bytes; this proxy takes {settings.most_header_bytes:,}", "headers")


async def read_body(receive: Receive, most_bytes: int, seconds: float = 120.0) -> bytes:
    """The body. Raises Refused (413) as soon as it is too large, Refused (408) when it does not come in the time,
    ConnectionError when the client is gone."""
    try:
        async with asyncio.timeout(seconds):
            return await _whole(receive, most_bytes)
    except TimeoutError:
        raise Refused(408, f"the body did not come within {seconds:g} seconds", "slow_body") from None


async def _whole(receive: Receive, most_bytes: int) -> bytes:
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


def decoded(raw: bytes, encoding: str, most_bytes: int) -> bytes | None:
    """A body without its content-encoding; None where it is not one that this proxy reads, or broken.

    Raises Refused (413) where it would be too large: some kilobytes may stand for gigabytes.
    """
    if encoding in ("", "identity"):
        return raw
    if encoding not in ("gzip", "x-gzip", "deflate"):
        return None
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        plain = decoder.decompress(raw, most_bytes + 1)
    except zlib.error:
        return None
    if len(plain) > most_bytes:
        raise Refused(413, f"the body is over {most_bytes:,} bytes when decoded", "too_large")
    return plain if decoder.eof and not decoder.unused_data else None


def parse(raw: bytes, most_depth: int, most_messages: int = 100_000) -> dict[str, Any] | None:
    """The body as an object; None when it is not one. Raises Refused where it is nested or listed beyond reason."""
    try:
        body, depth = jsons.measured(raw)
    except RecursionError:
        raise Refused(400, "the body is nested too deeply", "too_deep") from None
    except ValueError:
        return None
    if not isinstance(body, dict):
        return None
    for key in ("messages", "input"):
        if isinstance(body.get(key), list) and len(body[key]) > most_messages:
            raise Refused(413, f"{len(body[key]):,} {key}; this proxy takes {most_messages:,} at most", "too_many")
    if depth > most_depth:
        raise Refused(400, f"the body is nested more than {most_depth} levels deep", "too_deep")
    return body
