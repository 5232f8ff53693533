"""The ledger as JSON: each decision is one entry; the state follows from the entries in order."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from foldaway.engine.window import Note, Shown
from foldaway.model.items import Level
from foldaway.model.plan import Commit


def commit_entry(commit: Commit, shown: Shown) -> dict[str, Any]:
    """A commit with all that is needed to show the same bytes again: levels and texts that changed, lines, note."""
    changed = [c.item for c in commit.changes]
    note = shown.note
    return {
        "type": "commit",
        **{k: v for k, v in asdict(commit).items() if k not in ("texts", "notes", "changes", "refused")},
        "changes": [
            [c.item, int(c.before), int(c.after), c.reason, c.tokens_before, c.tokens_after, c.action.value]
            for c in commit.changes
        ],
        "refused": [[r.item, int(r.level), r.code, r.why] for r in commit.refused],
        "levels": {str(i): int(shown.level(i)) for i in changed},
        "texts": {str(i): shown.texts[i] for i in changed if i in shown.texts},
        "lines": {str(i): line for i, line in sorted(shown.lines.items())},
        "stages": {str(i): text for i, text in sorted(shown.stages.items())},
        "sections": list(shown.sections.items()),
        "mention": shown.mention,
        "note": None if note is None else asdict(note),
    }


def apply_commit(shown: Shown, entry: dict[str, Any]) -> None:
    """Bring the state from before a commit to after it."""
    for key, value in entry["levels"].items():
        item = int(key)
        shown.texts.pop(item, None)
        if Level(value) is Level.RAW:
            shown.levels.pop(item, None)
        else:
            shown.levels[item] = Level(value)
    for key, text in entry["texts"].items():
        shown.texts[int(key)] = text
    shown.lines = {int(k): v for k, v in entry["lines"].items()}
    # Ledgers of the first release knew no stages and no sections.
    shown.stages = {int(k): v for k, v in entry.get("stages", {}).items()}
    shown.sections = dict(entry.get("sections", ()))
    shown.mention = entry["mention"]
    note = entry["note"]
    shown.note = None if note is None else Note(**{**note, "covers": tuple(tuple(r) for r in note["covers"])})


def dumps(entry: dict[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=True, separators=(",", ":"))


def loads(text: str) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(text)
    return entry
