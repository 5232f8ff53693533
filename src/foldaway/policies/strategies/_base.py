"""What strategies share: the steps they choose among, what a step costs at each level, and the room they are given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from foldaway.engine.planner import Proposal
from foldaway.engine.snapshot import Snapshot
from foldaway.engine.window import LARGE_ARGUMENTS
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Change
from foldaway.policies._turns import IN_PLACE, foldable_turns

NEWEST_FOLDED = 48
"""Folded steps that may come back: so many of the newest, and those that recent actions rest on."""
RECENT_STEPS = 6
"""How far back an action counts as recent."""
REPLACED_ARGUMENTS = 30
"""Tokens of what stands for arguments that are too long to stay."""
CLEANER = "clean"
"""Name of the compressor behind a masked step."""
CLEANED_SHARE = 0.8
"""A masked item must come to this share of its tokens or less; else it stays as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the agent, call and results together, as far as it may change."""

    turn: int
    items: tuple[Item, ...]
    visible: bool
    """False: folded away, and chosen again only if it is worth more than what stands."""
    raw_tokens: int
    created_step: int


class Strategy(Protocol):
    """One way to use room. Pure and deterministic; ties by turn or id."""

    def propose(self, snapshot: Snapshot, share: Allotment) -> Iterable[Proposal]:
        """What it wants shown within its share: steps through `share.show`, passages paid by `share.charge`."""
        ...


@dataclass(slots=True)
class Allotment:
    """The room of one strategy in a chain, and what those before it left."""

    snapshot: Snapshot
    tokens: int
    """What it may spend."""
    steps: list[Step]
    """Not taken yet, the oldest first."""
    shown: dict[int, Level]
    """Item -> level, as taken by the strategies before it and by this one."""
    left: int = 0
    _prices: dict[tuple[int, Level], int] = field(default_factory=dict)

    def price(self, step: Step, level: Level) -> int:
        """What a step would cost in the view. Digests and cleaned texts are made once, then looked up."""
        key = step.turn, level
        if key not in self._prices:
            self._prices[key] = step_tokens(self.snapshot, step, level)
        return self._prices[key]

    def show(self, step: Step, level: Level, reason: str) -> Iterator[Change]:
        """Take a step at a level and pay for it; small items beside its results stay raw."""
        self.left -= self.price(step, level)
        self.steps.remove(step)
        for item in step.items:
            at = level_of(self.snapshot, item, level)
            self.shown[item.id] = at
            yield Change(item=item.id, level=at, reason=reason, by=CLEANER if at is Level.MASKED else "")

    def line(self, item: Item, reason: str) -> Iterator[Change]:
        """Show an item by its line in the fold note."""
        self.left -= self.snapshot.line_tokens(item, ())
        self.shown[item.id] = Level.STUB
        yield Change(item=item.id, level=Level.STUB, reason=reason, anchors=())

    def charge(self, tokens: int) -> bool:
        """Pay for a passage of the fold note; False (and nothing paid) where the room does not reach."""
        if tokens > self.left:
            return False
        self.left -= tokens
        return True


def candidates(snapshot: Snapshot) -> list[Step]:
    """Steps to choose among, the oldest first: all that are visible and free, and folded ones with a prospect.

    O(visible turns) and a bounded number of folded ones, however long the session is.
    """
    found = [_step(snapshot, items) for items in foldable_turns(snapshot)]
    turns = {*snapshot.folded_turns(NEWEST_FOLDED), *_rested_on(snapshot)}
    for turn in sorted(turns - {step.turn for step in found}):
        items = snapshot.turn_items(turn)
        if items and all(_comes_back(snapshot, i) for i in items) and not snapshot.is_visible(turn):
            found.append(_step(snapshot, items, visible=False))
    return sorted(found, key=lambda step: step.turn)


def _rested_on(snapshot: Snapshot) -> set[int]:
    """Turns that hold what the newest actions refer to."""
    recent = snapshot.recent_items(RECENT_STEPS)
    return {snapshot.item(link.target).turn for item in recent for link in snapshot.graph.needs(item.id)}


def _comes_back(snapshot: Snapshot, item: Item) -> bool:
    """Whether a folded item may be shown again: no picture, and nothing that a recall or something newer shows."""
    if item.id < 0 or item.pinned or item.kind is Kind.ATTACHMENT or item.id in snapshot.protected:
        return False
    return not snapshot.superseded(item) and not snapshot.in_sight(item.id)


def _step(snapshot: Snapshot, items: tuple[Item, ...], *, visible: bool = True) -> Step:
    turn = items[0].turn
    return Step(
        turn=turn, items=items, visible=visible, raw_tokens=snapshot.turn_tokens(turn),
        created_step=items[0].created_step,
    )  # fmt: skip


def level_of(snapshot: Snapshot, item: Item, level: Level) -> Level:
    """The level an item gets when its step is shown at one: what has no digest, or nothing to clean, stays raw."""
    if level is Level.ABSTRACT:
        return Level.ABSTRACT if snapshot.digest_tokens(item) is not None else Level.RAW
    if level is Level.MASKED:
        return Level.MASKED if _cleaned_tokens(snapshot, item) is not None else Level.RAW
    return level


def step_tokens(snapshot: Snapshot, step: Step, level: Level) -> int:
    """What a step costs in the view at raw, masked or abstract; at stub and hidden nothing of it stands there."""
    if level is Level.RAW:
        return step.raw_tokens
    if level <= Level.STUB:
        return 0
    frame = max(0, step.raw_tokens - sum(item.tokens for item in step.items))
    return frame + sum(_item_tokens(snapshot, item, level) for item in step.items)


def _item_tokens(snapshot: Snapshot, item: Item, level: Level) -> int:
    made = snapshot.digest_tokens(item) if level is Level.ABSTRACT else _cleaned_tokens(snapshot, item)
    if made is None:
        return item.tokens
    arguments = snapshot.count(snapshot.action(item))
    return made + (arguments if arguments <= LARGE_ARGUMENTS else REPLACED_ARGUMENTS)


def _cleaned_tokens(snapshot: Snapshot, item: Item) -> int | None:
    """Tokens of an item's cleaned text; None where cleaning is not worth its mark."""
    if snapshot.digest_tokens(item) is None or not snapshot.is_observation(item):
        return None
    made = snapshot.rendition_tokens(item, CLEANER)
    return made if made is not None and made <= item.tokens * CLEANED_SHARE else None


def in_place(item: Item) -> Level:
    """The lowest level of an item that no strategy shows."""
    return Level.STUB if item.kind in IN_PLACE else Level.HIDDEN
