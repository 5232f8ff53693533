"""Self-governing context: each item by its value to the work that is going on; keep, mask, fold, archive or prune.

At a commit, what is provably obsolete is pruned. The room for raw text goes to the newest turns and then to the items
worth most per token: work on active sub-goals, errors nobody has answered, what later actions used. Items of finished
sub-goals are archived: out of sight, found again by their sub-goal, and told of in an index. The rest folds behind the
lines and anchors of the fold note. When a finished sub-goal is taken up again, what was worth most in it wakes.

Source of actions, triggers and rules: Self-GC, arXiv 2607.00692, as told in reading notes; values, thresholds and the
deterministic planner are this package's own. Its triggers are the engine's (`engine.triggers`), its preset's settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from foldaway.engine.snapshot import Snapshot
from foldaway.linking.subgoals import Happening, State, SubGoal
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Action, Change, Mention, Section
from foldaway.policies._note import Noted, Ranked, newest_lines_but, note_but, ranked_anchors
from foldaway.policies._turns import IN_PLACE
from foldaway.policies._working_set import Wanted, working_set
from foldaway.scoring.learning import Experience
from foldaway.scoring.value import Relation, Weights

SIZE = 0.43
"""What an item's text is worth grows with its tokens to this power (measured for quoted lines: `scoring.passages`)."""
SCRAP = 0.05
"""Of the raw share this much is not worth filling."""
FRAME_TOKENS = 100
"""What a note and its carrier take besides its lines."""
MOST_WOKEN = 8
"""Items of one sub-goal looked at when it wakes: those worth most."""
MOST_TOLD = 200
"""Newest sub-goals looked at for the index: what a commit costs must not grow with the session."""
INDEX = "Archived sub-goals"


