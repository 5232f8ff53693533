"""A store with a few memories of one owner."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from foldaway.stores.memory import MemoryStore


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    made = MemoryStore(clock=lambda: datetime(2026, 7, 1, tzinfo=UTC))
    yield made
    made.close()
