"""Sessions at hand: a bounded number of open ones, each with its lock; the others are opened again from the store."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

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

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """With the lock. Raises Busy when it is not free for so long: a stuck session must not take all threads."""
        if not self.lock.acquire(timeout=seconds):
            raise Busy("the session is busy")
        try:
            yield
        finally:
            self.lock.release()


class Shelf:
    """Open sessions, the ones used last. Safe from several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
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

    def put(self, key: Key, desk: Desk) -> None:
        """Take a desk in under this key."""
        with self._lock:
            self._desks[key] = desk
            self._desks.move_to_end(key)
            for old in list(self._desks):
                if len(self._desks) <= self._most:
                    break
                # One that is being worked on stays; everything of the others is in the store.
                if old != key and not self._desks[old].lock.locked():
                    del self._desks[old]

    def drop(self, key: Key) -> None:
        """Forget a desk whose state may be half changed; it is opened again from the store."""
        with self._lock:
            self._desks.pop(key, None)
