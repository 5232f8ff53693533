"""What the commands about stores do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from foldaway.cli.output import say, show, show_json
from foldaway.errors import SettingsError, StoreError
from foldaway.protocols import Memory, Reader, SessionKey, Store
from foldaway.settings.parts import ENCRYPT, make_guarded, make_store
from foldaway.stores.encryption import KEY_FILE_IN, KEYS_IN, Keys, new_key
from foldaway.stores.moving import Moved, move_memories, move_session

_LABELS = {
    "raw_bytes": "bytes as they came in",
    "kept_bytes": "bytes as kept",
    "total_bytes": "bytes with indexes",
}


@contextmanager
def opened(url: str, *, new: bool = False) -> Iterator[Store]:
    """The store at a URL; one in a file must be there, unless it may be made."""
    path = url.removeprefix("sqlite:///")
    if path != url and not new and not Path(path).is_file():
        raise StoreError(f"no store at {path}; name the file of a store")
    if url.startswith("memory"):
        raise SettingsError(f"store {url!r} lives in its process only; name one in a file or on a server")
    store = make_store(url)
    assert store is not None
    try:
        yield store
    finally:
        store.close()


def with_keys(store: Store) -> Store:
    """The store as it is read by who has the keys that the environment names, if it names any."""
    named = any(os.environ.get(name, "").strip() for name in (KEYS_IN, KEY_FILE_IN))
    return make_guarded(store, ENCRYPT) if named else store


def stats(url: str, *, as_json: bool) -> None:
    with opened(url) as store:
        found = asdict(store.stats())
    if as_json:
        show_json(found)
        return
    for name, number in found.items():
        show(f"{_LABELS.get(name, name):22} {number:>15,}")
    if found["raw_bytes"]:
        show(f"{'kept of what came in':22} {found['kept_bytes'] / found['raw_bytes']:>15.0%}")


def expire(url: str, now: str, *, as_json: bool) -> None:
    with opened(url) as store:
        gone = store.expire_memories(now or datetime.now(UTC).isoformat())
    if as_json:
        show_json({"deleted": gone})
    else:
        show(f"{gone} memories deleted")


def delete(url: str, user: str, names: Sequence[str], *, memories: bool, as_json: bool) -> None:
    """Raises StoreError, and deletes nothing, where one of the sessions is not there."""
    with opened(url) as store:
        known = store.sessions(user)
        for name in names:
            if name not in known:
                raise StoreError(f"no session {name!r} of user {user!r}; nothing was deleted")
        reader = Reader(owner=user)
        made = [each.id for each in _memories(store, reader) if each.session in names] if memories else []
        gone = store.forget_memories(reader, made) if made else 0
        for name in dict.fromkeys(names):
            store.delete(store.open(SessionKey(user=user, name=name)))
    if as_json:
        show_json({"sessions": len(set(names)), "memories": gone})
    else:
        show(f"{len(set(names))} sessions and {gone} memories deleted")


def _memories(store: Store, reader: Reader) -> Iterator[Memory]:
    last = ""
    while part := store.export_memories(reader, last):
        last = part[-1].id
        yield from part


def key(file: str, *, rotate: bool) -> None:
    """Raises SettingsError where a key would be lost, or there is none to put one in front of."""
    path = Path(file)
    before = ""
    if rotate:
        Keys.read(path)
        before = path.read_text(encoding="utf-8")
    fresh = f"{new_key()}\n"
    made = path.with_name(f"{path.name}.new") if rotate else path
    try:
        descriptor = os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as written:
            written.write(fresh + before)
        if rotate:
            made.replace(path)
    except FileExistsError:
        raise SettingsError(f"{made} is there already; --rotate puts a new key in front") from None
    except OSError as error:
        raise SettingsError(f"{made} cannot be written: {error.strerror}") from error
    names = Keys.read(path).names
    show(f"{path}: key {names[0]}" + (f", and to open what is there: {', '.join(names[1:])}" if rotate else ""))


def move(
    source: str,
    target: str,
    *,
    user: str,
    sessions: Sequence[str],
    everything: bool,
    everybody: bool,
    delete: bool,
    keys: str = "",
    as_json: bool,
) -> None:
    if bool(sessions) + everything + everybody != 1:
        raise SettingsError("say what to move: --session NAME, --all (of a user) or --everybody; one of them")
    if source == target:
        raise SettingsError("source and target are the same store; name another one")
    done: list[Moved] = []
    given = Keys.read(keys) if keys else False
    with opened(source) as from_here, opened(target, new=True) as to_there:
        here, there = make_guarded(from_here, given), make_guarded(to_there, given)
        for one in here.users() if everybody else [user]:
            names = list(sessions) or here.sessions(one)
            for name in names:
                done.append(move_session(here, there, SessionKey(user=one, name=name), delete=delete))
                _tell(done[-1], as_json)
            if not sessions:
                done.append(move_memories(here, there, one, delete=delete))
                _tell(done[-1], as_json)
    if not any(each.session or each.memories for each in done):
        raise StoreError(f"user {user!r} has nothing in {source}" if everything else f"nothing in {source}")
    if as_json:
        show_json([asdict(each) for each in done])


def _tell(moved: Moved, as_json: bool) -> None:
    then = "moved" if moved.deleted else "copied"
    if moved.session:
        what = f"session {moved.session!r} of {moved.user!r}: {moved.records} records, {moved.notes} notes {then}"
    else:
        what = f"memories of {moved.user!r}: {moved.memories} {then}"
    (say if as_json else show)(what)
