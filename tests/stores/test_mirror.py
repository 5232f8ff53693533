"""Mirrors of vectors, and the pieces of them that are kept in the file."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest

from foldaway.protocols import Filter, Memory, Reader
from foldaway.stores import _memory_words, _vectors
from foldaway.stores._vectors import BlobVectors
from foldaway.stores.memory import MemoryStore
from foldaway.stores.sqlite import SqliteStore
from foldaway.testing.memories_contract import unit

np = pytest.importorskip("numpy")
_mirror, _sealed, _signs = (pytest.importorskip(f"foldaway.stores.{name}") for name in ("_mirror", "_sealed", "_signs"))
ANN = Reader(owner="ann")
QUERY = unit(1, 2, 3, 4, 5, 6, 7, 8)
NUMBERS = 8


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces and limits of a size that a test reaches."""
    monkeypatch.setattr(_sealed, "PIECE", 64)
    monkeypatch.setattr(_sealed, "LEAST", 16)
    monkeypatch.setattr(_vectors, "_WORTH_SETTLING", 16)
    monkeypatch.setattr(_vectors, "_MANY", 16)


def filled(store: SqliteStore, count: int = 300, reader: Reader = ANN, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    told = [
        Memory(text=f"word{n % 7} memory {seed} {n}", kind=("fact", "plan")[n % 2], source=f"tool {n % 3}")
        for n in range(count)
    ]
    ids = store.put_memories(reader, told)
    store.put_vectors("m", [(each, unit(*(rng.gauss(0, 1) for _ in range(NUMBERS)))) for each in ids])
    return ids


def nearest(store: SqliteStore, among: Filter | None = None, reader: Reader = ANN) -> list[tuple[str, float]]:
    return store.by_vector(reader, among or Filter(), "m", QUERY, 20)


def pieces(store: SqliteStore) -> list[tuple[int, int, int]]:
    return store._connected().execute("SELECT first, last, count FROM mirrors ORDER BY scope, first").fetchall()


def kept_rows(store: SqliteStore) -> set[int]:
    """The memories that stand in pieces."""
    with store._reading() as db:
        sealed = db.rows("SELECT count, last, data FROM mirrors WHERE count > 0")
    return {row for count, last, data in sealed for row in _sealed._unpacked(data, count, last).rows.tolist()}


def test_pieces_are_made_once_all_have_vectors_and_lead_to_the_same(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "s.db") as store:
        filled(store)
        before = nearest(store)
        assert pieces(store) == []
        assert store.without_vector("m", 9) == []
        assert [count for _, _, count in pieces(store)] == [64, 64, 64, 64, 44]
        filled(store, 10, seed=2)
        assert store.without_vector("m", 9) == []
        assert len(pieces(store)) == 5
        after = nearest(store)
    with SqliteStore(tmp_path / "s.db") as store:
        assert nearest(store) == after
        store._vectors = BlobVectors(mirrored=False)
        plain = nearest(store)
        assert [each for each, _ in plain] == [each for each, _ in after]
    assert len(before) == len(after) == 20


def test_what_is_forgotten_or_made_anew_leaves_its_piece(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "s.db") as store:
        ids = filled(store)
        store.without_vector("m", 9)
        rows = dict(zip(ids, range(1, 301), strict=True))
        first = [each for each, _ in nearest(store)]
        store.forget_memories(ANN, first[:3])
        store.put_vectors("m", [(first[5], unit(-1, -2, -3, -4, -5, -6, -7, -8))])
        assert kept_rows(store) == set(rows.values()) - {rows[each] for each in (*first[:3], first[5])}
        left = [each for each, _ in nearest(store)]
        assert left[:16] == [*first[3:5], *first[6:20]]
    with SqliteStore(tmp_path / "s.db") as store:
        assert [each for each, _ in nearest(store)] == left


def test_nothing_of_a_forgotten_vector_stays_in_the_file(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "s.db") as store:
        ids = filled(store)
        store.without_vector("m", 9)
        with store._reading() as db:
            ((count, last, data),) = db.rows("SELECT count, last, data FROM mirrors ORDER BY first LIMIT 1")
        piece = _sealed._unpacked(data, count, last)
        store.forget_memories(ANN, ids[30:31])
        traces = [piece.numbers[30].tobytes() + piece.numbers[31].tobytes(), piece.signs[30].tobytes()]
    content = (tmp_path / "s.db").read_bytes()
    assert piece.signs[31].tobytes() in content
    assert not any(trace in content for trace in traces)


def test_another_openings_mirror_learns_what_was_sealed_and_forgotten_meanwhile(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "s.db") as one, SqliteStore(tmp_path / "s.db") as other:
        filled(one, 100)
        first = [each for each, _ in nearest(other)]
        filled(one, 100, seed=2)
        one.without_vector("m", 9)
        one.forget_memories(ANN, first[:1])
        assert nearest(other) == nearest(one)
        assert first[0] not in [each for each, _ in nearest(other)]


def test_without_numpy_pieces_go_when_something_in_one_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteStore(tmp_path / "s.db") as store:
        ids = filled(store)
        store.without_vector("m", 9)
    monkeypatch.setattr(_vectors, "find_spec", lambda name: None)
    with SqliteStore(tmp_path / "s.db") as store:
        store.forget_memories(ANN, ids[:1])
        assert pieces(store) == []
    monkeypatch.undo()
    with SqliteStore(tmp_path / "s.db") as store:
        assert ids[0] not in [each for each, _ in nearest(store)]
        assert len(nearest(store)) == 20


def test_filters_find_the_same_with_a_mirror_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (_mirror, _memory_words):
        monkeypatch.setattr(module, "FEW", 20)
    monkeypatch.setattr(_mirror, "LEAST_SHORTLIST", 400)
    kinds, sources, tasks = ((), ("fact",)), ((), ("tool 1",), ("tool 0", "tool 2")), ((), ("",))
    with MemoryStore() as store:
        filled(store)
        filled(store, 50, Reader(owner="bob"), seed=3)
        for kind, source, task in product(kinds, sources, tasks):
            among = Filter(kinds=kind, sources=source, tasks=task, current_only=not task)
            nearest(store)
            mirrored = nearest(store, among), store.by_words(ANN, among, "word1 word2 memory", 10)
            held, store._vectors = store._vectors, BlobVectors(mirrored=False)
            plain = nearest(store, among), store.by_words(ANN, among, "word1 word2 memory", 10)
            store._vectors = held
            assert [each for each, _ in mirrored[0]] == [each for each, _ in plain[0]]
            assert mirrored[1] == plain[1]
            assert all(one.kind in (kind or (one.kind,)) for one in store.memories(ANN, [n for n, _ in mirrored[0]]))


def test_values_with_the_same_code_are_told_apart_by_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sealed, "code", lambda value: 1)
    with MemoryStore() as store:
        filled(store)
        found = nearest(store, Filter(kinds=("plan",)))
        assert {one.kind for one in store.memories(ANN, [each for each, _ in found])} == {"plan"}
        assert len(found) == 20


