"""What the commands about pools do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from foldaway.cli.output import say, show, show_json
from foldaway.cli.storing import opened
from foldaway.protocols import Reader
from foldaway.remembering import Pool


@contextmanager
def _pool(url: str, user: str, name: str) -> Iterator[Pool]:
    with opened(url) as store:
        yield Pool(store, name, Reader(owner=user))


def listed(url: str, user: str, *, as_json: bool) -> None:
    with opened(url) as store:
        found = store.pools(Reader(owner=user))
    if as_json:
        show_json(found)
        return
    for name in found:
        show(name)
    if not found:
        say(f"{user!r} is in no pool")


def create(url: str, user: str, name: str) -> None:
    with _pool(url, user, name) as pool:
        pool.create()
    say(f"pool {name!r} made; {user!r} owns it")


def members(url: str, user: str, name: str, *, as_json: bool) -> int:
    with _pool(url, user, name) as pool:
        found = pool.members()
    if as_json:
        show_json(found)
    else:
        for member, role in found.items():
            show(f"{role:8} {member}")
    if not found:
        say(f"{user!r} is in no pool {name!r}")
    return int(not found)


def grant(url: str, user: str, name: str, given: Sequence[str], role: str) -> None:
    with _pool(url, user, name) as pool:
        for member in given:
            pool.grant(member, role)
    say(f"pool {name!r}: {', '.join(given)} {'is' if len(given) == 1 else 'are'} {role} now")


def revoke(url: str, user: str, name: str, given: Sequence[str]) -> None:
    with _pool(url, user, name) as pool:
        for member in given:
            pool.revoke(member)
    say(f"pool {name!r}: {', '.join(given)} out")


def drop(url: str, user: str, name: str, *, as_json: bool) -> None:
    with _pool(url, user, name) as pool:
        gone = pool.drop()
    if as_json:
        show_json({"deleted": gone})
    else:
        show(f"pool {name!r} deleted, with {gone} memories")
