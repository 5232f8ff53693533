"""Memories by the million: how fast a store takes them in, and finds them under filters.

One owner holds a large share of the store, the others a small one each. Questions are some words of a memory that was
told, so what ought to come back is known. Times are a call's by the clock, and of processors: on a machine that does
other work besides, only the second can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from foldaway.lab.bench import rss_mb
from foldaway.lab.results import percentile
from foldaway.lab.scale_data import MONTHS, Layout, literal_of, owner_name, question
from foldaway.lab.scale_fill import NEAREST, Book, Progress, Told, Watch, fill
from foldaway.protocols import Embedder, Filter, Memories, Memory, Reader
from foldaway.retrieval.retriever import CANDIDATES, Retriever

LIMIT = 8
_EVERYTHING = Filter()


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
    book: Book | None
    """How the store was filled, in this run or before; None: by somebody else."""
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
    """The most that this process ever had."""
    server_mb: float
    """What a store's server has, after the questions; 0 without one."""


class Meter(Watch):
    """Times calls one by one. `server_mb`: memory that a store's server has."""

    def __init__(self, server: Callable[[], float] = lambda: 0.0, server_mb: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__(server)
        self.server_mb = server_mb

    def of(self, calls: Iterator[Callable[[], object]] | Sequence[Callable[[], object]]) -> Times:
        spent = []
        for call in calls:
            with self.on() as each:
                call()
            spent.append(each)
        return Times(clock=tuple(each.clock for each in spent), processor=tuple(each.processor for each in spent))


def measure(
    open_store: Callable[[], Any],
    name: str,
    layout: Layout,
    words: dict[str, int],
    embedder: Embedder,
    questions: int,
    meter: Meter,
    progress: Progress = lambda done, total, what: None,
) -> Scale:
    """Fill a store (see `scale_fill.fill`: what is there already is not told again), open it anew and ask.

    Raises what the store raises; SettingsError when it was filled with something else.
    """
    store = open_store()
    try:
        told = fill(store, layout, words, embedder, questions, meter, progress)
    finally:
        store.close()
    store = open_store()
    try:
        return _ask(store, name, layout, embedder, told, questions, meter, progress)
    finally:
        store.close()


def _ask(
    store: Any,
    name: str,
    layout: Layout,
    embedder: Embedder,
    told: Told,
    questions: int,
    meter: Meter,
    progress: Progress,
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
        book=told.book,
        first_search=opened,
        asked=tuple(asked),
        by_id=meter.of([partial(store.memories, reader, [one]) for one in ids]),
        without_vector=meter.of([lambda: store.without_vector(embedder.name, 64)] * 2),
        recall=_recall(store, reader, embedder, told),
        rss_mb=rss_mb(),
        server_mb=meter.server_mb(),
        forget=meter.of([partial(store.forget_memories, reader, [one]) for one in ids[:2]]),
        file_mb=store.stats().total_bytes / 2**20,
    )


def _recall(store: Memories, reader: Reader, embedder: Embedder, told: Told) -> float | None:
    if told.nearest is None:
        return None
    shares = []
    for query, best in zip(told.nearest.queries, told.nearest.best, strict=True):
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