def test_holes_of_forgotten_memories_are_closed() -> None:
    with MemoryStore() as store:
        ids = filled(store, 100)
        nearest(store)
        (mirror,) = store._vectors._mirrors._held.values()  # type: ignore[union-attr]
        store.forget_memories(ANN, ids[:20])
        assert (mirror._count, mirror._holes) == (100, 20)
        store.forget_memories(ANN, ids[20:40])
        assert (mirror._count, mirror._holes) == (60, 0)
        assert len(nearest(store)) == 20


def test_the_nearest_by_signs_are_the_nearest_and_only_allowed_ones() -> None:
    rng = np.random.default_rng(3)
    numbers = rng.integers(-127, 128, (500, 64)).astype(np.int8)
    words = np.ascontiguousarray(_signs.signs_of(numbers).T)
    asked = _signs.signs_of_one(numbers[123])
    assert (asked == words[:, 123]).all()
    differ = np.bitwise_count(words ^ asked[:, None]).sum(axis=0)
    found = _signs.nearest(words, asked, 10, None)
    assert len(found) >= 10
    assert differ[found].max() <= np.sort(differ)[len(found) - 1]
    allowed = np.arange(500) % 2 == 0
    some = _signs.nearest(words, asked, 10, allowed)
    assert 123 not in some
    assert all(position % 2 == 0 for position in some.tolist())
    assert len(_signs.nearest(words, asked, 10, np.zeros(500, dtype=bool))) == 0
