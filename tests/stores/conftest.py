"""One PostgreSQL server for all tests of a run; a store of its own, in a schema of its own, for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from foldaway.testing.postgres_server import running_server, why_not


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    if reason := why_not():
        pytest.skip(f"no PostgreSQL: {reason}")
    with running_server() as url:
        yield url
