"""Made-up sessions that leave something behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from foldaway import Session
from foldaway.protocols import Store
from foldaway.stores.memory import MemoryStore
from foldaway.testing.histories import Writer
from foldaway.testing.postgres_server import running_server, why_not
from foldaway.testing.store_basics import FixedClock

Opened = Callable[..., Session]


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    if reason := why_not():
        pytest.skip(f"no PostgreSQL: {reason}")
    with running_server() as url:
        yield url


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def store(clock: FixedClock) -> Store:
    return MemoryStore(clock=clock)


@pytest.fixture
def opened(store: Store) -> Opened:
    """A session of somebody in the store that holds a history."""

    def make(told: Writer, user: str = "ann", name: str = "one", **settings: Any) -> Session:
        session = Session(**{"budget": 8_000, "store": store, **settings}, user=user, name=name, format=told.format)
        session.append(told.messages)
        return session

    return make


def work(format: str = "openai_chat", port: int = 8081) -> Writer:
    told = Writer(format)
    told.user(f"Deploy the planner. My staging port is {port}. I prefer tabs over spaces. Never touch production.")
    told.call("bash", "1 failed, 3 passed\nE  KeyError: 'berth'\nexit code: 1", failed=True, command="pytest -q")
    told.call("edit_file", "ok", path="src/plan.py", old="a", new="b")
    told.call("bash", "4 passed", command="pytest -q")
    told.call("bash", "[main 3ab12cd] Fix berth\n 1 file changed", command="git commit -am 'Fix berth'")
    told.call("todo_write", "ok", todos=[{"content": "Fix the berth plan", "status": "completed"}])
    told.say("All tests pass. Shall I deploy the planner to staging now?")
    told.user("Yes, go ahead.")
    told.say("Deployed.")
    return told


@pytest.fixture
def working() -> Callable[..., Writer]:
    """A history with one of each: wishes, a told value, a repaired failure, a plan, a commit, an answer."""
    return work
