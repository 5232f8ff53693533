"""Layered memory with a budget: recent steps raw, a state of the work, a short-term digest, the rest to be retrieved.

Four layers share the room by quotas (`policies.quotas`). Working memory is the last steps, raw, and what is left of its
quota goes to older turns worth keeping word for word. The state tells goal, constraints, confirmed facts and to-dos.
Short-term memory tells what was done, shows large results of middle age as digests, and names what the next steps are
likely to need. All else takes the route of its kind: compress, retrieve or forget (S3.1, S3.2, S3.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from foldaway.engine.snapshot import Snapshot
from foldaway.engine.so_far import Rhythm
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Change, Mention, Section
from foldaway.policies import _state
from foldaway.policies._note import Noted, Ranked, items_of, newest_lines, note_but, ranked_anchors
from foldaway.policies._turns import IN_PLACE, foldable_turns
from foldaway.policies._working_set import Wanted, working_set
from foldaway.policies.quotas import DEFAULT_SHARES, Quotas, Scheduler, Shares, Stage
from foldaway.scoring.passages import density

SO_FAR = "so far"
FRAME_TOKENS = 40
"""What the call of a digest shown in place costs besides it."""
NOTE_TOKENS = 120
"""The head of a fold note."""
LEAST_FREED = 0.1
"""An emergency commit must be able to free this share of the room, or it would come again at the next call."""
NEWEST_SHARE = 0.06
"""Share of the note for lines of the newest folded items."""
SCRAP = 0.05
"""Of working memory this much is not worth filling."""


class Route(StrEnum):
    """Where an item goes when it leaves working memory."""

    COMPRESS = "compress"
    """A digest in its place while it is of middle age, then as `retrieve`."""
    RETRIEVE = "retrieve"
    """Named in the fold note by what leads back to it."""
    FORGET = "forget"
    """Covered by the note's range alone; found by id or words."""


ROUTES: Mapping[Kind, Route] = {
    Kind.READ: Route.COMPRESS, Kind.RESULT: Route.COMPRESS, Kind.COMMAND: Route.COMPRESS, Kind.ERROR: Route.COMPRESS,
    Kind.LISTING: Route.RETRIEVE, Kind.SEARCH: Route.RETRIEVE, Kind.EDIT: Route.RETRIEVE, Kind.OTHER: Route.RETRIEVE,
    Kind.PASTE: Route.RETRIEVE, Kind.ATTACHMENT: Route.RETRIEVE,
    Kind.PLAN: Route.FORGET, Kind.THOUGHT: Route.FORGET, Kind.REASONING: Route.FORGET, Kind.NOTE: Route.FORGET,
    Kind.RECALLED: Route.FORGET, Kind.ANNOTATION: Route.FORGET,
}  # fmt: skip
"""The plan goes as its to-dos are in the state; words of the agent as they are in the digest."""


