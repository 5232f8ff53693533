"""The commands about shared pools, and their options."""

from __future__ import annotations

from typing import Annotated

import typer

pool = typer.Typer(
    help="Look after pools that agents share: who is in them.", no_args_is_help=True, rich_markup_mode=None
)

Url = Annotated[str, typer.Option("--store", help="The store: sqlite:///PATH or postgresql://...")]
User = Annotated[str, typer.Option(help="Who asks; only owners of a pool change it.")]
Name = Annotated[str, typer.Argument(metavar="POOL", help="Name of the pool.")]
Members = Annotated[
    list[str], typer.Argument(metavar="MEMBER...", help="Agents by name, group:NAME, or public (everybody).")
]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout instead of text.")]


@pool.command(name="list")
def list_(store: Url, user: User = "default", json: Json = False) -> None:
    """The pools that a user is in."""
    from foldaway.cli import pooling

    pooling.listed(store, user, as_json=json)


@pool.command()
def create(name: Name, store: Url, user: User = "default") -> None:
    """A new pool, which this user owns."""
    from foldaway.cli import pooling

    pooling.create(store, user, name)


@pool.command()
def members(name: Name, store: Url, user: User = "default", json: Json = False) -> None:
    """Who is in a pool, and as what. Exit code 1 for who is no member."""
    from foldaway.cli import pooling

    raise typer.Exit(pooling.members(store, user, name, as_json=json))


@pool.command()
def grant(
    name: Name,
    members: Members,
    store: Url,
    user: User = "default",
    role: Annotated[str, typer.Option(help="reader, writer (shares and corrects too) or owner.")] = "reader",
) -> None:
    """Let agents into a pool, or change what they may do there."""
    from foldaway.cli import pooling

    pooling.grant(store, user, name, members, role)


@pool.command()
def revoke(name: Name, members: Members, store: Url, user: User = "default") -> None:
    """Put agents out of a pool: they see nothing there any more but words of their own."""
    from foldaway.cli import pooling

    pooling.revoke(store, user, name, members)


@pool.command()
def drop(name: Name, store: Url, user: User = "default", json: Json = False) -> None:
    """Delete a pool with all that anybody has in it, for good."""
    from foldaway.cli import pooling

    pooling.drop(store, user, name, as_json=json)
