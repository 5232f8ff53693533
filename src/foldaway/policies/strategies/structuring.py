"""Structuring: a table in the fold note of what was read, edited and run, instead of a line for each time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from foldaway.engine.snapshot import Snapshot
from foldaway.linking.kinds import one_line
from foldaway.model.items import Item, Kind
from foldaway.model.plan import Section
from foldaway.policies.strategies._base import Allotment

TITLE = "files and runs so far"
STEPS_BACK = 400
"""The table tells of so many last steps: what it costs to make must not grow with the session."""
MOST_IDS = 3
"""Of each kind of touch the newest ids."""
NAME_CHARS = 100
HEAD_TOKENS = 8


@dataclass(slots=True)
class _Row:
    """One file, or one command."""

    reads: list[int] = field(default_factory=list)
    edits: list[int] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)

    @property
    def newest(self) -> int:
        return max((*self.reads, *self.edits, *self.failures, *self.runs))

    def text(self, name: str) -> str:
        parts = (("read", self.reads), ("edited", self.edits), ("failed", self.failures), ("ran", self.runs))
        told = [f"{what} {', '.join(f'#{i}' for i in ids[-MOST_IDS:])}" for what, ids in parts if ids]
        return f"{name}: {'; '.join(told)}"


@dataclass(frozen=True, slots=True)
class Structuring:
    """Rows by what was touched last; ids lead to the item in the window or in the log."""

    most_rows: int = 24

    def propose(self, snapshot: Snapshot, share: Allotment) -> Iterator[Section]:
        rows = self._rows(snapshot)
        names = sorted(rows, key=lambda name: (-rows[name].newest, name))[: self.most_rows]
        chosen: list[tuple[str, _Row]] = []
        if not share.charge(HEAD_TOKENS):
            names = []
        for name in names:
            if not share.charge(snapshot.count(rows[name].text(name)) + 1):
                break
            chosen.append((name, rows[name]))
        sources = {i for _, row in chosen for i in (*row.reads, *row.edits, *row.failures, *row.runs)}
        if chosen:
            text = "\n".join(row.text(name) for name, row in chosen)
            yield Section(title=TITLE, text=text, sources=tuple(sorted(sources)))

    def _rows(self, snapshot: Snapshot) -> dict[str, _Row]:
        rows: dict[str, _Row] = {}
        for item in reversed(snapshot.recent_items(STEPS_BACK)):
            if item.id < 0:
                continue
            for name in self._names(item):
                row = rows.setdefault(name, _Row())
                match item.kind:
                    case Kind.READ:
                        row.reads.append(item.id)
                    case Kind.EDIT:
                        row.edits.append(item.id)
                    case Kind.ERROR:
                        row.failures.append(item.id)
                    case _:
                        row.runs.append(item.id)
        return rows

    def _names(self, item: Item) -> tuple[str, ...]:
        """Files that an item is about; a command by its title. What only looks around has no row."""
        if item.targets:
            return item.targets
        if item.kind in (Kind.COMMAND, Kind.ERROR):
            return (one_line(item.title, NAME_CHARS),)
        return ()
