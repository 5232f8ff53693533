"""The open sessions of one adapter: one for each conversation, a bounded number of them at hand."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.adapters._matching import Translated
from foldaway.adapters._prompts import as_known
from foldaway.errors import RecallError, SettingsError
from foldaway.model.jsonlike import unmarked
from foldaway.model.wire import Message
from foldaway.session import Session

TELLING = 2
"""Prompt and first question: other agents may begin with the same. From then on another prompt tells no more."""
Open = Callable[[str | None], Session]
"""Opens the session of a conversation; None: one that has no key, so nothing of it is stored."""


@dataclass(slots=True, eq=False)
class Desk:
    """One conversation: its session, held by one thread at a time."""

    key: str
    session: Session
    keyless: bool = False
    history: Translated[Any] | None = None
    """As the last call brought it."""
    cut: bool = False
    """Something else takes messages out of the history, or changes them."""
    lock: threading.RLock = field(default_factory=threading.RLock)


class Desks:
    """Sessions by key, those used last. Safe from several threads.

    A conversation without a key is told by its history: it goes on with the session whose messages it begins with.
    """

    def __init__(self, open: Open, most: int) -> None:
        if most < 1:
            raise SettingsError(f"most_sessions {most}: expected 1 or more")
        self._open, self._most = open, most
        self._keyed: OrderedDict[str, Desk] = OrderedDict()
        self._keyless: OrderedDict[str, Desk] = OrderedDict()
        self._made = 0
        self._lock = threading.RLock()

    def get(
        self, key: str | None, messages: Sequence[Any] | None = None,
        wire: Callable[[], Sequence[Message]] | None = None,
    ) -> Desk:  # fmt: skip
        """The desk of a conversation, opened when it is not at hand.

        One without a key goes on where its `messages` are the very objects of the last call, else where they say the
        same: `wire` translates them, and is called only then. Raises RecallError where there is neither key nor history
        and more than one conversation, or none, to choose.
        """
        with self._lock:
            if key is not None:
                desk = self._keyed.pop(key, None) or Desk(key, self._open(key))
                self._put(self._keyed, desk)
                return desk
            if messages is None or wire is None:
                return self._only()
            found = self._going_on(messages) or self._told(wire())
            if found is None:
                self._made += 1
                found = Desk(f"keyless {self._made}", self._open(None), keyless=True)
            self._keyless.pop(found.key, None)
            self._put(self._keyless, found)
            return found

    def all(self, key: str | None) -> list[Desk]:
        """The open desk of a key; for None every open one."""
        with self._lock:
            if key is not None:
                return [self._keyed[key]] if key in self._keyed else []
            return [*self._keyed.values(), *self._keyless.values()]

    def drop(self, desk: Desk) -> None:
        """Forget a session whose state may be half changed; one with a key is opened again from its store."""
        with self._lock:
            for kept in (self._keyed, self._keyless):
                if kept.get(desk.key) is desk:
                    del kept[desk.key]

    def close(self) -> None:
        with self._lock:
            for kept in (self._keyed, self._keyless):
                for desk in kept.values():
                    with desk.lock:
                        desk.session.close()
                kept.clear()

    def _put(self, kept: OrderedDict[str, Desk], desk: Desk) -> None:
        kept[desk.key] = desk
        while len(kept) > self._most:
            # Not closed: somebody may be at work on it. Whatever is to last is in the store already.
            kept.popitem(last=False)

    def _only(self) -> Desk:
        everybody = self.all(None)
        if len(everybody) != 1:
            # A guess could hand one conversation's words to another.
            raise RecallError(f"{len(everybody)} conversations are open: say which by its key")
        return everybody[0]

    def _going_on(self, messages: Sequence[Any]) -> Desk | None:
        """The session whose last call brought the most of these very objects, and nothing else."""
        best, length = None, 0
        for desk in self._keyless.values():
            history = desk.history
            if history is not None and length < len(history.originals) == history.untouched.same(messages):
                best, length = desk, len(history.originals)
        return best

    def _told(self, history: Sequence[Message]) -> Desk | None:
        """The session with the longest history that this one begins with."""
        best, length = None, 0
        for desk in self._keyless.values():
            known = desk.session.messages
            if length < len(known) <= len(history) and _begins(history, known):
                best, length = desk, len(known)
        return best


def _begins(history: Sequence[Message], known: Sequence[Message]) -> bool:
    if len(known) > TELLING:
        history = as_known(known, list(history))
    # Conversations that began alike differ at the end, so the last message is looked at first.
    if known and not _same(known[-1], history[len(known) - 1]):
        return False
    # At the speed of C, where no cache mark moved.
    return list(history[: len(known)]) == known or all(map(_same, known, history))


def _same(a: Message, b: Message) -> bool:
    return a == b or unmarked(a) == unmarked(b)
