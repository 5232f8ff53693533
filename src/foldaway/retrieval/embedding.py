"""Vectors made beside the work: of what has none yet, each text once, by the newest model only.

Memories are put without waiting for a model. `catch_up` does a bounded piece in the caller's thread; `EmbeddingWorker`
computes in a thread of its own and hands in when attended, since a store belongs to one thread at a time. Vectors are
kept by the model's name: with another model all memories count as new, and nothing old is mixed in.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from foldaway.errors import FoldawayError
from foldaway.protocols import Embedder, Memories

BATCH = 64


@dataclass(slots=True)
class CachedEmbedder:
    """An embedder that computes a text once: by the hash of its content, the last `most` texts. Safe between threads.

    Wrap the embedder before it is given to worker and retriever, and queries said again cost nothing.
    """

    inner: Embedder
    most: int = 10_000
    _kept: OrderedDict[bytes, Sequence[float]] = field(default_factory=OrderedDict, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def dims(self) -> int:
        return self.inner.dims

    @property
    def only_words(self) -> bool:
        return getattr(self.inner, "only_words", False)

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        keys = [_hash(f"{self.name}\n{text}") for text in texts]
        with self._lock:
            known = {key: self._kept[key] for key in keys if key in self._kept}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = self.inner.embed(list(missing.values()))
            known.update(zip(missing, made, strict=True))
        with self._lock:
            for key in keys:
                self._kept[key] = known[key]
                self._kept.move_to_end(key)
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)
        return [known[key] for key in keys]


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def catch_up(store: Memories, embedder: Embedder, limit: int = 1000) -> int:
    """Give vectors to at most `limit` memories that have none of this model; how many got one (0: none is left).

    Same texts are embedded once. Raises what the embedder raises; what was done before stays.
    """
    done = 0
    while done < limit:
        rows = store.without_vector(embedder.name, min(BATCH, limit - done))
        if not rows:
            break
        store.put_vectors(embedder.name, vectors_of(embedder, rows))
        done += len(rows)
    return done


def vectors_of(embedder: Embedder, rows: Sequence[tuple[str, str]]) -> list[tuple[str, Sequence[float]]]:
    """(id, vector) for rows of (id, text), each distinct text embedded once."""
    texts = list(dict.fromkeys(text for _, text in rows))
    made = dict(zip(texts, embedder.embed(texts), strict=True))
    return [(name, made[text]) for name, text in rows]


@dataclass(slots=True)
class EmbeddingWorker:
    """Embeds beside the work. Everything but the computing happens in the caller's thread, in `attend`.

    A failure (an endpoint that does not answer, a missing package) is kept in `failures`, newest last; the memories
    stay findable by their words, and the next `attend` tries again.
    """

    embedder: Embedder
    batch: int = BATCH
    failures: list[str] = field(default_factory=list)
    """The last ten."""
    _thread: threading.Thread | None = field(default=None, init=False, repr=False)
    _made: list[tuple[str, Sequence[float]]] = field(default_factory=list, init=False, repr=False)

    def attend(self, store: Memories) -> int:
        """Hand in what is ready and start on what is new; how many vectors were handed in. Never waits for the model.

        For one store. Costs a query and a write of at most `batch` vectors; with nothing new, one query.
        """
        if self._thread is not None and self._thread.is_alive():
            return 0
        made, self._made, self._thread = self._made, [], None
        if made:
            store.put_vectors(self.embedder.name, made)
        rows = store.without_vector(self.embedder.name, self.batch)
        if rows:
            self._thread = threading.Thread(target=self._compute, args=(rows,), daemon=True, name="foldaway-embedding")
            self._thread.start()
        return len(made)

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait for the batch that is being computed; whether it is done. Its vectors are handed in by `attend`."""
        if self._thread is not None:
            self._thread.join(timeout_seconds)
            return not self._thread.is_alive()
        return True

    def _compute(self, rows: Sequence[tuple[str, str]]) -> None:
        try:
            self._made = vectors_of(self.embedder, rows)
        except FoldawayError as error:
            self._failed(str(error))
        except Exception as error:
            # Somebody else's model may raise anything; work goes on without it.
            self._failed(f"{self.embedder.name} failed: {type(error).__name__}: {str(error)[:200]}")

    def _failed(self, why: str) -> None:
        self.failures = [*self.failures, why][-10:]
