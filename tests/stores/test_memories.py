"""Memories in SQLite: what the contract cannot ask of every store."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from array import array
from importlib.util import find_spec
from pathlib import Path

import pytest

from foldaway.protocols import Filter, Memory, Reader, SessionKey, Store
from foldaway.stores import _memory_words
from foldaway.stores._vectors import BlobVectors
from foldaway.stores.memory import MemoryStore
from foldaway.stores.redaction import RedactingStore
from foldaway.stores.sqlite import SqliteStore
from foldaway.testing.memories_contract import MemoriesContract, unit
from foldaway.testing.store_contract import Clock

ANN = Reader(owner="ann")
numpy_only = pytest.mark.skipif(find_spec("numpy") is None, reason="numpy is not installed (extra `memory`)")


class TestWithoutNumpy(MemoriesContract):
    lasting = False

    def make(self, folder: Path, clock: Clock) -> Store:
        store = MemoryStore(clock=clock)
        store._vectors = BlobVectors(mirrored=False)
        return store


def with_vectors(store: SqliteStore, count: int, numbers: int, seed: int = 1) -> dict[str, list[float]]:
    """Memories with random vectors in a few directions; every 50th is of the task `rare`."""
    rng = random.Random(seed)
    told = [Memory(text=f"memory {seed} {n}", task="rare" if n % 50 == 0 else "") for n in range(count)]
    ids = store.put_memories(ANN, told)
    wide = [unit(*(rng.gauss(0, 1) if k < 6 else rng.gauss(0, 0.05) for k in range(numbers))) for _ in ids]
    vectors = dict(zip(ids, wide, strict=True))
    store.put_vectors("m", list(vectors.items()))
    return vectors


def exact(vectors: dict[str, list[float]], query: list[float], limit: int) -> list[str]:
    return sorted(vectors, key=lambda each: -sum(a * b for a, b in zip(vectors[each], query, strict=True)))[:limit]


def ids_of(found: list[tuple[str, float]]) -> list[str]:
    return [each for each, _ in found]


@numpy_only
def test_a_mirror_finds_what_comparing_in_python_finds() -> None:
    with MemoryStore() as store:
        vectors = with_vectors(store, 300, 16)
        query = unit(*range(1, 17))
        filters = (Filter(), Filter(tasks=("rare",)), Filter(current_only=True))
        mirrored = [store.by_vector(ANN, among, "m", query, 20) for among in filters]
        store._vectors = BlobVectors(mirrored=False)
        plain = [store.by_vector(ANN, among, "m", query, 20) for among in filters]
        assert [ids_of(found) for found in mirrored] == [ids_of(found) for found in plain]
        assert ids_of(mirrored[0]) == exact(vectors, query, 20)
        for one, other in zip(mirrored[0], plain[0], strict=True):
            assert abs(one[1] - other[1]) < 1e-3


@numpy_only
def test_a_large_scope_is_judged_by_signs_and_a_strong_filter_stays_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    from foldaway.stores import _mirror

    for module in (_mirror, _memory_words):
        monkeypatch.setattr(module, "FEW", 40)
    monkeypatch.setattr(_mirror, "LEAST_SHORTLIST", 60)
    with MemoryStore() as store:
        vectors = with_vectors(store, 1500, 24)
        rare = dict(list(vectors.items())[::50])
        rng = random.Random(9)
        hits = 0
        for _ in range(10):
            query = unit(*(rng.gauss(0, 1) if k < 6 else 0.01 for k in range(24)))
            hits += len({*ids_of(store.by_vector(ANN, Filter(), "m", query, 10))} & {*exact(vectors, query, 10)})
            assert ids_of(store.by_vector(ANN, Filter(tasks=("rare",)), "m", query, 10)) == exact(rare, query, 10)
            # Many are left, and what is near is seldom among them.
            weak = store.by_vector(ANN, Filter(tasks=("", "rare"), until="2000-01-01"), "m", query, 10)
            assert weak == []
        assert hits >= 95


@numpy_only
def test_a_mirror_follows_what_other_openings_of_the_file_write(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "s.db") as one, SqliteStore(tmp_path / "s.db") as other:
        vectors = with_vectors(one, 50, 4)
        query = unit(1, 2, 3, 4)
        for store in (one, other):
            assert ids_of(store.by_vector(ANN, Filter(), "m", query, 9)) == exact(vectors, query, 9)
        vectors |= with_vectors(other, 50, 4, seed=2)
        changed = next(iter(vectors))
        vectors[changed] = query
        other.put_vectors("m", [(changed, query)])
        gone = exact(vectors, query, 3)[1:]
        other.forget_memories(ANN, gone)
        for each in gone:
            del vectors[each]
        for store in (one, other):
            assert ids_of(store.by_vector(ANN, Filter(), "m", query, 9)) == exact(vectors, query, 9)
        (held,) = one._vectors._mirrors._held.values()  # type: ignore[union-attr]
        left = held._rows[: held._count] >= 0
        assert left.sum() == 98
        assert not held._numbers[: held._count][~left].any()


@numpy_only
def test_mirrors_stay_within_their_bytes() -> None:
    from foldaway.stores._mirror import Mirrors

    with MemoryStore() as store:
        store._vectors._mirrors = mirrors = Mirrors(most_bytes=12_000)
        for number in range(8):
            reader = Reader(owner=f"owner {number}")
            ids = store.put_memories(reader, [Memory(text=f"t {n}") for n in range(50)])
            store.put_vectors("m", [(each, unit(1, n, 0, 0)) for n, each in enumerate(ids)])
            assert ids_of(store.by_vector(reader, Filter(), "m", unit(1, 0, 0, 0), 1)) == ids[:1]
            assert 0 < mirrors.bytes <= 12_000


def test_common_words_rank_and_find_when_there_are_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_memory_words, "COMMON", 20)
    with MemoryStore() as store:
        told = [
            Memory(text=f"crane number {n}" + " at the quay" * (n % 3 == 0), task="t" * (n == 7)) for n in range(90)
        ]
        ids = store.put_memories(ANN, told)
        assert ids_of(store.by_words(ANN, Filter(), "crane 42", 3))[0] == ids[42]
        assert {*ids_of(store.by_words(ANN, Filter(), "crane quay", 50))} == {*ids[::3]}
        assert len(store.by_words(ANN, Filter(), "crane", 99)) == 90
        assert ids_of(store.by_words(ANN, Filter(tasks=("t",)), "crane", 9)) == [ids[7]]
        assert ids_of(store.by_words(ANN, Filter(tasks=("t",)), "quay", 9)) == []


def test_a_forgotten_memory_leaves_no_trace_in_any_file(tmp_path: Path) -> None:
    gone, kept = ("gone" + "word", "kept" + "word")
    with SqliteStore(tmp_path / "store.db") as store:
        fields = {"key": gone, "task": gone, "source": gone, "session": gone, "pool": gone, "kind": gone}
        store.make_pool(ANN, gone)
        first = store.put_memories(ANN, [Memory(text=f"{gone} {n}", **fields) for n in range(40)])  # type: ignore[arg-type]
        store.put_memories(Reader(owner=gone), [Memory(text=kept, expires_at="2000-01-01")])
        second = store.put_memories(ANN, [Memory(text=f"{kept} {n}", key=kept) for n in range(40)])
        marked = array("f", [0.12345, 0.6789])
        store.put_vectors("m", [(first[0], marked), (second[0], [1.0, 0.0])])
        own = store.put_memories(ANN, [Memory(text=gone, key=gone, session=gone, item=3, source=gone)])
        assert store.forget_memories(ANN, first[:20], tombstones=True) == 20
        assert store.forget_memories(ANN, own, tombstones=True) == 1
        assert len(store.tombstones(ANN)) == 21
        assert store.drop_pool(ANN, gone) == 20
        store.expire_memories("2031-01-01")
        everything = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
        assert gone.encode() not in everything
        assert marked.tobytes() not in everything
        assert len(store.by_words(ANN, Filter(), kept, 99)) == 40
    assert kept.encode() in (tmp_path / "store.db").read_bytes()


def test_secrets_in_memories_never_reach_the_store(tmp_path: Path) -> None:
    secret = "ghp_" + "madeup" * 6
    with SqliteStore(tmp_path / "s.db") as inner:
        store = RedactingStore(inner)
        told = Memory(text=f"The token is {secret}.", key=f"token {secret}", source=f"https://u:{secret}@h.example/")
        (found,) = store.put_memories(ANN, [told])
        assert secret not in repr(store.memories(ANN, [found]))
        assert ids_of(store.by_words(ANN, Filter(), f"token {secret}", 3)) == [found]
        assert [memory.id for memory in store.find_memories(ANN, Filter(keys=(told.key,)))] == [found]
        assert secret.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


WRITER = """
import sys
from foldaway.protocols import Memory, Reader
from foldaway.stores.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
for n in range(100_000):
    told = [Memory(text=f"memory {n} part {part} " + "x" * 300, key=f"subject {n % 5}") for part in range(3)]
    ids = store.put_memories(Reader(owner="ann"), told)
    store.put_vectors("m", [(each, [1.0, 0.0]) for each in ids])
    print(n, flush=True)
