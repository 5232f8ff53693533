"""Words in a scope of very many memories: both stores find the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from foldaway.protocols import Filter, Memory, Reader, Store
from foldaway.stores import _memory_words, sqlite
from foldaway.stores.sqlite import SqliteStore
from foldaway.testing.postgres_server import why_not

ANN = Reader(owner="ann")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (sqlite, _memory_words):
        monkeypatch.setattr(module, "BLOCK_ROWS", 64)
    for name, value in (("_LARGE", 50), ("COMMON", 60), ("_ALONE", 12), ("_TOGETHER", 400), ("FEW", 5)):
        monkeypatch.setattr(_memory_words, name, value)


def fill(store: Store) -> list[str]:
    rng = random.Random(4)
    words = [f"w{n}" for n in range(60)]
    texts = [f"all {' '.join(words[int(rng.random() ** 2 * 60)] for _ in range(6))} 日志{n % 40}" for n in range(500)]
    return store.put_memories(ANN, [Memory(text=f"{text} one{n}", kind="ab"[n % 2]) for n, text in enumerate(texts)])


def asked() -> Iterator[tuple[str, Filter]]:
    rng = random.Random(8)
    for _ in range(30):
        words = [f"w{int(rng.random() ** 2 * 60)}" for _ in range(rng.choice((1, 2, 4)))]
        yield f"all {' '.join(words)}", Filter()
        yield " ".join([*words, f"one{rng.randrange(500)}"]), Filter(kinds=("a",))
    yield "日志7 all w3", Filter()
    yield "志 w50 w51", Filter()
    yield "all", Filter(kinds=("b",))


def test_a_memory_is_found_by_its_rarest_word_or_by_any_two(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "s.db") as store:
        ids = fill(store)
        texts = {memory.id: memory.text.split() for memory in store.memories(ANN, ids)}
        for number in (0, 63, 64, 320, 499):
            assert store.by_words(ANN, Filter(), f"all w0 one{number}", 5)[0][0] == ids[number]
        found = {each for each, _ in store.by_words(ANN, Filter(), "all w55 w40 w30", 100)}
        rarest = min(("w55", "w40", "w30"), key=lambda word: sum(word in words for words in texts.values()))
        for each, words in texts.items():
            if rarest in words or sum(word in words for word in ("w55", "w40", "w30")) > 1:
                assert each in found


def test_both_stores_find_the_same(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_not():
        pytest.skip(f"no PostgreSQL: {reason}")
    import psycopg

    from foldaway.stores import _postgres_transaction
    from foldaway.stores.postgres import PostgresStore

    monkeypatch.setattr(_postgres_transaction, "BLOCK_ROWS", 64)
    with SqliteStore(tmp_path / "s.db") as one, PostgresStore(postgres_url, schema="test_rarest") as other:
        for store in (one, other):
            fill(store)
        for query, among in asked():
            hits = [
                [
                    (memory.text, score)
                    for (_, score), memory in zip(found, store.memories(ANN, [n for n, _ in found]), strict=True)
                ]
                for store in (one, other)
                for found in [store.by_words(ANN, among, query, 20)]
            ]
            assert hits[0] == hits[1], query
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA test_rarest CASCADE")
