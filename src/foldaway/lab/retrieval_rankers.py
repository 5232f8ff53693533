"""What is measured on retrieval sets: the socket `Ranker`, a store's two halves, the hybrid, and BM25 by the book.

Another library joins with one class: a name, `index`, `rank`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from foldaway.lab.retrieval_sets import Doc, Query
from foldaway.protocols import Embedder, Filter, Memory, Reader
from foldaway.retrieval.embedding import catch_up
from foldaway.retrieval.retriever import Retriever
from foldaway.stores.memory import MemoryStore

_EVERYTHING = Filter()
_PUT_AT_ONCE = 1_000
_EMBED_AT_ONCE = 256


class Ranker(Protocol):
    """Something that finds documents."""

    @property
    def name(self) -> str: ...

    def index(self, docs: Sequence[Doc]) -> None:
        """Take these documents in place of all before."""
        ...

    def rank(self, query: Query, k: int) -> list[str]:
        """Ids of the best documents of the query's scope, best first, at most `k`."""
        ...


@dataclass(slots=True)
class Bm25:
    """BM25 over lower-cased words, k1 1.2 and b 0.75, every word of the query: the yardstick, independent of our store.

    Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
    """

    name: str = "bm25"
    _scopes: dict[str, _Postings] = field(default_factory=dict, init=False)

    def index(self, docs: Sequence[Doc]) -> None:
        scopes: dict[str, list[Doc]] = {}
        for doc in docs:
            scopes.setdefault(doc.scope, []).append(doc)
        self._scopes = {scope: _Postings.of(held) for scope, held in scopes.items()}

    def rank(self, query: Query, k: int) -> list[str]:
        return self._scopes[query.scope].best(dict.fromkeys(_words(query.text)), k)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


@dataclass(frozen=True, slots=True)
class _Postings:
    names: list[str]
    lengths: list[int]
    held: dict[str, list[tuple[int, int]]]

    @classmethod
    def of(cls, docs: Sequence[Doc]) -> _Postings:
        held: dict[str, list[tuple[int, int]]] = {}
        lengths = []
        for number, doc in enumerate(docs):
            words = _words(doc.text)
            lengths.append(len(words))
            for word, often in Counter(words).items():
                held.setdefault(word, []).append((number, often))
        return cls([doc.id for doc in docs], lengths, held)

    def best(self, words: Iterable[str], k: int, k1: float = 1.2, b: float = 0.75) -> list[str]:
        scores: dict[int, float] = {}
        many, average = len(self.names), sum(self.lengths) / max(1, len(self.lengths))
        for word in words:
            rows = self.held.get(word, [])
            weight = math.log(1 + (many - len(rows) + 0.5) / (len(rows) + 0.5))
            for number, often in rows:
                spread = k1 * (1 - b + b * self.lengths[number] / max(average, 1.0))
                scores[number] = scores.get(number, 0.0) + weight * often * (k1 + 1) / (often + spread)
        return [self.names[n] for n in sorted(scores, key=lambda n: (-scores[n], n))[:k]]


@dataclass(slots=True)
class Stored:
    """Documents as memories of a store in memory, each scope an owner of its own; shared by the rankers over it."""

    embedders: tuple[Embedder, ...] = ()
    store: MemoryStore = field(default_factory=MemoryStore, init=False)
    _docs: Sequence[Doc] | None = field(default=None, init=False)
    _names: dict[str, str] = field(default_factory=dict, init=False)

    def load(self, docs: Sequence[Doc]) -> None:
        if docs is self._docs:
            return
        self.store.close()
        self.store, self._docs, self._names = MemoryStore(), docs, {}
        scopes: dict[str, list[Doc]] = {}
        for doc in docs:
            scopes.setdefault(doc.scope, []).append(doc)
        for scope, held in scopes.items():
            for start in range(0, len(held), _PUT_AT_ONCE):
                part = held[start : start + _PUT_AT_ONCE]
                made = [Memory(text=doc.text, kind="document", source=doc.source) for doc in part]
                ids = self.store.put_memories(reader_of(scope), made)
                for name, doc in zip(ids, part, strict=True):
                    self._names.setdefault(name, doc.id)
        for embedder in self.embedders:
            while catch_up(self.store, embedder, _EMBED_AT_ONCE):
                pass

    def docs_of(self, ids: Iterable[str]) -> list[str]:
        return [self._names[name] for name in ids]


def reader_of(scope: str) -> Reader:
    return Reader(owner=scope or "everything")


@dataclass(frozen=True, slots=True)
class OverStore:
    """One way of asking a shared store."""

    name: str
    stored: Stored
    ask: Callable[[MemoryStore, Query, int], list[str]]

    def index(self, docs: Sequence[Doc]) -> None:
        self.stored.load(docs)

    def rank(self, query: Query, k: int) -> list[str]:
        return self.stored.docs_of(self.ask(self.stored.store, query, k))


def own_rankers(embedders: Sequence[Embedder]) -> list[Ranker]:
    """BM25 by the book, the store's words, and for each embedder vectors alone and the hybrid; the hybrid without."""
    stored = Stored(tuple(embedders))
    found: list[Ranker] = [Bm25(), OverStore("words", stored, _by_words)]
    for embedder in embedders:
        short = embedder.name.split("-")[0]
        found.append(OverStore(f"vectors {short}", stored, _by_vector(embedder)))
        found.append(OverStore(f"hybrid {short}", stored, _hybrid(embedder)))
    return [*found, OverStore("hybrid, no vectors", stored, _hybrid(None))]


def _by_words(store: MemoryStore, query: Query, k: int) -> list[str]:
    return [name for name, _ in store.by_words(reader_of(query.scope), _EVERYTHING, query.text, k)]


def _by_vector(embedder: Embedder) -> Callable[[MemoryStore, Query, int], list[str]]:
    def ask(store: MemoryStore, query: Query, k: int) -> list[str]:
        (vector,) = embedder.embed([query.text])
        found = store.by_vector(reader_of(query.scope), _EVERYTHING, embedder.name, vector, k)
        return [name for name, _ in found]

    return ask


def _hybrid(embedder: Embedder | None) -> Callable[[MemoryStore, Query, int], list[str]]:
    def ask(store: MemoryStore, query: Query, k: int) -> list[str]:
        found = Retriever(store, embedder).retrieve(reader_of(query.scope), query.text, limit=k)
        return [one.memory.id for one in found]

    return ask
