"""Vectors beside the work: once a text, by the newest model, without ever waiting."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from foldaway.errors import AskError
from foldaway.protocols import Filter, Memory, Reader
from foldaway.retrieval.embedding import CachedEmbedder, EmbeddingWorker, catch_up
from foldaway.retrieval.hashed import HashedEmbedder
from foldaway.stores.memory import MemoryStore

ADA, BOB = Reader(owner="ada"), Reader(owner="bob")


@dataclass
class Counting:
    """An embedder that notes what it was asked, waits where told, and fails where told."""

    name: str = "counting"
    dims: int = 8
    asked: list[str] = field(default_factory=list)
    go: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None

    def __post_init__(self) -> None:
        self.go.set()

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        assert self.go.wait(5)
        if self.error is not None:
            raise self.error
        self.asked += texts
        return HashedEmbedder(dims=self.dims).embed(texts)


def put(store: MemoryStore, *texts: str, reader: Reader = ADA) -> None:
    store.put_memories(reader, [Memory(text=text) for text in texts])


def test_catching_up_is_bounded_and_ends_with_nothing_left(store: MemoryStore) -> None:
    put(store, *(f"note {n}" for n in range(10)))
    embedder = Counting()
    assert [catch_up(store, embedder, 4) for _ in range(4)] == [4, 4, 2, 0]
    assert len(embedder.asked) == 10


def test_the_same_text_of_two_owners_is_embedded_once(store: MemoryStore) -> None:
    put(store, "the same")
    put(store, "the same", reader=BOB)
    embedder = Counting()
    assert catch_up(store, embedder) == 2
    assert embedder.asked == ["the same"]


def test_another_model_starts_anew_and_its_vectors_do_not_mix(store: MemoryStore) -> None:
    put(store, "a note")
    old, new = Counting(name="old"), Counting(name="new", dims=16)
    catch_up(store, old)
    (vector,) = new.embed(["a note"])
    assert store.by_vector(ADA, Filter(), "new", vector, 5) == []
    assert catch_up(store, new) == 1
    assert len(store.by_vector(ADA, Filter(), "new", vector, 5)) == 1


def test_a_cached_embedder_computes_a_text_once_and_forgets_the_oldest() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, most=2)
    first = cached.embed(["a", "b", "a"])
    assert first[0] == first[2]
    cached.embed(["a"])
    assert inner.asked == ["a", "b"]
    cached.embed(["c"])
    cached.embed(["a"])
    cached.embed(["b"])
    assert inner.asked == ["a", "b", "c", "b"]
    assert (cached.name, cached.dims) == ("counting", 8)


def test_the_worker_hands_in_when_attended_and_never_waits(store: MemoryStore) -> None:
    put(store, "one", "two")
    embedder = Counting()
    embedder.go.clear()
    worker = EmbeddingWorker(embedder)
    assert worker.attend(store) == 0
    assert worker.attend(store) == 0
    assert not worker.wait(0.01)
    embedder.go.set()
    assert worker.wait(5)
    assert worker.attend(store) == 2
    assert store.without_vector("counting", 5) == []


def test_what_is_forgotten_meanwhile_is_passed_over(store: MemoryStore) -> None:
    put(store, "one", "two")
    worker = EmbeddingWorker(Counting())
    worker.attend(store)
    worker.wait(5)
    store.forget_memories(ADA, [store.find_memories(ADA, Filter())[0].id])
    worker.attend(store)
    assert store.without_vector("counting", 5) == []
    assert len(store.find_memories(ADA, Filter())) == 1


def test_a_failure_is_kept_and_tried_again(store: MemoryStore) -> None:
    put(store, "one")
    embedder = Counting(error=AskError("timeout", "no answer in 5 s"))
    worker = EmbeddingWorker(embedder)
    for _ in range(2):
        assert worker.attend(store) == 0
        worker.wait(5)
    assert worker.failures == ["timeout: no answer in 5 s"] * 2
    embedder.error = None
    worker.attend(store)
    worker.wait(5)
    assert worker.attend(store) == 1


def test_a_crash_of_somebody_elses_model_is_a_failure_too(store: MemoryStore) -> None:
    put(store, "one")
    worker = EmbeddingWorker(Counting(error=ZeroDivisionError("division by zero")))
    worker.attend(store)
    worker.wait(5)
    assert worker.failures == ["counting failed: ZeroDivisionError: division by zero"]
