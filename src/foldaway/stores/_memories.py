"""The verbs about memories over SQL tables: see `foldaway.protocols.Memories`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from heapq import nsmallest

from foldaway.errors import StoreError
from foldaway.protocols import Filter, Memory, Reader
from foldaway.stores import _memory_words as memory_words
from foldaway.stores._base import SqlBase, drop_tenant_if_empty, find_tenant, named
from foldaway.stores._memory_rows import (
    SAME_SUBJECT,
    Scope,
    Who,
    by_digest,
    checked,
    digest_of,
    digests,
    newest,
    public_id,
    read,
    scopes,
)
from foldaway.stores._tables import Row, Transaction, blob, pack, text_of, unpack
from foldaway.stores._times import parsed
from foldaway.stores._vectors import Vectors

_INSERT = """INSERT INTO memories (scope, tenant, superseded, told_at, expires_at, words, item, access, kind, pool,
    subject, task, source, session, owner, digest, packed, data)
    VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_ADD_TO_SCOPE = """INSERT INTO memory_scopes (scope, memories, words) VALUES (?, ?, ?) ON CONFLICT (scope)
    DO UPDATE SET memories = memory_scopes.memories + excluded.memories, words = memory_scopes.words + excluded.words"""
_DOOMED = "SELECT id, scope, tenant, superseded, words, subject, packed, data FROM memories"


