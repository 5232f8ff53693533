"""What was done with each request: one log line, and what `/metrics` counts. No content and no key is in them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from foldaway.proxy.metrics import Metrics
from foldaway.proxy.places import BOUNDLESS
from foldaway.proxy.turn import Prepared

log = logging.getLogger("foldaway.proxy")
GONE = 499
"""In log and metrics, for a client that left before its answer began. No client sees it."""


@dataclass(slots=True)
class Record:
    """One request. Texts in it are of this package's own choosing, but for names that clients give on purpose."""

    path: str
    """As a log may show it."""
    route: str = ""
    """The managed route that it stands for."""
    method: str = ""
    model: str = ""
    tenant: str = ""
    status: int = 0
    outcome: str = "passed"
    """managed (looked at; sent as it came or smaller), passed, off, refused, failed, own."""
    session: str = ""
    branch: int = 0
    fresh: int = 0
    history_tokens: int = 0
    tokens: int = 0
    budget: int = 0
    """0: nobody knows of one."""
    missing_tokens: int = 0
    commit: int | None = None
    trigger: str = ""
    changed: bool = False
    retried: bool = False
    rounds: int = 0
    recalls: int = 0
    rewritten: bool = False
    past_reason: str = ""
    """Why the request went past the engine."""
    notes: list[str] = field(default_factory=list)
    sent_bytes: int = 0
    decided_seconds: float | None = None
    added_seconds: float | None = None
    _body_in: float = 0.0

    def note(self, text: str) -> None:
        if text:
            self.notes.append(text)

    def past(self, why: str) -> None:
        """The request went past the engine."""
        self.past_reason, self.outcome = why, "passed"

    def body_in(self) -> None:
        self._body_in = perf_counter()

    def goes_up(self) -> None:
        """The first call upstream is made now."""
        if self.added_seconds is None and self._body_in:
            self.added_seconds = perf_counter() - self._body_in

    def took(self, prepared: Prepared) -> None:
        """What was decided."""
        self.changed, self.sent_bytes = prepared.changed, len(prepared.body)
        self.history_tokens = prepared.history_tokens
        if prepared.seat is None:
            self.past(prepared.why)
        else:
            self.outcome, self.past_reason = "managed", ""
            self.session, self.branch = prepared.seat.key[1], prepared.seat.key[2]
            self.fresh = prepared.seat.fresh
        if prepared.view is not None:
            view = prepared.view
            self.tokens, self.missing_tokens = view.tokens, view.missing_tokens
            self.budget = view.budget if view.budget < BOUNDLESS else 0
            commit = view.commit or prepared.shed
            if commit is not None:
                self.commit, self.trigger = commit.number, commit.trigger

    def headers(self) -> list[tuple[bytes, bytes]]:
        """What the client is told, in headers of our own."""
        if self.past_reason:
            return [(b"x-foldaway-passed", self.past_reason.encode("latin-1", "replace"))]
        if self.outcome != "managed":
            return []
        said = f"branch={self.branch}; tokens={self.tokens}; budget={self.budget or 'none'}"
        said += f"; commit={self.commit}" if self.commit is not None else ""
        said += f"; missing={self.missing_tokens}" if self.missing_tokens else ""
        session = "".join(c if c.isprintable() and c.isascii() and c not in ';"' else "?" for c in self.session)
        return [(b"x-foldaway-view", f"session={session}; {said}".encode())]

    def line(self, seconds: float) -> dict[str, Any]:
        """The log line. What stands at its default is left out."""
        told = {
            "method": self.method, "model": self.model[:100], "tenant": self.tenant[:12], "session": self.session,
            "branch": self.branch, "fresh": self.fresh, "history_tokens": self.history_tokens, "tokens": self.tokens,
            "budget": self.budget, "missing_tokens": self.missing_tokens, "commit": self.commit,
            "trigger": self.trigger, "changed": self.changed, "retried": self.retried, "rounds": self.rounds,
            "recalls": self.recalls, "rewritten": self.rewritten, "passed": self.past_reason, "notes": self.notes,
            "sent_bytes": self.sent_bytes, "decided_ms": _ms(self.decided_seconds), "added_ms": _ms(self.added_seconds),
        }  # fmt: skip
        head = {"path": self.path[:200], "status": self.status, "outcome": self.outcome}
        return {**head, **{k: v for k, v in told.items() if v or (k == "commit" and v == 0)}, "ms": _ms(seconds)}


@dataclass(frozen=True, slots=True)
class Told:
    """A log line: JSON, for handlers that read it as a text, and the fields for those that look inside."""

    fields: dict[str, Any]

    def __str__(self) -> str:
        return json.dumps(self.fields)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 2)


class Records:
    """All requests of this process."""

    def __init__(self) -> None:
        self.running = 0
        self.metrics = Metrics()

    @contextmanager
    def under_way(self, record: Record) -> Iterator[None]:
        started = perf_counter()
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
            self._count(record)
            if log.isEnabledFor(logging.INFO):
                log.info("%s", Told(record.line(perf_counter() - started)))

    def _count(self, record: Record) -> None:
        metrics = self.metrics
        route = record.route or (record.path if record.outcome == "own" else "other")
        metrics.requests.add(route=route, status=str(record.status), outcome=record.outcome)
        if record.past_reason:
            metrics.passed.add(reason=record.past_reason)
        if record.trigger:
            metrics.commits.add(trigger=record.trigger)
        metrics.tokens_before.add(record.history_tokens)
        metrics.tokens_after.add(record.tokens)
        metrics.recalls.add(record.recalls)
        metrics.rounds.add(record.rounds)
        metrics.retries.add(int(record.retried))
        if record.decided_seconds is not None:
            metrics.decision.add(record.decided_seconds)
        if record.added_seconds is not None:
            metrics.added.add(record.added_seconds)

    def page(self, *, sessions: int) -> bytes:
        """The content of `/metrics`."""
        return self.metrics.page(
            {
                "foldaway_sessions": ("Sessions at hand in this process.", sessions),
                "foldaway_requests_running": ("Requests under way.", self.running),
            }
        )