"""


@pytest.mark.parametrize("seed", range(3))
def test_memories_that_were_acknowledged_survive_kill_9_and_none_is_half_there(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "store.db"
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(random.Random(seed).randrange(1, 30)):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    rest = process.communicate()[0]
    told = [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    with SqliteStore(path) as store:
        found = store.find_memories(ANN, Filter(), limit=10**6)
        batches = {int(memory.text.split()[1]) for memory in found}
        assert batches >= set(range(max(told, default=0) + 1))
        # A batch is whole: its rows, its words, and one current memory a subject.
        assert len(found) == 3 * len(batches)
        assert len(store.by_words(ANN, Filter(), f"{max(batches)}", 10)) >= 3
        assert sum(not memory.superseded_by for memory in found) == min(5, len(batches))
        near = store.by_vector(ANN, Filter(), "m", [1.0, 0.0], 10**6)
        assert len(near) + len(store.without_vector("m", 10**6)) == len(found)
        for index in ("words", "memory_words"):
            store._connected().execute(f"INSERT INTO {index} ({index}) VALUES ('integrity-check')")


def test_threads_tell_and_search_at_once() -> None:
    with MemoryStore() as store:
        failed: list[BaseException] = []

        def work(worker: int) -> None:
            try:
                for number in range(20):
                    (told,) = store.put_memories(ANN, [Memory(text=f"crane {worker} {number}")])
                    store.put_vectors("m", [(told, unit(1, number))])
                    assert told in ids_of(store.by_vector(ANN, Filter(), "m", unit(1, number), 999))
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert len(store.find_memories(ANN, Filter())) == 80


def test_deleting_the_last_session_of_a_user_keeps_their_memories() -> None:
    with MemoryStore() as store:
        store.put_memories(ANN, [Memory(text="kept")])
        store.delete(store.open(SessionKey(user="ann", name="main")))
        assert [memory.text for memory in store.find_memories(ANN, Filter())] == ["kept"]
        assert store.users() == ["ann"]


def test_the_index_of_words_is_cut_into_pieces_and_only_those_with_traces_are_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foldaway.stores import sqlite

    for module in (sqlite, _memory_words):
        monkeypatch.setattr(module, "BLOCK_ROWS", 10)
    with SqliteStore(tmp_path / "s.db") as store:
        ids = [store.put_memories(ANN, [Memory(text=f"crane number{n}")])[0] for n in range(35)]
        pieces = sqlite.pieces_of(store._connected(), "memory_words")
        assert pieces == ["memory_words", "memory_words_1", "memory_words_2", "memory_words_3"]
        assert len(store.by_words(ANN, Filter(), "crane", 99)) == 35
        assert ids_of(store.by_words(ANN, Filter(), "number17", 9)) == [ids[17]]
        merged: list[str] = []
        store._connected().set_trace_callback(lambda sql: merged.append(sql) if "optimize" in sql else None)
        store.forget_memories(ANN, [ids[17]])
        assert [sql.split()[2] for sql in merged] == ["memory_words", "memory_words_1", "words"]
        merged.clear()
        store.forget_memories(ANN, [ids[30]])
        assert [sql.split()[2] for sql in merged] == ["memory_words_3"]
        assert store.by_words(ANN, Filter(), "number17", 9) == []
    assert b"number17" not in (tmp_path / "s.db").read_bytes()


def test_among_very_many_memories_the_rarest_words_find_and_the_others_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    from foldaway.stores import sqlite

    for module in (sqlite, _memory_words):
        monkeypatch.setattr(module, "BLOCK_ROWS", 16)
    for name, value in (("_LARGE", 50), ("COMMON", 40), ("_ALONE", 12), ("FEW", 5)):
        monkeypatch.setattr(_memory_words, name, value)
    with MemoryStore() as store:
        told = [Memory(text=f"every half{n % 2} ten{n % 20} single{n}", kind="ab"[n % 3 == 0]) for n in range(200)]
        ids = store.put_memories(ANN, told)
        for number in (0, 15, 16, 131, 199):
            assert ids_of(store.by_words(ANN, Filter(), f"every half0 single{number}", 5)) == [ids[number]]
        tens = ids_of(store.by_words(ANN, Filter(), "every half1 ten7 ten8", 30))
        assert set(tens[:10]) == set(ids[7::20])
        # Of what the rarest words find too much, no more words are let find.
        assert set(tens) <= {*ids[7::20], *ids[8::20]}
        assert len(store.by_words(ANN, Filter(), "every", 5)) == 5
        assert ids_of(store.by_words(ANN, Filter(kinds=("b",)), "every single131", 5))[:1] != [ids[131]]
        assert ids_of(store.by_words(ANN, Filter(kinds=("b",)), "ten12", 9)) == [ids[n] for n in (192, 132, 72, 12)]
        assert store.by_words(ANN, Filter(), "nowhere", 5) == []
