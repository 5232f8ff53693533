"""The working set: text that the next edits must repeat word for word.

Agents edit a file several times in a row, and an edit names the old lines exactly. So the reads of a file that was
edited in the last steps are worth their room; of a large file, the part around the last edit and below it.
"""

from __future__ import annotations

from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Item, Kind

STEPS = 4
"""A file belongs to the working set when an action of this many last steps edited it."""
MIN_LINE_CHARS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A read to keep or bring back: whole, or some lines of it."""

    item: Item
    lines: tuple[int, int] | None
    """0-based, half open; None: the whole result."""
    tokens: int

    @property
    def reference(self) -> str:
        """How to recall it: `12` or `12:41-80`."""
        return f"{self.item.id}" if self.lines is None else f"{self.item.id}:{self.lines[0] + 1}-{self.lines[1]}"


def working_set(snapshot: Snapshot, room: int, *, steps: int = STEPS, missing: bool = False) -> list[Wanted]:
    """Reads of the files under edit, most urgent first, within `room` tokens.

    With `missing` only those out of sight.
    """
    chosen: list[Wanted] = []
    seen: set[int] = set()
    edits = [i for i in snapshot.recent_items(steps) if i.kind in (Kind.EDIT, Kind.ERROR) and i.targets]
    for edit in edits:
        for target in edit.targets:
            for read in reversed(snapshot.readers_of(target)):
                if read.id in seen or read.turn >= edit.turn or (missing and snapshot.in_sight(read.id)):
                    continue
                seen.add(read.id)
                wanted = _part(snapshot, read, edit, room)
                if wanted is not None:
                    chosen.append(wanted)
                    room -= wanted.tokens
    return chosen


def _part(snapshot: Snapshot, read: Item, edit: Item, room: int) -> Wanted | None:
    """The whole read when it fits; else the stretch around where the edit's own lines stand in it."""
    if room < 200:
        return None
    lines = snapshot.result(read).split("\n")
    action = snapshot.action(edit)
    marks = {line.strip() for line in action.replace("\\n", "\n").split("\n") if len(line.strip()) >= MIN_LINE_CHARS}
    hits = [n for n, line in enumerate(lines) if _bare(line) in marks]
    if read.tokens <= room:
        return Wanted(item=read, lines=None, tokens=read.tokens)
    if not hits:
        return None
    fit = max(8, int(len(lines) * room * 0.9 / max(1, read.tokens)))
    first = max(0, hits[0] - fit // 4)
    last = min(len(lines), first + fit)
    return Wanted(item=read, lines=(first, last), tokens=int(read.tokens * (last - first) / max(1, len(lines))) + 40)


def _bare(line: str) -> str:
    """A line without the number that readers put in front (`12→code`, `12\tcode`, `  12: code`)."""
    head, mark, rest = line.partition("→")
    if not mark:
        head, mark, rest = line.partition("\t")
    if not mark:
        head, mark, rest = line.partition(":")
    return (rest if mark and head.strip().isdigit() else line).strip()
