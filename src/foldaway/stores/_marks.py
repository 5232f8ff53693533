"""Marks: small texts under keys, by which a user's sessions are found again. They go with their session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foldaway.stores._tables import Session, Transaction, blob, name_of, text_of

_PIECE = 400
"""Keys asked for in one statement."""
_PUT = """INSERT INTO marks (tenant, key, session, data) VALUES (?, ?, ?, ?)
    ON CONFLICT (tenant, key) DO UPDATE SET session = excluded.session, data = excluded.data"""


def put(db: Transaction, found: Session, marks: Mapping[str, str]) -> None:
    db.run_many(_PUT, [(found.tenant, name_of("mark", key), found.id, blob(text)) for key, text in marks.items()])


def get(db: Transaction, tenant: int, keys: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for start in range(0, len(keys), _PIECE):
        part = [blob(key) for key in keys[start : start + _PIECE]]
        holders = ", ".join("?" * len(part))
        sql = f"SELECT key, data FROM marks WHERE tenant = ? AND key IN ({holders})"
        found.update((text_of(bytes(k)), text_of(bytes(d))) for k, d in db.rows(sql, tenant, *part))
    return found
