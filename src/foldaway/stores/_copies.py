"""A session as a value, to be made again in another store; and what a store holds, in numbers."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from foldaway.errors import StoreError
from foldaway.protocols import BranchCopy, Note, SessionCopy, StoreStats
from foldaway.stores._tables import Session, Transaction, text_of, unpack

_PIECE = 1_000


def export(db: Transaction, found: Session, notes: list[Note]) -> SessionCopy:
    branches = "SELECT branch, parent, records_at, ledger_at FROM branches WHERE session = ? ORDER BY branch"
    texts = """SELECT t.ref, c.packed, c.data FROM texts t JOIN contents c ON c.id = t.content
        WHERE t.session = ? AND NOT EXISTS (SELECT 1 FROM notes n WHERE n.id = t.id)"""
    return SessionCopy(
        head=db.rows("SELECT head FROM sessions WHERE id = ?", found.id)[0][0],
        branches=tuple(
            BranchCopy(
                parent=parent,
                records_at=records_at,
                ledger_at=ledger_at,
                records=_own(db, "records", found, branch),
                ledger=_own(db, "ledger", found, branch),
            )
            for branch, parent, records_at, ledger_at in db.rows(branches, found.id)
        ),
        notes=tuple(notes),
        texts=tuple(sorted((text_of(bytes(ref)), unpack(p, bytes(data))) for ref, p, data in db.rows(texts, found.id))),
    )


def check_empty(db: Transaction, found: Session) -> None:
    """Raises StoreError when the session holds something."""
    counts = [
        db.rows(f"SELECT 1 FROM {table} WHERE session = ? LIMIT {most}", found.id)
        for table, most in (("branches", 2), ("records", 1), ("ledger", 1), ("texts", 1))
    ]
    if [len(rows) for rows in counts] != [1, 0, 0, 0]:
        raise StoreError("the session already holds something; only an empty one can take in a copy")


def _own(db: Transaction, table: str, found: Session, branch: int) -> tuple[str, ...]:
    sql = f"""SELECT c.packed, c.data FROM {table} r JOIN contents c ON c.id = r.content
        WHERE r.session = ? AND r.branch = ? ORDER BY r.position"""
    return tuple(unpack(packed, bytes(data)) for packed, data in db.rows(sql, found.id, branch))


def users(db: Transaction) -> list[str]:
    db.enter(0)
    return sorted(text_of(bytes(name)) for (name,) in db.rows("SELECT name FROM tenants"))


def count(db: Transaction, total_bytes: int) -> StoreStats:
    db.enter(0)

    def number(table: str) -> int:
        return int(db.rows(f"SELECT count(*) FROM {table}")[0][0])

    raw = kept = 0
    for table in ("contents", "memories"):
        for packed, data in _contents(db, table):
            kept += len(data)
            raw += len(zlib.decompress(data)) if packed else len(data)
    return StoreStats(
        users=number("tenants"),
        sessions=number("sessions"),
        records=number("records"),
        notes=number("notes"),
        memories=number("memories"),
        vectors=number("vectors"),
        raw_bytes=raw,
        kept_bytes=kept,
        total_bytes=total_bytes,
    )


def _contents(db: Transaction, table: str) -> Iterator[tuple[int, bytes]]:
    last = 0
    while rows := db.rows(f"SELECT id, packed, data FROM {table} WHERE id > ? ORDER BY id LIMIT ?", last, _PIECE):
        last = rows[-1][0]
        yield from ((packed, bytes(data)) for _, packed, data in rows)
