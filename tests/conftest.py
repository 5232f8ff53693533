"""What holds for every test: no network beyond this machine."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from hypothesis import settings

_LOCAL = ("127.", "::1", "localhost")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to another machine, or the look-up of its name, fails the test."""
    connect = socket.socket.connect
    connect_ex = socket.socket.connect_ex
    look_up = socket.getaddrinfo

    def refuse_foreign(family: int, address: Any) -> None:
        if family in (socket.AF_INET, socket.AF_INET6) and not str(address[0]).startswith(_LOCAL):
            raise AssertionError(f"a test tried to reach {address!r}; tests run without network")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        refuse_foreign(self.family, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        refuse_foreign(self.family, address)
        return connect_ex(self, address)

    def guarded_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host:
            name = host.decode() if isinstance(host, bytes) else host
            refuse_foreign(socket.AF_INET, (name,))
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)


# The quick suite draws the same examples each time, so that a change is judged by what it changes; a search for new
# ones is `make test-all ARGS="--hypothesis-profile=search"`.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("same")
