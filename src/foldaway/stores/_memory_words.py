"""Finding memories by their words: BM25 over words and CJK pairs, among what a filter leaves.

Up to a few thousand memories a scope this is exact. Beyond, a word that stands in very many memories no longer finds
any, it only ranks what rarer words found; and when all words are such, a thousand memories are looked through: those
that hold all the words, or the newest that a filter leaves. In a scope of very many memories the rarest words find, and
any two words that are not common.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from foldaway.stores import _words
from foldaway.stores._memory_rows import Scope
from foldaway.stores._tables import BLOCK_ROWS, Holders, Transaction, text_of, unpack

INDEX = "memory_words"
COMMON = 5_000
"""A word in more memories of a scope than that is common."""
_VERY = 2
"""Where all words are common, those find that stand in no more than so many times as many memories."""
_LARGE = 50_000
_MOST_BLOCKS = 2
"""A scope of more memories that is spread over more blocks of rows is searched by the rarest words and by pairs."""
_ALONE = 1_500
"""Memories that the rarest words may lead to before the next one finds only together with another."""
_TOGETHER = 4_000
"""Memories that pairs of words may lead to."""
FEW = 8_000
"""A filter that leaves no more rows of a scope than that is checked before the words are looked up."""
_LEAST_CANDIDATES = 50
_MOST_READ = 1_000
"""Memories that are read to find common words in them."""
_UNIT = 1e-9
"""Promises are whole numbers of these: their sums are the same in whatever order."""

Passing = Callable[[Scope, Sequence[int]], Sequence[int]]
"""Leaves out rows that a filter surely does not admit, where that is known without asking the database."""


def terms(key: str, text: str) -> tuple[list[str], int]:
    """Distinct terms of a memory, and its length in words."""
    return _words.terms(f"{key}\n{text}" if key else text)


def scoped(scope: int, words: Sequence[str]) -> list[str]:
    """Words as they are indexed: under their scope, so that looking one up never meets another scope's memories."""
    return [f"{scope}/{word}" for word in words]


@dataclass(frozen=True, slots=True)
class _Statistics:
    """Of one scope: how many memories, words in them, and the first and last id it ever had."""

    memories: int
    words: int
    first: int
    last: int


@dataclass(slots=True)
class _Found:
    """What one scope holds of the words looked for."""

    scope: Scope
    allowed: set[int] | None
    """The rows that the filter leaves, where these are few."""
    rows: dict[_words.Term, list[int]] = field(default_factory=dict)
    """Of each word that finds: where it stands, as far as it is allowed."""
    common: list[_words.Term] = field(default_factory=list)
    to_read: list[int] = field(default_factory=list)
    """Rows that must be read to know which common words they hold; only where there is no rarer word."""

    def add(self, term: _words.Term, rows: list[int]) -> None:
        self.rows[term] = rows if self.allowed is None else sorted(self.allowed.intersection(rows))

    @property
    def any(self) -> bool:
        """Whether a word that finds has found something."""
        return any(self.rows.values())


def few(db: Transaction, scope: Scope) -> list[int] | None:
    """The rows that the filter leaves, lowest first; None when they are many."""
    if not scope.selective:
        return None
    # Handing rows over costs far more than passing over them.
    if scope.rows(db, "1", "LIMIT 1 OFFSET ?", FEW):
        return None
    return sorted([row for (row,) in scope.rows(db, "m.id")])


def search(
    db: Transaction, among: Sequence[Scope], query: str, limit: int, passing: Passing
) -> list[tuple[bytes, float]]:
    """(handle, score), best first; equal scores: the later row first."""
    wanted = _words.query_terms(query)
    if not wanted or limit <= 0:
        return []
    frequencies = dict.fromkeys(wanted, 0)
    texts = words = 0
    found: list[_Found] = []
    for scope in among:
        for row in db.rows("SELECT memories, words, first, last FROM memory_scopes WHERE scope = ?", scope.number):
            statistics = _Statistics(*row)
            texts, words = texts + statistics.memories, words + statistics.words
            found.append(_look_up(db, scope, wanted, statistics, frequencies))
    weights = _words.weights(frequencies, texts)
    enough = max(_LEAST_CANDIDATES, 4 * limit)
    rank = _Rank(_words.normal(query), words / max(texts, 1), weights, enough, passing)
    ranked = [(-score, -row) for part in found for row, score in rank.scores(db, part)]
    return [(rank.handles[-row], -score) for score, row in heapq.nsmallest(limit, ranked)]


