"""`foldaway lab digests`: what digests of tool results keep, beside other ways of making them short."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from foldaway.cli.labbing import gather
from foldaway.cli.output import say, show, show_json
from foldaway.errors import ReadError, SettingsError
from foldaway.lab.digest_arms import PEERS, installed
from foldaway.lab.digest_table import digest_rows, digest_table, speed_table
from foldaway.lab.digests import SHARES, Sample, measure, samples, speeds_of
from foldaway.lab.runner import progress_on_stderr


def run(paths: Sequence[str], share: float, output: Path | None, *, bundled: bool, as_json: bool) -> int:
    """Measure, show and keep; 1 where a digest held what its source does not.

    Raises SettingsError for a share out of range, ReadError where no result is long enough.
    """
    if not 0.0 < share < 1.0:
        raise SettingsError(f"--share {share:g}: expected a number above 0 and below 1")
    found = _samples(paths, bundled=bundled, labelled=True)
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


def run_speed(paths: Sequence[str], output: Path | None, *, bundled: bool, as_json: bool) -> int:
    """Measure and show how fast digests are made, class by class. Raises ReadError where no result is long enough."""
    speeds = speeds_of(_samples(paths, bundled=bundled, labelled=False))
    table, rows = speed_table(speeds), [asdict(speed) for speed in speeds]
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        (output / "speeds.txt").write_text(table + "\n", "utf-8")
        (output / "speeds.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    if as_json:
        show_json(rows)
    else:
        show(table)
    return 0


def _samples(paths: Sequence[str], *, bundled: bool, labelled: bool) -> list[Sample]:
    found = samples(gather(paths, bundled=bundled, chained=()), labelled=labelled)
    if not found:
        raise ReadError("no result is long enough to be measured", file=", ".join(paths[:3]) or "the bundled sessions")
    return found
