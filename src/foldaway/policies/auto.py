"""The default: what will be quoted stays raw, the rest folds behind the anchors most likely to be needed.

At a commit the room up to the low watermark is shared out. The newest turns stay raw, and of the older ones those that
later actions are most likely to repeat word for word, per token; all else folds into one note,
which has three parts, each for a reader of its own: stub lines of the newest folded items and of those that hold
many wanted anchors (what was done, and where things come from), the anchors of each, and a last line of wanted
anchors from everywhere else. Anchors are taken by predicted need per token; what is in sight anyway is not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Change, Mention, Stage
from foldaway.policies._note import Noted, Ranked, newest_lines, note, ranked_anchors
from foldaway.policies._turns import IN_PLACE, foldable_turns
from foldaway.policies._working_set import Wanted, working_set
from foldaway.scoring.passages import density

MOST_STAGES = 40
"""Stretches looked at: what a commit costs must not grow with the session."""
SCRAP = 0.05
"""Of the raw share this much is not worth filling."""


@dataclass(frozen=True, slots=True)
class Auto:
    tail_share: float = 0.2
    """Share of the room for raw turns, the protected ones included."""
    newest: int = 2
    """Turns besides the protected ones that come first there, whatever they are worth."""
    note_share: float = 0.6
    """Share of the room that the fold note gets even when a giant last turn fills the rest."""
    story_share: float = 0.06
    """Share of the note for the stub lines of the newest folded items, wanted anchors or not."""
    stage_share: float = 0.0
    """Share of the note for what was done in older stretches of the session, a line each. A share of 0.05 costs half a
    point of steps with all needs in sight, since it takes the room of anchors; so it is off until asked for."""
    recall_share: float = 0.2
    """Share of the room above the floor that one proactive recall may take."""
    line_from: int = 3
    """Wanted anchors from which on an older item gets a line of its own."""
    plans_whole = True
    shows_digests = False

    def propose(self, snapshot: Snapshot) -> Iterator[Change | Mention | Stage]:
        room = max(0, snapshot.target_tokens - snapshot.floor_tokens)
        keep, kept_tokens = self._tail(snapshot, int(room * self.tail_share))
        spare = snapshot.budget_tokens - snapshot.floor_tokens - kept_tokens - 200
        note_room = min(spare, max(room - kept_tokens - 100, int(room * self.note_share))) - snapshot.sections_tokens
        ranked = ranked_anchors(snapshot)
        stages, told = self._stages(snapshot, int(note_room * self.stage_share))
        noted = self._note(snapshot, keep, note_room - told, ranked)
        spent = noted.tokens + told
        if room - kept_tokens - spent - 100 > room // 20:
            # Fewer anchors than room are worth naming: more of the tail stays raw.
            keep, kept_tokens = self._tail(snapshot, room - spent - 100)
            note_room = min(note_room, max(spent, room - kept_tokens - 100))
            noted = self._note(snapshot, keep, note_room - told, ranked)
        lines = noted.lines
        for items in foldable_turns(snapshot):
            for item in items:
                if items[0].turn not in keep and item.id not in lines:
                    level = Level.STUB if item.kind in IN_PLACE else Level.HIDDEN
                    yield Change(item=item.id, level=level, reason="beyond the tail")
        for number in snapshot.lines:
            if number not in lines:
                yield Change(item=number, level=Level.HIDDEN, reason="nothing of it is likely to be needed")
        for number in sorted(lines):
            yield Change(
                item=number, level=Level.STUB, reason="beyond the tail; shown by its stub", anchors=tuple(lines[number])
            )
        yield from (Stage(items=stage) for stage in stages)
        yield Mention(anchors=tuple(noted.mentioned))

    def bring_back(self, snapshot: Snapshot) -> list[Wanted]:
        """Reads of the file that was just edited, when they are out of sight: the next edit repeats their lines."""
        room = snapshot.budget_tokens - snapshot.floor_tokens
        return working_set(snapshot, int(room * self.recall_share), steps=1, missing=True)

    def _tail(self, snapshot: Snapshot, limit: int) -> tuple[set[int], int]:
        """Turns that stay raw besides the protected ones, and the tokens of both. What is too large is passed over."""
        bound = {snapshot.item(i).turn for i in snapshot.protected if snapshot.level(i) is Level.RAW}
        held = sum(snapshot.turn_tokens(turn) for turn in sorted(bound))
        left = limit - held
        keep: set[int] = set()
        for items in self._by_worth(snapshot):
            cost = snapshot.turn_tokens(items[0].turn)
            if left <= limit * SCRAP:
                break
            if cost <= left:
                left -= cost
                held += cost
                keep.add(items[0].turn)
        return keep, held

    def _by_worth(self, snapshot: Snapshot) -> list[tuple[Item, ...]]:
        """Foldable turns, the newest first, then by what keeping them raw is worth per token."""

        def worth(items: tuple[Item, ...]) -> tuple[float, int]:
            turn = items[0].turn
            current = [item for item in items if not snapshot.superseded(item)]
            return -density(current, snapshot.turn_tokens(turn), snapshot.step), -turn

        turns = list(reversed(foldable_turns(snapshot)))
        # Nobody quotes a picture, and what a provider charges for one is not known to the token.
        older = [t for t in turns[self.newest :] if all(i.kind is not Kind.ATTACHMENT for i in t)]
        return turns[: self.newest] + sorted(older, key=worth)

    def _stages(self, snapshot: Snapshot, room: int) -> tuple[list[tuple[int, ...]], int]:
        """Stretches folded before, the newest first, that the note tells of in a line each, and the tokens of all."""
        chosen: list[tuple[int, ...]] = []
        left = room
        if not room:
            return chosen, 0
        for items in snapshot.past_stretches(MOST_STAGES):
            cost = snapshot.stage_tokens(items)
            if cost > left:
                break
            if cost:
                left -= cost
                chosen.append(items)
        return chosen, room - left

    def _note(self, snapshot: Snapshot, keep: set[int], room: int, ranked: Ranked) -> Noted:
        story, spent = newest_lines(snapshot, keep, int(room * self.story_share))
        return note(snapshot, keep, room, ranked, story, self.line_from, spent=spent)
