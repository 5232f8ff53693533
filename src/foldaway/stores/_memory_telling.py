"""Taking memories in, many at once: a server is asked a few times a batch, not a few times a memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from foldaway.protocols import Memory
from foldaway.stores import _memory_words as memory_words
from foldaway.stores._memory_rows import MOST_VARIABLES, SAME_SUBJECT, Who
from foldaway.stores._tables import Transaction, blob, pack

_INSERT = """INSERT INTO memories (scope, tenant, superseded, told_at, expires_at, words, item, access, kind, pool,
    subject, task, source, session, owner, handle, digest, packed, data)
    VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_ADD_TO_SCOPE = """INSERT INTO memory_scopes (scope, memories, words, first, last) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (scope) DO UPDATE SET memories = memory_scopes.memories + excluded.memories,
    words = memory_scopes.words + excluded.words, last = excluded.last"""


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory about to be kept."""

    memory: Memory
    scope: int
    told_at: int
    end: int | None
    names: tuple[bytes, bytes, bytes]
    """Access, kind and pool."""
    digest: bytes
    wanted: bytes | None
    """The handle it would like to have."""


@dataclass(slots=True)
class _Added:
    """What a scope gains by a batch."""

    rows: list[int] = field(default_factory=list)
    words: int = 0


def tell(db: Transaction, who: Who, drafts: Sequence[Draft]) -> list[bytes]:
    """Keep these, in order; the handle of each."""
    added: dict[int, _Added] = {}
    handles = [handle for piece in _pieces(drafts) for handle in _tell(db, who, piece, added)]
    # In one order: two writers that wait for each other's scopes would wait for ever.
    for scope in sorted(added):
        got = added[scope]
        db.run(_ADD_TO_SCOPE, scope, len(got.rows), got.words, got.rows[0], got.rows[-1])
    return handles


def _pieces(drafts: Sequence[Draft]) -> Iterator[list[Draft]]:
    """Runs in which nothing is said twice: what says the same again must find the first one kept."""
    piece: list[Draft] = []
    said: set[bytes] = set()
    for draft in drafts:
        if draft.digest in said or len(piece) == MOST_VARIABLES:
            yield piece
            piece, said = [], set()
        piece.append(draft)
        said.add(draft.digest)
    if piece:
        yield piece


def _tell(db: Transaction, who: Who, piece: Sequence[Draft], added: dict[int, _Added]) -> list[bytes]:
    known = _known(db, [draft.digest for draft in piece])
    fresh = [draft for draft in piece if draft.digest not in known]
    kept = _insert(db, who, fresh, added)
    handles: list[bytes] = []
    for draft in piece:
        if draft.digest in kept:
            row, handle = kept[draft.digest]
        else:
            row, before, handle = known[draft.digest]
            if before >= draft.told_at:
                handles.append(handle)
                continue
            again = "UPDATE memories SET told_at = ?, expires_at = ? WHERE id = ?"
            db.run(again, draft.told_at, draft.end, row)
        handles.append(handle)
        if draft.memory.key:
            _supersede(db, row, draft, who.tenant)
    return handles


def _known(db: Transaction, digests: Sequence[bytes]) -> dict[bytes, tuple[int, int, bytes]]:
    """(row, when it was told, handle) of those that say this already."""
    marks = ", ".join("?" * len(digests))
    rows = db.rows(f"SELECT digest, id, told_at, handle FROM memories WHERE digest IN ({marks})", *digests)
    return {bytes(digest): (int(row), int(told_at), bytes(handle)) for digest, row, told_at, handle in rows}


def _insert(
    db: Transaction, who: Who, fresh: Sequence[Draft], added: dict[int, _Added]
) -> dict[bytes, tuple[int, bytes]]:
    """(row, handle) of each, by digest."""
    handles: dict[bytes, bytes] = {}
    taken: set[bytes] = set()
    for draft in fresh:
        free = draft.wanted is not None and draft.wanted not in taken and not db.is_taken(draft.wanted)
        handles[draft.digest] = draft.wanted if free and draft.wanted is not None else draft.digest
        taken.add(handles[draft.digest])
    terms = [memory_words.terms(draft.memory.key, draft.memory.text) for draft in fresh]
    facts = [_facts(draft, who, handles[draft.digest], count) for draft, (_, count) in zip(fresh, terms, strict=True)]
    rows = db.insert_many(_INSERT, facts) if facts else []
    scoped = (memory_words.scoped(draft.scope, words) for draft, (words, _) in zip(fresh, terms, strict=True))
    db.index_words_of(memory_words.INDEX, list(zip(rows, scoped, strict=True)))
    for draft, row, (_, count) in zip(fresh, rows, terms, strict=True):
        got = added.setdefault(draft.scope, _Added())
        got.rows.append(row)
        got.words += count
    return {draft.digest: (row, handles[draft.digest]) for draft, row in zip(fresh, rows, strict=True)}


def _facts(draft: Draft, who: Who, handle: bytes, count: int) -> tuple[object, ...]:
    memory = draft.memory
    others = [blob(name) for name in (memory.key, memory.task, memory.source, memory.session)]
    times = (draft.scope, who.tenant, draft.told_at, draft.end, count, memory.item)
    return (*times, *draft.names, *others, who.owner, handle, draft.digest, *pack(blob(memory.text)))


def _supersede(db: Transaction, row: int, draft: Draft, tenant: int) -> None:
    """Settle which memory of the subject is the current one, now that `row` was told.

    Of a batch all rows stand there already; the last one's turn settles it for all of a subject.
    """
    current = f"SELECT id, told_at FROM memories WHERE {SAME_SUBJECT} AND superseded = 0 AND id <> ?"
    superseded = 0
    for other, told_at in db.rows(current, draft.scope, tenant, blob(draft.memory.key), row):
        if told_at > draft.told_at:
            superseded = 1
        else:
            db.run("UPDATE memories SET superseded = 1 WHERE id = ?", other)
    db.run("UPDATE memories SET superseded = ? WHERE id = ?", superseded, row)
