"""What the proxy needs of one protocol's answers, whole or streamed. Pure: bytes and values in, bytes and values out.

A model asks for what is folded by a call of the recall tool, or by a `[RETRIEVE: ids]` directive in its text. Where an
answer asks for nothing else, the proxy goes back to the model with what it asked for and the client sees one answer:
what was said before the recall, then what came after. Where it makes calls of the client's own tools besides, the
recall is taken out, the rest goes on, and what was asked for stands in the next request's view.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """One thing that the model asked for."""

    ids: str
    """Ids, ranges or words, as the model wrote them."""
    find: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """An answer that came in one piece, read."""

    recalls: tuple[Recall, ...]
    others: bool
    """It calls tools of the client's own besides: then it goes on without the recalls, and no further round is made."""
    usage: Mapping[str, Any] | None
    """As the provider reports it."""
    output: tuple[dict[str, Any], ...] = ()
    """Responses: the output items as the client gets them (recalls taken out). Else empty."""
    id: str = ""
    """The answer's own id."""


class Filter(Protocol):
    """One streamed answer, over one or several rounds with the model. Server-sent events in and out, byte for byte.

    Events that concern no recall go on exactly as they came, as soon as it is clear that they do not. What could be
    the beginning of a directive, a call of the recall tool, and the events that end an answer are held back until
    that is clear. Bytes that are no well-formed event go on as they came.
    """

    recalls: list[Recall]
    """What the round under way has asked for so far."""
    others: bool
    """The round under way calls tools of the client's own."""
    usage: dict[str, Any] | None
    """As the provider reports it, of the last round that told it."""
    output: list[dict[str, Any]]
    """Responses: output items that the client got; else empty."""
    id: str
    broken: bool
    """The stream ended without its own end, or with an error event: no further round."""

    def feed(self, data: bytes) -> bytes:
        """Bytes from the upstream, cut anywhere; what the client gets now."""
        ...

    def again(self) -> bytes:
        """The round under way ended in recalls alone and another one follows: indexes go on, heads are not repeated."""
        ...

    def finish(self) -> bytes:
        """No further round: the rest, with the events that end an answer."""
        ...


class Answers(Protocol):
    """One protocol's answers."""

    def read(self, answer: Mapping[str, Any], tool: str) -> Whole:
        """What a whole answer holds. `tool` is the recall tool's name; "" where only directives count."""
        ...

    def without(self, answer: Mapping[str, Any], tool: str) -> dict[str, Any]:
        """The answer with recalls and directives taken out, valid for a client: finish reasons fit what is left."""
        ...

    def joined(self, earlier: list[Mapping[str, Any]], last: Mapping[str, Any], tool: str) -> dict[str, Any]:
        """One answer of several rounds: what was said in earlier ones in front, usage added up, ids of the last."""
        ...

    def filter(self, tool: str) -> Filter:
        """For one streamed answer."""
        ...

    def error(self, status: int, message: str, code: str = "") -> dict[str, Any]:
        """An error of the proxy's own in the shape that this protocol's clients read."""
        ...


@dataclass(slots=True)
class Events:
    """Splits a stream into server-sent events: each with its bytes, so that it can go on as it came."""

    rest: bytes = b""
    most_bytes: int = 16 << 20
    """A longer event is not looked at: `feed` gives it as a piece of plain bytes."""
    _done: list[bytes] = field(default_factory=list)

    def feed(self, data: bytes) -> list[bytes]:
        """Whole events with the blank line that ends each; the rest waits. Linear in what comes in."""
        # Searching from a little before the seam keeps each byte from being looked at again and again.
        start = max(0, len(self.rest) - 3)
        text = self.rest + data
        found: list[bytes] = []
        begin = 0
        while True:
            end, size = _blank(text, max(begin, start))
            if end < 0:
                break
            found.append(text[begin : end + size])
            begin = end + size
            start = begin
        self.rest = text[begin:]
        if len(self.rest) > self.most_bytes:
            found.append(self.rest)
            self.rest = b""
        return found


def _blank(text: bytes, start: int) -> tuple[int, int]:
    """Where the next blank line begins and how long its line ends are; (-1, 0) when there is none."""
    places = [(at, len(mark)) for mark in (b"\r\n\r\n", b"\n\n", b"\r\r") if (at := text.find(mark, start)) >= 0]
    return min(places, default=(-1, 0))


def data_of(event: bytes) -> bytes:
    """The data lines of an event, joined."""
    lines = event.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:"))
