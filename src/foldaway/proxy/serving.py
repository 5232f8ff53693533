"""Runs the proxy under uvicorn: one process or several, with logs, a clean stop, and errors before it listens."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from foldaway.errors import FoldawayError, SettingsError
from foldaway.proxy.app import ProxyApp
from foldaway.proxy.records import Told
from foldaway.proxy.settings import ProxySettings
from foldaway.settings.parts import make_policy, make_store

BACKLOG = 2048
COLLECT = (10_000, 50, 100)
"""New objects after which Python looks for cycles among the new, the newer, and all."""
KEEP_ALIVE_SECONDS = 75
"""Clients keep connections for about a minute; one that closes first must not be this side."""


class CannotServe(FoldawayError):
    """The address cannot be listened on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Where and how to listen."""

    host: str = "127.0.0.1"
    port: int = 8787
    """0: a free one."""
    workers: int = 1
    log_json: bool = False
    grace_seconds: int = 30
    """For requests under way, once it is told to stop."""


@dataclass(frozen=True, slots=True)
class _Factory:
    """Makes the application in a worker process; can be pickled."""

    settings: ProxySettings
    log_json: bool

    def __call__(self) -> ProxyApp:
        set_up_logs(as_json=self.log_json)
        return _ready(self.settings)


def _ready(settings: ProxySettings) -> ProxyApp:
    """The application of a process that does nothing else."""
    app = ProxyApp(settings)
    app.when_warm = _collect_seldom
    return app


def _collect_seldom() -> None:
    """Sessions are plain trees, freed as they are let go of. Looking for cycles among their hundreds of thousands of
    objects finds nothing, and stops the process for longer than a request takes: so it is done seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT)


def serve(settings: ProxySettings, serving: Serving, *, listening: Callable[[int], None]) -> None:
    """Serve until told to stop. `listening` is called with the port once it is bound.

    Raises SettingsError for settings that cannot be, StoreError when the store cannot be opened, CannotServe when the
    port is taken.
    """
    settings.check_host(serving.host)
    make_policy(settings.policy)
    if serving.workers > 1 and settings.store in ("memory:", "memory"):
        raise SettingsError(f"{serving.workers} workers need a store that they share: --store sqlite:///PATH")
    if serving.workers > 1:
        store = make_store(settings.store)
        assert store is not None
        store.close()
        # Each worker counts for itself; together they keep to the limit.
        settings = replace(settings, most_requests=max(1, settings.most_requests // serving.workers))
    set_up_logs(as_json=serving.log_json)
    app: Any = _ready(settings) if serving.workers == 1 else _Factory(settings, serving.log_json)
    bound = bind(serving.host, serving.port)
    try:
        listening(bound.getsockname()[1])
        config = _config(app, settings, serving)
        if serving.workers > 1:
            Multiprocess(config, sockets=[bound]).run()
        else:
            uvicorn.Server(config).run(sockets=[bound])
    finally:
        bound.close()


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises CannotServe."""
    try:
        found = socket.getaddrinfo(host.strip("[]") or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise CannotServe(f"cannot listen on {host!r}: {getattr(error, 'strerror', None) or error}") from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
        bound.set_inheritable(True)
    except OSError as error:
        bound.close()
        raise CannotServe(f"cannot listen on {host} port {port}: {error.strerror}; choose another --port") from None
    return bound


def _config(app: Any, settings: ProxySettings, serving: Serving) -> uvicorn.Config:
    return uvicorn.Config(
        app, factory=serving.workers > 1, workers=serving.workers, lifespan="on", ws="none", log_config=None,
        # Their access log would hold the path, and a path may hold the token.
        access_log=False,
        # The headers of an answer are the provider's.
        server_header=False, date_header=False, proxy_headers=False, timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=serving.grace_seconds, backlog=BACKLOG,
        h11_max_incomplete_event_size=settings.most_header_bytes,
    )  # fmt: skip


def set_up_logs(*, as_json: bool) -> None:
    """Log lines on stderr: of the proxy all, of the server what went wrong."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines(as_json=as_json))
    for name, level in (("foldaway.proxy", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    logging.getLogger("uvicorn.error").addFilter(_no_cut_answer)


def _no_cut_answer(record: logging.LogRecord) -> bool:
    """Whether to keep a line: the server reports answers that were cut on purpose; the request's own line tells it."""
    cut = (ConnectionAbortedError, asyncio.CancelledError)
    return not (record.exc_info and isinstance(record.exc_info[1], cut))


class Lines(logging.Formatter):
    """One line a record, as JSON or for people. Tracebacks under FOLDAWAY_DEBUG only: they can quote requests."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        told = _told(record)
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if self._as_json:
            line = json.dumps({"time": at, "level": record.levelname.lower(), **told})
        else:
            text = f"{at} {record.levelname.lower()} {_for_people(told)}"
            # A path may hold an escape sequence or a line break; in a log neither may act.
            line = "".join(c if c.isprintable() else "?" for c in text)
        if record.exc_info and os.environ.get("FOLDAWAY_DEBUG"):
            line += "\n" + self.formatException(record.exc_info)
        return line


def _told(record: logging.LogRecord) -> dict[str, Any]:
    if isinstance(record.args, tuple) and len(record.args) == 1 and isinstance(record.args[0], Told):
        return record.args[0].fields
    text = record.getMessage()
    if record.name == "foldaway.proxy":
        read = json.loads(text)
        return read if isinstance(read, dict) else {"message": text}
    kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
    return {"message": text.partition("\n")[0][:300], **({"error": kind} if kind else {})}


def _for_people(told: dict[str, Any]) -> str:
    if "path" not in told:
        return " ".join(str(v) for v in told.values())
    parts = [f"{told.get('method', '')} {told['path']} {told['status']} {told['outcome']}"]
    if told.get("tokens"):
        budget = f" of {told['budget']:,}" if told.get("budget") else ""
        parts.append(f"{told.get('history_tokens', 0):,} -> {told['tokens']:,}{budget} tokens")
    if told.get("trigger"):
        parts.append(f"commit {told.get('commit')} ({told['trigger']})")
    for name in ("retried", "recalls", "rounds", "passed"):
        if told.get(name):
            parts.append(f"{name} {told[name]}" if told[name] is not True else name)
    parts += told.get("notes", [])
    return ", ".join([*parts, f"{told['ms']} ms"])
