"""`foldaway ledger`: every decision of a session, call by call, in a line or two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldaway.cli.output import clipped
from foldaway.model.items import Level
from foldaway.model.plan import Action, action_of

WHY_CHARS = 90
SHOWN_REASONS = 2
"""Of the reasons of a commit the commonest are told."""
_SILENT = frozenset({"usage", "branch", "declare"})


def decisions(ledger: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row for each decision, oldest first: the call it was made for, what was done, tokens, why."""
    return [
        {"call": entry["step"], "what": what, "before": before, "after": after, "why": why}
        for entry in ledger
        if entry["type"] not in _SILENT
        for what, before, after, why in (_told(entry),)
    ]


def table(rows: Sequence[Mapping[str, Any]], width: int = WHY_CHARS) -> str:
    """The rows as text. Empty when nothing was ever decided."""
    if not rows:
        return "nothing was decided: everything fits"
    cells = [["call", "decision", "tokens", "", "why"]]
    for row in rows:
        freed = f"{row['before']}" if row["before"] is not None else ""
        to = f"→ {row['after']}" if row["after"] is not None else ""
        cells.append([str(row["call"]), row["what"], freed, to, clipped(row["why"], width)])
    return _aligned(cells)


def _aligned(cells: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, numbers flush right, a rule under the head."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    places = (str.rjust, str.ljust, str.rjust, str.ljust, str.ljust)
    text = ["  ".join(p(c, w) for p, c, w in zip(places, row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join((text[0], "  ".join("-" * w for w in widths), *text[1:]))


def _told(entry: Mapping[str, Any]) -> tuple[str, int | None, int | None, str]:
    match entry["type"]:
        case "commit":
            return _commit(entry)
        case "inject":
            along = f" with {_ids(entry['along'])} that it rests on" if entry["along"] else ""
            return "recall into the view", None, None, f"{', '.join(map(str, entry['references']))}{along}"
        case "fault":
            return "fault", None, None, f"asked for {_ids(entry['items'])}; protected from now on"
        case "refetch":
            return "fetched again", None, None, f"#{entry['item']} repeats #{entry['earlier']}, which was folded"
        case "pin" | "unpin":
            return str(entry["type"]), None, None, f"#{entry['item']}"
        case "undo":
            return "undo", None, None, f"commit {entry['commit']}"
        case kind:
            return str(kind), None, None, str(entry.get("why") or entry.get("title") or entry.get("summary") or "")


def _commit(entry: Mapping[str, Any]) -> tuple[str, int | None, int | None, str]:
    # Ledgers of the first release keep no action: it follows from the level.
    actions = Counter(Action(row[6]) if len(row) > 6 else action_of(Level(row[2])) for row in entry["changes"])
    done = ", ".join(f"{action.value} {actions[action]}" for action in Action if actions[action])
    reasons = Counter(str(row[3]) for row in entry["changes"]).most_common(SHOWN_REASONS)
    why = "; ".join([entry["trigger"], *filter(None, [entry.get("remark", "")]), *(_reason(*r) for r in reasons)])
    refused = f"; {len(entry['refused'])} refused" if entry.get("refused") else ""
    return (
        f"commit {entry['number']}: {done or 'the note alone'}",
        entry["tokens_before"],
        entry["tokens_after"],
        why + refused,
    )


def _reason(reason: str, times: int) -> str:
    return f"{times} × {reason}"


def _ids(items: Sequence[int]) -> str:
    return ", ".join(f"#{item}" for item in items)


def totals(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The totals below the table."""
    commits = [r for r in rows if str(r["what"]).startswith("commit")]
    freed = sum(r["before"] - r["after"] for r in commits)
    recalls = sum(r["what"] == "recall into the view" for r in rows)
    again = sum(r["what"] == "fetched again" for r in rows)
    yield f"{len(commits)} commits freed {freed} tokens; {recalls} recalls; {again} times the agent fetched again"
