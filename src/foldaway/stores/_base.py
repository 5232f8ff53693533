"""What the verbs of a store over SQL have in common: transactions, tenants, and names nobody can guess."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from hashlib import blake2b

from foldaway.errors import StoreError
from foldaway.stores._tables import Transaction, name_of
from foldaway.stores._times import Clock, microseconds, utc_now


class SqlBase(ABC):
    """A dialect supplies transactions, the word indexes and what opening takes."""

    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock or utc_now
        self._secret = b""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Transaction]:
        """One consistent snapshot."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Transaction]:
        """All or nothing, one writer at a time."""

    @abstractmethod
    def _purge(self) -> None:
        """Remove the traces that deleted rows leave behind."""

    def _now(self) -> int:
        return microseconds(self._clock())

    def _tenant(self, db: Transaction, user: bytes) -> int:
        """The tenant's number; made on first use."""
        return find_tenant(db, user) or db.insert("INSERT INTO tenants (name) VALUES (?)", user)

    def _keyed(self, what: bytes, *facts: int | bytes) -> bytes:
        """16 bytes that name these facts, and that only this store can work out."""
        parts = (fact if isinstance(fact, bytes) else str(fact).encode() for fact in facts)
        # Lengths in front: no two lists of facts give the same bytes.
        message = b"".join(b"%d:%s" % (len(part), part) for part in parts)
        return blake2b(message, key=self._secret, digest_size=16, person=what).digest()


def find_tenant(db: Transaction, user: bytes) -> int:
    """0 when there is none of this name."""
    db.enter_user(user)
    rows = db.rows("SELECT id FROM tenants WHERE name = ?", user)
    return int(rows[0][0]) if rows else 0


def drop_tenant_if_empty(db: Transaction, tenant: int) -> None:
    """A user's name goes with the last session, memory and tombstone."""
    held = ("memories WHERE scope = ?", "memories WHERE tenant = ? AND scope < 0", "tombstones WHERE tenant = ?")
    for used in ("sessions WHERE tenant = ?", *held):
        if db.rows(f"SELECT 1 FROM {used} LIMIT 1", tenant):
            return
    db.run("DELETE FROM tenants WHERE id = ?", tenant)


def named(what: str, name: str) -> bytes:
    if not name or not name.strip():
        raise StoreError(f"{what} is {name!r}: a store needs a {what} name that is not empty or blank")
    return name_of(f"{what} name", name)
