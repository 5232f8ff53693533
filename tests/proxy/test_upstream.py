"""Connections to a provider over real sockets: kept ones that it closed meanwhile cost nobody a request."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from foldaway.proxy import ProxySettings
from foldaway.proxy.app import ProxyApp
from foldaway.testing.scripted_http import ask

PATH = "/v1/chat/completions"
ANSWER = json.dumps({"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}}]}).encode()
ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


class Forgetful:
    """Answers `keeps` requests of each connection and closes it without a word when the next one comes."""

    def __init__(self, keeps: int) -> None:
        self.keeps, self.requests, self.connections = keeps, 0, 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            for number in range(self.keeps + 1):
                if not self._request(connection):
                    return
                self.requests += 1
                if number < self.keeps:
                    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(ANSWER)}\r\n\r\n"
                    connection.sendall(head.encode() + ANSWER)

    def _request(self, connection: socket.socket) -> bool:
        data = b""
        while b"\r\n\r\n" not in data or not data.endswith(b"}"):
            piece = connection.recv(65536)
            if not piece:
                return False
            data += piece
        return True

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def behind(request: pytest.FixtureRequest) -> Iterator[Callable[[int], Forgetful]]:
    made: list[Forgetful] = []

    def start(keeps: int) -> Forgetful:
        made.append(Forgetful(keeps))
        return made[-1]

    yield start
    for each in made:
        each.close()


def asked(upstream: Forgetful, times: int) -> list[int]:
    """Statuses of requests one after the other."""
    import asyncio

    async def run() -> list[int]:
        app = ProxyApp(ProxySettings(openai_upstream=upstream.url, time_limit_seconds=20.0))
        try:
            return [(await ask(app, PATH, ASKED)).status for _ in range(times)]
        finally:
            await app.close()

    return asyncio.run(run())


def test_a_kept_connection_that_was_closed_costs_no_request(behind: Callable[[int], Forgetful]) -> None:
    upstream = behind(1)
    assert asked(upstream, 4) == [200] * 4
    assert upstream.connections == 4


def test_an_upstream_that_never_answers_is_asked_once(behind: Callable[[int], Forgetful]) -> None:
    upstream = behind(0)
    assert asked(upstream, 2) == [502] * 2
    assert upstream.requests == upstream.connections == 2


def test_connections_are_kept(behind: Callable[[int], Forgetful]) -> None:
    upstream: Any = behind(10)
    assert asked(upstream, 4) == [200] * 4
    assert upstream.connections == 1
