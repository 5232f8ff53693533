"""Which session a request belongs to, told by its history alone.

Every history is a chain of hashes, one for each message, each over all in front of it. A request continues the session
in which the longest of its prefixes was seen. So sub-agents with a start in common part where they part, an agent
that compacts begins anew, and one that was restarted is found again. Cache marks do not count: clients move them.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple, Protocol

from foldaway.errors import StoreError
from foldaway.model.jsonlike import unmarked
from foldaway.model.wire import Message
from foldaway.protocols import SessionKey

HASH_BYTES = 16
MOST_KEPT = 50_000
"""Links kept in memory, about 450 bytes each; older ones are asked of the store."""
MOST_ANSWERS = 1_000
"""Answers kept in memory for requests that continue them by id."""


class Place(NamedTuple):
    """Where a history is known from."""

    session: str
    branch: int
    length: int
    """Messages of the history up to there."""


class Marks(Protocol):
    """Where links outlive the process: a store."""

    def open(self, key: SessionKey) -> str: ...

    def put_marks(self, session: str, marks: Mapping[str, str]) -> None: ...

    def marks(self, user: str, keys: Sequence[str]) -> dict[str, str]: ...


@dataclass(frozen=True, slots=True)
class Chain:
    """The links of one history: `links[i]` is that of its first i + 1 messages."""

    links: tuple[str, ...]
    last: bytes = field(default=b"", compare=False)
    """Digest of the last message; b"": nothing was hashed."""


def chain(messages: Sequence[Message], seed: str) -> Chain:
    """The chain of a history. O(size)."""
    return extended((), [digest(unmarked(m)) for m in messages], root(seed))


def root(seed: str) -> bytes:
    """What the first link of a chain is over, beside the first message."""
    return blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()


def extended(links: tuple[str, ...], digests: Iterable[bytes], start: bytes = b"") -> Chain:
    """A chain, and behind it messages of these digests. `start`: the root, where the chain has no links yet."""
    state = bytes.fromhex(links[-1]) if links else start
    fresh: list[str] = []
    each = b""
    for each in digests:
        state = blake2b(state + each, digest_size=HASH_BYTES).digest()
        fresh.append(state.hex())
    return Chain((*links, *fresh), each)


def digest(message: Message) -> bytes:
    """The hash of one message without cache marks: the same whatever order its keys came in."""
    text = json.dumps(message, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()


class Chains:
    """The links known so far. Safe from several threads; one tenant never finds another's."""

    def __init__(self, store: Marks | None = None, *, most: int = MOST_KEPT) -> None:
        self._store, self._most = store, most
        self._known: OrderedDict[tuple[str, str], Place] = OrderedDict()
        self._answers: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._unsaved: dict[SessionKey, dict[str, str]] = {}
        """Marks that the store did not take, by session: tried again with the next ones."""
        self._handles: dict[SessionKey, str] = {}
        self._lock = threading.Lock()

    def find(self, tenant: str, asked: Chain) -> Place | None:
        """The place of the longest known prefix. A look into memory for each link from the end, then one query."""
        with self._lock:
            for link in reversed(asked.links):
                place = self._known.get((tenant, link))
                if place is not None:
                    self._known.move_to_end((tenant, link))
                    return place
        return self._stored(tenant, asked)

    def note(self, tenant: str, asked: Chain, session: str, branch: int, since: int, *, at_once: bool = True) -> None:
        """Remember that the session's branch holds this history; links from position `since` on are new.

        `at_once` False: the store hears of it with `save`.
        """
        fresh = {link: Place(session, branch, since + n + 1) for n, link in enumerate(asked.links[since:])}
        with self._lock:
            for link, place in fresh.items():
                self._known[tenant, link] = place
                self._known.move_to_end((tenant, link))
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        if self._store is not None and fresh:
            marks = {link: json.dumps(place) for link, place in fresh.items()}
            if at_once:
                self._save(self._store, SessionKey(user=tenant, name=session), marks)
            else:
                self._wait(SessionKey(user=tenant, name=session), marks)

    def save(self, tenant: str, session: str) -> None:
        """Write what the store has not heard of this session yet."""
        key = SessionKey(user=tenant, name=session)
        if self._store is not None and key in self._unsaved:
            self._save(self._store, key, {})

    def keep(self, tenant: str, key: str, place: Place, output: Sequence[Message]) -> None:
        """Remember a place, and what was answered there, under a key of its own."""
        text = json.dumps([*place, list(output)])
        with self._lock:
            self._answers[tenant, key] = text
            while len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)
        if self._store is not None:
            self._save(self._store, SessionKey(user=tenant, name=place.session), {key: text})

    def kept(self, tenant: str, key: str) -> tuple[Place, list[Message]] | None:
        """What `keep` remembered."""
        with self._lock:
            text = self._answers.get((tenant, key))
        if text is None and self._store is not None:
            text = self._store.marks(tenant, [key]).get(key)
        if text is None:
            return None
        session, branch, length, output = json.loads(text)
        return Place(session, branch, length), output

    def _save(self, store: Marks, session: SessionKey, marks: dict[str, str]) -> None:
        """A store that is down is no reason to stop: this process knows its marks by heart meanwhile."""
        with self._lock:
            waiting = {**self._unsaved.pop(session, {}), **marks}
        if not waiting:
            return
        try:
            handle = self._handles.get(session) or store.open(session)
            store.put_marks(handle, waiting)
            with self._lock:
                if len(self._handles) >= MOST_ANSWERS:
                    self._handles.clear()
                self._handles[session] = handle
        except StoreError:
            with self._lock:
                # Deleted meanwhile, it has another handle from now on.
                self._handles.pop(session, None)
            self._wait(session, waiting, newest=False)

    def _wait(self, session: SessionKey, marks: dict[str, str], *, newest: bool = True) -> None:
        """Keep marks until the store takes them; more than there is room for are let go."""
        with self._lock:
            known = self._unsaved.get(session, {})
            if known or sum(map(len, self._unsaved.values())) + len(marks) <= self._most:
                self._unsaved[session] = {**known, **marks} if newest else {**marks, **known}

    def _stored(self, tenant: str, asked: Chain) -> Place | None:
        if self._store is None:
            return None
        found = self._store.marks(tenant, asked.links)
        for link in reversed(asked.links):
            if link in found:
                session, branch, length = json.loads(found[link])
                return Place(str(session), int(branch), int(length))
        return None