class SqlMemories(SqlBase):
    """`foldaway.protocols.Memories` over SQL."""

    _vectors: Vectors

    def put_memories(self, reader: Reader, memories: Sequence[Memory]) -> list[str]:
        """Raises StoreError for an empty text, an unknown access or what is no time; then nothing is kept."""
        owner = named("owner", reader.owner)
        now = self._now()
        kept = [(checked(memory), parsed(memory.at) if memory.at else now) for memory in memories]
        ends = [parsed(memory.expires_at) if memory.expires_at else None for memory in memories]
        if not kept:
            return []
        with self._writing() as db:
            tenant = self._tenant(db, owner)
            db.enter(tenant)
            self._expire(db, now, tenant)
            who = Who(tenant, owner, ())
            added: dict[int, list[int]] = {}
            ids = [
                self._put(db, who, memory, told_at, end, added)
                for (memory, told_at), end in zip(kept, ends, strict=True)
            ]
            for scope, counts in added.items():
                db.run(_ADD_TO_SCOPE, scope, len(counts), sum(counts))
            return ids

    def memories(self, reader: Reader, ids: Sequence[str]) -> list[Memory]:
        wanted = {public: digest for public in ids if (digest := digest_of(public)) is not None}
        with self._looking(reader) as (db, who):
            found = {memory.id: memory for memory in read(db, who, by_digest(db, who, list(wanted.values())))}
        return [found[public] for public in ids if public in found]

    def find_memories(self, reader: Reader, among: Filter, limit: int = 1000) -> list[Memory]:
        if limit <= 0:
            return []
        with self._looking(reader) as (db, who):
            rows = [row for scope in self._scopes(who, among) for row in newest(db, scope, limit)]
            return read(db, who, nsmallest(limit, rows, key=lambda row: (-row[5], bytes(row[1]))))

    def by_words(self, reader: Reader, among: Filter, query: str, limit: int) -> list[tuple[str, float]]:
        """A word for word match scores higher. Statistics are those of the scopes looked into.

        Words that stand in very many memories rank but do not find, unless the query has no others.
        """
        with self._looking(reader) as (db, who):
            found = memory_words.search(db, self._scopes(who, among), query, limit)
            return _public(db, found)

    def by_vector(
        self, reader: Reader, among: Filter, model: str, vector: Sequence[float], limit: int
    ) -> list[tuple[str, float]]:
        """Raises StoreError when this model's vectors have another length."""
        with self._looking(reader) as (db, who):
            found = self._vectors.nearest(db, self._scopes(who, among), model, vector, limit)
            return _public(db, found)

    def without_vector(self, model: str, limit: int) -> list[tuple[str, str]]:
        with self._reading() as db:
            db.enter(0)
            rows = self._vectors.missing(db, model, limit)
        return [(public_id(bytes(digest)), unpack(packed, bytes(data))) for digest, packed, data in rows]

    def put_vectors(self, model: str, vectors: Sequence[tuple[str, Sequence[float]]]) -> None:
        """Raises StoreError when a vector's length is not that of this model's others; then none is kept."""
        known = [(digest, vector) for public, vector in vectors if (digest := digest_of(public)) is not None]
        if known:
            with self._writing() as db:
                db.enter(0)
                self._vectors.put(db, model, known)

    def mark_contradiction(self, reader: Reader, one: str, other: str) -> None:
        """Raises StoreError when either is not the reader's to see, both are the same, or none is its own."""
        both = [digest_of(one), digest_of(other)]
        with self._deciding(reader) as (db, who):
            rows = by_digest(db, who, [digest for digest in both if digest is not None])
            if one == other or len(rows) != 2:
                raise StoreError("a contradiction needs two memories that this reader may see")
            if who.tenant not in (row[3] for row in rows):
                raise StoreError("a contradiction needs at least one memory of the reader's own")
            first, second = sorted(row[0] for row in rows)
            for pair in ((first, second), (second, first)):
                db.run("INSERT INTO contradictions VALUES (?, ?) ON CONFLICT DO NOTHING", *pair)

    def forget_memories(self, reader: Reader, ids: Sequence[str]) -> int:
        """Merging the word index, so that no trace stays in it, takes time: seconds at a million memories."""
        wanted = list(dict.fromkeys(digest for public in ids if (digest := digest_of(public)) is not None))
        with self._deciding(reader) as (db, who):
            mine = [row[0] for row in by_digest(db, who, wanted) if row[3] == who.tenant]
            for row in mine:
                _drop(db, db.rows(f"{_DOOMED} WHERE id = ?", row))
            drop_tenant_if_empty(db, who.tenant)
        if mine:
            self._vectors.shrink()
            self._purge()
        return len(mine)

    def expire_memories(self, now: str) -> int:
        with self._writing() as db:
            gone = self._expire(db, parsed(now), 0)
        # What other verbs found expired is out of the tables; its traces go here.
        self._vectors.shrink()
        self._purge()
        return gone

    # Inside

    @contextmanager
    def _looking(self, reader: Reader) -> Iterator[tuple[Transaction, Who]]:
        """A snapshot in which nothing has expired."""
        owner, now = named("owner", reader.owner), self._now()
        with self._reading() as db:
            who = _who(db, owner, reader)
            due = db.rows("SELECT 1 FROM memories WHERE expires_at <= ? LIMIT 1", now)
            if not due:
                yield db, who
                return
        with self._writing() as db:
            self._expire(db, now, 0)
        with self._reading() as db:
            yield db, _who(db, owner, reader)

    @contextmanager
    def _deciding(self, reader: Reader) -> Iterator[tuple[Transaction, Who]]:
        owner, now = named("owner", reader.owner), self._now()
        with self._writing() as db:
            self._expire(db, now, 0)
            yield db, _who(db, owner, reader)

    def _scopes(self, who: Who, among: Filter) -> list[Scope]:
        numbers = [self._scope(pool, who.tenant) for pool in among.pools]
        return scopes(who, among, numbers)

    def _scope(self, pool: str, tenant: int) -> int:
        if not pool:
            return tenant
        return -1 - (int.from_bytes(self._keyed(b"pool", blob(pool))[:8], "big") >> 1)

    def _put(
        self,
        db: Transaction,
        who: Who,
        memory: Memory,
        told_at: int,
        end: int | None,
        added: dict[int, list[int]],
    ) -> str:
        scope, subject, text = self._scope(memory.pool, who.tenant), blob(memory.key), blob(memory.text)
        names = [blob(name) for name in (memory.access, memory.kind, memory.pool)]
        digest = self._keyed(b"memory", who.tenant, *names, subject, text)
        row = _told_again(db, digest, told_at, end)
        if row is None:
            words, count = memory_words.terms(memory.key, memory.text)
            others = [blob(name) for name in (memory.task, memory.source, memory.session)]
            facts = (scope, who.tenant, told_at, end, count, memory.item, *names, subject, *others, who.owner)
            row = db.insert(_INSERT, *facts, digest, *pack(text))
            db.index_words(memory_words.INDEX, row, memory_words.scoped(scope, words))
            added.setdefault(scope, []).append(count)
        if row and subject:
            _supersede(db, row, told_at, scope, who.tenant, subject)
        return public_id(digest)

    def _expire(self, db: Transaction, now: int, then: int) -> int:
        """Delete what has expired, whoever's it is; afterwards the transaction is tenant `then`'s."""
        db.enter(0)
        doomed = db.rows(f"{_DOOMED} WHERE expires_at <= ? ORDER BY id", now)
        _drop(db, doomed)
        for tenant in sorted({row[2] for row in doomed} - {then}):
            drop_tenant_if_empty(db, tenant)
        db.enter(then)
        return len(doomed)


