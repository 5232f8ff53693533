from __future__ import annotations

import socket

import pytest


def test_a_test_cannot_reach_another_machine() -> None:
    with socket.socket() as foreign, pytest.raises(AssertionError, match="without network"):
        foreign.connect(("192.0.2.1", 80))
    with pytest.raises(AssertionError, match="without network"):
        socket.getaddrinfo("example.com", 80)


def test_a_test_may_talk_to_itself() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.connect(server.getsockname())
