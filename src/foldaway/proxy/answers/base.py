"""What the proxy needs of one protocol's answers, whole or streamed. Pure: bytes and values in, bytes and values out.

A model asks for what is folded by a call of the recall tool, or by a `[RETRIEVE: ids]` directive in its text. Where an
answer asks for nothing else, the proxy goes back to the model with what it asked for and the client sees one answer:
what was said before the recall, then what came after. Where it makes calls of the client's own tools besides, the
recall is taken out, the rest goes on, and what was asked for stands in the next request's view.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """What counts as a recall in an answer. Nothing: the answer goes on as it is."""

    tool: str = ""
    """Name of the recall tool."""
    directives: bool = False
    """`[RETRIEVE: ids]` in text."""

    def __bool__(self) -> bool:
        return bool(self.tool) or self.directives


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
    """One streamed answer, over one or several rounds with the model. Server-sent events in and out.

    Events that concern no recall go on as the bytes that came, as soon as it is clear that they do not. What could be
    the beginning of a directive, a call of the recall tool, and the events that end an answer are held back until
    that is clear. Bytes that are no well-formed event go on as they came. Nothing ever raises.
    """

    others: bool
    """The round under way calls tools of the client's own."""
    usage: dict[str, Any] | None
    """As the provider reports it, of the last round that told it."""
    output: list[dict[str, Any]]
    """Responses: output items that the client got; else empty."""
    id: str

    @property
    def recalls(self) -> list[Recall]:
        """What the round under way has asked for so far. Put together anew each time."""
        ...

    @property
    def broken(self) -> bool:
        """The round did not come to its own end, or told of an error: no further round."""
        ...

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

    def read(self, answer: Mapping[str, Any], listening: Listening) -> Whole:
        """What a whole answer holds."""
        ...

    def joined(
        self, earlier: Sequence[Mapping[str, Any]], last: Mapping[str, Any], listening: Listening
    ) -> dict[str, Any]:
        """One answer of one or several rounds, without recalls: what was said in earlier rounds stands in front.

        Usage is the last round's for what was read, and of all rounds for what was written: clients take the first for
        the size of their context.
        """
        ...

    def filter(self, listening: Listening) -> Filter:
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


def object_of(event: bytes) -> dict[str, Any] | None:
    """An event's data as an object; None when it is none."""
    data = data_of(event)
    if not data.startswith(b"{"):
        return None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def event_of(payload: Mapping[str, Any], *, named: bool) -> bytes:
    """An event of our own making, under its type's name where the protocol names events."""
    text = json.dumps(payload, ensure_ascii=True, separators=(",", ":"))
    head = f"event: {payload.get('type')}\n" if named else ""
    return f"{head}data: {text}\n\n".encode()


def recall_of(arguments: Any) -> Recall:
    """What a call of the recall tool asks for; arguments that are no object count as words."""
    if isinstance(arguments, str):
        try:
            read = json.loads(arguments)
        except (ValueError, RecursionError):
            read = None
        arguments = read if isinstance(read, dict) else {"ids": arguments}
    if not isinstance(arguments, dict):
        arguments = {}
    ids, find = arguments.get("ids"), arguments.get("find")
    if isinstance(ids, list):
        ids = ", ".join(str(i) for i in ids)
    return Recall(ids=str(ids or ""), find=find if isinstance(find, str) else "")


def added(total: Mapping[str, Any] | None, usage: Mapping[str, Any], written: str) -> dict[str, Any]:
    """The usage of a later round, with what earlier ones wrote added to its count `written`."""
    earlier = (total or {}).get(written)
    now = usage.get(written)
    if not isinstance(earlier, int) or not isinstance(now, int):
        return dict(usage)
    told = {**usage, written: now + earlier}
    if isinstance(usage.get("total_tokens"), int):
        told["total_tokens"] = usage["total_tokens"] + earlier
    return told


NOTHING = "(what was asked for could not be brought back)"
"""Said where an answer held nothing but recalls and no further round was made: an empty answer would stop a client."""
