"""From an item of a session to what another agent gets of it: a digest, or a reference to the bytes."""

from __future__ import annotations

from dataclasses import replace

from foldaway.engine.recall import recall
from foldaway.errors import RecallError, SettingsError
from foldaway.model.items import Item
from foldaway.protocols import Memory, Reader, Store
from foldaway.remembering import originals
from foldaway.remembering._told import source_of
from foldaway.session import Session

DIGEST, RAW = "digest", "raw"
"""Kinds of what is shared: both show a digest; behind RAW the item itself can be opened."""
DIGEST_CHARS = 1_200
"""An item up to this length is its own digest."""


def as_shared(session: Session, item: int | str, as_: str, reader: Reader, store: Store, key: str) -> Memory:
    """The memory that stands for an item in a pool, with session and item as its provenance.

    Raises SettingsError and RecallError as `Pool.share` says. O(the item); for a raw share, the session is opened once
    as its reader will, to be sure that the item is there.
    """
    if as_ not in (DIGEST, RAW):
        raise SettingsError(f"as_={as_!r}: expected {DIGEST} or {RAW}")
    if session.user != reader.owner:
        raise SettingsError(f"session of {session.user!r}: {reader.owner!r} shares items of sessions of their own")
    known = _item(session, item)
    branch = f" (branch {session.branch})" if session.branch else ""
    memory = Memory(
        text=_digest(session, known), kind=as_, key=key or f"{reader.owner}/{session.name} #{known.id}",
        source=f"{source_of(known)}{branch}", session=session.name, item=known.id,
    )  # fmt: skip
    if as_ == RAW:
        _check_stored(session, known, memory, reader, store)
    return memory


def _item(session: Session, item: int | str) -> Item:
    """`12`, `"12"` or `"#12"`: a model writes any of them."""
    text = str(item).strip().removeprefix("#")
    known = session.engine.log.item_at(int(text)) if text.isascii() and text.isdigit() and len(text) < 10 else None
    if known is None or known.turn >= session.engine.log.settled:
        raise RecallError(f"no item #{text[:40]} in session {session.name!r}")
    return known


def _digest(session: Session, item: Item) -> str:
    job = session.engine.planner.digests.job(item, DIGEST_CHARS)
    said = job.text.strip()
    body = said if len(said) <= DIGEST_CHARS else job.make().text
    return f"{source_of(item)}\n{body}" if item.name else body or item.title


def _check_stored(session: Session, item: Item, memory: Memory, reader: Reader, store: Store) -> None:
    how = "open the session with store= of this pool's store"
    if session.name not in store.sessions(reader.owner):
        raise SettingsError(f"session {session.name!r} is not in this pool's store, so nobody could open it: {how}")
    # Secrets may be redacted in the store: then the bytes differ, the item does not.
    kept = replace(memory, owner=reader.owner, id="(new)")
    live = recall(session.engine.log, f"#{item.id}").text
    if not originals.original(store, kept) and live:
        raise SettingsError(f"item #{item.id} of session {session.name!r} is not in this pool's store: {how}")
