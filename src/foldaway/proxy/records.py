"""What was done with each request: one log line, and counters for `/metrics`. No content and no key is in them."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from foldaway.proxy.turn import Prepared

log = logging.getLogger("foldaway.proxy")


@dataclass(slots=True)
class Record:
    """One request."""

    path: str
    status: int = 0
    session: str = ""
    branch: int = 0
    fresh: int = 0
    tokens: int = 0
    budget: int = 0
    commit: int | None = None
    trigger: str = ""
    changed: bool = False
    rounds: int = 0
    rewritten: bool = False
    notes: list[str] = field(default_factory=list)
    decided_ms: float = 0.0

    def note(self, text: str) -> None:
        if text:
            self.notes.append(text)

    def past(self, why: str) -> None:
        """The request went past the engine."""
        self.note(f"passed through: {why}")

    def took(self, prepared: Prepared) -> None:
        """What was decided."""
        if prepared.seat is None:
            self.past(prepared.why)
            return
        self.session, self.branch = prepared.seat.key[1], prepared.seat.key[2]
        self.fresh, self.changed = prepared.seat.fresh, prepared.changed
        if prepared.view is not None:
            self.tokens, self.budget = prepared.view.tokens, prepared.view.budget
            if prepared.view.commit is not None:
                self.commit, self.trigger = prepared.view.commit.number, prepared.view.commit.trigger
            self.notes.extend(prepared.view.warnings)

    def view_header(self) -> bytes:
        said = f"session={self.session}; branch={self.branch}; tokens={self.tokens}; budget={self.budget}"
        return (said + (f"; commit={self.commit}" if self.commit is not None else "")).encode("latin-1", "replace")


class Records:
    """All requests of this process."""

    def __init__(self) -> None:
        self.running = 0
        self.counts: Counter[str] = Counter()

    @contextmanager
    def under_way(self, record: Record) -> Iterator[None]:
        started = perf_counter()
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
            self.counts["requests"] += 1
            self.counts[f"status {record.status // 100}xx"] += 1
            seconds = perf_counter() - started
            said = {"path": record.path, "status": record.status, "session": record.session, "tokens": record.tokens}
            log.info("%s", json.dumps({**said, "ms": round(seconds * 1000, 2), "notes": record.notes}))

    def page(self, path: str, *, sessions: int) -> tuple[bytes, bytes]:
        """Content type and content of `/health` or `/metrics`."""
        if path == "/health":
            return b"application/json", json.dumps({"status": "ok", "sessions": sessions}).encode()
        lines = [f"foldaway_requests_total {self.counts['requests']}", f"foldaway_sessions {sessions}"]
        return b"text/plain; version=0.0.4", ("\n".join(lines) + "\n").encode()
