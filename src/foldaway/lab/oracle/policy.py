"""A policy that knows the future: the witness that the bounds are near.

It goes through the ordinary engine: it may only propose, the planner cuts, pins and last turn stay. It folds all that
is not protected and names in the fold note the literals that a coming step needs, those needed first in front; it
names nothing that the session has not shown yet. A literal that a note cannot hold word for word (a line longer than
a note quotes) keeps the lines of a result that hold it. It asks for a commit when the foldable text has been read for
as much as writing the note anew costs, and would still be read for more: the best time between commits where text
comes in evenly.

It needs the labels of the session, so it is made by the lab alone (`oracle_session`) and cannot be named elsewhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.engine.snapshot import Snapshot
from foldaway.engine.stubs import clean
from foldaway.lab.bill import CACHE
from foldaway.lab.finder import Finder, normalise, occurs
from foldaway.lab.needs import Labels, content_hash, label
from foldaway.lab.replay import ReplaySession, ReplayView, foldaway_session
from foldaway.lab.timeline import steps_of
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Change, Mention, Prices
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.session import Session

ORACLE = "oracle"
NOTE_TOKENS = 150
"""What the head of a fold note takes."""
SPARE_TOKENS = 250
"""Left free below the budget for what estimates miss."""
PART_TOKENS = 90
"""What the call and the mark of a result cost that is cut or folded in a turn that stays."""
_IN_PLACE = (Kind.PASTE, Kind.ATTACHMENT)


@dataclass(frozen=True, slots=True)
class Future:
    """When each literal is needed, and from where on in the recording it is known."""

    literals: tuple[str, ...]
    uses: tuple[tuple[int, ...], ...]
    """Literal -> the steps that need it, ascending."""
    first: tuple[int, ...]
    """Literal -> position of the message that supplied it first."""
    starts: tuple[int, ...]
    """Step -> how many messages its call has seen."""

    @classmethod
    def of(cls, recorded: Recorded, labels: Labels) -> Future:
        uses: list[list[int]] = [[] for _ in labels.literals]
        first = [len(recorded.messages)] * len(labels.literals)
        for step, needs in enumerate(labels.needs):
            for need in needs:
                uses[need.literal].append(step)
                first[need.literal] = min(first[need.literal], need.first)
        starts = tuple(step.start for step in steps_of(recorded))
        return cls(labels.literals, tuple(map(tuple, uses)), tuple(first), starts)

    def next_use(self, literal: int, step: int) -> int | None:
        uses = self.uses[literal]
        at = bisect_left(uses, step)
        return uses[at] if at < len(uses) else None

    def wanted(self, seen: int) -> list[tuple[int, int]]:
        """(step, literal) of what is needed from the call that has seen so many messages, soonest first."""
        step = bisect_left(self.starts, seen)
        found = []
        for literal, first in enumerate(self.first):
            use = self.next_use(literal, step) if first < seen else None
            if use is not None:
                found.append((use, literal))
        return sorted(found)

    def calls_left(self, seen: int) -> int:
        return len(self.starts) - bisect_left(self.starts, seen)


@dataclass(slots=True)
class Oracle:
    """Proposals from labels. `seen` is told by the session around it: messages taken in so far."""

    future: Future
    prices: Prices = CACHE
    seen: int = 0
    plans_whole = True
    _finder: Finder = field(init=False)
    _held: dict[int, frozenset[int]] = field(default_factory=dict, init=False)
    """Item -> the literals it holds."""
    _cost: dict[int, int] = field(default_factory=dict, init=False)
    """Literal -> tokens of its name, once asked."""

    def __post_init__(self) -> None:
        self._finder = Finder(self.future.literals)

    def due(self, snapshot: Snapshot) -> bool:
        """Whether a commit that nothing forces pays now."""
        if any(_just_masked(snapshot, item) for item in snapshot.foldable):
            return True
        old = [i for i in snapshot.foldable if snapshot.level(i.id) is Level.RAW]
        tokens = sum(i.tokens for i in old)
        wasted = self.prices.read * sum(i.tokens * max(0, snapshot.step - i.created_step - 1) for i in old)
        note = NOTE_TOKENS + sum(self._tokens(snapshot, literal) for _, literal in self.future.wanted(self.seen))
        anew = (self.prices.write - self.prices.read) * note
        return wasted > anew and self.prices.read * self.future.calls_left(self.seen) * tokens > anew

    def propose(self, snapshot: Snapshot) -> Iterator[Change | Mention]:
        shown = [snapshot.item(i) for i in sorted(snapshot.protected) if snapshot.level(i) is Level.RAW]
        named, parts, room = self._named(snapshot, shown)
        if room < 0:
            # The engine lets go of what is protected softly before it drops lines of the note: name that as well.
            hard = [item for item in shown if item.created_step >= snapshot.step - 1]
            named, parts, room = self._named(snapshot, hard)
        while named and room < 0:
            room += self._tokens(snapshot, named.pop())
        kept = dict(self._parts(snapshot, parts, room))
        for item in snapshot.foldable:
            if item.id not in kept:
                level = Level.STUB if item.kind in _IN_PLACE else Level.HIDDEN
                yield Change(item=item.id, level=level, reason="no coming step needs it raw", anchors=())
        for number in snapshot.lines:
            if number not in kept:
                yield Change(item=number, level=Level.HIDDEN, reason="the note names what is needed", anchors=())
        yield from kept.values()
        yield Mention(anchors=tuple(self.future.literals[literal] for literal in named))

    # -- inside

    def _named(self, snapshot: Snapshot, stays: Sequence[Item]) -> tuple[list[int], dict[int, list[int]], int]:
        """With these items raw: what to name, soonest needed first; what cannot be named, by item; the room left."""
        words = [snapshot.item(i) for i in sorted(snapshot.words)]
        in_sight = frozenset[int]().union(*(self._holds(snapshot, item) for item in (*stays, *words)))
        held = sum(snapshot.turn_tokens(turn) for turn in sorted({item.turn for item in stays}))
        room = snapshot.budget_tokens - snapshot.floor_tokens - held - NOTE_TOKENS - SPARE_TOKENS
        named: list[int] = []
        parts: dict[int, list[int]] = {}
        for _, literal in self.future.wanted(self.seen):
            if literal in in_sight:
                continue
            if _nameable(self.future.literals[literal]):
                named.append(literal)
                room -= self._tokens(snapshot, literal)
            else:
                parts.setdefault(self._holder(snapshot, literal), []).append(literal)
        return named, parts, room

    def _holds(self, snapshot: Snapshot, item: Item) -> frozenset[int]:
        known = self._held.get(item.id)
        if known is None:
            known = self._held[item.id] = self._finder.find(snapshot.text(item))
        return known

    def _tokens(self, snapshot: Snapshot, literal: int) -> int:
        known = self._cost.get(literal)
        if known is None:
            known = self._cost[literal] = snapshot.count(" " + self.future.literals[literal])
        return known

    def _holder(self, snapshot: Snapshot, literal: int) -> int:
        """The newest folded or foldable item that holds it; 0: none is known."""
        for item in snapshot.foldable:
            self._holds(snapshot, item)
        foldable = {i.id for i in snapshot.foldable}
        holders = [i for i, held in self._held.items() if literal in held and i > 0]
        return max(holders, key=lambda i: (i in foldable, i), default=0)

    def _parts(self, snapshot: Snapshot, parts: dict[int, list[int]], room: int) -> Iterator[tuple[int, Change]]:
        """Results cut to the lines that hold what no note can name, in the order in which they are needed."""
        for number, literals in parts.items():
            item = snapshot.item(number) if number else None
            if item is None or item.pinned or number in snapshot.protected:
                continue
            lines = snapshot.result(item).split("\n")
            texts = [normalise(self.future.literals[literal]) for literal in literals]
            hits = [n for n, line in enumerate(lines) if any(occurs(t, normalise(line)) for t in texts)]
            if not hits:
                continue
            span = hits[0], hits[-1] + 1
            cost = snapshot.count("\n".join(lines[slice(*span)])) + PART_TOKENS * len(snapshot.turn_items(item.turn))
            if cost <= room:
                room -= cost
                yield number, Change(item=number, level=Level.MASKED, reason="lines that a step needs", lines=span)


def _nameable(literal: str) -> bool:
    """Whether a note shows the literal as it is: on one line, not cut, unable to pass for a mark."""
    return occurs(normalise(literal), normalise(clean(literal)))


def _just_masked(snapshot: Snapshot, item: Item) -> bool:
    """Whether the engine had to mask it in the last turn: what it held is not in sight, and no note names it yet."""
    return snapshot.level(item.id) is Level.MASKED and snapshot.step - item.created_step <= 2


class _Told:
    """A session that tells its oracle how far the recording has come."""

    def __init__(self, session: Session, oracle: Oracle) -> None:
        self._session, self._oracle = session, oracle

    def append(self, messages: Sequence[Message], origins: Sequence[str] = ()) -> None:
        self._oracle.seen += len(messages)
        self._session.append(messages, origins)

    def view(self) -> ReplayView:
        return self._session.view()

    def items_of(self, position: int) -> Sequence[int]:
        return self._session.items_of(position)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


_futures: dict[str, Future] = {}
"""The future used last in this process: the next run is most often on the same session."""


def oracle_session(recorded: Recorded, policy: str, budget: int) -> ReplaySession:
    """A `SessionMaker`: the policy `oracle` gets the labels of the recording, any other is made as always."""
    if policy != ORACLE:
        return foldaway_session(recorded, policy, budget)
    key = content_hash(recorded)
    if key not in _futures:
        _futures.clear()
        _futures[key] = Future.of(recorded, label(recorded))
    oracle = Oracle(_futures[key])
    session = Session(
        format=recorded.format,
        budget=budget,
        policy=oracle,
        model=recorded.model,
        system=recorded.system,
        tools=recorded.tools,
        fixed_over_budget="send",
    )
    return _Told(session, oracle)
