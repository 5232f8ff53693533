"""The verbs about memories over SQL tables: see `foldaway.protocols.Memories`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from heapq import nsmallest

from foldaway.errors import StoreError
from foldaway.protocols import Filter, Memory, PoolCopy, Reader, Tombstone
from foldaway.stores import _memory_words as memory_words
from foldaway.stores import _pools, _tombstones
from foldaway.stores._base import SqlBase, drop_tenant_if_empty, find_tenant, named
from foldaway.stores._memory_rows import (
    SAME_SUBJECT,
    Scope,
    Who,
    by_handle,
    checked,
    due,
    handle_of,
    handles,
    newest,
    own_rows,
    public_id,
    read,
    scopes,
)
from foldaway.stores._memory_telling import Draft, tell
from foldaway.stores._tables import DUE, NOBODY, Row, Transaction, blob, text_of, unpack
from foldaway.stores._times import parsed
from foldaway.stores._vectors import Vectors

_TAKE_FROM_SCOPE = "UPDATE memory_scopes SET memories = memories - ?, words = words - ? WHERE scope = ?"
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
            found = memory_words.search(db, self._scopes(who, among), query, limit, self._vectors.passing)
        return [(public_id(handle), score) for handle, score in found]

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
            left = limit > 0 and not rows and self._vectors.wants_settling(db, model)
        while left:
            # In pieces: others write in between.
            with self._writing() as db:
                db.enter(0)
                left = self._vectors.settle(db, model)
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

    def forget_memories(self, reader: Reader, ids: Sequence[str], *, tombstones: bool = False) -> int:
        """Merging a piece of the word index, so that no trace stays in it, takes about a second in a large store."""
        wanted = list(dict.fromkeys(handle for public in ids if (handle := handle_of(public)) is not None))
        with self._deciding(reader) as (db, who):
            rows = sorted((row for row in by_handle(db, who, wanted) if row[3] == who.tenant), key=_by_row)
            mine = [_by_row(row) for row in rows]
            if tombstones and rows:
                _tombstones.bury(db, who.tenant, self._salt(who.tenant), read(db, who, rows), self._now())
            self._drop(db, [doomed for row in mine for doomed in db.rows(f"{_DOOMED} WHERE id = ?", row)])
            drop_tenant_if_empty(db, who.tenant)
        if mine:
            self._vectors.shrink(mine)
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

    # Tombstones

    def buried(self, reader: Reader, memories: Sequence[Memory]) -> list[Tombstone | None]:
        """A few look-ups a memory."""
        with self._looking(reader) as (db, who):
            return _tombstones.look_up(db, who.tenant, memories)

    def tombstones(self, reader: Reader) -> list[Tombstone]:
        with self._looking(reader) as (db, who):
            return _tombstones.listed(db, who.tenant)

    def put_tombstones(self, reader: Reader, tombstones: Sequence[Tombstone]) -> None:
        if tombstones:
            with self._writing() as db:
                tenant = self._tenant(db, named("owner", reader.owner))
                db.enter(tenant)
                _tombstones.put(db, tenant, tombstones)

    def lift_tombstones(self, reader: Reader, ids: Sequence[str]) -> int:
        with self._deciding(reader) as (db, who):
            gone = _tombstones.lift(db, who.tenant, ids)
            drop_tenant_if_empty(db, who.tenant)
        return gone

    # Pools

    def make_pool(self, reader: Reader, name: str) -> None:
        with self._deciding(reader) as (db, who):
            db.enter(0)
            _pools.make(db, who, name)

    def pools(self, reader: Reader) -> list[str]:
        with self._looking(reader) as (db, who):
            return _pools.names_of(db, who)

    def pool_members(self, reader: Reader, pool: str) -> dict[str, str]:
        with self._looking(reader) as (db, who):
            if _pools.role_of(db, who, pool)[1] < 0:
                return {}
            db.enter(0)
            return _pools.members(db, pool)

    def grant_pool(self, reader: Reader, pool: str, roles: Mapping[str, str]) -> None:
        """Raises StoreError for what is no member or no role, and where the pool would be left without an owner."""
        with self._deciding(reader) as (db, who):
            db.enter(0)
            _pools.grant(db, who, pool, roles)

    def drop_pool(self, reader: Reader, pool: str) -> int:
        """Other owners' memories in it go too, tenant by tenant: ended half way, it is there with the rest of them."""
        with self._deciding(reader) as (db, who):
            number = _pools.owned(db, who, pool)
            db.enter(0)
            # Nobody else may write to it from here on.
            _pools.leave_to(db, who, number)
        gone, done = 0, False
        while not done:
            with self._reading() as db:
                db.enter(0)
                scopes = _pools.scopes_of(db, number)
            gone += sum(self._empty(scope) for scope in scopes)
            with self._writing() as db:
                db.enter(0)
                done = _pools.dropped(db, number)  # not yet where its owner told something meanwhile
        if gone:
            self._vectors.shrink()
            self._purge()
        return gone

    def export_pools(self, reader: Reader, names: Sequence[str] = ()) -> list[PoolCopy]:
        with self._reading() as db:
            db.enter(0)
            return _pools.copies(db, named("owner", reader.owner), names)

    def import_pools(self, copies: Sequence[PoolCopy]) -> None:
        with self._writing() as db:
            db.enter(0)
            for copy in copies:
                _pools.take_in(db, copy)

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
        named("owner", reader.owner)
        now = self._now()
        kept = [(checked(memory), parsed(memory.at) if memory.at else now) for memory in memories]
        ends = [parsed(memory.expires_at) if memory.expires_at else None for memory in memories]
        if not kept:
            return []
        return self._keep(reader, now, kept, ends, with_ids=with_ids)

    def _keep(
        self,
        reader: Reader,
        now: int,
        kept: Sequence[tuple[Memory, int]],
        ends: Sequence[int | None],
        *,
        with_ids: bool,
    ) -> list[str]:
        """`with_ids`: under the ids they have, unless such an id is taken."""
        owner = named("owner", reader.owner)
        self._expire_due(owner, now)
        with self._writing() as db:
            tenant = self._tenant(db, owner)
            who = Who(tenant, owner, access_of(reader))
            db.enter(tenant, who.access)
            pooled = [(m.pool, self._scope(m.pool, tenant), m.access) for m, _ in kept if m.pool]
            _pools.check_writable(db, who, pooled)
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
        access = access_of(reader)
        with self._reading() as db:
            tenant, due = db.enter_reader(owner, access, now)
            if not due:
                yield db, Who(tenant or NOBODY, owner, access)
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
            db.enter(find_tenant(db, owner) or NOBODY)
            due = db.rows(DUE, now)
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
                learned = due(db, tenant, now)
                if learned:
                    _tombstones.bury(db, tenant, self._salt(tenant), learned, now)
                doomed = db.rows(f"{_DOOMED} WHERE expires_at <= ? AND tenant = ? ORDER BY id", now, tenant)
                self._drop(db, doomed)
                drop_tenant_if_empty(db, tenant)
                gone += len(doomed)
        self._traces |= gone > 0
        return gone

    def _empty(self, scope: int) -> int:
        """Delete all that stands in a scope, whoever's it is, tenant by tenant."""
        with self._reading() as db:
            db.enter(0)
            tenants = db.rows("SELECT DISTINCT tenant FROM memories WHERE scope = ? ORDER BY tenant", scope)
        gone = 0
        for (tenant,) in tenants:
            with self._writing() as db:
                db.enter(tenant)
                doomed = db.rows(f"{_DOOMED} WHERE scope = ? AND tenant = ? ORDER BY id", scope, tenant)
                self._drop(db, doomed)
                drop_tenant_if_empty(db, tenant)
                gone += len(doomed)
        return gone

    def _salt(self, tenant: int) -> bytes:
        return self._keyed(b"tombstone", tenant)

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
        self._vectors.drop(db, [row for row, *_ in doomed])
        for row, scope, _, _, count, subject, packed, data in doomed:
            words, _ = memory_words.terms(text_of(bytes(subject)), unpack(packed, bytes(data)))
            db.unindex_words(memory_words.INDEX, row, memory_words.scoped(scope, words))
            db.run("DELETE FROM contradictions WHERE one = ? OR other = ?", row, row)
            db.run("DELETE FROM memories WHERE id = ?", row)
            taken.setdefault(scope, []).append(count)
        for _, scope, tenant, superseded, _, subject, _, _ in doomed:
            if not superseded:
                _revive(db, scope, tenant, bytes(subject))
        for scope in sorted(taken):
            db.run(_TAKE_FROM_SCOPE, len(taken[scope]), sum(taken[scope]), scope)


def _by_row(row: Row) -> int:
    return int(row[0])


def _who(db: Transaction, owner: bytes, reader: Reader) -> Who:
    tenant = find_tenant(db, owner)
    access = access_of(reader)
    db.enter(tenant or NOBODY, access)
    return Who(tenant or NOBODY, owner, access)


def access_of(reader: Reader) -> tuple[bytes, ...]:
    """Of the groups whose names begin with "@", a reader is in its own alone."""
    groups = (*(group for group in reader.groups if group and not group.startswith("@")), f"@{reader.owner}")
    return (b"public", *(blob(f"group:{group}") for group in groups))


def _public(db: Transaction, found: Sequence[tuple[int, float]]) -> list[tuple[str, float]]:
    names = handles(db, [row for row, _ in found])
    return [(public_id(names[row]), score) for row, score in found if row in names]


def _revive(db: Transaction, scope: int, tenant: int, subject: bytes) -> None:
    """The newest of what is left of a subject is the current one again."""
    left = f"SELECT id FROM memories WHERE {SAME_SUBJECT} ORDER BY told_at DESC, id DESC LIMIT 1"
    for (row,) in db.rows(left, scope, tenant, subject):
        db.run("UPDATE memories SET superseded = 0 WHERE id = ?", row)
