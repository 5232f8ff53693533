"""Who is in which pool. A pool belongs to who made it; what it holds is shown to its members and to nobody else.

A pool's name ends before its first "@": `NAME@WHO` is a part of pool NAME. Every scope that holds memories of a pool
is entered in `pool_scopes`: what is visible is decided by numbers, in one condition, whatever names a question has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from foldaway.errors import StoreError
from foldaway.protocols import PoolCopy
from foldaway.stores._memory_rows import Who
from foldaway.stores._tables import Transaction, blob, name_of, text_of

READER, WRITER, OWNER = "reader", "writer", "owner"
_ROLES = (READER, WRITER, OWNER)
"""Each may what those before it may; kept by their numbers."""
_PUT = """INSERT INTO pool_members (pool, who, role) VALUES (?, ?, ?)
    ON CONFLICT (pool, who) DO UPDATE SET role = excluded.role"""

_ENTER = "INSERT INTO pool_scopes (scope, pool) VALUES (?, ?) ON CONFLICT DO NOTHING"


def base_of(pool: str) -> str:
    return pool.partition("@")[0]


def role_of(db: Transaction, who: Who, name: str) -> tuple[int, int]:
    """(the pool's number, the highest role that this reader has in it); (0, -1) where it is no member."""
    marks = ", ".join("?" * len(who.member_of))
    sql = f"""SELECT p.id, max(g.role) FROM pools p JOIN pool_members g ON g.pool = p.id
        WHERE p.name = ? AND g.who IN ({marks}) GROUP BY p.id"""
    rows = db.rows(sql, blob(base_of(name)), *who.member_of)
    return (int(rows[0][0]), int(rows[0][1])) if rows else (0, -1)


def check_writable(db: Transaction, who: Who, places: Iterable[tuple[str, int, str]]) -> None:
    """(pool, its scope's number, access) of what is about to be told. Raises StoreError where the reader may not.

    What a reader holds (`NAME@`, for its owner alone) any member may keep.
    """
    known: dict[str, tuple[int, int]] = {}
    for pool, scope, access in dict.fromkeys(places):
        if pool not in known:
            known[pool] = role_of(db, who, pool)
            if known[pool][0] and db.hold_pool(known[pool][0], alone=False):
                known[pool] = role_of(db, who, pool)
            if known[pool][0]:
                db.run(_ENTER, scope, known[pool][0])
        own = pool.endswith("@") and access == "owner"
        if known[pool][1] < (0 if own else _ROLES.index(WRITER)):
            raise StoreError(
                f"{text_of(who.owner)!r} may not write to pool {base_of(pool)!r}: there is none of this name, or its "
                "owner has not granted it"
            )


def make(db: Transaction, who: Who, name: str) -> None:
    _check_name(name)
    # Two that make it at once: the second waits here, and then finds the first one's.
    pool = _made(db, name)
    if db.rows("SELECT 1 FROM pool_members WHERE pool = ? LIMIT 1", pool):
        raise StoreError(f"there is a pool {name!r} already; choose another name, or ask its owner to grant it")
    db.run(_PUT, pool, b"user:" + who.owner, _ROLES.index(OWNER))


def grant(db: Transaction, who: Who, name: str, roles: Mapping[str, str]) -> None:
    """`roles`: member -> role, "" takes it away. Raises StoreError where the reader does not own the pool."""
    pool = owned(db, who, name)
    for member, role in roles.items():
        _put_role(db, pool, member, role)
    owners = db.rows("SELECT 1 FROM pool_members WHERE pool = ? AND role = ?", pool, _ROLES.index(OWNER))
    if not owners:
        raise StoreError(f"pool {name!r} would have no owner; make somebody else its owner first, or drop it")


def owned(db: Transaction, who: Who, name: str) -> int:
    """The number of a pool that this reader owns. Raises StoreError."""
    pool, mine = role_of(db, who, name)
    if mine < _ROLES.index(OWNER) or "@" in name:
        raise StoreError(f"pool {name!r} is not {text_of(who.owner)!r}'s: only an owner of it may do that")
    return pool


def members(db: Transaction, name: str) -> dict[str, str]:
    """Of a pool, whoever asks: the caller has checked that."""
    sql = "SELECT g.who, g.role FROM pool_members g JOIN pools p ON p.id = g.pool WHERE p.name = ? ORDER BY g.who"
    return {text_of(bytes(who)): _ROLES[role] for who, role in db.rows(sql, blob(name))}


def names_of(db: Transaction, who: Who) -> list[str]:
    marks = ", ".join("?" * len(who.member_of))
    sql = f"""SELECT DISTINCT p.name FROM pools p JOIN pool_members g ON g.pool = p.id
        WHERE g.who IN ({marks}) ORDER BY p.name"""
    return [text_of(bytes(name)) for (name,) in db.rows(sql, *who.member_of)]


def scopes_of(db: Transaction, pool: int) -> list[int]:
    return [int(scope) for (scope,) in db.rows("SELECT scope FROM pool_scopes WHERE pool = ? ORDER BY scope", pool)]


def leave_to(db: Transaction, who: Who, pool: int) -> None:
    """Everybody else is out, and who was writing has finished."""
    db.hold_pool(pool, alone=True)
    db.run("DELETE FROM pool_members WHERE pool = ? AND who <> ?", pool, b"user:" + who.owner)


def dropped(db: Transaction, pool: int) -> bool:
    """Whether nothing was left in it: then it is gone."""
    db.hold_pool(pool, alone=True)
    held = "SELECT 1 FROM memories m JOIN pool_scopes s ON s.scope = m.scope WHERE s.pool = ? LIMIT 1"
    if db.rows(held, pool):
        return False
    for table in ("pool_scopes", "pool_members"):
        db.run(f"DELETE FROM {table} WHERE pool = ?", pool)
    db.run("DELETE FROM pools WHERE id = ?", pool)
    return True


# Copies


def copies(db: Transaction, owner: bytes, names: Sequence[str]) -> list[PoolCopy]:
    """The pools of these names, and those that this user is a member of by name."""
    mine = "SELECT p.name FROM pools p JOIN pool_members g ON g.pool = p.id WHERE g.who = ?"
    known = {text_of(bytes(name)) for (name,) in db.rows(mine, b"user:" + owner)} | {base_of(name) for name in names}
    found = [(name, tuple(members(db, name).items())) for name in sorted(known)]
    return [PoolCopy(name=name, members=roles) for name, roles in found if roles]


def take_in(db: Transaction, copy: PoolCopy) -> None:
    """Raises StoreError where the pool is another one's here."""
    _check_name(copy.name)
    here = members(db, copy.name)
    owners = {member for member, role in copy.members if role == OWNER}
    if here and not owners & {member for member, role in here.items() if role == OWNER}:
        raise StoreError(f"pool {copy.name!r} is another owner's in the target; drop one of the two first")
    pool = _made(db, copy.name)
    for member, role in copy.members:
        if member not in here:
            _put_role(db, pool, member, role)


def _made(db: Transaction, name: str) -> int:
    db.run("INSERT INTO pools (name) VALUES (?) ON CONFLICT DO NOTHING", blob(name))
    ((pool,),) = db.rows("SELECT id FROM pools WHERE name = ?", blob(name))
    return int(pool)


def _put_role(db: Transaction, pool: int, member: str, role: str) -> None:
    name_of("member", member)
    kind, _, name = member.partition(":")
    if member != "public" and (kind not in ("user", "group") or not name.strip() or member.startswith("group:@")):
        raise StoreError(f"member {member[:60]!r}: expected user:NAME, group:NAME or public")
    if not role:
        db.run("DELETE FROM pool_members WHERE pool = ? AND who = ?", pool, blob(member))
    elif role not in _ROLES:
        raise StoreError(f"role {role[:20]!r}: expected {', '.join(_ROLES)}")
    elif role == OWNER and kind != "user":
        raise StoreError(f"member {member[:60]!r} cannot be an owner: only a user can")
    else:
        db.run(_PUT, pool, blob(member), _ROLES.index(role))


def _check_name(name: str) -> None:
    name_of("pool name", name)
    if not name.strip() or "@" in name:
        raise StoreError(f"pool name {name[:40]!r}: expected a name without '@' that is not blank")