def _look_up(
    db: Transaction,
    scope: Scope,
    wanted: Sequence[_words.Term],
    statistics: _Statistics,
    frequencies: dict[_words.Term, int],
) -> _Found:
    left = few(db, scope)
    found = _Found(scope, None if left is None else set(left))
    if left == []:
        return found
    blocks = range(statistics.first // BLOCK_ROWS, statistics.last // BLOCK_ROWS + 1)
    if len(blocks) > _MOST_BLOCKS and statistics.memories > _LARGE:
        counts = _look_up_rarest(db, found, wanted, statistics, blocks)
    else:
        counts = _look_up_all(db, found, wanted, statistics, blocks)
    for term, count in counts.items():
        frequencies[term] += min(count, statistics.memories)
    if found.common and not found.any:
        found.to_read = _common_rows(db, found) if left is None else left[-_MOST_READ:]
    return found


def _look_up_all(
    db: Transaction, found: _Found, wanted: Sequence[_words.Term], statistics: _Statistics, blocks: Sequence[int]
) -> dict[_words.Term, int]:
    """Find by all words that are not common; in how many memories each word stands."""
    counts = dict.fromkeys(wanted, 0)
    found.common = list(wanted)
    for most in (COMMON, _VERY * COMMON):
        terms, found.common = found.common, []
        for term, holders in zip(terms, _holders(db, found.scope, terms, most, blocks), strict=True):
            if holders.reach:
                found.common.append(term)
                counts[term] = _share(statistics, holders.reach, most)
            else:
                counts[term] = len(holders.rows)
                found.add(term, holders.rows)
        if not found.common or found.any:
            break
    return counts


def _look_up_rarest(
    db: Transaction, found: _Found, wanted: Sequence[_words.Term], statistics: _Statistics, blocks: Sequence[int]
) -> dict[_words.Term, int]:
    """Find by the rarest words, as many as lead to `_ALONE` memories in all, and by any two words that are not common.

    In how many memories each word may stand is judged by one block in the middle.
    """
    known = _look_up_whole(db, found, wanted, statistics, blocks)
    middle = blocks[len(blocks) // 2]
    others = [block for block in blocks if block != middle]
    times = max(1.0, (statistics.last - statistics.first + 1) / BLOCK_ROWS)
    in_middle = _look_up_middle(db, found.scope, [term for term in wanted if term not in known], times, middle)
    counts = known | {
        term: statistics.memories if holders.reach else round(len(holders.rows) * times)
        for term, holders in in_middle.items()
    }
    rare = sorted((term for term in in_middle if not in_middle[term].reach), key=lambda term: counts[term])
    alone = _look_up_alone(db, found, rare, in_middle, counts, others)
    together: dict[_words.Term, list[int]] = {term: [] for term in rare if term not in alone}
    if together:
        for row, held in db.together(INDEX, _scoped_words(found.scope, rare), _TOGETHER, others):
            for number, term in enumerate(rare):
                if held >> number & 1 and term in together:
                    together[term].append(row)
    for term, rows in together.items():
        found.add(term, sorted([*in_middle[term].rows, *rows]))
    found.common = [term for term in wanted if term not in found.rows]
    return counts


def _look_up_middle(
    db: Transaction, scope: Scope, terms: Sequence[_words.Term], times: float, middle: int
) -> dict[_words.Term, Holders]:
    """Where these words stand in one block; of common ones no rows, but where all are common."""
    found: dict[_words.Term, Holders] = {}
    for limit in (COMMON, _VERY * COMMON) if terms else ():
        holders = _holders(db, scope, terms, max(1, int(limit / times)), [middle])
        found = dict(zip(terms, holders, strict=True))
        if not all(each.reach for each in holders):
            break
    return found


def _look_up_whole(
    db: Transaction, found: _Found, wanted: Sequence[_words.Term], statistics: _Statistics, blocks: Sequence[int]
) -> dict[_words.Term, int]:
    """Find by words with signs in them (ids, paths), not by parts of these; what need not be looked up any more."""
    signed = [term for term in wanted if not term.text.isalnum()]
    whole: dict[_words.Term, int] = {}
    for term, holders in zip(signed, _holders(db, found.scope, signed, _ALONE, blocks), strict=True) if signed else ():
        if holders.rows:
            found.add(term, holders.rows)
            if found.rows[term]:
                whole[term] = len(holders.rows)
    parts = [term for term in wanted if any(term.text in one.text for one in whole) and term not in whole]
    # Beside the whole a part tells nothing: as a word of all memories would.
    return dict.fromkeys(parts, statistics.memories) | whole


def _look_up_alone(
    db: Transaction,
    found: _Found,
    rare: Sequence[_words.Term],
    in_middle: Mapping[_words.Term, Holders],
    counts: dict[_words.Term, int],
    others: Sequence[int],
) -> Sequence[_words.Term]:
    """The words that find without another beside them."""
    taken, led_to = 0, 0
    while taken < len(rare) and (not found.any or led_to + counts[rare[taken]] <= _ALONE):
        upto = taken + 1
        while upto < len(rare) and led_to + sum(counts[term] for term in rare[taken : upto + 1]) <= _ALONE:
            upto += 1
        terms = rare[taken:upto]
        for term, holders in zip(terms, _holders(db, found.scope, terms, 2 * _VERY * COMMON, others), strict=True):
            rows = sorted([*in_middle[term].rows, *holders.rows])
            counts[term] = max(counts[term], len(rows))
            led_to += len(rows)
            found.add(term, rows)
        taken = upto
    return rare[:taken]


def _holders(
    db: Transaction, scope: Scope, terms: Sequence[_words.Term], most: int, blocks: Sequence[int]
) -> list[Holders]:
    return db.holders(INDEX, _scoped_words(scope, terms), most, blocks)


def _scoped_words(scope: Scope, terms: Sequence[_words.Term]) -> list[tuple[str, bool]]:
    return [(scoped(scope.number, [term.text])[0], term.prefix) for term in terms]


def _share(statistics: _Statistics, reach: int, most: int) -> int:
    """How many memories hold a common word, judged by the share of those up to the last row that was looked at."""
    seen = (reach - statistics.first + 1) / max(statistics.last - statistics.first + 1, 1)
    return max(most, round((most + 1) / max(seen, 1e-9)))


def _common_rows(db: Transaction, found: _Found) -> list[int]:
    """Rows that hold all the words, or else any of them; no more than are read."""
    words = [scoped(found.scope.number, [term.text])[0] for term in found.common]
    plain = [word for word, term in zip(words, found.common, strict=True) if not term.prefix]
    together = db.rows_with(INDEX, plain, most=_MOST_READ) if len(plain) > 1 else []
    if together:
        return together
    each = _MOST_READ // len(words) + 1
    return sorted(
        {
            row
            for word, term in zip(words, found.common, strict=True)
            for row in db.rows_with(INDEX, [word], prefix=term.prefix, most=each)
        }
    )


def _most(promise: dict[int, int], count: int) -> list[int]:
    """The rows that promise most, best first; equal ones: the later row first."""
    if count < len(promise):
        # Cut before rows are put in order: a common word makes thousands that promise the same.
        least = sorted(promise.values(), reverse=True)[count - 1]
        above = [row for row, value in promise.items() if value > least]
        equal = heapq.nlargest(count - len(above), [row for row, value in promise.items() if value == least])
        return [*sorted(above, key=lambda row: (-promise[row], -row)), *equal]
    return sorted(promise, key=lambda row: (-promise[row], -row))


@dataclass(frozen=True, slots=True)
class _Rank:
    """How candidates are read and scored."""

    needle: str
    average_words: float
    weights: dict[_words.Term, float]
    enough: int
    """Candidates that are scored exactly: the most promising ones that the filter admits."""
    passing: Passing
    handles: dict[int, bytes] = field(default_factory=dict)
    """Of the rows that were scored."""

    def scores(self, db: Transaction, found: _Found) -> list[tuple[int, float]]:
        if found.to_read:
            return self._read(db, found, found.to_read, len(found.to_read))
        promise: dict[int, int] = {}
        for term, rows in found.rows.items():
            weight = round(self.weights[term] / _UNIT)
            for row in rows:
                promise[row] = promise.get(row, 0) + weight
        if found.scope.coded and len(promise) > self.enough:
            promise = {row: promise[row] for row in self.passing(found.scope, list(promise))}
        # Only as many are read as it takes to find enough that the filter admits; few filters leave out most.
        first = _most(promise, self.enough + self.enough // 4 if found.scope.filtered else self.enough)
        scored = self._read(db, found, first, self.enough)
        if found.scope.filtered and len(scored) < self.enough and len(first) < len(promise):
            rest = _most(promise, len(promise))[len(first) :]
            scored += self._read(db, found, rest, self.enough - len(scored))
        return scored

    def _read(self, db: Transaction, found: _Found, rows: Sequence[int], most: int) -> list[tuple[int, float]]:
        columns, scope = "m.id, m.handle, m.words, m.subject, m.packed, m.data", found.scope
        wanted = set(rows)
        holders = [(term, wanted.intersection(held)) for term, held in found.rows.items()]
        scored: list[tuple[int, float]] = []
        read = db.memories_in_order(columns, rows, scope.condition, scope.values, most)
        for row, handle, words, subject, packed, data in read:
            key, text = text_of(bytes(subject)), unpack(packed, bytes(data))
            searched = _words.normal(f"{key}\n{text}" if key else text)
            held = {term: self.weights[term] for term, holding in holders if row in holding}
            held.update((term, self.weights[term]) for term in found.common if term.text in searched)
            if held:
                score = _words.score(searched, words, self.average_words, self.needle, held)
                scored.append((row, round(score, 9)))
                self.handles[row] = bytes(handle)
        return scored
