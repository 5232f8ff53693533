"""One session in its store: what came in, what was decided, which branch is in use.

A store that fails does not stop the call: what is missing is written with the next messages (I9). Without a store
everything stays in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from foldaway.engine import ledger
from foldaway.errors import StoreError
from foldaway.model.jsonlike import dumps
from foldaway.model.wire import Message
from foldaway.protocols import SessionKey, Store
from foldaway.settings.parts import make_guarded, make_store
from foldaway.stores.encryption import Keys, keys_used
from foldaway.stores.redaction import RedactingStore, readable


class Record(NamedTuple):
    """One message as the log keeps it."""

    message: Message
    origin: str = ""
    """"environment" where the caller said so."""


class Kept:
    """The records of one session, in memory and in its store."""

    def __init__(
        self, store: str | Store | None, key: SessionKey, *, redact: bool | str | Keys = False,
        clock: Callable[[], datetime] | None = None, branch: int | None = None, warn: Callable[[str], None],
    ) -> None:  # fmt: skip
        """`branch`: stay on this one, whatever others do; None: the newest.

        Raises StoreError for a blank user or session name, or a store that cannot be opened; SettingsError for keys.
        """
        for what, value in (("user", key.user), ("session", key.name)):
            if not value or not value.strip():
                raise StoreError(f"the {what} name is empty; a {what} needs a name of its own")
        self.key, self._clock, self._warn = key, clock, warn
        self._owned = isinstance(store, str)
        made = make_store(store, clock=clock)
        self.store: Store | None = None if made is None else make_guarded(made, redact)
        self.session = self.store.open(key) if self.store is not None else ""
        self._stays = branch is not None
        self.branch = branch or 0
        self.to_head()
        self._records: list[str] = []
        self._stored = 0
        self._decided = 0
        """Entries of the ledger that are known to be stored."""
        self._notes: tuple[Store, str] | None = None
        for text in getattr(made, "recovered", ()):
            warn(text)

    # -- records

    def take(self, messages: Sequence[Message], origins: Sequence[str]) -> None:
        """New messages, to be written by `write`."""
        self._records.extend(dumps({"m": m, "o": o} if o else {"m": m}) for m, o in zip(messages, origins, strict=True))

    def records(self, upto: int | None = None) -> list[Record]:
        """All records, or the first so many. O(their size)."""
        return [_record(text) for text in self._records[:upto]]

    def write(self) -> bool:
        """Store what is not stored yet; False when another process wrote to this branch meanwhile."""
        if self.store is None:
            return True
        try:
            done = self.store.append(self.session, self.branch, self._stored, self._records[self._stored :])
        except StoreError as error:
            self._warn(f"not stored yet, will be tried again: {error}")
            return True
        if done:
            self._stored = len(self._records)
        return done

    def write_behind(self) -> bool:
        """Store what is not stored yet behind what another process wrote to this branch meanwhile, and take that in.

        False, and nothing done: that one writes on, or uses another branch. Costs what is new, so that processes which
        write without a pause leave each other a chance.
        """
        assert self.store is not None
        try:
            if not self._stays and self.store.head(self.session) != self.branch:
                return False
            theirs = self.readable(self.store.read(self.session, self.branch, self._stored))
            own = self._records[self._stored :]
            if not self.store.append(self.session, self.branch, self._stored + len(theirs), own):
                return False
        except StoreError as error:
            self._warn(f"not stored yet, will be tried again: {error}")
            return False
        self._records[self._stored :] = [*theirs, *own]
        self._stored = len(self._records)
        return True

    def pending(self) -> list[Record]:
        """What is not stored yet."""
        return [_record(text) for text in self._records[self._stored :]]

    def drop_pending(self) -> None:
        del self._records[self._stored :]

    def load(self) -> tuple[list[Record], list[dict[str, Any]]]:
        """What the store has on the branch in use: records and ledger. Forgets what is not stored."""
        if self.store is None:
            return [], []
        self._records = self.readable(self.store.read(self.session, self.branch))
        self._stored = len(self._records)
        return self.records(), self.decisions()

    def decisions(self) -> list[dict[str, Any]]:
        """What the store has in the ledger of the branch in use."""
        entries: list[dict[str, Any]] = []
        stored = self._entries(0)
        self._decided = len(stored)
        for entry in stored:
            if entry["type"] == "branch":
                # What the older branch decided after the fork is not ours.
                entries = [e for e in entries if e["raws"] <= entry["upto"]]
            entries.append(entry)
        return entries

    def to_head(self) -> None:
        """Go over to the branch that the store says is in use, unless one was asked for."""
        if self.store is not None and not self._stays:
            self.branch = self.store.head(self.session)

    def behind(self) -> bool:
        """Whether another process went on with this session."""
        if self.store is None:
            return False
        head = self.branch if self._stays else self.store.head(self.session)
        return head != self.branch or bool(self.store.read(self.session, head, self._stored))

    def decided_elsewhere(self) -> list[dict[str, Any]]:
        """Entries that another process wrote to the ledger of the branch in use since; [] where the store fails.

        One look-up. Where both wrote at once some of our own are among them: then all is to be loaded anew.
        """
        if self.store is None:
            return []
        try:
            fresh = self._entries(self._decided)
        except StoreError as error:
            self._warn(f"what others decided is not seen yet: {error}")
            return []
        self._decided += len(fresh)
        return fresh

    def _entries(self, start: int) -> list[dict[str, Any]]:
        assert self.store is not None
        return list(map(ledger.loads, self.readable(self.store.read_ledger(self.session, self.branch, start))))

    def readable(self, texts: Sequence[str]) -> list[str]:
        """With markers where the key of a secret is missing. What only looks like an encrypted secret stays."""
        if isinstance(self.store, RedactingStore) or not any("[encrypted:" in text for text in texts):
            return list(texts)
        assert self.store is not None
        return list(map(readable, texts)) if keys_used(self.store, self.key) else list(texts)

    def fork(self, at: int) -> list[Record]:
        """A new branch after the first `at` records, which it returns."""
        if self.store is not None:
            self.branch = self.store.fork(self.session, self.branch, at)
        del self._records[at:]
        self._stored = at
        return self.records()

    # -- decisions and notes

    def save(self, entries: Sequence[dict[str, Any]]) -> bool:
        """Store these decisions; False when the store failed: hand them in again with the next ones."""
        if self.store is None or not entries:
            return True
        try:
            self.store.write_ledger(self.session, self.branch, [ledger.dumps(e) for e in entries])
        except StoreError as error:
            self._warn(f"decisions not stored yet, will be tried again: {error}")
            return False
        self._decided += len(entries)
        return True

    def notes(self) -> tuple[Store, str]:
        """Where the notes of this session are, and its handle there."""
        if self.store is not None:
            return self.store, self.session
        if self._notes is None:
            store = make_store("memory:", clock=self._clock)
            assert store is not None
            self._notes = store, store.open(self.key)
        return self._notes

    def close(self) -> None:
        """Let go of the store where it was made here."""
        if self._owned and self.store is not None:
            self.store.close()


def _record(text: str) -> Record:
    kept = json.loads(text)
    return Record(kept["m"], kept.get("o", ""))