def _who(db: Transaction, owner: bytes, reader: Reader) -> Who:
    tenant = find_tenant(db, owner)
    access = (b"public", *(blob(f"group:{group}") for group in reader.groups if group))
    # Nobody is tenant 0, and the upkeep's number must not be a stranger's.
    db.enter(tenant or -1, access)
    return Who(tenant or -1, owner, access)


def _public(db: Transaction, found: Sequence[tuple[int, float]]) -> list[tuple[str, float]]:
    names = digests(db, [row for row, _ in found])
    return [(public_id(names[row]), score) for row, score in found if row in names]


def _told_again(db: Transaction, digest: bytes, told_at: int, end: int | None) -> int | None:
    """The row that says this already (0: and nothing is newer about it), None when there is none."""
    for row, before in db.rows("SELECT id, told_at FROM memories WHERE digest = ?", digest):
        if before >= told_at:
            return 0
        db.run("UPDATE memories SET told_at = ?, expires_at = ? WHERE id = ?", told_at, end, row)
        return int(row)
    return None


def _supersede(db: Transaction, row: int, at: int, scope: int, tenant: int, subject: bytes) -> None:
    """Settle which memory of the subject is the current one, now that `row` was told."""
    current = f"SELECT id, told_at FROM memories WHERE {SAME_SUBJECT} AND superseded = 0 AND id <> ?"
    superseded = 0
    for other, told_at in db.rows(current, scope, tenant, subject, row):
        if told_at > at:
            superseded = 1
        else:
            db.run("UPDATE memories SET superseded = 1 WHERE id = ?", other)
    db.run("UPDATE memories SET superseded = ? WHERE id = ?", superseded, row)


def _drop(db: Transaction, doomed: Sequence[Row]) -> None:
    """Delete these rows (as `_DOOMED` reads them) with all that hangs on them."""
    for row, scope, tenant, superseded, count, subject, packed, data in doomed:
        words, _ = memory_words.terms(text_of(bytes(subject)), unpack(packed, bytes(data)))
        db.unindex_words(memory_words.INDEX, row, memory_words.scoped(scope, words))
        db.run("DELETE FROM vectors WHERE memory = ?", row)
        db.run("DELETE FROM contradictions WHERE one = ? OR other = ?", row, row)
        db.run("DELETE FROM memories WHERE id = ?", row)
        db.run("INSERT INTO forgotten (memory) VALUES (?)", row)
        db.run(_ADD_TO_SCOPE, scope, -1, -count)
        if not superseded:
            _revive(db, scope, tenant, bytes(subject))


def _revive(db: Transaction, scope: int, tenant: int, subject: bytes) -> None:
    """The newest of what is left of a subject is the current one again."""
    left = f"SELECT id FROM memories WHERE {SAME_SUBJECT} ORDER BY told_at DESC, id DESC LIMIT 1"
    for (row,) in db.rows(left, scope, tenant, subject):
        db.run("UPDATE memories SET superseded = 0 WHERE id = ?", row)
