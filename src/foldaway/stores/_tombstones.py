"""What was forgotten, by hashes alone: so that learning a session again does not bring it back.

A tombstone holds what a memory said (kind, subject, text) and where it came from (session, item, kind, subject),
hashed with a salt that goes with it: in another store it means the same. Nothing of the memory can be read from it; who
has the file can try whether it was a text that they guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from foldaway.errors import StoreError
from foldaway.protocols import Memory, Tombstone
from foldaway.stores._tables import Transaction, blob
from foldaway.stores._times import iso, parsed

_PREFIX = "t:"
_BYTES = 16
_PUT = """INSERT INTO tombstones (tenant, content, place, salt, at_microseconds) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (tenant, content) DO UPDATE SET place = excluded.place, at_microseconds = excluded.at_microseconds"""


def bury(db: Transaction, tenant: int, salt: bytes, memories: Iterable[Memory], now: int) -> None:
    rows = [(tenant, _content(salt, memory), _place(salt, memory), salt, now) for memory in memories]
    db.run_many(_PUT, rows)


def look_up(db: Transaction, tenant: int, memories: Sequence[Memory]) -> list[Tombstone | None]:
    """For each the tombstone of the very same text, or of what was said of its subject by its item."""
    salts = [bytes(salt) for (salt,) in db.rows("SELECT DISTINCT salt FROM tombstones WHERE tenant = ?", tenant)]
    return [next((t for salt in salts if (t := _find(db, tenant, salt, memory))), None) for memory in memories]


def listed(db: Transaction, tenant: int) -> list[Tombstone]:
    """Newest last."""
    sql = """SELECT content, place, salt, at_microseconds FROM tombstones WHERE tenant = ?
        ORDER BY at_microseconds, content"""
    return [_tombstone(*row) for row in db.rows(sql, tenant)]


def put(db: Transaction, tenant: int, tombstones: Iterable[Tombstone]) -> None:
    db.run_many(_PUT, [_row(tenant, each) for each in tombstones])


def lift(db: Transaction, tenant: int, ids: Iterable[str]) -> int:
    """How many there were."""
    gone = 0
    for one in dict.fromkeys(ids):
        content = _unhexed(one.removeprefix(_PREFIX))
        if content is None or one == one.removeprefix(_PREFIX):
            continue
        if db.rows("SELECT 1 FROM tombstones WHERE tenant = ? AND content = ?", tenant, content):
            db.run("DELETE FROM tombstones WHERE tenant = ? AND content = ?", tenant, content)
            gone += 1
    return gone


def _find(db: Transaction, tenant: int, salt: bytes, memory: Memory) -> Tombstone | None:
    columns = "SELECT content, place, salt, at_microseconds FROM tombstones WHERE tenant = ?"
    rows = db.rows(f"{columns} AND content = ?", tenant, _content(salt, memory))
    place = _place(salt, memory)
    if not rows and place:
        newest = "AND place = ? AND length(place) > 0 ORDER BY at_microseconds DESC, content LIMIT 1"
        rows = db.rows(f"{columns} {newest}", tenant, place)
    return _tombstone(*rows[0]) if rows else None


def _content(salt: bytes, memory: Memory) -> bytes:
    return _hash(salt, b"content", memory.kind, memory.key, memory.text)


def _place(salt: bytes, memory: Memory) -> bytes:
    """Empty where it has none; what has no subject is known by its text alone, as an item may say several things."""
    if not memory.session or not memory.item or not memory.key:
        return b""
    return _hash(salt, b"place", memory.kind, memory.key, memory.session, str(memory.item))


def _hash(salt: bytes, what: bytes, *facts: str) -> bytes:
    data = b"".join(b"%d:%s" % (len(fact), fact) for fact in map(blob, facts))
    return blake2b(data, key=salt, digest_size=_BYTES, person=what).digest()


def _tombstone(content: bytes, place: bytes, salt: bytes, at: int) -> Tombstone:
    return Tombstone(id=_PREFIX + bytes(content).hex(), place=bytes(place).hex(), salt=bytes(salt).hex(), at=iso(at))


def _row(tenant: int, tombstone: Tombstone) -> tuple[object, ...]:
    content, salt = _unhexed(tombstone.id.removeprefix(_PREFIX)), _unhexed(tombstone.salt)
    place = _unhexed(tombstone.place) if tombstone.place else b""
    if content is None or salt is None or place is None:
        raise StoreError(f"{tombstone.id[:40]!r} is no tombstone that a store gave")
    return tenant, content, place, salt, parsed(tombstone.at)


def _unhexed(text: str) -> bytes | None:
    try:
        data = bytes.fromhex(text)
    except ValueError:
        return None
    return data if len(data) == _BYTES else None
