"""The commands about memories, and their options."""

from __future__ import annotations

from typing import Annotated

import typer

memory = typer.Typer(
    help="Look after what sessions left behind: long-term memories of one user, in a store.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Url = Annotated[str, typer.Option("--store", help="The store: sqlite:///PATH or postgresql://...")]
User = Annotated[str, typer.Option(help="Whose memories.")]
Kind = Annotated[
    list[str] | None, typer.Option(help="Only this kind (fact, preference, decision, pitfall ...); again for several.")
]
Session = Annotated[str, typer.Option(help="Only what this session left.")]
All = Annotated[bool, typer.Option("--all", help="Superseded ones too.")]
Limit = Annotated[int, typer.Option(min=1, help="At most so many.")]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout instead of text.")]


@memory.command()
def learn(
    store: Url,
    session: Annotated[str, typer.Option(help="A session of this user in the store.")],
    user: User = "default",
    task: Annotated[str, typer.Option(help="Name of the task, to filter by later.")] = "",
    at: Annotated[str, typer.Option(help="When that was, ISO 8601; default: now.")] = "",
    json: Json = False,
) -> None:
    """Distil a stored session into memories: facts, preferences, constraints, decisions, pitfalls, a digest."""
    from foldaway.cli import remembering

    remembering.learn(store, user, session, task, at, as_json=json)


@memory.command(name="list")
def list_(
    store: Url,
    user: User = "default",
    kind: Kind = None,
    session: Session = "",
    all: All = False,
    limit: Limit = 50,
    json: Json = False,
) -> None:
    """The memories of a user, newest first."""
    from foldaway.cli import remembering

    remembering.listed(store, user, kind or [], session, everything=all, limit=limit, as_json=json)


@memory.command()
def search(
    query: Annotated[str, typer.Argument(help="Words, ids, paths.")],
    store: Url,
    user: User = "default",
    kind: Kind = None,
    session: Session = "",
    all: All = False,
    limit: Limit = 8,
    json: Json = False,
) -> None:
    """The memories that fit some words, best first, by words and structure."""
    from foldaway.cli import remembering

    remembering.search(store, user, query, kind or [], session, everything=all, limit=limit, as_json=json)


@memory.command()
def original(
    id: Annotated[str, typer.Argument(metavar="ID", help="Of a memory, as `list` shows it.")],
    store: Url,
    user: User = "default",
) -> None:
    """What a memory was made from: the item of the stored session, byte for byte, on stdout."""
    from foldaway.cli import remembering

    remembering.original(store, user, id)


@memory.command()
def correct(
    id: Annotated[str, typer.Argument(metavar="ID", help="Of a memory, as `list` shows it.")],
    text: Annotated[str, typer.Argument(help="What holds instead.")],
    store: Url,
    user: User = "default",
    source: Annotated[str, typer.Option(help="Who or what says so.")] = "",
    json: Json = False,
) -> None:
    """Say what holds instead; the old memory is marked as superseded, and no later session brings it back."""
    from foldaway.cli import remembering

    remembering.correct(store, user, id, text, source, as_json=json)


@memory.command()
def forget(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Of memories, as `list` shows them.")],
    store: Url,
    user: User = "default",
    json: Json = False,
) -> None:
    """Delete memories for good, from indexes and vectors too. Exit code 1 where one of them is not there.

    What is left are tombstones without content: no session that is learned from later brings them back (see `forgotten`
    and `lift`). The log of the session they came from stays until that is deleted.
    """
    from foldaway.cli import remembering

    raise typer.Exit(remembering.forget(store, user, ids, as_json=json))


@memory.command()
def forgotten(store: Url, user: User = "default", json: Json = False) -> None:
    """When something was forgotten or expired, newest last; what it was is gone."""
    from foldaway.cli import remembering

    remembering.forgotten(store, user, as_json=json)


@memory.command()
def lift(
    store: Url,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="Of tombstones, as `learn` and `forgotten` name them.")
    ] = None,
    user: User = "default",
    all: Annotated[bool, typer.Option("--all", help="All of this user.")] = False,
    json: Json = False,
) -> None:
    """Let what was forgotten be learned again. Exit code 1 where one of them is not there."""
    from foldaway.cli import remembering

    raise typer.Exit(remembering.lift(store, user, ids or [], everything=all, as_json=json))