@dataclass(frozen=True, slots=True)
class Layered:
    window: int = 3
    """Newest steps that stay raw."""
    interval: int = 4
    """Steps of an update of the short-term digest."""
    volume_tokens: int = 6_000
    """What makes an update earlier."""
    rewrite_every: int = 5
    """Updates rewritten together from the originals."""
    story_share: float = 0.1
    """Share of short-term memory for what was done so far."""
    abstract_share: float = 0.1
    """Share of short-term memory for digests in place."""
    note_share: float = 0.3
    """Share of the room that short-term memory gets even when a giant last turn fills the rest."""
    abstract_steps: int = 30
    """Age up to which a result may stand as a digest."""
    line_from: int = 3
    """Wanted anchors from which on an older item gets a line of its own."""
    recall_share: float = 0.2
    """Share of the room above the floor that one proactive recall may take, within the quota of what is retrieved."""
    over: float = 1.2
    """A layer over this many times its quota asks for a commit at once."""
    top_k: int = 4
    """Items that one proactive recall brings back at most."""
    reserve_most: float = 0.20
    """Up to this share the reserve grows with the unevenness of the steps; the least is the session's own."""
    shares: Mapping[Stage, Shares] = field(default_factory=lambda: DEFAULT_SHARES)
    """Quotas of the layers, by how far the task is."""
    routes: Mapping[Kind, Route] = field(default_factory=lambda: ROUTES)
    plans_whole = True

    def propose(self, snapshot: Snapshot) -> Iterator[Change | Mention | Section]:
        if not snapshot.foldable and not snapshot.lines:
            return
        quotas = self._quotas(snapshot)
        room = max(0, min(snapshot.target_tokens, quotas.limit_tokens) - snapshot.floor_tokens)
        short = min(quotas.short_term, int(room * 0.8))
        keep, held = self._working(snapshot, quotas, room - min(quotas.state, room // 4) - short)
        state = self._state(snapshot, quotas.state, keep)
        told = 0 if state is None else snapshot.count(state.text) + 4
        # A giant last turn is cut to the room that is left by the planner: it shall not cost the whole note.
        left = max(room - held - told - NOTE_TOKENS, int(room * self.note_share))
        short = max(0, min(left, short) - snapshot.sections_tokens)
        story = self._so_far(snapshot, int(short * self.story_share), keep)
        told_story = 0 if story is None else snapshot.count(story.text) + 4
        digests, shown = self._abstracts(snapshot, int(short * self.abstract_share), keep)
        noted = self._note(snapshot, keep, short - told_story - shown, ranked_anchors(snapshot), (state, story))
        if room - held - told - told_story - shown - noted.tokens > room // 20:
            keep, held = self._working(snapshot, quotas, room - told - told_story - shown - noted.tokens - NOTE_TOKENS)
            digests -= {i.id for t in keep for i in snapshot.turn_items(t)}
        yield from self._changes(snapshot, keep, digests, noted)
        yield from (section for section in (state, story) if section is not None)
        yield Mention(anchors=tuple(noted.mentioned))

    def due(self, snapshot: Snapshot) -> bool:
        """Over the limit that the reserve leaves, or a layer well over its quota, and there is something to free."""
        quotas = self._quotas(snapshot)
        if snapshot.tokens <= snapshot.floor_tokens + min(quotas.working, quotas.retrieved):
            return False
        raw = [i for i in snapshot.foldable if snapshot.level(i.id) > Level.ABSTRACT]
        retrieved = sum(i.tokens for i in raw if i.kind is Kind.RECALLED)
        foldable = sum(i.tokens for i in raw)
        bound = sum(i.tokens for i in map(snapshot.item, sorted(snapshot.protected)) if not i.pinned)
        working = foldable + bound - retrieved
        # What the note does not use of its quotas is lent to working memory.
        told = max(0, snapshot.tokens - snapshot.floor_tokens - foldable - bound)
        lent = max(0, quotas.state + quotas.short_term - told)
        free = foldable - sum(i.tokens for i in raw if self._newest(snapshot, i))
        if free < LEAST_FREED * (quotas.limit_tokens - snapshot.floor_tokens):
            return False
        return (
            snapshot.tokens > quotas.limit_tokens
            or working > self.over * (quotas.working + lent)
            or retrieved > self.over * quotas.retrieved
        )

    def bring_back(self, snapshot: Snapshot) -> list[Wanted]:
        """Reads of the file that was just edited, when they are out of sight, as far as the layer has room."""
        quotas = self._quotas(snapshot)
        held = sum(i.tokens for i in snapshot.recent_items(self.window) if i.kind is Kind.RECALLED)
        room = int((snapshot.budget_tokens - snapshot.floor_tokens) * self.recall_share)
        return working_set(snapshot, min(room, quotas.retrieved - held), steps=1, missing=True)[: self.top_k]

    # -- inside

    def _quotas(self, snapshot: Snapshot) -> Quotas:
        return Scheduler(self.reserve_most, self.shares).quotas(snapshot)

    def _newest(self, snapshot: Snapshot, item: Item) -> bool:
        return item.created_step >= snapshot.step - self.window

    def _working(self, snapshot: Snapshot, quotas: Quotas, limit: int) -> tuple[set[int], int]:
        """Turns that stay raw besides the protected ones, and the tokens of both.

        The newest steps first, up to the whole quota of the layer; then what is worth most per token, up to `limit`.
        """
        bound = {snapshot.item(i).turn for i in snapshot.protected if snapshot.level(i) is Level.RAW}
        held = sum(snapshot.turn_tokens(turn) for turn in sorted(bound))
        turns = foldable_turns(snapshot)
        newest = [t for t in turns if self._newest(snapshot, t[0])]
        keep: set[int] = set()
        for most, wanted in ((quotas.working, newest[::-1]), (limit, self._by_worth(snapshot, turns, len(newest)))):
            for items in wanted:
                cost = snapshot.turn_tokens(items[0].turn)
                if held + cost <= most:
                    held += cost
                    keep.add(items[0].turn)
                if most - held <= most * SCRAP:
                    break
        return keep, held

    def _by_worth(self, snapshot: Snapshot, turns: list[tuple[Item, ...]], newest: int) -> list[tuple[Item, ...]]:
        def worth(items: tuple[Item, ...]) -> tuple[float, int]:
            turn = items[0].turn
            current = [i for i in items if not snapshot.superseded(i) and self.routes.get(i.kind) is not Route.FORGET]
            return -density(current, snapshot.turn_tokens(turn), snapshot.step), -turn

        older = turns[: len(turns) - newest]
        return sorted((t for t in older if all(i.kind is not Kind.ATTACHMENT for i in t)), key=worth)

    def _state(self, snapshot: Snapshot, room: int, keep: set[int]) -> Section | None:
        if _state.TITLE in snapshot.sections:
            return None
        return _state.state_section(snapshot, room, lambda item: self._stays(snapshot, item, keep))

    def _so_far(self, snapshot: Snapshot, room: int, keep: set[int]) -> Section | None:
        """What was done in what is out of sight, oldest first, as far back as there is room."""
        if SO_FAR in snapshot.sections or room <= 0:
            return None
        rhythm = Rhythm(self.interval, self.volume_tokens, self.rewrite_every)
        lines: list[str] = []
        sources: list[int] = []
        before = ""
        for text, items in snapshot.so_far(rhythm).passages(lambda i: not self._stays(snapshot, i, keep)):
            room -= snapshot.count(text) + 1
            if room < 0:
                before = f"before that: up to #{items[-1]}\n"
                break
            lines.append(text)
            sources.extend(items)
        if not lines:
            return None
        return Section(title=SO_FAR, text=before + "\n".join(reversed(lines)), sources=tuple(sorted(sources)))

    def _stays(self, snapshot: Snapshot, item: int, keep: set[int]) -> bool:
        """Whether an item will be in sight, raw, when the turns in `keep` stay."""
        known = snapshot.item(item)
        held = item in snapshot.protected or known.pinned or known.turn in keep
        return held and snapshot.level(item) is Level.RAW

    def _abstracts(self, snapshot: Snapshot, room: int, keep: set[int]) -> tuple[set[int], int]:
        """Items that stand as digests in their places, and what they cost: most valuable per token first."""
        found: list[tuple[float, int, int]] = []
        for item in snapshot.foldable:
            age = snapshot.step - item.created_step
            if item.turn in keep or item.kind in IN_PLACE or self.routes.get(item.kind) is not Route.COMPRESS:
                continue
            if age > self.abstract_steps or snapshot.level(item.id) < Level.ABSTRACT or snapshot.superseded(item):
                continue
            cost = snapshot.digest_tokens(item)
            if cost is not None and cost + FRAME_TOKENS <= room:
                found.append((-density([item], cost + FRAME_TOKENS, snapshot.step), -item.id, cost + FRAME_TOKENS))
        chosen: set[int] = set()
        spent = 0
        for _, number, cost in sorted(found):
            if spent + cost <= room:
                spent += cost
                chosen.add(-number)
        return chosen, spent

    def _note(
        self, snapshot: Snapshot, keep: set[int], room: int, ranked: Ranked, sections: tuple[Section | None, ...]
    ) -> Noted:
        told = [section.text for section in sections if section is not None]
        wanted = [(anchor, home) for anchor, home in ranked if self.routes.get(home.kind) is not Route.FORGET]
        newest, spent = newest_lines(snapshot, keep, int(room * NEWEST_SHARE))
        story = {number: held for number, held in newest.items() if self._told_of(snapshot, number)}
        visible = items_of(snapshot, keep)
        return note_but(snapshot, visible, room, wanted, story, self.line_from, spent=spent, told=told)

    def _told_of(self, snapshot: Snapshot, item: int) -> bool:
        """Whether a line of its own says something: not of what is forgotten, nor of what came again."""
        known = snapshot.item(item)
        return self.routes.get(known.kind) is not Route.FORGET and not snapshot.superseded(known)

    def _changes(self, snapshot: Snapshot, keep: set[int], digests: set[int], noted: Noted) -> Iterator[Change]:
        for items in foldable_turns(snapshot):
            if items[0].turn in keep:
                continue
            for item in items:
                if item.id in digests:
                    yield Change(item=item.id, level=Level.ABSTRACT, reason="compress: worth its digest")
                elif item.id not in noted.lines:
                    route = self.routes.get(item.kind, Route.RETRIEVE)
                    level = Level.STUB if item.kind in IN_PLACE else Level.HIDDEN
                    yield Change(item=item.id, level=level, reason=f"{route.value}: beyond working memory")
        for number in snapshot.lines:
            if number not in noted.lines:
                yield Change(item=number, level=Level.HIDDEN, reason="retrieve: nothing of it is likely to be needed")
        for number in sorted(set(noted.lines) - digests):
            anchors = tuple(noted.lines[number])
            yield Change(item=number, level=Level.STUB, reason="retrieve: its line leads to it", anchors=anchors)
