"""The commands about stores, and their options."""

from __future__ import annotations

from typing import Annotated

import typer

store = typer.Typer(help="Look at a store, and tidy it up.", no_args_is_help=True, rich_markup_mode=None)

Url = Annotated[str, typer.Argument(metavar="URL", help="sqlite:///PATH or postgresql://...")]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout instead of text.")]


@store.command()
def stats(url: Url, json: Json = False) -> None:
    """How much a store holds: users, sessions, records, notes, memories; bytes as they came in and as they are kept."""
    from foldaway.cli import storing

    storing.stats(url, as_json=json)


@store.command()
def expire(
    url: Url,
    now: Annotated[str, typer.Option(help="Delete what has expired by then; ISO 8601. Default: now.")] = "",
    json: Json = False,
) -> None:
    """Delete memories that have expired for good, with their traces in indexes."""
    from foldaway.cli import storing

    storing.expire(url, now, as_json=json)


@store.command()
def delete(
    url: Url,
    session: Annotated[list[str], typer.Option(help="A session of that user; again for several.")],
    user: Annotated[str, typer.Option(help="Whose sessions.")] = "default",
    memories: Annotated[
        bool, typer.Option("--memories", help="Also the memories, in pools too, that were made from them.")
    ] = False,
    json: Json = False,
) -> None:
    """Delete sessions for good: log, ledger, notes, and their traces in indexes. Memories outlive them otherwise."""
    from foldaway.cli import storing

    storing.delete(url, user, session, memories=memories, as_json=json)


@store.command()
def key(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where keys are kept; for its owner's eyes only.")],
    rotate: Annotated[
        bool, typer.Option("--rotate", help="A new key in front of those in the file, which go on opening.")
    ] = False,
) -> None:
    """Make a key for secrets that are to be stored encrypted (`redact="encrypt"`, `foldaway serve --encrypt`).

    Keep a copy of the file apart from the store: without it those secrets are gone. No key is ever printed.
    """
    from foldaway.cli import storing

    storing.key(file, rotate=rotate)


def move(
    source: Annotated[str, typer.Option("--from", help="The store to move from: sqlite:///PATH or postgresql://...")],
    target: Annotated[str, typer.Option("--to", help="The store to move to; a file is made when it is not there.")],
    user: Annotated[str, typer.Option(help="Whose sessions and memories.")] = "default",
    session: Annotated[list[str] | None, typer.Option(help="A session of that user; again for several.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All sessions of that user, and their memories.")] = False,
    everybody: Annotated[bool, typer.Option("--everybody", help="Likewise, of every user.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Then delete them at the source, once compared.")] = False,
    keys: Annotated[
        str, typer.Option(help="File of keys: encrypted secrets are opened, and encrypted anew with its first key.")
    ] = "",
    json: Json = False,
) -> None:
    """Copy sessions (branches, ledger, notes) and memories into another store, and compare the copies.

    One of --session, --all and --everybody is needed. Again after a failure: what is there already is left as it is.
    Handles of notes and ids of memories stay; vectors do not come along, they are computed anew.
    """
    from foldaway.cli import storing

    storing.move(
        source, target, user=user, sessions=session or [], everything=everything, everybody=everybody, delete=delete,
        keys=keys, as_json=json,
    )  # fmt: skip
