"""Connections that ask one call after the other, and how long each took. HTTP/1.1 by hand: no client's own time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

PATH = "/v1/chat/completions"
LARGEST_HEAD = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One call, in seconds from its first byte out."""

    first_byte: float
    """Of the answer's body."""
    whole: float
    status: int


class Connection:
    """One connection that is kept open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        self._reader, self._writer, self._head = reader, writer, head

    @classmethod
    async def to(cls, port: int, headers: Mapping[str, str]) -> Connection:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=LARGEST_HEAD)
        said = {"host": f"127.0.0.1:{port}", "content-type": "application/json", "accept": "*/*", **headers}
        lines = "".join(f"{k}: {v}\r\n" for k, v in said.items())
        return cls(reader, writer, f"POST {PATH} HTTP/1.1\r\n{lines}content-length: ".encode())

    async def ask(self, body: bytes) -> Timing:
        started = perf_counter()
        self._writer.write(self._head + str(len(body)).encode() + b"\r\n\r\n")
        self._writer.write(body)
        await self._writer.drain()
        status, length = _told(await self._reader.readuntil(b"\r\n\r\n"))
        first_byte = await (self._chunks() if length is None else self._sized(length))
        done = perf_counter()
        return Timing(first_byte=first_byte - started, whole=done - started, status=status)

    async def _sized(self, length: int) -> float:
        """Reads a body of known length; when its first byte was here."""
        if length == 0:
            return perf_counter()
        await self._reader.readexactly(1)
        first = perf_counter()
        await self._reader.readexactly(length - 1)
        return first

    async def _chunks(self) -> float:
        first = 0.0
        while True:
            size = int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16)
            first = first or perf_counter()
            await self._reader.readexactly(size + 2)
            if size == 0:
                return first

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            # Closed from the other side first, which is as good.
            return


def _told(head: bytes) -> tuple[int, int | None]:
    """(status, length of the body or None where it comes in chunks)."""
    status, *lines = head.split(b"\r\n")
    length = [int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")]
    return int(status.split(b" ")[1]), length[0] if length else None


Work = Sequence[bytes]
"""The bodies that one connection asks with."""


async def drive(port: int, work: Sequence[Work], headers: Mapping[str, str]) -> tuple[list[Timing], float]:
    """One connection for each, all at once, one call after the other; the timings, and seconds in all.

    Bodies are made beforehand: what that takes must not count.
    """
    connections = await asyncio.gather(*(Connection.to(port, headers) for _ in work))

    async def one(connection: Connection, calls: Work) -> list[Timing]:
        return [await connection.ask(body) for body in calls]

    started = perf_counter()
    try:
        timings = await asyncio.gather(*(one(c, w) for c, w in zip(connections, work, strict=True)))
        seconds = perf_counter() - started
    finally:
        for connection in connections:
            await connection.close()
    return [t for some in timings for t in some], seconds