@dataclass(frozen=True, slots=True)
class SelfGc:
    weights: Weights = field(default_factory=Weights)
    raw_share: float = 0.2
    """Share of the room for raw items, the protected ones included."""
    newest: int = 2
    """Turns besides the protected ones that come first there, whatever they are worth."""
    mask_share: float = 0.1
    """Share of the room for digests in place of items that just miss the raw share."""
    note_share: float = 0.6
    """Share of the room that the fold note gets even when a giant last turn fills the rest."""
    story_share: float = 0.06
    """Share of the note for the stub lines of the newest folded items, wanted anchors or not."""
    index_share: float = 0.02
    """Share of the note for the index of archived sub-goals, a line each, the newest ones."""
    wake_share: float = 0.2
    """Share of the room above the floor that waking items may take."""
    line_from: int = 3
    """Wanted anchors from which on an older item gets a line of its own."""
    learns: bool = False
    """Scale values by what became of their like in this session (see `scoring.learning`). Off by default: in a
    recording only what the agent fetched again counts as missed, so a replay has little to teach."""
    experience: Experience = field(default_factory=Experience)
    """What an earlier session of the same kind learned."""
    plans_whole = True
    rewrites_all = True

    def propose(self, snapshot: Snapshot) -> Iterator[Change | Mention | Section]:
        pruned = [i for i in snapshot.foldable if snapshot.obsolete(i) is not None and i.kind not in IN_PLACE]
        for item in pruned:
            proof = snapshot.obsolete(item)
            assert proof is not None
            why = f"{proof.proof.value}: {proof.why}"
            yield Change(item=item.id, level=Level.HIDDEN, reason=why, action=Action.PRUNE)
        left = _Left(snapshot, self._weights(snapshot), frozenset(i.id for i in pruned))
        room = max(0, snapshot.target_tokens - snapshot.floor_tokens)
        index = _index(snapshot, int(room * self.index_share))
        kept, noted = self._share_out(snapshot, left, room, index.tokens)
        yield from self._fold(snapshot, left, kept, noted)
        yield Section(title=INDEX, text=index.text, sources=index.sources)
        yield Mention(anchors=tuple(noted.mentioned))

    def bring_back(self, snapshot: Snapshot) -> list[Wanted]:
        """What the work came back to: the file under edit, then what was worth most in a reopened sub-goal."""
        room = int((snapshot.budget_tokens - snapshot.floor_tokens) * self.wake_share)
        found = working_set(snapshot, room, steps=1, missing=True)
        room -= sum(wanted.tokens for wanted in found)
        chosen = {wanted.item.id for wanted in found}
        for event in snapshot.subgoals.since(snapshot.newest_turn):
            if event.happening is not Happening.REOPENED:
                continue
            for item in _worth_waking(snapshot, snapshot.subgoals.all[event.subgoal], self._weights(snapshot)):
                if item.id not in chosen and item.tokens <= room:
                    chosen.add(item.id)
                    room -= item.tokens
                    found.append(Wanted(item=item, lines=None, tokens=item.tokens))
        return found

    # -- inside

    def _weights(self, snapshot: Snapshot) -> Weights:
        known = snapshot.experience(self.experience) if self.learns else self.experience
        return known.applied(self.weights)

    def _share_out(self, snapshot: Snapshot, left: _Left, room: int, told: int) -> tuple[_Kept, Noted]:
        """What stays in place, and the note about the rest."""
        masks = int(room * self.mask_share)
        kept = self._keep(snapshot, left, int(room * self.raw_share), masks)
        spare = snapshot.budget_tokens - snapshot.floor_tokens - kept.tokens - 2 * FRAME_TOKENS
        wanted = max(room - kept.tokens - FRAME_TOKENS, int(room * self.note_share))
        note_room = min(spare, wanted) - snapshot.sections_tokens - told
        ranked = ranked_anchors(snapshot)
        noted = self._note(snapshot, kept, note_room, ranked)
        unused = room - kept.tokens - noted.tokens - told - FRAME_TOKENS
        if unused > room // 20:
            # Fewer anchors than room are worth naming: more stays raw.
            kept = self._keep(snapshot, left, room - noted.tokens - told - FRAME_TOKENS - masks, masks)
            note_room = min(note_room, max(noted.tokens, room - kept.tokens - told - FRAME_TOKENS))
            noted = self._note(snapshot, kept, note_room, ranked)
        return kept, noted

    def _note(self, snapshot: Snapshot, kept: _Kept, room: int, ranked: Ranked) -> Noted:
        visible = frozenset(kept.raw)
        story, spent = newest_lines_but(snapshot, visible | frozenset(kept.masked), int(room * self.story_share))
        return note_but(snapshot, visible, room, ranked, story, self.line_from, spent=spent)

    def _keep(self, snapshot: Snapshot, left: _Left, limit: int, mask_limit: int) -> _Kept:
        """Items that stay raw, and of those that just miss it the ones whose digest fits; with the tokens of all."""
        bound = {snapshot.item(i).turn for i in snapshot.protected if snapshot.level(i) is Level.RAW}
        held = sum(snapshot.turn_tokens(turn) for turn in sorted(bound))
        room = limit - held
        kept = _Kept(tokens=held)
        for item in left.ranked(self.newest):
            if room <= limit * SCRAP:
                break
            if item.tokens <= room:
                room -= item.tokens
                kept.tokens += item.tokens
                kept.raw[item.id] = None
        if mask_limit:
            self._mask(snapshot, left, kept, mask_limit)
        return kept

    def _mask(self, snapshot: Snapshot, left: _Left, kept: _Kept, room: int) -> None:
        for item in left.ranked(self.newest):
            cost = snapshot.digest_tokens(item) if item.id not in kept.raw else None
            if cost is not None and cost <= room and snapshot.level(item.id) >= Level.ABSTRACT:
                room -= cost
                kept.tokens += cost
                kept.masked[item.id] = None

    def _fold(self, snapshot: Snapshot, left: _Left, kept: _Kept, noted: Noted) -> Iterator[Change]:
        for item in left.items:
            if item.id in kept.raw or item.id in noted.lines:
                continue
            value = f"value {left.value(item):.2f}"
            done = left.archived(item)
            if item.id in kept.masked:
                yield Change(item=item.id, level=Level.ABSTRACT, reason=value, action=Action.MASK)
            elif item.kind in IN_PLACE:
                yield Change(item=item.id, level=Level.STUB, reason=value, action=Action.FOLD)
            elif done is not None:
                why = f"{value}; done with: {done.text}"
                yield Change(item=item.id, level=Level.HIDDEN, reason=why, action=Action.ARCHIVE)
            else:
                yield Change(item=item.id, level=Level.HIDDEN, reason=value, action=Action.FOLD)
        for number in snapshot.lines:
            if number not in noted.lines:
                yield Change(item=number, level=Level.HIDDEN, reason="nothing of it is likely to be needed")
        for number in sorted(noted.lines):
            why = "worth a line" if noted.lines[number] else "done lately"
            anchors = tuple(noted.lines[number])
            yield Change(item=number, level=Level.STUB, reason=why, anchors=anchors, action=Action.FOLD)


