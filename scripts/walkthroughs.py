"""Write the tables of docs/walkthroughs.md anew: `python scripts/walkthroughs.py`. A test keeps them true."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from foldaway.cli.deciding import decisions, table, totals
from foldaway.cli.inspecting import at_call
from foldaway.readers import read_sessions

PAGE = Path(__file__).parents[1] / "docs" / "walkthroughs.md"
SESSION = "claude-code-context-evaluator.jsonl.gz"
BUDGET = 24_000
BLOCK = re.compile(r"(<!-- ledger: ([a-z-]+) -->\n```text\n).*?(\n```)", re.DOTALL)


def ledger_of(policy: str) -> str:
    """What `foldaway ledger` prints for the session of the page."""
    recorded = next(iter(read_sessions(str(files("foldaway.data") / "sessions" / SESSION))))
    rows = decisions(at_call(recorded, None, budget=BUDGET, policy=policy).session.ledger)
    return "\n".join((table(rows), "", *totals(rows)))


def renewed(page: str) -> str:
    """The page with its tables as they are now."""
    return BLOCK.sub(lambda found: found.group(1) + ledger_of(found.group(2)) + found.group(3), page)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
