"""Histories seen lately, so that of the next request only what is new has to be hashed.

An agent sends its whole history with each call. A history kept here is found by its last message, and compared message
by message: that takes the time of reading it once, several times less than hashing it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from foldaway.model.jsonlike import unmarked
from foldaway.model.wire import Message
from foldaway.proxy.chains import Chain, digest, extended, root

MOST_NEW = 32
"""Messages behind the newest history kept of a session up to which it is looked for; more are hashed as a whole."""
Owner = tuple[str, str, int]
"""(tenant, session, branch)"""
Tail = tuple[str, str, int, bytes]
"""(tenant, seed, messages, digest of the last one)"""


class Head(NamedTuple):
    """A history and its chain."""

    tail: Tail
    messages: list[Message]
    """Without cache marks."""
    links: tuple[str, ...]


class Heads:
    """The newest history of each session seen lately. Safe from several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heads: OrderedDict[Owner, Head] = OrderedDict()
        self._owners: dict[Tail, Owner] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._heads)

    def chain(self, tenant: str, seed: str, messages: Sequence[Message]) -> Chain:
        """The same as `chains.chain`. Hashes what is new behind a history kept here, else everything."""
        digests: list[bytes] = []
        for length in range(len(messages), max(0, len(messages) - MOST_NEW), -1):
            last = messages[length - 1]
            digests.append(digest(unmarked(last)))
            head = self._find((tenant, seed, length, digests[-1]))
            if head is not None and _same(head.messages, messages):
                # The newest digest is that of the message known already.
                return extended(head.links, digests[-2::-1])
        rest = messages[: len(messages) - len(digests)]
        front = [digest(unmarked(m)) for m in rest]
        return extended((), [*front, *reversed(digests)], root(seed))

    def keep(self, owner: Owner, seed: str, messages: Sequence[Message], chain: Chain) -> None:
        """Remember this as the newest history of a session. The messages must not be changed afterwards."""
        known = self._heads.get(owner)
        start = 0
        if known is not None and chain.links[: len(known.links)] == known.links:
            start = len(known.links)
        fresh = [unmarked(m) for m in messages[start:]]
        # What is known stays as it was kept: equal texts are not held twice.
        kept = [*(known.messages if known is not None and start else ()), *fresh]
        head = Head((owner[0], seed, len(kept), chain.last or digest(kept[-1])), kept, chain.links)
        with self._lock:
            self._forget(owner)
            self._heads[owner] = head
            self._owners[head.tail] = owner
            while len(self._heads) > self._most:
                self._forget(next(iter(self._heads)))

    def forget(self, owner: Owner) -> None:
        """Let go of a session's newest history."""
        with self._lock:
            self._forget(owner)

    def _forget(self, owner: Owner) -> None:
        old = self._heads.pop(owner, None)
        if old is not None and self._owners.get(old.tail) == owner:
            del self._owners[old.tail]

    def _find(self, tail: Tail) -> Head | None:
        with self._lock:
            owner = self._owners.get(tail)
            return None if owner is None else self._heads.get(owner)


def _same(known: list[Message], given: Sequence[Message]) -> bool:
    """Whether a history begins with the one known. Cache marks do not count: clients move them."""
    # As a whole first, which is several times faster.
    return known == given[: len(known)] or all(a == b or a == unmarked(b) for a, b in zip(known, given, strict=False))
