"""The store in memory."""

from __future__ import annotations

import os
from pathlib import Path

from foldaway.protocols import SessionKey, Store
from foldaway.stores.memory import MemoryStore
from foldaway.testing.store_contract import Clock, StoreContract


class TestMemoryStore(StoreContract):
    lasting = False

    def make(self, folder: Path, clock: Clock) -> Store:
        return MemoryStore(clock=clock)

    def test_it_writes_no_file(self, tmp_path: Path) -> None:
        before = set(os.listdir())
        store, session = self.opened(tmp_path)
        store.append(session, 0, 0, ["x"])
        store.delete(session)
        assert set(os.listdir()) == before

    def test_two_of_them_share_nothing(self) -> None:
        one, two = MemoryStore(), MemoryStore()
        one.open(SessionKey(user="u", name="n"))
        assert two.sessions("u") == []
