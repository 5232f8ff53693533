"""Several that make, write to and drop one pool at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from foldaway.errors import StoreError
from foldaway.protocols import Filter, Memory, Reader, Store
from foldaway.stores.sqlite import SqliteStore

BOSS = Reader(owner="boss")
WRITERS = [Reader(owner=f"writer {number}") for number in range(3)]
PARTS = ("work", "work@writer 0")
_SCHEMAS = count()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Store]]:
    made: list[Store] = []
    for _ in WRITERS:
        if request.param == "sqlite":
            made.append(SqliteStore(tmp_path / "a.db"))
        else:
            from foldaway.stores.postgres import PostgresStore

            schema = f"pools_{next(_SCHEMAS) // len(WRITERS)}"
            made.append(PostgresStore(request.getfixturevalue("postgres_url"), schema=schema, most_connections=2))
    yield made
    for store in made:
        store.close()


def at_once(*acts: Callable[[], None]) -> list[str]:
    """What was refused."""
    refused: list[str] = []

    def run(act: Callable[[], None]) -> None:
        try:
            act()
        except StoreError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused


def test_one_of_several_gets_the_pool_and_the_others_are_told(stores: list[Store]) -> None:
    for number in range(5):
        name = f"pool {number}"
        refused = at_once(*(partial(store.make_pool, who, name) for store, who in zip(stores, WRITERS, strict=True)))
        assert len(refused) == len(WRITERS) - 1
        assert all("already" in text for text in refused)
        (roles,) = [roles for who in WRITERS if (roles := stores[0].pool_members(who, name))]
        assert list(roles.values()) == ["owner"]


def test_what_is_written_while_a_pool_is_dropped_is_in_no_later_pool_of_that_name(stores: list[Store]) -> None:
    stores[0].make_pool(BOSS, "work")
    stores[0].grant_pool(BOSS, "work", {f"user:{who.owner}": "writer" for who in WRITERS})

    def write(store: Store, who: Reader) -> None:
        for number in range(40):
            part = PARTS[number % 2]
            store.put_memories(who, [Memory(text=f"word {number}", pool=part, access="public", key=f"k {number}")])

    def drop() -> None:
        assert stores[0].drop_pool(BOSS, "work") >= 0

    writing = [partial(write, store, who) for store, who in zip(stores, WRITERS, strict=True)]
    refused = at_once(*writing, drop)
    # All who were still at it are refused.
    assert all("may not write to pool 'work'" in text or "its log cannot be emptied" in text for text in refused)
    eve = Reader(owner="eve")
    stores[0].make_pool(eve, "work")
    stores[0].put_memories(eve, [Memory(text="mine", pool=part, access="public") for part in PARTS])
    assert [memory.text for memory in stores[0].find_memories(eve, Filter(pools=PARTS))] == ["mine", "mine"]
    for who in WRITERS:
        assert stores[0].find_memories(who, Filter(pools=PARTS)) == []
