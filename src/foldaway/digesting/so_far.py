"""What was folded away so far, told by a running digest: from the commits of a ledger to a section of the fold note.

Each commit's items are one update. They are looked up by the session's own thread and read by the worker's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from foldaway.digesting.incremental import Running, RunningDigest
from foldaway.engine.digests import Job
from foldaway.linking.kinds import one_line
from foldaway.model.items import Kind, Level
from foldaway.session import Session

TITLE = "so far"
"""Of the section."""
ITEM_CHARS = 1_200
"""Of one item an update reads so much; of a longer one its digest by rule."""
MOST_ITEMS = 200
"""Items of one update, the newest; of a session that is opened again more may wait."""
MOST_SOURCES = 100
"""The section names the newest so many items it was made from."""
UNTOLD = frozenset({Kind.REASONING, Kind.RECALLED, Kind.ATTACHMENT, Kind.INSTRUCTION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """A folded item as an update is told of it."""

    item: int
    title: str
    job: Job

    def text(self) -> str:
        """Linear in the item's text."""
        said = self.job.text.strip()
        body = said if len(said) <= ITEM_CHARS else self.job.make().text
        return f"#{self.item} {self.title}\n{body}".strip()


@dataclass(slots=True)
class SoFar:
    """What is kept of one session."""

    entries: int = 0
    """Entries of the ledger that were looked at."""
    waiting: dict[int, None] = field(default_factory=dict)
    """Items folded since the last update, in order."""
    items: tuple[int, ...] = ()
    """Items that the digest was made from."""
    running: Running = field(default_factory=Running)
    busy: bool = False
    done: list[tuple[Running, tuple[int, ...]]] = field(default_factory=list)
    """Made by the worker, to be handed in."""

    def look(self, session: Session) -> bool:
        """Take note of what was folded since the last look; False when the client went back behind what was told."""
        entries = session.engine.entries
        fresh = entries[self.entries :]
        if len(entries) < self.entries or (self.entries and any(entry["type"] == "branch" for entry in fresh)):
            return False
        self.entries = len(entries)
        for entry in fresh:
            for item, before, after, *_ in entry["changes"] if entry["type"] == "commit" else ():
                if after <= Level.STUB < before and item > 0:
                    self.waiting[item] = None
        return True

    def take(self, session: Session) -> list[Folded]:
        """The items of the next update. O(their texts), which are not read."""
        log, digests = session.engine.log, session.engine.planner.digests
        known = set(self.items)
        items = [item for item in self.waiting if item not in known and log.items[item].kind not in UNTOLD]
        self.waiting.clear()
        return [
            Folded(
                item=item, title=one_line(log.items[item].title, 120) if log.items[item].name else "",
                job=digests.job(log.items[item], ITEM_CHARS),
            )
            for item in items[-MOST_ITEMS:]
        ]  # fmt: skip

    def update(self, digest: RunningDigest, folded: Sequence[Folded]) -> None:
        """Have the digest take these in. Takes as long as the model does: from the worker's thread."""
        try:
            new = "\n\n".join(one.text() for one in folded)
            self.done.append((digest.update(self.running, new), tuple(one.item for one in folded)))
        finally:
            self.busy = False
