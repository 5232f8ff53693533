"""`foldaway lab digests`: what digests of tool results keep, beside other ways of making them short."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from foldaway.cli.labbing import gather
from foldaway.cli.output import say, show, show_json
from foldaway.errors import ReadError, SettingsError
from foldaway.lab.digest_arms import PEERS, installed
from foldaway.lab.digest_table import digest_rows, digest_table
from foldaway.lab.digests import SHARES, measure, samples
from foldaway.lab.runner import progress_on_stderr


def digests(
    more: Annotated[list[str] | None, typer.Argument(metavar="PATH...", help="More recorded sessions.")] = None,
    sessions: Annotated[
        list[str] | None, typer.Option(metavar="PATH...", help="Recorded sessions: files, or folders with all below.")
    ] = None,
    share: Annotated[float, typer.Option(help="Of a result's tokens: classes are compared at this share.")] = 0.25,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder for digests.txt and digests.json.")
    ] = None,
    bundled: Annotated[bool, typer.Option("--bundled", help="The recorded sessions that come with foldaway.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout instead of text.")] = False,
) -> None:
    """Measure what digests of tool results keep of what later steps needed.

    For each class of content, at the same tokens: digests, head and tail, plain extraction, and other libraries where
    they are installed. Every digest is checked for literals that its source does not hold.
    """
    raise typer.Exit(_run([*(sessions or []), *(more or [])], share, output, bundled=bundled, as_json=as_json))


def _run(paths: Sequence[str], share: float, output: Path | None, *, bundled: bool, as_json: bool) -> int:
    if not 0.0 < share < 1.0:
        raise SettingsError(f"--share {share:g}: expected a number above 0 and below 1")
    found = samples(gather(paths, bundled=bundled, chained=()))
    if not found:
        raise ReadError("no result is long enough to be measured", file=", ".join(paths[:3]) or "the bundled sessions")
    peers = [peer for peer in PEERS if installed(peer)]
    if missing := [peer for peer in PEERS if peer not in peers]:
        say(f"not installed and left out: {', '.join(missing)}")
    report = measure(found, shares=SHARES, share=share, peers=peers, progress=progress_on_stderr)
    table, rows = digest_table(report), digest_rows(report)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        (output / "digests.txt").write_text(table + "\n", "utf-8")
        (output / "digests.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    if as_json:
        show_json(rows)
    else:
        show(table)
    return int(bool(report.checks.made_up))
