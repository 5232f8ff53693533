"""A store that lives and dies with its object: the same tables and ranking as on disk, in memory."""

from __future__ import annotations

from foldaway.stores._sql import SqlStore
from foldaway.stores._times import Clock
from foldaway.stores._vectors import BlobVectors
from foldaway.stores.sqlite import SqliteStore


class MemoryStore(SqliteStore):
    """For tests, and for sessions that need not outlive their process."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        SqlStore.__init__(self, clock)
        self.recovered = []
        self._sync_each = False
        self._connection = None
        self._vectors = BlobVectors()
        self._start(":memory:")
