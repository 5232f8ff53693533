"""The commands and their options. Everything else is imported when a command runs: `--help` starts at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldaway.cli import report

EPILOG = "Exit codes: 0 done; 1 something failed on the way; 2 bad usage or unusable input. Data on stdout, talk on stderr."
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}

app = typer.Typer(
    name="foldaway",
    help="Manage the context window of long-running agents: fold away by structure, recall byte for byte.",
    epilog=EPILOG,
    context_settings=SETTINGS,
    rich_markup_mode=None,
    add_completion=False,
)

Json = Annotated[bool, typer.Option("--json", help="JSON on stdout instead of text.")]
Model = Annotated[str, typer.Option(help="Model to count tokens for; its known window is a ceiling.")]
Policy = Annotated[str, typer.Option(help="Policy by name; `foldaway policies` lists them.")]
Budget = Annotated[int, typer.Option(min=1, help="Most tokens of a request, system prompt and tools included.")]
Call = Annotated[int | None, typer.Option(help="Call to stop at, from 0; without it, the end of the session.")]
SessionName = Annotated[str, typer.Option("--session", help="Which session of the file or store.")]
Store = Annotated[str, typer.Option(help="A store to look in instead of a file: sqlite:///PATH.")]
User = Annotated[str, typer.Option(help="Whose session in the store.")]
Joined = Annotated[bool, typer.Option("--joined", help="All sessions of a file as one, one after the other.")]
LowShare = Annotated[float, typer.Option(help="A commit frees down to this share of the room above what is pinned.")]
HighShare = Annotated[float, typer.Option(help="A commit starts at this share of that room.")]


def command(name: str) -> typer.models.CommandFunctionType:  # type: ignore[type-var]
    raise NotImplementedError


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        report.version()
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
