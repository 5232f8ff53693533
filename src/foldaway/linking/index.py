"""Where each anchor occurred and who used it: the index behind links, stubs and predicted need.

Grows with what is new; nothing here is ever rescanned. Old, unused anchors are retired so that a decision looks at
a bounded number of candidates however long the session is; a retired anchor comes back with its next mention.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from foldaway.linking.anchors import AnchorKind

ACTIVE_USED = 2_000
ACTIVE_SEEN = 3_000
"""How many anchors stay candidates for a stub: those the agent used, and those it only saw, newest mention first."""
SUPPLIERS = 4
RECENT_ITEMS = 8
"""How many of the newest items that hold an anchor are remembered, besides the first."""


@dataclass(slots=True)
class Anchor:
    """One literal and its history. Changed only by `AnchorIndex`."""

    literal: str
    kind: AnchorKind
    first_item: int
    first_step: int
    by_agent: bool
    """First written by the agent itself, not supplied by an observation."""
    seen: int = 0
    """Observations that held it."""
    used: int = 0
    """Actions of the agent that held it."""
    said: int = 0
    """User and instruction texts that held it."""
    said_item: int = 0
    """The newest of those; 0 when there is none."""
    last_seen_step: int = -1
    last_used_step: int = -1
    first_used_step: int = -1
    suppliers: list[int] = field(default_factory=list)
    """Observations that held it: the first and the newest few, ascending."""
    items: list[int] = field(default_factory=list)
    """The newest items that hold it, ascending."""
    position: float = 0.0
    """Where in its first item it stood, 0 (top) .. 1 (end)."""
    company: int = 1
    """How many anchors its first item held."""
    tokens: int = 0
    """Cost of writing it into a stub; 0 until counted."""


class AnchorIndex:
    """All anchors of one branch of a session."""

    def __init__(self) -> None:
        self._anchors: dict[str, Anchor] = {}
        self._by_item: dict[int, tuple[str, ...]] = {}
        self._used: OrderedDict[str, Anchor] = OrderedDict()
        self._seen: OrderedDict[str, Anchor] = OrderedDict()
        self._item_used: dict[int, int] = {}
        self._folder_used: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._anchors)

    def get(self, literal: str) -> Anchor | None:
        return self._anchors.get(literal)

    def of_item(self, item: int) -> tuple[str, ...]:
        """Anchors that occur in an item, in order of occurrence."""
        return self._by_item.get(item, ())

    def active(self) -> Iterator[Anchor]:
        """Candidates for stubs, at most `ACTIVE_USED + ACTIVE_SEEN`: the newest mentioned of each sort."""
        yield from self._used.values()
        yield from self._seen.values()

    def item_used_step(self, item: int) -> int:
        """The newest step whose action used an anchor that this item held; -1 when none did."""
        return self._item_used.get(item, -1)

    def folder_used_step(self, literal: str) -> int:
        """The newest step whose action named something in the same folder as this path; -1 when none did."""
        folder, slash, _ = literal.rpartition("/")
        return self._folder_used.get(folder, -1) if slash else -1

    def observe(self, item: int, step: int, found: Mapping[str, AnchorKind]) -> None:
        """An observation (result, environment text) holds these."""
        count = len(found)
        for rank, (literal, kind) in enumerate(found.items()):
            anchor = self._touch(literal, kind, item, step, by_agent=False, position=rank / count, company=count)
            anchor.seen += 1
            anchor.last_seen_step = step
            if len(anchor.suppliers) >= SUPPLIERS:
                del anchor.suppliers[1]
            anchor.suppliers.append(item)
            if anchor.used:
                _newest(self._used, literal, anchor, ACTIVE_USED)
            else:
                _newest(self._seen, literal, anchor, ACTIVE_SEEN)
        self._remember(item, found)

    def use(self, item: int, step: int, found: Mapping[str, AnchorKind]) -> None:
        """An action or text of the agent holds these."""
        for literal, kind in found.items():
            anchor = self._touch(literal, kind, item, step, by_agent=True, position=0.0, company=len(found))
            anchor.used += 1
            anchor.last_used_step = step
            if anchor.first_used_step < 0:
                anchor.first_used_step = step
            for holder in (*anchor.items, anchor.first_item):
                self._item_used[holder] = step
            folder, slash, _ = literal.rpartition("/")
            if slash:
                self._folder_used[folder] = step
            self._seen.pop(literal, None)
            _newest(self._used, literal, anchor, ACTIVE_USED)
        self._remember(item, found)

    def say(self, item: int, step: int, found: Mapping[str, AnchorKind]) -> None:
        """A user's or the system's text holds these."""
        for literal, kind in found.items():
            anchor = self._touch(literal, kind, item, step, by_agent=False, position=0.0, company=len(found))
            anchor.said += 1
            anchor.said_item = item
            if not anchor.used and not anchor.seen:
                _newest(self._seen, literal, anchor, ACTIVE_SEEN)
        self._remember(item, found)

    def known(self, literals: Iterable[str]) -> list[Anchor]:
        return [a for literal in literals if (a := self._anchors.get(literal)) is not None]

    def _touch(
        self, literal: str, kind: AnchorKind, item: int, step: int, *, by_agent: bool, position: float, company: int
    ) -> Anchor:
        anchor = self._anchors.get(literal)
        if anchor is None:
            anchor = Anchor(
                literal=literal, kind=kind, first_item=item, first_step=step, by_agent=by_agent,
                position=position, company=company,
            )  # fmt: skip
            self._anchors[literal] = anchor
        if not anchor.items or anchor.items[-1] != item:
            anchor.items.append(item)
            if len(anchor.items) > RECENT_ITEMS:
                del anchor.items[0]
        return anchor

    def _remember(self, item: int, found: Mapping[str, AnchorKind]) -> None:
        before = self._by_item.get(item)
        if before is None:
            self._by_item[item] = tuple(found)
        elif found:
            self._by_item[item] = tuple(dict.fromkeys((*before, *found)))


def _newest(table: OrderedDict[str, Anchor], literal: str, anchor: Anchor, limit: int) -> None:
    """Move an anchor to the young end of a table; the oldest one leaves when the table is full."""
    # No plain dict: the first key of one that loses its first keys all the time takes long to find.
    table[literal] = anchor
    table.move_to_end(literal)
    if len(table) > limit:
        table.popitem(last=False)