@dataclass(slots=True)
class _Kept:
    """What stays in place."""

    raw: dict[int, None] = field(default_factory=dict)
    masked: dict[int, None] = field(default_factory=dict)
    tokens: int = 0
    """Of the protected ones, too."""


@dataclass(slots=True)
class _Left:
    """What is to be decided on, and what it is worth."""

    snapshot: Snapshot
    weights: Weights
    pruned: frozenset[int]
    items: tuple[Item, ...] = ()
    _values: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.items = tuple(i for i in self.snapshot.foldable if i.id not in self.pruned)
        self._values = {i.id: self.snapshot.value(i, self.weights) for i in self.items}

    def value(self, item: Item) -> float:
        return self._values[item.id]

    def ranked(self, newest: int) -> list[Item]:
        """Candidates for raw text: those of the newest turns first, then by value per token."""
        raw = [i for i in self.items if self.snapshot.level(i.id) is Level.RAW]
        turns = sorted({i.turn for i in raw})[-newest:] if newest else []
        # Nobody quotes a picture, and what a provider charges for one is not known to the token.
        older = [i for i in raw if i.turn not in turns and i.kind is not Kind.ATTACHMENT]
        worth = {i.id: round(self._values[i.id] / max(1, i.tokens) ** (1 - SIZE), 9) for i in older}
        older.sort(key=lambda i: (-worth[i.id], -i.id))
        return [*(i for i in reversed(raw) if i.turn in turns), *older]

    def archived(self, item: Item) -> SubGoal | None:
        """The finished sub-goal an item is filed under; None for one of work still going on, or of none."""
        if self.snapshot.standing(item).relation is not Relation.FINISHED:
            return None
        owners = self.snapshot.subgoals.of_turn(item.turn)
        return owners[-1] if owners else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    text: str = ""
    sources: tuple[int, ...] = ()
    tokens: int = 0


def _index(snapshot: Snapshot, room: int) -> _Index:
    """A line for each archived sub-goal, the newest ones that fit, oldest first: what was done, and the items of it."""
    lines: list[str] = []
    sources: list[int] = []
    spent = 0
    for goal in reversed(snapshot.subgoals.all[-MOST_TOLD:]):
        ends = [*goal.turns[:1], *goal.turns[-1:]] if goal.state is State.FINISHED else []
        items = [i.id for turn in ends for i in snapshot.turn_items(turn) if i.id > 0 and not i.pinned]
        if not items:
            continue
        line = f"done: {goal.text} (#{items[0]}–#{items[-1]})"
        cost = snapshot.count(line) + 1
        if spent + cost > room:
            break
        spent += cost
        lines.append(line)
        sources.extend((items[0], items[-1]))
    return _Index(text="\n".join(reversed(lines)), sources=tuple(sorted(set(sources))), tokens=spent)


def _worth_waking(snapshot: Snapshot, goal: SubGoal, weights: Weights) -> list[Item]:
    """Items of a sub-goal that are out of sight, the most valuable first."""
    turns = goal.turns[-4 * MOST_WOKEN :]
    items = [i for turn in turns for i in snapshot.turn_items(turn)]
    gone = [
        i for i in items
        if i.id > 0 and not i.pinned and not snapshot.in_sight(i.id) and snapshot.obsolete(i) is None
        and i.kind in (Kind.READ, Kind.EDIT, Kind.ERROR)
    ]  # fmt: skip
    worth = {i.id: snapshot.value(i, weights) / max(1, i.tokens) ** (1 - SIZE) for i in gone}
    return sorted(gone, key=lambda i: (-worth[i.id], -i.id))[:MOST_WOKEN]
