"""Sessions at hand, each with its lock: a bounded number of them, and of the bytes of their histories together. The
others are opened again from the store."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from foldaway.errors import FoldawayError
from foldaway.session import Session

Key = tuple[str, str, int]
"""(tenant, session, branch)"""


class Busy(FoldawayError):
    """Somebody else works on the session for longer than a request may wait."""


@dataclass(slots=True, eq=False)
class Desk:
    """One open session."""

    session: Session
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by the thread that works on the session."""
    length: int = 0
    """Messages of the client that the session holds."""
    size: int = 0
    """Bytes of its history as it last came."""
    told: deque[Mapping[str, Any]] = field(default_factory=deque)
    """Usage that providers reported and the session does not know of yet: it learns of it before anything else."""

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """With the lock. Raises Busy when it is not free for so long: a stuck session must not take all threads."""
        if not self.lock.acquire(timeout=seconds):
            raise Busy("the session is busy")
        try:
            while self.told:
                self.session.report_usage(self.told.popleft())
            yield
        finally:
            self.lock.release()


class Shelf:
    """Open sessions, the ones used last. Safe from several threads."""

    def __init__(
        self, most: int, most_bytes: int = 1 << 40, when_out: Callable[[Key], None] = lambda key: None
    ) -> None:
        """`when_out` is told of each desk that makes room."""
        self._most, self._most_bytes, self._when_out = most, most_bytes, when_out
        self._bytes = 0
        self._desks: OrderedDict[Key, Desk] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Key, threading.Lock] = {}

    def __len__(self) -> int:
        return len(self._desks)

    def get(self, key: Key, make: Callable[[], Desk]) -> Desk:
        """The desk of this key, made when it is not at hand; the one used longest ago makes room."""
        with self._lock:
            desk = self._desks.get(key)
            if desk is not None:
                self._desks.move_to_end(key)
                return desk
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                desk = self._desks.get(key)
            if desk is None:
                desk = make()
                self.put(key, desk)
        with self._lock:
            self._making.pop(key, None)
        return desk

    def put(self, key: Key, desk: Desk, size: int = 0) -> None:
        """Take a desk in under this key. `size`: bytes of its history as it came."""
        with self._lock:
            self._take_out(key)
            desk.size = size or desk.size
            self._desks[key] = desk
            self._bytes += desk.size
            if len(self._desks) > self._most or self._bytes > self._most_bytes:
                self._make_room(key)

    def _make_room(self, stays: Key) -> None:
        for old in list(self._desks):
            if len(self._desks) <= self._most and self._bytes <= self._most_bytes:
                break
            # One that is being worked on stays; everything of the others is in the store.
            if old != stays and not self._desks[old].lock.locked():
                self._take_out(old)
                self._when_out(old)

    def _take_out(self, key: Key) -> None:
        old = self._desks.pop(key, None)
        if old is not None:
            self._bytes -= old.size

    def drop(self, key: Key) -> None:
        """Forget a desk whose state may be half changed; it is opened again from the store."""
        with self._lock:
            self._take_out(key)
