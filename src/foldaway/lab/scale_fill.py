"""Filling a store with made-up memories, piece by piece, so that a run that was ended can be taken up.

What was done so far, how long it took, the true nearest vectors and some of the texts are kept in the store itself, as
marks of a user of their own: whoever asks the store later need not make it all again. A piece that was told but not yet
noted is told again, which changes nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from foldaway.errors import SettingsError
from foldaway.lab.scale_data import Layout, Telling, owner_name
from foldaway.protocols import Embedder, Filter, Memory, Reader, SessionKey, Store
from foldaway.retrieval.embedding import catch_up

AT_ONCE = 5_000
"""Memories in one call of `put_memories` and of `put_vectors`."""
NEAREST = 10
_SAMPLES = 4_000
_KEPT = 1_000
"""Texts of an owner that are kept to ask about."""
_MOST_QUERIES = 50
_USER = "foldaway lab scale"
_BOOK, _NEAREST, _TEXTS = "book", "nearest", "texts"

Progress = Callable[[int, int, str], object]


@dataclass(slots=True, kw_only=True)
class Book:
    """What a store was filled with, how far, and how long that took: of the calls, without making texts and vectors."""

    items: int
    owners: int
    large_share: float
    vectors: str
    """The embedder's name."""
    words: int
    """Of the vocabulary: how often all of them are said."""
    pieces: int = 0
    """Told so far."""
    told: int = 0
    finished: bool = False
    put_seconds: float = 0.0
    put_processor: float = 0.0
    vector_seconds: float = 0.0
    vector_processor: float = 0.0
    index_seconds: float = 0.0
    index_processor: float = 0.0

    @classmethod
    def of(cls, layout: Layout, words: dict[str, int], embedder: Embedder) -> Book:
        return cls(
            items=layout.items,
            owners=layout.owners,
            large_share=layout.large_share,
            vectors=embedder.name,
            words=sum(words.values()),
        )

    def check(self, other: Book) -> None:
        """Raises SettingsError when a store was filled with something else."""
        for name in ("items", "owners", "large_share", "vectors", "words"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise SettingsError(
                    f"the store was filled with {name} {theirs!r}, not {mine!r}; ask it as it was filled, or give "
                    "another store"
                )


@dataclass(slots=True)
class Nearest:
    """The nearest of the large owner's vectors to some questions, found by comparing all as they come by."""

    queries: Sequence[Sequence[float]]
    best: list[list[tuple[float, str]]]

    @classmethod
    def to(cls, vectors: Sequence[Sequence[float]]) -> Nearest:
        return cls(vectors, [[] for _ in vectors])

    def see(self, ids: Sequence[str], vectors: Sequence[Sequence[float]]) -> None:
        import numpy as np

        cosines = np.asarray(vectors, dtype=np.float32) @ np.asarray(self.queries, dtype=np.float32).T
        for column, best in enumerate(self.best):
            top = np.argsort(-cosines[:, column], kind="stable")[:NEAREST]
            merged = {name: score for score, name in best} | {ids[n]: float(cosines[n, column]) for n in top}
            best[:] = sorted(((score, name) for name, score in merged.items()), reverse=True)[:NEAREST]


@dataclass(slots=True)
class Told:
    """What is remembered of the telling."""

    book: Book | None
    """None: somebody else filled the store."""
    nearest: Nearest | None
    samples: dict[str, list[Memory]] = field(default_factory=dict)
    """By owner."""


@dataclass(slots=True)
class Spent:
    """Seconds by the clock and of processors that calls took."""

    clock: float = 0.0
    processor: float = 0.0


class Watch:
    """Tells what a call takes. `server`: seconds of processor time that a store's server has used so far."""

    def __init__(self, server: Callable[[], float] = lambda: 0.0) -> None:
        self._server = server

    @contextmanager
    def on(self) -> Iterator[Spent]:
        spent = Spent()
        # What it takes to ask for the server's time must not count.
        server = self._server()
        used, start = time.process_time(), time.perf_counter()
        yield spent
        spent.clock = time.perf_counter() - start
        spent.processor = time.process_time() - used
        spent.processor += self._server() - server


def fill(
    store: Store,
    layout: Layout,
    words: dict[str, int],
    embedder: Embedder,
    questions: int,
    watch: Watch,
    progress: Progress = lambda done, total, what: None,
) -> Told:
    """Tell what is still to be told, and say what was told.

    Raises what the store raises; SettingsError when it was filled with something else.
    """
    fresh, marks = Book.of(layout, words, embedder), store.marks(_USER, [_BOOK, _NEAREST, _TEXTS])
    if _BOOK not in marks and store.find_memories(Reader(owner=owner_name(0)), Filter(), 1):
        told = Told(None, None)
        for _, owner, memories in _pieces(layout, words, progress):
            _sample(told, layout, owner, memories)
        return told
    book = Book(**json.loads(marks[_BOOK])) if _BOOK in marks else fresh
    fresh.check(book)
    told = Told(book, _nearest(marks, words, embedder, questions))
    if book.finished:
        told.samples = {owner: [Memory(**each) for each in some] for owner, some in json.loads(marks[_TEXTS]).items()}
        return told
    _fill(store, layout, words, embedder, told, book, watch, progress)
    return told


def _fill(
    store: Store,
    layout: Layout,
    words: dict[str, int],
    embedder: Embedder,
    told: Told,
    book: Book,
    watch: Watch,
    progress: Progress,
) -> None:
    session, noted = store.open(SessionKey(user=_USER, name="load")), book.told
    for number, owner, memories in _pieces(layout, words, progress):
        _sample(told, layout, owner, memories)
        if number >= book.pieces:
            _put(store, owner, memories, embedder, told, book, watch)
            book.pieces, book.told = number + 1, book.told + len(memories)
            if book.told - noted >= AT_ONCE:
                store.put_marks(session, _noted(told, book))
                noted = book.told
    with watch.on() as spent:
        catch_up(store, embedder, 1)
    book.index_seconds, book.index_processor, book.finished = spent.clock, spent.processor, True
    told.samples = {owner: some[:: -(-len(some) // _KEPT)] for owner, some in told.samples.items() if some}
    texts = {owner: [_plain(memory) for memory in some] for owner, some in told.samples.items()}
    store.put_marks(session, {_TEXTS: json.dumps(texts)} | _noted(told, book))


def _pieces(layout: Layout, words: dict[str, int], progress: Progress) -> Iterator[tuple[int, str, list[Memory]]]:
    telling, done = Telling(words), 0
    for number, (owner, count) in enumerate(layout.batches(AT_ONCE)):
        yield number, owner, telling.memories(count)
        done += count
        progress(done, layout.items, "told")


def _sample(told: Told, layout: Layout, owner: str, memories: Sequence[Memory]) -> None:
    every = min(max(1, layout.items // _SAMPLES), max(1, len(memories) // 2))
    # One with a subject may be superseded, and then its successor is what ought to come back.
    told.samples.setdefault(owner, []).extend(one for one in memories[::every] if not one.key)


def _put(
    store: Store,
    owner: str,
    memories: Sequence[Memory],
    embedder: Embedder,
    told: Told,
    book: Book,
    watch: Watch,
) -> None:
    with watch.on() as spent:
        ids = store.put_memories(Reader(owner=owner), memories)
    book.put_seconds += spent.clock
    book.put_processor += spent.processor
    vectors = embedder.embed([memory.text for memory in memories])
    with watch.on() as spent:
        store.put_vectors(embedder.name, list(zip(ids, vectors, strict=True)))
    book.vector_seconds += spent.clock
    book.vector_processor += spent.processor
    if told.nearest is not None and owner == owner_name(0):
        told.nearest.see(ids, vectors)


def _nearest(marks: dict[str, str], words: dict[str, int], embedder: Embedder, questions: int) -> Nearest:
    if _NEAREST in marks:
        kept = json.loads(marks[_NEAREST])
        return Nearest(kept["queries"], [[(score, name) for score, name in best] for best in kept["best"]])
    asked = Telling(words, seed=11).memories(min(questions, _MOST_QUERIES))
    return Nearest.to([list(map(float, vector)) for vector in embedder.embed([one.text for one in asked])])


def _noted(told: Told, book: Book) -> dict[str, str]:
    return {_BOOK: json.dumps(asdict(book)), _NEAREST: json.dumps(asdict(told.nearest)) if told.nearest else "{}"}


_PLAIN = ("text", "kind", "task", "source", "session", "item", "at")


def _plain(memory: Memory) -> dict[str, Any]:
    return {name: getattr(memory, name) for name in _PLAIN}
