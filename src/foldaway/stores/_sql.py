"""The verbs of a store over SQL tables. A dialect supplies transactions, the word index and what opening takes.

Two things keep tenants apart: every verb starts from a session's handle, which cannot be guessed, and whatever
it reads or writes carries that session's number. Contents are shared within a tenant only.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from foldaway.errors import StoreError
from foldaway.protocols import Hit, Note, SessionCopy, SessionKey, StoreStats
from foldaway.stores import _copies, _marks
from foldaway.stores._base import drop_tenant_if_empty, find_tenant, named
from foldaway.stores._memories import SqlMemories
from foldaway.stores._search import index_words, search_words, unindex
from foldaway.stores._tables import Session, Transaction, blob, content_id, length, name_of, spans, text_of, unpack
from foldaway.stores._times import iso, parsed

_NOTE_REF = "n:"

_NEW_TEXT = "INSERT INTO texts (session, ref, content, words) VALUES (?, ?, ?, 0)"
_NOTES = """SELECT t.ref, n.key, c.packed, c.data, n.at_microseconds, t.superseded
    FROM notes n JOIN texts t ON t.id = n.id JOIN contents c ON c.id = t.content WHERE n.session = ?"""


class SqlStore(SqlMemories):
    """`foldaway.protocols.Store` over SQL. Safe to share between threads when the dialect's transactions are."""

    # Sessions

    def open(self, key: SessionKey) -> str:
        """The session's handle; made on first use, another one after a delete."""
        user, name = named("user", key.user), named("session", key.name)
        find = "SELECT handle FROM sessions WHERE tenant = ? AND name = ?"
        with self._reading() as db:
            tenant = _entered(db, user)
            if found := db.rows(find, tenant, name):
                return str(found[0][0])
        with self._writing() as db:
            tenant = self._tenant(db, user)
            db.enter(tenant)
            if found := db.rows(find, tenant, name):
                return str(found[0][0])
            session = db.insert("INSERT INTO sessions (tenant, name) VALUES (?, ?)", tenant, name)
            handle = self._handle(b"session", session, user, name)
            db.run("UPDATE sessions SET handle = ? WHERE id = ?", handle, session)
            db.run("INSERT INTO branches VALUES (?, 0, -1, 0, 0)", session)
            return handle

    def sessions(self, user: str) -> list[str]:
        """Names of this user's sessions in the order they were made."""
        find, name = "SELECT name FROM sessions WHERE tenant = ? ORDER BY id", named("user", user)
        with self._reading() as db:
            return [text_of(bytes(found)) for (found,) in db.rows(find, _entered(db, name))]

    def delete(self, session: str) -> None:
        """Remove a session for good; contents that other sessions of its user share stay. Unknown: nothing to do."""
        with self._writing() as db:
            found = self._find(db, session)
            if found is not None:
                _delete(db, found)
        self._purge()

    def put_marks(self, session: str, marks: Mapping[str, str]) -> None:
        """The same key again, of any session of this user: the new text takes the old one's place."""
        with self._writing() as db:
            _marks.put(db, self._session(db, session), marks)

    def marks(self, user: str, keys: Sequence[str]) -> dict[str, str]:
        """Those of these keys that this user's sessions have. One look-up a key."""
        name = named("user", user)
        with self._reading() as db:
            return _marks.get(db, _entered(db, name), keys)

    # Log and ledger

    def head(self, session: str) -> int:
        with self._reading() as db:
            return int(db.rows("SELECT head FROM sessions WHERE id = ?", self._session(db, session).id)[0][0])

    def append(self, session: str, branch: int, position: int, records: Sequence[str]) -> bool:
        with self._writing() as db:
            found = self._session(db, session)
            if length(db, "records", found, branch) != position:
                return False
            self._add(db, "records", found, branch, position, records)
            return True

    def read(self, session: str, branch: int, start: int = 0) -> list[str]:
        return self._view("records", session, branch, start)

    def fork(self, session: str, branch: int, at: int) -> int:
        with self._writing() as db:
            found = self._session(db, session)
            count = length(db, "records", found, branch)
            if not 0 <= at <= count:
                raise ValueError(f"fork at record {at}, but branch {branch} has {count} records")
            ledger = length(db, "ledger", found, branch)
            made = int(db.rows("SELECT max(branch) + 1 FROM branches WHERE session = ?", found.id)[0][0])
            db.run("INSERT INTO branches VALUES (?, ?, ?, ?, ?)", found.id, made, branch, at, ledger)
            db.run("UPDATE sessions SET head = ? WHERE id = ?", made, found.id)
            return made

    def write_ledger(self, session: str, branch: int, entries: Sequence[str]) -> None:
        with self._writing() as db:
            found = self._session(db, session)
            self._add(db, "ledger", found, branch, length(db, "ledger", found, branch), entries)

    def read_ledger(self, session: str, branch: int, start: int = 0) -> list[str]:
        """Entries of this branch, and before them all that its ancestors had when it was forked off.

        That may hold entries about records behind the fork point: the reader tells them by their content.
        """
        return self._view("ledger", session, branch, start)

    # Notes and search

    def index(self, session: str, texts: Iterable[tuple[str, str]]) -> None:
        """Make (ref, text) findable by words. The same ref again: the new text takes the old one's place."""
        with self._writing() as db:
            found = self._session(db, session)
            for ref, text in texts:
                if not ref or ref.startswith(_NOTE_REF):
                    raise ValueError(f"ref {ref!r} is empty or looks like a note's handle")
                name_of("ref", ref)
                self._index(db, found, ref, text)

    def put_note(self, session: str, *, key: str, text: str, at: str | None) -> Note:
        """`at`: ISO 8601; without a zone it is read as UTC. An empty `key` is no subject: it supersedes nothing.

        Raises StoreError when `at` is not a time.
        """
        told_at = parsed(at) if at is not None else self._now()
        name_of("note key", key)
        with self._writing() as db:
            return self._tell(db, self._session(db, session), key, text, told_at)

    def notes(self, session: str) -> list[Note]:
        with self._reading() as db:
            return _notes(db, self._session(db, session), "ORDER BY n.at_microseconds, n.id")

    def note(self, session: str, *, key: str | None = None, handle: str | None = None) -> Note | None:
        """The note of this handle, or the current one of this key. With both: when it has both."""
        if key is None and handle is None:
            raise TypeError("note() needs a key or a handle")
        with self._reading() as db:
            found = self._session(db, session)
            if handle is not None:
                got = _notes(db, found, "AND t.session = n.session AND t.ref = ?", blob(handle))
                return next((note for note in got if key is None or note.key == key), None)
            newest = "AND n.key = ? ORDER BY n.at_microseconds DESC, n.id DESC LIMIT 1"
            return next(iter(_notes(db, found, newest, blob(key or ""))), None)

    def search(self, session: str, query: str, limit: int = 10) -> list[Hit]:
        """Notes and indexed texts that hold any of the words, best first; superseded notes last and marked.

        A query is words and nothing else: no sign or word in it is an operator. Statistics are this session's
        own, so what others store changes no rank. Equal ranks: the one told or indexed later first.
        """
        with self._reading() as db:
            return search_words(db, self._session(db, session), query, limit)

    # Copies

    def users(self) -> list[str]:
        with self._reading() as db:
            return _copies.users(db)

    def export_session(self, session: str) -> SessionCopy:
        with self._reading() as db:
            found = self._session(db, session)
            return _copies.export(db, found, _notes(db, found, "ORDER BY n.id"))

    def import_session(self, session: str, copy: SessionCopy) -> None:
        with self._writing() as db:
            found = self._session(db, session)
            _copies.check_empty(db, found)
            for number, branch in enumerate(copy.branches):
                if number:
                    at = (branch.parent, branch.records_at, branch.ledger_at)
                    db.run("INSERT INTO branches VALUES (?, ?, ?, ?, ?)", found.id, number, *at)
                self._add(db, "records", found, number, branch.records_at, branch.records)
                self._add(db, "ledger", found, number, branch.ledger_at, branch.ledger)
            db.run("UPDATE sessions SET head = ? WHERE id = ?", copy.head, found.id)
            for note in copy.notes:
                self._tell(db, found, note.key, note.text, parsed(note.at), note.handle)
            for ref, text in copy.texts:
                self._index(db, found, ref, text)

    def stats(self) -> StoreStats:
        with self._reading() as db:
            return _copies.count(db, self._total_bytes(db))

    @abstractmethod
    def _total_bytes(self, db: Transaction) -> int:
        """What the store takes on disk, or in memory."""

    # Inside

    def _tell(self, db: Transaction, found: Session, key: str, text: str, told_at: int, handle: str = "") -> Note:
        superseded = bool(key) and _supersede(db, found, blob(key), told_at)
        content = content_id(db, self._secret, found.tenant, text)
        row = db.insert(_NEW_TEXT, found.id, b"", content)
        handle = handle or _NOTE_REF + self._handle(b"note", found.id, row)[:24]
        count = index_words(db, found, row, f"{key}\n{text}")
        change = "UPDATE texts SET ref = ?, words = ?, superseded = ? WHERE id = ?"
        db.run(change, blob(handle), count, int(superseded), row)
        db.run("INSERT INTO notes VALUES (?, ?, ?, ?)", row, found.id, blob(key), told_at)
        return Note(handle=handle, key=key, text=text, at=iso(told_at), superseded=superseded)

    def _find(self, db: Transaction, handle: str) -> Session | None:
        if not handle.isascii() or "\0" in handle:
            return None
        db.enter_session(handle)
        find = "SELECT id, tenant FROM sessions WHERE handle = ?"
        for row in db.rows(find, handle):
            found = Session(*row)
            if not db.enter(found.tenant) or db.rows(find, handle):
                return found
        return None

    def _session(self, db: Transaction, handle: str) -> Session:
        found = self._find(db, handle)
        if found is None:
            raise StoreError("no such session: it was deleted, or the handle is of another store; open it by its name")
        return found

    def _handle(self, what: bytes, *facts: int | bytes) -> str:
        return self._keyed(what, *facts).hex()

    def _add(
        self, db: Transaction, table: str, found: Session, branch: int, position: int, texts: Sequence[str]
    ) -> None:
        contents = [content_id(db, self._secret, found.tenant, text) for text in texts]
        rows = ((found.id, branch, position + n, content) for n, content in enumerate(contents))
        db.run_many(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", rows)

    def _view(self, table: str, session: str, branch: int, start: int) -> list[str]:
        if start < 0:
            raise ValueError(f"start is {start}, but positions count from 0")
        query = f"""SELECT c.packed, c.data FROM {table} r JOIN contents c ON c.id = r.content
            WHERE r.session = ? AND r.branch = ? AND r.position >= ? AND r.position < ? ORDER BY r.position"""
        with self._reading() as db:
            found = self._session(db, session)
            where = spans(db, table, found, branch, start)
            # SQLite's largest integer stands for "no end".
            parts = [db.rows(query, found.id, s.branch, s.start, 2**63 - 1 if s.end is None else s.end) for s in where]
        return [unpack(packed, data) for packed, data in chain.from_iterable(parts)]

    def _index(self, db: Transaction, found: Session, ref: str, text: str) -> None:
        content = content_id(db, self._secret, found.tenant, text)
        old = db.rows("SELECT id, content FROM texts WHERE session = ? AND ref = ?", found.id, blob(ref))
        if old:
            if old[0][1] == content:
                return
            unindex(db, found, old[0][0])
        row = db.insert(_NEW_TEXT, found.id, blob(ref), content)
        db.run("UPDATE texts SET words = ? WHERE id = ?", index_words(db, found, row, text), row)


def _entered(db: Transaction, user: bytes) -> int:
    """The tenant of this name, 0 when there is none; its rows are what follows is about."""
    tenant = find_tenant(db, user)
    if tenant:
        db.enter(tenant)
    return tenant


# Notes


def _supersede(db: Transaction, found: Session, key: bytes, at: int) -> bool:
    """Make room for a note of this key: mark the current one, or say that it stays the current one."""
    current = """SELECT n.id, n.at_microseconds FROM notes n JOIN texts t ON t.id = n.id
        WHERE n.session = ? AND n.key = ? AND t.superseded = 0"""
    for row, told_at in db.rows(current, found.id, key):
        if told_at > at:
            return True
        db.run("UPDATE texts SET superseded = 1 WHERE id = ?", row)
    return False


def _notes(db: Transaction, found: Session, rest: str, *values: object) -> list[Note]:
    return [
        Note(
            handle=text_of(ref),
            key=text_of(key),
            text=unpack(packed, data),
            at=iso(at),
            superseded=bool(superseded),
        )
        for ref, key, packed, data, at, superseded in db.rows(f"{_NOTES} {rest}", found.id, *values)
    ]


# Delete


def _delete(db: Transaction, found: Session) -> None:
    db.run("INSERT INTO deleting VALUES (?, ?)", found.id, found.tenant)
    for (row,) in db.rows("SELECT id FROM texts WHERE session = ?", found.id):
        unindex(db, found, row)
    for table in ("notes", "records", "ledger", "branches", "marks"):
        db.run(f"DELETE FROM {table} WHERE session = ?", found.id)
    db.run("DELETE FROM sessions WHERE id = ?", found.id)
    mine = "SELECT id FROM sessions WHERE tenant = ?"
    used = " UNION ".join(f"SELECT content FROM {t} WHERE session IN ({mine})" for t in ("records", "ledger", "texts"))
    db.run(f"DELETE FROM contents WHERE tenant = ? AND id NOT IN ({used})", *[found.tenant] * 4)
    drop_tenant_if_empty(db, found.tenant)
    db.run("DELETE FROM deleting WHERE session = ?", found.id)
