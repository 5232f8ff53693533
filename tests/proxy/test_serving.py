"""`foldaway serve` as a process of its own: over real sockets, with logs, and stopped as a service manager does."""

from __future__ import annotations

import http.client
import json
import logging
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from foldaway.cli import main
from foldaway.proxy.serving import Lines

PATH = "/v1/chat/completions"
ASKED = {"model": "m", "messages": [{"role": "user", "content": "violet"}]}


class Handler(BaseHTTPRequestHandler):
    """Streams three events; a request for the model `slow` takes a second."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if b'"slow"' in body:
            time.sleep(1.0)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("x-request-id", "r1")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for n in range(3):
            event = b'data: {"choices":[{"index":0,"delta":{"content":"%d"}}]}\n\n' % n
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        if b'"cut"' in body:
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Process:
    def __init__(self, *options: str, **environment: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "foldaway.cli", "serve", "--port", "0", *options],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env={**os.environ, **environment},
        )  # fmt: skip
        assert self._process.stderr is not None
        readable, _, _ = select.select([self._process.stderr], [], [], 60)
        assert readable, "it does not start"
        self.first = self._process.stderr.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", self.first)
        assert found, self.first + (self._process.stderr.read() if self._process.poll() is not None else "")
        self.port = int(found[1])
        try:
            self._wait()
        except AssertionError as error:
            raise AssertionError("\n".join(self.stop())) from error

    def _wait(self) -> None:
        for _ in range(600):
            try:
                if self.get("/health/live") == 200:
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("it does not answer")

    def get(self, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", path)
        status = connection.getresponse().status
        connection.close()
        return status

    def stop(self) -> list[str]:
        """Lines of its log."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        _, talk = self._process.communicate(timeout=30)
        return talk.splitlines()


@pytest.fixture
def start(upstream: str, tmp_path: Path) -> Iterator[Callable[..., Process]]:
    made: list[Process] = []

    def run(*options: str, **environment: str) -> Process:
        store = f"sqlite:///{tmp_path}/proxy.db"
        made.append(Process("--openai-upstream", upstream, "--store", store, *options, **environment))
        return made[-1]

    yield run
    for each in made:
        each.stop()


def post(connection: http.client.HTTPConnection, path: str, body: Any) -> tuple[int, dict[str, str], bytes]:
    connection.request("POST", path, json.dumps(body), {"authorization": "Bearer sk-KEY"})
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def test_it_serves_over_one_kept_connection_logs_json_and_stops_cleanly(start: Callable[..., Process]) -> None:
    process = start("--log-json", FOLDAWAY_TOKEN="tok-1")
    assert "OPENAI_BASE_URL=http://127.0.0.1:" in process.first
    assert "/t/$FOLDAWAY_TOKEN/v1" in process.first
    connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=30)
    assert post(connection, PATH, ASKED)[0] == 401
    kept = connection.sock
    for _ in range(3):
        status, headers, content = post(connection, "/t/tok-1" + PATH, ASKED)
        assert status == 200
        assert content.count(b"data: ") == 3
        assert headers["x-request-id"] == "r1"
        assert connection.sock is kept
    connection.request("GET", "/t/tok-1/v1/responses", headers={"connection": "Upgrade", "upgrade": "websocket"})
    answer = connection.getresponse()
    assert (answer.status, b"websockets" in answer.read()) == (426, True)
    connection.close()
    text = process.stop()
    lines = [json.loads(line) for line in text]
    asked = [line for line in lines if line.get("path") == PATH]
    assert [line["status"] for line in asked] == [401, 200, 200, 200]
    assert all(line["time"].endswith("Z") and line["level"] == "info" for line in asked)
    for secret in ("tok-1", "sk-KEY", "violet", "Traceback"):
        assert secret not in "\n".join(text)


def test_told_to_stop_it_finishes_what_is_under_way(start: Callable[..., Process]) -> None:
    process = start()
    answers: list[tuple[int, dict[str, str], bytes]] = []

    def ask() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=30)
        answers.append(post(connection, PATH, {**ASKED, "model": "slow"}))
        connection.close()

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.5)
    lines = process.stop()
    asking.join(30)
    assert answers[0][0] == 200
    assert answers[0][2].count(b"data: ") == 3
    assert any(f"POST {PATH} 200 managed" in line for line in lines)


@pytest.mark.slow
def test_what_the_stop_cuts_off_is_told_in_the_line_of_its_request(start: Callable[..., Process]) -> None:
    process = start("--grace-seconds", "0")
    connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=30)
    connection.request("POST", PATH, json.dumps({**ASKED, "model": "slow"}))
    time.sleep(0.5)
    lines = process.stop()
    connection.close()
    assert any(f"POST {PATH}" in line and "cut off: the proxy stops" in line for line in lines), lines
    assert not any("Exception in ASGI" in line for line in lines), lines


@pytest.mark.slow
def test_several_processes_share_the_port_and_the_store(start: Callable[..., Process]) -> None:
    process = start("--workers", "2")
    for n in range(20):
        connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=30)
        messages = [{"role": "user", "content": f"message {i}"} for i in range(n + 1)]
        assert post(connection, PATH, {"model": "m", "messages": messages})[0] == 200
        connection.close()
    process.stop()


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["serve", *arguments])
    talk = capsys.readouterr().err
    assert talk.count("\n") == 1, talk
    return code, talk


def test_what_cannot_be_served_is_one_clear_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    memory = ("--store", "memory:")
    code, talk = failure(capsys, "--host", "0.0.0.0", *memory)
    assert (code, "token" in talk) == (2, True)
    code, talk = failure(capsys, "--openai-upstream", "api.openai.com", *memory)
    assert (code, "expected a URL" in talk) == (2, True)
    code, talk = failure(capsys, "--policy", "nothing", *memory)
    assert (code, "nothing" in talk) == (2, True)
    code, talk = failure(capsys, "--workers", "2", *memory)
    assert (code, "share" in talk) == (2, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, talk = failure(capsys, "--port", port, *memory)
    assert (code, port in talk) == (1, True)
    (tmp_path / "broken.db").write_bytes(b"no database at all" * 100)
    code, talk = failure(capsys, "--store", f"sqlite:///{tmp_path}/broken.db")
    assert (code, "broken.db" in talk) == (1, True)


def test_without_the_extra_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in sys.modules if n.startswith("foldaway.proxy")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    code, talk = failure(capsys)
    assert (code, "foldaway[proxy]" in talk) == (1, True)


def test_an_answer_that_is_cut_is_one_line_in_the_log(upstream: str, start: Callable[..., Process]) -> None:
    process = start()
    connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=30)
    connection.request("POST", PATH, json.dumps({**ASKED, "model": "cut"}))
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        connection.getresponse().read()
    connection.close()
    lines = [line for line in process.stop() if "/health" not in line]
    assert len(lines) == 1
    assert "failed" in lines[0]


def test_a_line_for_people_holds_no_control_character() -> None:
    told = {"path": "/v1/\x1b[31mred\n2026 fake", "status": 404, "outcome": "passed", "method": "GET", "ms": 1.0}
    record = logging.LogRecord("foldaway.proxy", logging.INFO, "", 0, "%s", (json.dumps(told),), None)
    line = Lines(as_json=False).format(record)
    assert "\x1b" not in line
    assert "\n" not in line
    assert line.endswith("GET /v1/?[31mred?2026 fake 404 passed, 1.0 ms")
    assert "\n" not in Lines(as_json=True).format(record)
