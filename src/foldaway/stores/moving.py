"""Moving sessions and memories from one store to another: copied, compared, and only then deleted at the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from foldaway.errors import StoreError
from foldaway.protocols import Memory, Reader, SessionCopy, SessionKey, Store
from foldaway.stores.encryption import EncryptingStore, keys_used, note_keys

_PIECE = 500
_PROBE = "moving"
_SAME = "source and target are the same store; name another one; nothing was deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What became of one session, or of one owner's memories."""

    user: str
    session: str
    """"" for memories."""
    records: int
    notes: int
    memories: int
    deleted: bool
    """At the source."""


def move_session(source: Store, target: Store, key: SessionKey, *, delete: bool = False) -> Moved:
    """Copy a session with its branches, ledger, notes and indexed texts; the target then holds the same.

    A session that the target holds already, and the same, is left as it is. Raises StoreError where there is no such
    session, the target holds another one of this name, both are one store, or the copy is not the same; then nothing is
    deleted.
    """
    if key.name not in source.sessions(key.user):
        raise StoreError(f"no session {key.name!r} of user {key.user!r} to move")
    from_here = source.open(key)
    copy = source.export_session(from_here)
    there = target.open(key)
    if from_here == there and _marked_in_both(source, target, from_here, key):
        raise StoreError(_SAME)
    if target.export_session(there) != copy:
        try:
            target.import_session(there, copy)
        except StoreError as error:
            raise StoreError(
                f"session {key.name!r} of user {key.user!r} is not moved: in the target {error}"
            ) from error
        if target.export_session(there) != copy:
            target.delete(there)
            raise StoreError(
                f"session {key.name!r} of user {key.user!r}: the copy is not the same; nothing was deleted"
            )
    if not isinstance(target, EncryptingStore) and (used := keys_used(source, key)):
        note_keys(target, there, key, used)
    if delete:
        if source.export_session(from_here) != copy:
            raise StoreError(f"session {key.name!r} of user {key.user!r} was written to meanwhile; move it again")
        source.delete(from_here)
    return Moved(
        user=key.user,
        session=key.name,
        records=_records(copy),
        notes=len(copy.notes),
        memories=0,
        deleted=delete,
    )


def move_memories(source: Store, target: Store, owner: str, *, delete: bool = False) -> Moved:
    """Copy all memories of an owner, those in pools too, under their ids; what the target says already keeps its own.

    Who is in those pools comes along, and what was forgotten. Raises StoreError when a memory is not there afterwards,
    a pool is another owner's there, or both are one store and `delete` is asked for; then nothing is deleted.
    """
    reader = Reader(owner=owner)
    held = bool(source.export_memories(reader, limit=1) or source.tombstones(reader))
    if delete and held and _told_in_both(source, target, reader):
        raise StoreError(_SAME)
    there: dict[str, str] = {}
    pools = sorted({memory.pool for part in _exported(source, reader) for memory in part if memory.pool})
    target.import_pools(source.export_pools(reader, pools))
    buried = source.tombstones(reader)
    target.put_tombstones(reader, buried)
    for part in _exported(source, reader):
        ids = target.import_memories(reader, part)
        there.update(zip((memory.id for memory in part), ids, strict=True))
    for part in _exported(source, reader):
        copies = target.memories(reader, [there.get(memory.id, "") for memory in part])
        if list(map(_content, copies)) != list(map(_content, part)):
            raise StoreError(f"memories of {owner!r}: the copies are not the same; nothing was deleted")
    if delete and there:
        source.forget_memories(reader, list(there))
    if delete and buried:
        source.lift_tombstones(reader, [each.id for each in buried])
    return Moved(user=owner, session="", records=0, notes=0, memories=len(there), deleted=delete and bool(there))


def _marked_in_both(source: Store, target: Store, session: str, key: SessionKey) -> bool:
    """Whether both are one store, whatever they are called (a copy of its file has the same handles)."""
    before = target.marks(key.user, [_PROBE])
    source.put_marks(session, {_PROBE: "2" if before.get(_PROBE) == "1" else "1"})
    return target.marks(key.user, [_PROBE]) != before


def _told_in_both(source: Store, target: Store, reader: Reader) -> bool:
    (probe,) = source.put_memories(reader, [Memory(text=_PROBE, kind="probe")])
    try:
        return bool(target.memories(reader, [probe]))
    finally:
        source.forget_memories(reader, [probe])


def _content(memory: Memory) -> Memory:
    # Ids, and what supersedes or contradicts it, may be others where the target knows more. A time may be later.
    return replace(memory, id="", superseded_by="", contradicts=(), at="", expires_at="")


def _exported(store: Store, reader: Reader) -> Iterator[Sequence[Memory]]:
    last = ""
    while part := store.export_memories(reader, last, _PIECE):
        last = part[-1].id
        yield part


def _records(copy: SessionCopy) -> int:
    return sum(len(branch.records) for branch in copy.branches)
