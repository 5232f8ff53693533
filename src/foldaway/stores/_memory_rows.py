"""Which memories somebody may see, as conditions of SQL, and reading their rows.

A memory stands in one scope: its owner's own (the tenant's number) or a pool (a negative number made from the pool's
name). Every question is asked scope by scope and carries what the reader may see, so no verb can leave that out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from foldaway.errors import StoreError
from foldaway.protocols import Filter, Memory
from foldaway.stores._tables import Row, Transaction, blob, name_of, text_of, unpack
from foldaway.stores._times import iso, parsed

MOST_VARIABLES = 500
"""Ids in one statement."""
_PREFIX = "m:"
_HANDLE_BYTES = 16
_EVERYTHING = Filter(pools=())
_COLUMNS = """m.id, m.handle, m.scope, m.tenant, m.superseded, m.told_at, m.expires_at, m.item, m.access, m.kind,
    m.pool, m.subject, m.task, m.source, m.session, m.owner, m.packed, m.data"""


@dataclass(frozen=True, slots=True)
class Who:
    """A reader as the tables know it."""

    tenant: int
    owner: bytes
    access: tuple[bytes, ...]
    """What it may read in pools besides what is its own, where it is a member."""

    @property
    def member_of(self) -> tuple[bytes, ...]:
        """As whom a pool may know it."""
        return b"user:" + self.owner, *self.access


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope, and what a row in it (`m`) must be to be found."""

    number: int
    condition: str
    values: tuple[object, ...]
    index: str
    """The index that leaves the fewest rows."""
    filtered: bool
    """False: every row of the scope is found."""
    selective: bool
    """Whether the filter may leave few rows."""
    coded: tuple[tuple[str, tuple[bytes, ...]], ...] = ()
    """Columns that never change, and what the filter admits in each: part of the condition."""
    uncoded: bool = True
    """Whether the condition says more than that."""

    def rows(self, db: Transaction, columns: str, rest: str = "", *values: object) -> list[Row]:
        sql = f"SELECT {columns} FROM memories m {db.by_index(self.index)} WHERE {self.condition} {rest}"
        return db.rows(sql, *self.values, *values)

    def among(self, db: Transaction, rows: Sequence[int]) -> set[int]:
        """Those of these rows that are found."""
        return {row for (row,) in db.memories_in_order("m.id", rows, self.condition, self.values, len(rows))}


def visible(who: Who) -> tuple[str, tuple[object, ...]]:
    """The condition that a row `m` of any scope may be seen, and its values."""
    members = f"""SELECT s.scope FROM pool_scopes s JOIN pool_members g ON g.pool = s.pool
        WHERE g.who IN ({_marks(who.member_of)})"""
    shown = f"m.scope < 0 AND m.access IN ({_marks(who.access)}) AND m.scope IN ({members})"
    return f"(m.tenant = ? OR ({shown}))", (who.tenant, *who.access, *who.member_of)


def scopes(who: Who, among: Filter, numbers: Sequence[int]) -> list[Scope]:
    """One for each pool of the filter, whose scope numbers are given."""
    conditions, values, index = _fields(among)
    coded, plain = _coded(among), replace(among, pools=(), kinds=(), sources=(), tasks=(), sessions=())
    made: list[Scope] = []
    for pool, number in zip(among.pools, numbers, strict=True):
        own = ["m.scope = ?"]
        named: list[object] = [number]
        if pool:
            # The number is a hash: the name decides.
            shown, shown_to = visible(who)
            own += ["m.pool = ?", shown]
            named += [blob(pool), *shown_to]
        made.append(
            Scope(
                number,
                " AND ".join([*own, *conditions]),
                (*named, *values),
                f"memories_{index}",
                bool(pool or conditions),
                bool(pool) or replace(among, pools=(), current_only=False) != _EVERYTHING,
                coded,
                bool(pool) or plain != _EVERYTHING,
            )
        )
    return made


def _coded(among: Filter) -> tuple[tuple[str, tuple[bytes, ...]], ...]:
    given = (("kind", among.kinds), ("source", among.sources), ("task", among.tasks), ("session", among.sessions))
    return tuple((column, tuple(map(blob, wanted))) for column, wanted in given if wanted)


def _fields(among: Filter) -> tuple[list[str], list[object], str]:
    conditions: list[str] = []
    values: list[object] = []
    index = "told"
    # The last of these that is given leaves the fewest rows as a rule.
    for column, wanted in (
        ("kind", among.kinds),
        ("source", among.sources),
        ("task", among.tasks),
        ("session", among.sessions),
        ("subject", among.keys),
    ):
        if wanted:
            conditions.append(f"m.{column} IN ({_marks(wanted)})")
            values += [blob(each) for each in wanted]
        if wanted and all(wanted):
            index = column
            # Spelled as in the index, which leaves out the rows that say nothing here.
            conditions += [f"length(m.{column}) > 0"] if column != "kind" else []
    for sign, time in ((">=", among.since), ("<", among.until)):
        if time:
            conditions.append(f"m.told_at {sign} ?")
            values.append(parsed(time))
    if among.current_only:
        conditions.append("m.superseded = 0")
    return conditions, values, index


def public_id(handle: bytes) -> str:
    return _PREFIX + handle.hex()


