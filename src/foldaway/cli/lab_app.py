"""The commands below `foldaway lab` and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

lab = typer.Typer(
    help="Measure policies over whole curves on recorded sessions, with a report.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="JSON on stdout instead of text.")]


@lab.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@lab.command()
def run(
    more: Annotated[list[str] | None, typer.Argument(metavar="PATH...", help="More recorded sessions.")] = None,
    sessions: Annotated[
        list[str] | None, typer.Option(metavar="PATH...", help="Recorded sessions: files, or folders with all below.")
    ] = None,
    policies: Annotated[
        str, typer.Option(help="Policies separated by commas; full sends everything; or all.")
    ] = "auto,window,mask-old,clear-tools,lru,relevance,near-tail,cwl",
    budgets: Annotated[str, typer.Option(help="Tokens, separated by commas.")] = "8k,12k,16k,24k,32k,48k,64k",
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder of report and data; finished runs are kept there.")
    ] = Path("report"),
    workers: Annotated[
        str, typer.Option(help="Processes; or ray (this machine), or ray://HOST:PORT (a cluster).")
    ] = "1",
    chain: Annotated[
        str, typer.Option(help="Formats of which a file's sessions are joined to one working day; or none.")
    ] = "tau-bench,tau2-bench,livemcpbench",
    model: Annotated[str, typer.Option(help="Model to count tokens for; else the one that was recorded.")] = "",
    low_share: Annotated[float, typer.Option(help="A commit frees down to this share of the room.")] = 0.5,
    high_share: Annotated[float, typer.Option(help="A commit starts at this share of that room.")] = 1.0,
    read_price: Annotated[float, typer.Option(min=0, help="Cached prompt token, as the engine weighs it.")] = 0.1,
    write_price: Annotated[float, typer.Option(min=0, help="Prompt token that is not cached, likewise.")] = 1.25,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 20261130,
    bundled: Annotated[bool, typer.Option("--bundled", help="The recorded sessions that come with foldaway.")] = False,
    json: Json = False,
) -> None:
    """Replay sessions under policies and budgets, and write one HTML report with its data.

    Started again, it goes on where it was broken off: finished runs are kept by content. The same sessions, settings
    and release give the same numbers to the last digit; only the times of calls differ.
    """
    from foldaway.cli import labbing

    wanted = labbing.Wanted(
        paths=[*(sessions or []), *(more or [])], bundled=bundled, chain=chain, policies=policies, budgets=budgets,
        output=output, workers=workers, model=model, shares=(low_share, high_share), prices=(read_price, write_price),
        seed=seed,
    )  # fmt: skip
    raise typer.Exit(labbing.run(wanted, as_json=json))


@lab.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `lab run` wrote.")],
    json: Json = False,
) -> None:
    """Draw the report of an experiment anew from its rows, without running anything."""
    from foldaway.cli import labbing

    raise typer.Exit(labbing.report(folder, as_json=json))
