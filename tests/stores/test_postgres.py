"""The store in PostgreSQL, on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldaway.protocols import Store
from foldaway.testing.postgres_server import why_not
from foldaway.testing.store_contract import Clock, StoreContract

if reason := why_not():
    pytest.skip(f"no PostgreSQL: {reason}", allow_module_level=True)

import psycopg

from foldaway.stores.postgres import PostgresStore

_NUMBER = iter(range(10**6))


class TestPostgresStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _fresh(self, postgres_url: str) -> Iterator[None]:
        self.url, self.schema = postgres_url, f"contract_{next(_NUMBER)}"
        self.made: list[PostgresStore] = []
        yield
        for store in self.made:
            store.close()
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")

    def make(self, folder: Path, clock: Clock) -> Store:
        self.made.append(PostgresStore(self.url, clock=clock, schema=self.schema, most_connections=2))
        return self.made[-1]
