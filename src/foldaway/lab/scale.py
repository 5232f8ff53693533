"""Memories by the million: how fast a store takes them in, and finds them under filters.

One owner holds a large share of the store, the others a small one each. Questions are some words of a memory that was
told, so what ought to come back is known. Times are a call's by the clock, and of processors: on a machine that does
other work besides, only the second can be compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from foldaway.lab.bench import rss_mb
from foldaway.lab.results import percentile
from foldaway.lab.scale_data import MONTHS, Layout, Telling, literal_of, owner_name, question
from foldaway.protocols import Embedder, Filter, Memories, Memory, Reader
from foldaway.retrieval.embedding import catch_up
from foldaway.retrieval.retriever import CANDIDATES, Retriever

AT_ONCE = 5_000
"""Memories in one call of `put_memories` and of `put_vectors`."""
LIMIT = 8
NEAREST = 10
_EVERYTHING = Filter()
_SAMPLES = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds of some calls, by the clock and of processors."""

    clock: tuple[float, ...] = ()
    processor: tuple[float, ...] = ()

    def ms(self, share: float, *, processor: bool = False) -> float:
        return 1000 * percentile(self.processor if processor else self.clock, share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One kind of question: its two halves alone, and the whole retrieval with reading and ranking anew."""

    name: str
    words: Times
    vector: Times
    hybrid: Times
    found: float
    """Share of questions whose memory came back among the first `LIMIT`; it may fail the filter of none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What one store did."""

    store: str
    layout: Layout
    dims: int
    put_seconds: float
    """Of the calls, without making texts and vectors; 0 when the store was full before."""
    vector_seconds: float
    index_seconds: float
    """What a store does once every memory has its vector."""
    first_search: Times
    """After opening: mirrors are read, pages fetched."""
    asked: tuple[Asked, ...]
    by_id: Times
    without_vector: Times
    forget: Times
    recall: float | None
    """Share of the ten nearest, compared one by one, among the ten found; the large owner's, no filter."""
    file_mb: float
    rss_mb: float


class Meter:
    """Times calls. `server`: seconds of processor time that a store's server has used so far."""

    def __init__(self, server: Callable[[], float] = lambda: 0.0) -> None:
        self._server = server

    def of(self, calls: Iterator[Callable[[], object]] | Sequence[Callable[[], object]]) -> Times:
        clock: list[float] = []
        processor: list[float] = []
        for call in calls:
            used, start = time.process_time() + self._server(), time.perf_counter()
            call()
            clock.append(time.perf_counter() - start)
            processor.append(time.process_time() + self._server() - used)
        return Times(clock=tuple(clock), processor=tuple(processor))


@dataclass(slots=True)
class _Nearest:
    """The nearest of the large owner's vectors to some questions, found by comparing all as they come by."""

    queries: Any
    best: list[list[tuple[float, str]]]

    @classmethod
    def to(cls, vectors: Sequence[Sequence[float]]) -> _Nearest:
        import numpy as np

        return cls(np.asarray(vectors, dtype=np.float32), [[] for _ in vectors])

    def see(self, ids: Sequence[str], vectors: Sequence[Sequence[float]]) -> None:
        import numpy as np

        cosines = np.asarray(vectors, dtype=np.float32) @ self.queries.T
        for column, best in enumerate(self.best):
            top = np.argsort(-cosines[:, column], kind="stable")[:NEAREST]
            merged = {name: score for score, name in best} | {ids[n]: float(cosines[n, column]) for n in top}
            best[:] = sorted(((score, name) for name, score in merged.items()), reverse=True)[:NEAREST]


@dataclass(slots=True)
class _Told:
    """What is remembered of the telling."""

    samples: dict[str, list[Memory]] = field(default_factory=dict)
    put: float = 0.0
    vectors: float = 0.0
    index: float = 0.0
    nearest: _Nearest | None = None
    queries: list[Sequence[float]] = field(default_factory=list)


def measure(
    open_store: Callable[[], Any],
    name: str,
    layout: Layout,
    words: dict[str, int],
    embedder: Embedder,
    questions: int,
    meter: Meter,
    progress: Callable[[int, int, str], object] = lambda done, total, what: None,
) -> Scale:
    """Fill a store (one that holds the large owner's memories already is left as it is), open it anew and ask.

    Raises what the store raises.
    """
    store = open_store()
    try:
        told = _tell(store, layout, words, embedder, questions, progress)
    finally:
        store.close()
    store = open_store()
    try:
        return _ask(store, name, layout, embedder, told, questions, meter, progress)
    finally:
        store.close()


def _tell(
    store: Memories,
    layout: Layout,
    words: dict[str, int],
    embedder: Embedder,
    questions: int,
    progress: Callable[[int, int, str], object],
) -> _Told:
    telling, told, done = Telling(words), _Told(), 0
    full = bool(store.find_memories(Reader(owner=owner_name(0)), _EVERYTHING, 1))
    asked = Telling(words, seed=11).memories(min(questions, 50))
    told.queries = list(embedder.embed([one.text for one in asked]))
    told.nearest = None if full else _Nearest.to(told.queries)
    every = max(1, layout.items // _SAMPLES)
    for owner, count in layout.batches(AT_ONCE):
        memories = telling.memories(count)
        # One with a subject may be superseded, and then its successor is what ought to come back.
        samples = [one for one in memories[:: min(every, max(1, count // 2))] if not one.key]
        told.samples.setdefault(owner, []).extend(samples)
        if not full:
            _put(store, owner, memories, embedder, told)
        done += count
        progress(done, layout.items, "told")
    start = time.perf_counter()
    if not full:
        catch_up(store, embedder, 1)
    told.index = time.perf_counter() - start
    return told


def _put(store: Memories, owner: str, memories: Sequence[Memory], embedder: Embedder, told: _Told) -> None:
    start = time.perf_counter()
    ids = store.put_memories(Reader(owner=owner), memories)
    told.put += time.perf_counter() - start
    vectors = embedder.embed([memory.text for memory in memories])
    start = time.perf_counter()
    store.put_vectors(embedder.name, list(zip(ids, vectors, strict=True)))
    told.vectors += time.perf_counter() - start
    if told.nearest is not None and owner == owner_name(0):
        told.nearest.see(ids, vectors)


def _ask(
    store: Any,
    name: str,
    layout: Layout,
    embedder: Embedder,
    told: _Told,
    questions: int,
    meter: Meter,
    progress: Callable[[int, int, str], object],
) -> Scale:
    large = owner_name(0)
    first = Retriever(store, embedder)
    one = told.samples[large][0]
    opened = meter.of([lambda: first.retrieve(Reader(owner=large), question(one.text, Random(1)), limit=LIMIT)])
    asked = []
    for number, (what, owners, among) in enumerate(_kinds(layout)):
        samples = [(owner, memory) for owner in owners for memory in told.samples.get(owner, ())]
        chosen = Random(number).sample(samples, min(questions, len(samples)))
        asked.append(_questions(store, embedder, what, chosen, among, meter, Random(number)))
        progress(number + 1, len(_kinds(layout)), what)
    asked.append(_literals(store, embedder, told.samples[large], questions, meter))
    reader = Reader(owner=large)
    ids = [memory.id for memory in store.find_memories(reader, _EVERYTHING, 10 * questions)]
    return Scale(
        store=name,
        layout=layout,
        dims=embedder.dims,
        put_seconds=told.put,
        vector_seconds=told.vectors,
        index_seconds=told.index,
        first_search=opened,
        asked=tuple(asked),
        by_id=meter.of([partial(store.memories, reader, [one]) for one in ids]),
        without_vector=meter.of([lambda: store.without_vector(embedder.name, 64)] * 2),
        recall=_recall(store, reader, embedder, told),
        rss_mb=rss_mb(),
        forget=meter.of([partial(store.forget_memories, reader, [one]) for one in ids[:2]]),
        file_mb=store.stats().total_bytes / 2**20,
    )


def _recall(store: Memories, reader: Reader, embedder: Embedder, told: _Told) -> float | None:
    if told.nearest is None:
        return None
    shares = []
    for query, best in zip(told.queries, told.nearest.best, strict=True):
        found = store.by_vector(reader, _EVERYTHING, embedder.name, query, NEAREST)
        shares.append(len({name for name, _ in found} & {name for _, name in best}) / max(1, len(best)))
    return sum(shares) / max(1, len(shares))


_Among = Callable[[Memory], Filter]


def _kinds(layout: Layout) -> list[tuple[str, list[str], _Among]]:
    """What is asked, of whom, under which filter; the filter of a question admits the memory that it is about."""
    large, small = [owner_name(0)], [owner_name(n) for n in range(1, layout.owners)]
    sizes = layout.sizes()
    found: list[tuple[str, list[str], _Among]] = []
    if small:
        found.append((f"one of {layout.owners} owners: {sizes[1]:,}", small, lambda memory: _EVERYTHING))
    return [
        *found,
        ("task, 0.2 %", large, lambda memory: Filter(tasks=(memory.task,))),
        ("kind and month, 1.4 %", large, lambda memory: _of_month(memory.kind, memory.at)),
        ("source, 2 %", large, lambda memory: Filter(sources=(memory.source,))),
        ("kind, 17 %", large, lambda memory: Filter(kinds=(memory.kind,))),
        ("current only", large, lambda memory: Filter(current_only=True)),
        (f"everything: {sizes[0]:,}", large, lambda memory: _EVERYTHING),
    ]


def _of_month(kind: str, at: str) -> Filter:
    month = int(at[5:7])
    after = f"2031-{month + 1:02}-01T00:00:00Z" if month < MONTHS else "2032-01-01T00:00:00Z"
    return Filter(kinds=(kind,), since=f"2031-{month:02}-01T00:00:00Z", until=after)


def _questions(
    store: Memories,
    embedder: Embedder,
    what: str,
    chosen: Sequence[tuple[str, Memory]],
    among: _Among,
    meter: Meter,
    draw: Random,
) -> Asked:
    retriever = Retriever(store, embedder)
    asked = [(Reader(owner=owner), among(memory), question(memory.text, draw), memory) for owner, memory in chosen]
    hits: list[bool] = []

    def whole(reader: Reader, filtered: Filter, text: str, memory: Memory) -> None:
        found = retriever.retrieve(reader, text, filtered, LIMIT)
        hits.append(any(one.memory.text == memory.text for one in found))

    # The whole first: the halves then find warm pages, not it.
    hybrid = meter.of([partial(whole, *one) for one in asked])
    words = meter.of([partial(store.by_words, *one[:3], CANDIDATES) for one in asked])
    vectors = embedder.embed([text for _, _, text, _ in asked])
    by_vector = [
        partial(store.by_vector, reader, filtered, embedder.name, vector, CANDIDATES)
        for (reader, filtered, _, _), vector in zip(asked, vectors, strict=True)
    ]
    return Asked(name=what, words=words, vector=meter.of(by_vector), hybrid=hybrid, found=sum(hits) / max(1, len(hits)))


def _literals(store: Memories, embedder: Embedder, samples: Sequence[Memory], questions: int, meter: Meter) -> Asked:
    """Questions for an id or path that one memory alone holds; found: it came first."""
    retriever, reader = Retriever(store, embedder), Reader(owner=owner_name(0))
    asked = [(literal, memory) for memory in samples if (literal := literal_of(memory.text))][:questions]
    hits: list[bool] = []

    def whole(literal: str, memory: Memory) -> None:
        found = retriever.retrieve(reader, f"what about {literal}?", limit=LIMIT)
        hits.append(bool(found) and found[0].memory.text == memory.text)

    hybrid = meter.of([partial(whole, *pair) for pair in asked])
    words = meter.of([partial(store.by_words, reader, _EVERYTHING, literal, CANDIDATES) for literal, _ in asked])
    return Asked(
        name="an id or a path", words=words, vector=Times(), hybrid=hybrid, found=sum(hits) / max(1, len(hits))
    )