def handle_of(public: str) -> bytes | None:
    """None when it is no id of a memory."""
    hexed = public.removeprefix(_PREFIX)
    if hexed == public or len(hexed) != 2 * _HANDLE_BYTES or hexed != hexed.lower():
        return None
    try:
        return bytes.fromhex(hexed) if hexed.isalnum() else None
    except ValueError:
        return None


def handles(db: Transaction, rows: Sequence[int]) -> dict[int, bytes]:
    """The handles of these rows, whoever's they are."""
    found = db.rows_of("SELECT id, handle FROM memories WHERE {}", "id", rows)
    return {row: bytes(handle) for row, handle in found}


def by_handle(db: Transaction, who: Who, wanted: Sequence[bytes]) -> list[Row]:
    """The rows of these handles that may be seen, in no order; columns as `read` takes them."""
    condition, values = visible(who)
    sql = f"SELECT {_COLUMNS} FROM memories m WHERE {{}} AND {condition}"
    return db.rows_of(sql, "m.handle", wanted, *values)


def newest(db: Transaction, scope: Scope, limit: int) -> list[Row]:
    return scope.rows(db, _COLUMNS, "ORDER BY m.told_at DESC, m.handle LIMIT ?", limit)


def own_rows(db: Transaction, who: Who, after: int, limit: int) -> list[Row]:
    """The reader's own of all scopes, in the order told, from behind the row `after`."""
    parts = [
        row
        for part in ("m.scope = ? AND m.id > ?", "m.tenant = ? AND m.scope < 0 AND m.id > ?")
        for row in db.rows(
            f"SELECT {_COLUMNS} FROM memories m WHERE {part} ORDER BY m.id LIMIT ?", who.tenant, after, limit
        )
    ]
    return sorted(parts, key=lambda row: int(row[0]))[:limit]


def due(db: Transaction, tenant: int, now: int) -> list[Memory]:
    """Of a tenant's own memories (not those in pools), what was made from a session and has expired by `now`."""
    sql = f"""SELECT {_COLUMNS} FROM memories m
        WHERE m.expires_at <= ? AND m.tenant = ? AND m.scope >= 0 AND length(m.session) > 0 ORDER BY m.id"""
    return [_memory(db, row, ()) for row in db.rows(sql, now, tenant)]


def read(db: Transaction, who: Who, rows: Sequence[Row]) -> list[Memory]:
    """Rows as memories, with what supersedes and what contradicts them."""
    against = _contradictions(db, who, [row[0] for row in rows])
    return [_memory(db, row, against.get(row[0], [])) for row in rows]


def _memory(db: Transaction, row: Row, against: Sequence[bytes]) -> Memory:
    return as_memory(row, _successor(db, row[2], row[3], bytes(row[11])) if row[4] else None, against)


def as_memory(row: Row, successor: bytes | None, against: Sequence[bytes]) -> Memory:
    """A row with the columns of `by_handle`, what supersedes it and what contradicts it."""
    (_, handle, _, _, _, told_at, expires_at, item, *names, owner, packed, data) = row
    access, kind, pool, subject, task, source, session = (text_of(bytes(name)) for name in names)
    return Memory(
        id=public_id(bytes(handle)),
        text=unpack(packed, bytes(data)),
        kind=kind,
        key=subject,
        pool=pool,
        access=access,
        task=task,
        source=source,
        session=session,
        item=item,
        at=iso(told_at),
        expires_at="" if expires_at is None else iso(expires_at),
        owner=text_of(bytes(owner)),
        superseded_by=public_id(successor) if successor else "",
        contradicts=tuple(sorted(public_id(each) for each in against)),
    )


def _successor(db: Transaction, scope: int, tenant: int, subject: bytes) -> bytes | None:
    """Its id is told even to those who may not read it: they must know that what they have is outdated."""
    rows = db.rows(f"SELECT handle FROM memories WHERE {SAME_SUBJECT} AND superseded = 0", scope, tenant, subject)
    return bytes(rows[0][0]) if rows else None


SAME_SUBJECT = "scope = ? AND tenant = ? AND subject = ? AND length(subject) > 0"


def _contradictions(db: Transaction, who: Who, rows: Sequence[int]) -> dict[int, list[bytes]]:
    condition, values = visible(who)
    found: dict[int, list[bytes]] = {}
    sql = f"""SELECT c.one, m.handle FROM contradictions c JOIN memories m ON m.id = c.other
        WHERE {{}} AND {condition}"""
    for one, handle in db.rows_of(sql, "c.one", rows, *values):
        found.setdefault(one, []).append(bytes(handle))
    return found


def checked(memory: Memory) -> Memory:
    """Raises StoreError when it cannot be kept."""
    if not memory.text:
        raise StoreError("a memory without text cannot be kept; give it a text")
    if memory.access not in ("owner", "public") and not memory.access.removeprefix("group:"):
        raise StoreError("access 'group:' names no group; say group:NAME")
    if memory.access not in ("owner", "public") and not memory.access.startswith("group:"):
        raise StoreError(f"access {memory.access!r} is unknown; say owner, public or group:NAME")
    for what in ("kind", "key", "pool", "access", "task", "source", "session"):
        name_of(f"a memory's {what}", getattr(memory, what))
    if not abs(memory.item) < 2**63:
        raise StoreError(f"a memory's item is a number of a session's, not {str(memory.item)[:30]}...")
    return memory


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
