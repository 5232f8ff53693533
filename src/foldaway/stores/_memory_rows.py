"""Which memories somebody may see, as conditions of SQL, and reading their rows.

A memory stands in one scope: its owner's own (the tenant's number) or a pool (a negative number made from the pool's
name). Every question is asked scope by scope and carries what the reader may see, so no verb can leave that out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from foldaway.errors import StoreError
from foldaway.protocols import Filter, Memory
from foldaway.stores._tables import Row, Transaction, blob, text_of, unpack
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
    """What it may read in pools besides what is its own."""


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

    def rows(self, db: Transaction, columns: str, rest: str = "", *values: object) -> list[Row]:
        sql = f"SELECT {columns} FROM memories m {db.by_index(self.index)} WHERE {self.condition} {rest}"
        return db.rows(sql, *self.values, *values)

    def among(self, db: Transaction, rows: Sequence[int]) -> set[int]:
        """Those of these rows that are found."""
        found: set[int] = set()
        for start in range(0, len(rows), MOST_VARIABLES):
            part = rows[start : start + MOST_VARIABLES]
            sql = f"SELECT m.id FROM memories m {db.by_row()} WHERE m.id IN ({_marks(part)}) AND {self.condition}"
            found.update(row for (row,) in db.rows(sql, *part, *self.values))
        return found


def visible(who: Who) -> tuple[str, tuple[object, ...]]:
    """The condition that a row `m` of any scope may be seen, and its values."""
    shown = f"m.scope < 0 AND m.access IN ({_marks(who.access)})"
    return f"(m.tenant = ? OR ({shown}))", (who.tenant, *who.access)


def scopes(who: Who, among: Filter, numbers: Sequence[int]) -> list[Scope]:
    """One for each pool of the filter, whose scope numbers are given."""
    conditions, values, index = _fields(among)
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
            )
        )
    return made


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
    found: dict[int, bytes] = {}
    for start in range(0, len(rows), MOST_VARIABLES):
        part = rows[start : start + MOST_VARIABLES]
        found.update(
            (row, bytes(handle))
            for row, handle in db.rows(f"SELECT id, handle FROM memories WHERE id IN ({_marks(part)})", *part)
        )
    return found


def by_handle(db: Transaction, who: Who, wanted: Sequence[bytes]) -> list[Row]:
    """The rows of these handles that may be seen, in no order; columns as `read` takes them."""
    condition, values = visible(who)
    found: list[Row] = []
    for start in range(0, len(wanted), MOST_VARIABLES):
        part = wanted[start : start + MOST_VARIABLES]
        sql = f"SELECT {_COLUMNS} FROM memories m WHERE m.handle IN ({_marks(part)}) AND {condition}"
        found += db.rows(sql, *part, *values)
    return found


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


def read(db: Transaction, who: Who, rows: Sequence[Row]) -> list[Memory]:
    """Rows as memories, with what supersedes and what contradicts them."""
    against = _contradictions(db, who, [row[0] for row in rows])
    return [_memory(db, row, against.get(row[0], [])) for row in rows]


def _memory(db: Transaction, row: Row, against: Sequence[bytes]) -> Memory:
    (_, handle, scope, tenant, superseded, told_at, expires_at, item, *names, owner, packed, data) = row
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
        superseded_by=_successor(db, scope, tenant, bytes(names[3])) if superseded else "",
        contradicts=tuple(sorted(public_id(each) for each in against)),
    )


def _successor(db: Transaction, scope: int, tenant: int, subject: bytes) -> str:
    """Its id is told even to those who may not read it: they must know that what they have is outdated."""
    rows = db.rows(f"SELECT handle FROM memories WHERE {SAME_SUBJECT} AND superseded = 0", scope, tenant, subject)
    return public_id(bytes(rows[0][0])) if rows else ""


SAME_SUBJECT = "scope = ? AND tenant = ? AND subject = ? AND length(subject) > 0"


def _contradictions(db: Transaction, who: Who, rows: Sequence[int]) -> dict[int, list[bytes]]:
    condition, values = visible(who)
    found: dict[int, list[bytes]] = {}
    for start in range(0, len(rows), MOST_VARIABLES):
        part = rows[start : start + MOST_VARIABLES]
        sql = f"""SELECT c.one, m.handle FROM contradictions c JOIN memories m ON m.id = c.other
            WHERE c.one IN ({_marks(part)}) AND {condition}"""
        for one, handle in db.rows(sql, *part, *values):
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
    return memory


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
