"""`python -m foldaway.testing.cases DIR [--json] [--only ID]`: a line a case and a total; exit code 1 on a failure."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from foldaway.testing.cases.driver import Foldaway
from foldaway.testing.cases.runner import TIME_LIMIT_SECONDS, Verdict, run_folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 all well, 1 a case failed, 2 there is nothing to run."""
    parser = argparse.ArgumentParser(prog="python -m foldaway.testing.cases", description="Run a folder of cases.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder with case files")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of lines")
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="run this case only (repeatable)")
    parser.add_argument("--limit", type=float, default=TIME_LIMIT_SECONDS, metavar="SECONDS", help="time for one case")
    chosen = parser.parse_args(arguments)
    # Reasons quote what was sent, which may hold anything.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")

    def show(verdict: Verdict) -> None:
        if not chosen.json:
            print(verdict.line(), flush=True)

    verdicts = run_folder(chosen.folder, Foldaway(), only=chosen.only, limit_seconds=chosen.limit, each=show)
    if not verdicts:
        print(f"no case files in {chosen.folder}", file=sys.stderr)
        return 2
    counts = Counter(verdict.status for verdict in verdicts)
    total = {status: counts[status] for status in ("passed", "failed", "not applicable")}
    if chosen.json:
        print(json.dumps({"cases": [asdict(verdict) for verdict in verdicts], "total": total}, indent=2))
    else:
        print(", ".join(f"{count} {status}" for status, count in total.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
