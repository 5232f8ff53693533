"""The verbs about memories over SQL tables: see `foldaway.protocols.Memories`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from heapq import nsmallest

from foldaway.errors import StoreError
from foldaway.protocols import Filter, Memory, Reader
from foldaway.stores import _memory_words as memory_words
from foldaway.stores._base import SqlBase, drop_tenant_if_empty, find_tenant, named
from foldaway.stores._memory_rows import (
    SAME_SUBJECT,
    Scope,
    Who,
    by_handle,
    checked,
    handle_of,
    handles,
    newest,
    own_rows,
    public_id,
    read,
    scopes,
)
from foldaway.stores._memory_telling import Draft, tell
from foldaway.stores._tables import Row, Transaction, blob, text_of, unpack
from foldaway.stores._times import parsed
from foldaway.stores._vectors import Vectors

_TAKE_FROM_SCOPE = "UPDATE memory_scopes SET memories = memories - ?, words = words - ? WHERE scope = ?"
_DUE = "SELECT 1 FROM memories WHERE expires_at <= ? ORDER BY expires_at LIMIT 1"
"""Ordered: a server that knows nothing of the table yet would read all of it."""
_NOBODY = -1
"""The tenant's number of a reader who never told anything; 0 is the upkeep's."""
_DOOMED = "SELECT id, scope, tenant, superseded, words, subject, packed, data FROM memories"


class SqlMemories(SqlBase):
    """`foldaway.protocols.Memories` over SQL."""

    _vectors: Vectors
    _traces = False
    """Whether something was deleted whose traces are still in the word index."""

    def put_memories(self, reader: Reader, memories: Sequence[Memory]) -> list[str]:
        """Raises StoreError for an empty text, an unknown access or what is no time; then nothing is kept."""
        return self._told(reader, memories, with_ids=False)

    def memories(self, reader: Reader, ids: Sequence[str]) -> list[Memory]:
        wanted = {public: handle for public in ids if (handle := handle_of(public)) is not None}
        with self._looking(reader) as (db, who):
            found = {memory.id: memory for memory in read(db, who, by_handle(db, who, list(wanted.values())))}
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
        return [(public_id(bytes(handle)), unpack(packed, bytes(data))) for handle, packed, data in rows]

    def put_vectors(self, model: str, vectors: Sequence[tuple[str, Sequence[float]]]) -> None:
        """Raises StoreError when a vector's length is not that of this model's others; then none is kept."""
        known = [(handle, vector) for public, vector in vectors if (handle := handle_of(public)) is not None]
        if known:
            with self._writing() as db:
                db.enter(0)
                self._vectors.put(db, model, known)

    def mark_contradiction(self, reader: Reader, one: str, other: str) -> None:
        """Raises StoreError when either is not the reader's to see, both are the same, or none is its own."""
        both = [handle_of(one), handle_of(other)]
        with self._deciding(reader) as (db, who):
            rows = by_handle(db, who, [handle for handle in both if handle is not None])
            if one == other or len(rows) != 2:
                raise StoreError("a contradiction needs two memories that this reader may see")
            if who.tenant not in (row[3] for row in rows):
                raise StoreError("a contradiction needs at least one memory of the reader's own")
            first, second = sorted(row[0] for row in rows)
            for pair in ((first, second), (second, first)):
                db.run("INSERT INTO contradictions VALUES (?, ?) ON CONFLICT DO NOTHING", *pair)

    def forget_memories(self, reader: Reader, ids: Sequence[str]) -> int:
        """Merging a piece of the word index, so that no trace stays in it, takes about a second in a large store."""
        wanted = list(dict.fromkeys(handle for public in ids if (handle := handle_of(public)) is not None))
        with self._deciding(reader) as (db, who):
            mine = sorted(row[0] for row in by_handle(db, who, wanted) if row[3] == who.tenant)
            self._drop(db, [doomed for row in mine for doomed in db.rows(f"{_DOOMED} WHERE id = ?", row)])
            drop_tenant_if_empty(db, who.tenant)
        if mine:
            self._vectors.shrink()
            self._purge()
        return len(mine)

    def expire_memories(self, now: str) -> int:
        gone = self._expire(parsed(now))
        # What other verbs found expired is out of the tables since; its traces go here.
        if gone or self._traces:
            self._traces = False
            self._vectors.shrink()
            self._purge()
        return gone

    # Copies

    def export_memories(self, reader: Reader, after: str = "", limit: int = 1000) -> list[Memory]:
        with self._looking(reader) as (db, who):
            last = [row[0] for handle in [handle_of(after)] if handle for row in by_handle(db, who, [handle])]
            if limit <= 0 or (after and not last):
                return []
            return read(db, who, own_rows(db, who, last[0] if last else 0, limit))

    def import_memories(self, reader: Reader, memories: Sequence[Memory]) -> list[str]:
        ids = self._told(reader, memories, with_ids=True)
        for memory, public in zip(memories, ids, strict=True):
            for other in memory.contradicts:
                # What it contradicts may come with a later batch, which then marks both.
                with suppress(StoreError):
                    self.mark_contradiction(reader, public, other)
        return ids

    # Inside

    def _told(self, reader: Reader, memories: Sequence[Memory], *, with_ids: bool) -> list[str]:
        owner = named("owner", reader.owner)
        now = self._now()
        kept = [(checked(memory), parsed(memory.at) if memory.at else now) for memory in memories]
        ends = [parsed(memory.expires_at) if memory.expires_at else None for memory in memories]
        if not kept:
            return []
        return self._keep(owner, now, kept, ends, with_ids=with_ids)

    def _keep(
        self,
        owner: bytes,
        now: int,
        kept: Sequence[tuple[Memory, int]],
        ends: Sequence[int | None],
        *,
        with_ids: bool,
    ) -> list[str]:
        """`with_ids`: under the ids they have, unless such an id is taken."""
        self._expire_due(owner, now)
        with self._writing() as db:
            tenant = self._tenant(db, owner)
            db.enter(tenant)
            who = Who(tenant, owner, ())
            drafts = [
                self._draft(who, memory, told_at, end, handle_of(memory.id) if with_ids else None)
                for (memory, told_at), end in zip(kept, ends, strict=True)
            ]
            return [public_id(handle) for handle in tell(db, who, drafts)]

    def _draft(self, who: Who, memory: Memory, told_at: int, end: int | None, wanted: bytes | None) -> Draft:
        names = (blob(memory.access), blob(memory.kind), blob(memory.pool))
        digest = self._keyed(b"memory", who.tenant, *names, blob(memory.key), blob(memory.text))
        return Draft(memory, self._scope(memory.pool, who.tenant), told_at, end, names, digest, wanted)

    @contextmanager
    def _looking(self, reader: Reader) -> Iterator[tuple[Transaction, Who]]:
        """A snapshot in which nothing that this reader may see has expired."""
        owner, now = named("owner", reader.owner), self._now()
        with self._reading() as db:
            who = _who(db, owner, reader)
            if not db.rows(_DUE, now):
                yield db, who
                return
        self._expire(now)
        with self._reading() as db:
            yield db, _who(db, owner, reader)

    @contextmanager
    def _deciding(self, reader: Reader) -> Iterator[tuple[Transaction, Who]]:
        owner, now = named("owner", reader.owner), self._now()
        self._expire_due(owner, now)
        with self._writing() as db:
            yield db, _who(db, owner, reader)

    def _expire_due(self, owner: bytes, now: int) -> None:
        with self._reading() as db:
            db.enter(find_tenant(db, owner) or _NOBODY)
            due = db.rows(_DUE, now)
        if due:
            self._expire(now)

    def _expire(self, now: int) -> int:
        """Delete what has expired, whoever's it is, tenant by tenant: nobody waits for more than their own."""
        with self._reading() as db:
            db.enter(0)
            tenants = db.rows("SELECT DISTINCT tenant FROM memories WHERE expires_at <= ? ORDER BY tenant", now)
        gone = 0
        for (tenant,) in tenants:
            with self._writing() as db:
                db.enter(tenant)
                doomed = db.rows(f"{_DOOMED} WHERE expires_at <= ? AND tenant = ? ORDER BY id", now, tenant)
                self._drop(db, doomed)
                drop_tenant_if_empty(db, tenant)
                gone += len(doomed)
        self._traces |= gone > 0
        return gone

    def _scopes(self, who: Who, among: Filter) -> list[Scope]:
        numbers = [self._scope(pool, who.tenant) for pool in among.pools]
        return scopes(who, among, numbers)

    def _scope(self, pool: str, tenant: int) -> int:
        if not pool:
            return tenant
        return -1 - (int.from_bytes(self._keyed(b"pool", blob(pool))[:8], "big") >> 1)

    def _drop(self, db: Transaction, doomed: Sequence[Row]) -> None:
        """Delete these rows (as `_DOOMED` reads them) with all that hangs on them."""
        taken: dict[int, list[int]] = {}
        for row, scope, _, _, count, subject, packed, data in doomed:
            words, _ = memory_words.terms(text_of(bytes(subject)), unpack(packed, bytes(data)))
            db.unindex_words(memory_words.INDEX, row, memory_words.scoped(scope, words))
            self._vectors.drop(db, row)
            db.run("DELETE FROM contradictions WHERE one = ? OR other = ?", row, row)
            db.run("DELETE FROM memories WHERE id = ?", row)
            taken.setdefault(scope, []).append(count)
        for _, scope, tenant, superseded, _, subject, _, _ in doomed:
            if not superseded:
                _revive(db, scope, tenant, bytes(subject))
        for scope in sorted(taken):
            db.run(_TAKE_FROM_SCOPE, len(taken[scope]), sum(taken[scope]), scope)


def _who(db: Transaction, owner: bytes, reader: Reader) -> Who:
    tenant = find_tenant(db, owner)
    access = (b"public", *(blob(f"group:{group}") for group in reader.groups if group))
    db.enter(tenant or _NOBODY, access)
    return Who(tenant or _NOBODY, owner, access)


def _public(db: Transaction, found: Sequence[tuple[int, float]]) -> list[tuple[str, float]]:
    names = handles(db, [row for row, _ in found])
    return [(public_id(names[row]), score) for row, score in found if row in names]


def _revive(db: Transaction, scope: int, tenant: int, subject: bytes) -> None:
    """The newest of what is left of a subject is the current one again."""
    left = f"SELECT id FROM memories WHERE {SAME_SUBJECT} ORDER BY told_at DESC, id DESC LIMIT 1"
    for (row,) in db.rows(left, scope, tenant, subject):
        db.run("UPDATE memories SET superseded = 0 WHERE id = ?", row)
