"""What providers tell: usage at the end of a stream, and the real window in a refusal."""

from __future__ import annotations

import json
import re
from typing import Any

HEAD_BYTES = 16_384
TAIL_BYTES = 65_536

_WINDOW = (
    re.compile(r"maximum context length is (\d+)", re.I),
    re.compile(r"prompt is too long: \d+ tokens > (\d+) maximum", re.I),
    re.compile(r"context (?:window|length|size)[^0-9]{0,40}(\d{3,9})", re.I),
    re.compile(r"\"n_ctx\"\s*:\s*(\d+)"),
    re.compile(r"input length and `max_tokens` exceed context limit: \d+ \+ \d+ > (\d+)", re.I),
)
_TOO_LONG = re.compile(
    r"context_length_exceeded|prompt is too long|exceed_context_size|maximum context length|exceeds? (?:the )?"
    r"(?:context|model's context)|context window|too many (?:input )?tokens|input is too long",
    re.I,
)


def too_long(refusal: bytes, sent_tokens: int) -> int | None:
    """The window that a refusal speaks of; where it names none, nine tenths of what was sent. None: another refusal."""
    text = refusal[:HEAD_BYTES].decode("utf-8", "replace")
    if not _TOO_LONG.search(text):
        return None
    for pattern in _WINDOW:
        found = pattern.search(text)
        if found:
            return int(found.group(1))
    return int(sent_tokens * 0.9) or None


class Tail:
    """The first and the last bytes of a stream that goes by, and the usage in them."""

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""

    def feed(self, data: bytes) -> None:
        if len(self._head) < HEAD_BYTES:
            self._head += data[: HEAD_BYTES - len(self._head)]
        self._tail = (self._tail + data)[-TAIL_BYTES:]

    def usage(self) -> dict[str, Any] | None:
        """As the provider reports it: what came first, overlaid by what came last."""
        found: dict[str, Any] = {}
        for text in (self._head, self._tail):
            for line in text.splitlines():
                if line.startswith(b"data:") and b'"usage"' in line:
                    found.update(_usage(line[5:]))
        return found or None


def _usage(data: bytes) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    holders = [event, *(event.get(k) for k in ("message", "response"))] if isinstance(event, dict) else []
    for holder in holders:
        if isinstance(holder, dict) and isinstance(holder.get("usage"), dict):
            return {k: v for k, v in holder["usage"].items() if v is not None}
    return {}
