"""What the clients of all protocols share: one request, retries, and what may go wrong. Standard library only.

Follows no redirect, so a key goes nowhere but to the host it was given for; plain http is for this machine only. The
key is in no message, no `repr` and no store.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import SplitResult, urlsplit

from foldaway.errors import AskError, SettingsError

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_LONG_WORD = re.compile(r"[\w\-./+=]{16,}")
"""In an error's text: what may be (a part of) a key."""


class Asker(Protocol):
    """Whatever gives a model's answer: one of the clients, or a function in tests."""

    def __call__(
        self, messages: Sequence[Mapping[str, Any]], max_tokens: int, beside: Mapping[str, Any] | None = None, /
    ) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often, and how long to wait in between."""

    attempts: int = 3
    backoff_seconds: float = 1.0
    """Before the second attempt; doubled before each further one."""
    longest_seconds: float = 20.0
    """No wait is longer, whatever the server asks for (`Retry-After`)."""

    def wait_seconds(self, attempt: int, asked: str) -> float:
        """The wait after this attempt (0 is the first)."""
        wanted = float(asked) if asked.isdigit() else self.backoff_seconds * float(1 << min(attempt, 16))
        return min(wanted, self.longest_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Asks one model. Safe to use from several threads: each request has a connection of its own."""

    url: str
    """Base address, with the version: https://host/v1"""
    model: str
    key: str = field(default="", repr=False)
    timeout_seconds: float = 60.0
    """For one request as a whole, from connecting to the last byte."""
    retry: Retry = Retry()
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request body; they win over our own (None takes one out)."""
    max_reply_bytes: int = 1_000_000
    sleep: Callable[[float], object] = time.sleep

    def __post_init__(self) -> None:
        _address(self.url)
        if not self.key.isascii() or not self.key.isprintable() or " " in self.key:
            raise SettingsError("the key holds blanks, line breaks or signs that no header may hold")
        if self.timeout_seconds <= 0 or self.retry.attempts < 1:
            raise SettingsError(f"timeout_seconds {self.timeout_seconds}, attempts {self.retry.attempts}: expected > 0")

    def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> bytes:
        """The body of the first good reply.

        Raises:
            AskError: "timeout", "unreachable", "status" or "protocol", after the last attempt.
        """
        body = {k: v for k, v in {**body, **self.fields}.items() if v is not None}
        # Half a surrogate pair, from a log cut in the middle, is not UTF-8.
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        for attempt in range(self.retry.attempts):
            last = attempt + 1 == self.retry.attempts
            asked = ""
            try:
                status, asked, reply = self._once(path, data, headers)
            except AskError:
                if last:
                    raise
            else:
                if status == 200:
                    return reply
                if last or status not in RETRIED:
                    raise AskError("status", f"{self._host} answered {status}: {self._harmless(reply)}")
            self.sleep(self.retry.wait_seconds(attempt, asked))
        raise AssertionError("unreachable: the last attempt returns or raises")

    # -- inside

    @property
    def _host(self) -> str:
        return _address(self.url).netloc

    def _once(self, path: str, data: bytes, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        """(status, Retry-After, body) of one request."""
        connection = self._connection()
        held: list[socket.socket] = []
        late = threading.Event()

        def cut() -> None:
            # A server that sends a byte now and then never runs into the timeout of a socket.
            late.set()
            for sock in held or filter(None, [connection.sock]):
                _shut(sock)

        timer = threading.Timer(self.timeout_seconds, cut)
        timer.daemon = True
        timer.start()
        try:
            connection.connect()
            held.append(connection.sock)
            where = _address(self.url).path.rstrip("/") + path
            usual = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
            connection.request("POST", where, data, {**usual, **headers})
            with connection.getresponse() as response:
                reply = response.read(self.max_reply_bytes + 1)
            if late.is_set():
                raise TimeoutError
        except (OSError, http.client.HTTPException) as error:
            if late.is_set() or isinstance(error, TimeoutError):
                raise AskError("timeout", f"{self._host}: no answer in {self.timeout_seconds:g} s") from error
            raise AskError("unreachable", f"{self._host}: {type(error).__name__}") from error
        finally:
            timer.cancel()
            connection.close()
        if len(reply) > self.max_reply_bytes:
            raise AskError("protocol", f"{self._host}: an answer of more than {self.max_reply_bytes} bytes")
        return response.status, response.headers.get("Retry-After", ""), reply

    def _connection(self) -> http.client.HTTPConnection:
        address = _address(self.url)
        host, port = address.hostname or "", address.port
        if address.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self.timeout_seconds)
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=self.timeout_seconds, context=context)

    def _harmless(self, reply: bytes) -> str:
        """The start of an error's body; some servers say the key again, or a part of it."""
        text = " ".join(reply[:2_000].decode("utf-8", "replace").split())
        return _LONG_WORD.sub("[...]", text.replace(self.key, "[key]") if self.key else text)[:160]


def parts_text(content: Any) -> str:
    """The text of an answer that comes as text or as a list of parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _shut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def _address(url: str) -> SplitResult:
    try:
        address = urlsplit(url)
        _ = address.port
    except ValueError:
        raise SettingsError("url of the model: its host or port cannot be read") from None
    if not address.hostname or address.scheme not in ("https", "http"):
        raise SettingsError("url of the model: expected https://host/v1")
    if address.scheme == "http" and not _is_local(address.hostname):
        raise SettingsError(f"url of the model: plain http to {address.hostname} would send texts and key in the open")
    if address.username is not None or address.query or address.fragment:
        raise SettingsError("url of the model: expected no user, no query and no fragment; pass the key as key=")
    return address


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
