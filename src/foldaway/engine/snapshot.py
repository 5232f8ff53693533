"""What a policy gets to see: a read-only picture of the past, never of the future."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.engine.digests import Digests
from foldaway.engine.log import Log
from foldaway.engine.past import Past
from foldaway.engine.so_far import Rhythm, SoFar
from foldaway.engine.window import Shown, gone
from foldaway.linking.episodes import Episode, Episodes
from foldaway.linking.graph import Graph
from foldaway.linking.index import AnchorIndex
from foldaway.linking.kinds import same_file
from foldaway.linking.phases import Phase, Phases
from foldaway.linking.state import State
from foldaway.linking.subgoals import SubGoals
from foldaway.model.items import Item, Level
from foldaway.model.wire import PartType, TurnKind
from foldaway.scoring.learning import Experience, Outcomes
from foldaway.scoring.obsolete import Obsolete
from foldaway.scoring.value import Standing, Weights


def _patient() -> None:
    """There is all the time in the world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state before one decision. Everything in it is for reading only."""

    step: int
    """Number of the model call that is about to be made."""
    tokens: int
    """What the view costs as it stands, system prompt and tools included."""
    target_tokens: int
    """Free down to this (the low watermark)."""
    budget_tokens: int
    """What the view may take."""
    floor_tokens: int
    """System prompt, tools and pinned items: what no policy can free."""
    protected: frozenset[int]
    """Visible items that must stay raw now: last turn, open calls, fresh recalls, pins."""
    reserve_tokens: int
    """Of the budget kept free above `budget_tokens`."""
    fixed_tokens: int
    """System prompt and tools, kept beside the messages."""
    sections_tokens: int
    """What passages handed in from outside take of the fold note."""
    _log: Log
    _shown: Shown
    _line_cost: Callable[[Item, Sequence[str]], int]
    _digests: Digests
    _past: Past
    _outcomes: Outcomes
    _check: Callable[[], None] = _patient
    """Raises when the time of this decision is up; asked before what is costly."""
    _found: dict[str, Any] = field(default_factory=dict)
    """Answers that take a look at every visible turn: many a call never asks."""

    @property
    def foldable(self) -> tuple[Item, ...]:
        """Items that are visible above hidden, not pinned and not protected, oldest first."""
        self._check()
        if "foldable" not in self._found:
            free = (i for i in self._visible() if not i.pinned and i.id not in self.protected)
            self._found["foldable"] = tuple(i for i in free if self.level(i.id) > Level.HIDDEN)
        found: tuple[Item, ...] = self._found["foldable"]
        return found

    @property
    def words(self) -> frozenset[int]:
        """Pinned items that are visible at raw: instructions and user words."""
        if "words" not in self._found:
            raw = (i.id for i in self._visible() if i.pinned and self.level(i.id) is Level.RAW)
            self._found["words"] = frozenset(raw)
        found: frozenset[int] = self._found["words"]
        return found

    def looked(self) -> Snapshot:
        """Itself, with these answers taken now: they stay when a draft goes on to change. O(visible items)."""
        _ = self.foldable, self.words
        return self

    def _visible(self) -> Iterator[Item]:
        return (item for turn in self._shown.turns for item in self._log.items_of_turn(turn))

    @property
    def graph(self) -> Graph:
        return self._log.graph

    @property
    def anchors(self) -> AnchorIndex:
        return self._log.anchors

    @property
    def episodes(self) -> Episodes:
        return self._log.episodes

    @property
    def subgoals(self) -> SubGoals:
        """What the agent is after and what it is done with."""
        return self._log.subgoals

    @property
    def phases(self) -> Phases:
        return self._log.phases

    @property
    def phase(self) -> Phase | None:
        """The phase the agent is in; None before it did anything."""
        return self._log.phases.current

    def standing(self, item: Item) -> Standing:
        """What an item's value rests on besides its age. O(1) but for items that something changed for."""
        return self._log.standings.of(item)

    def value(self, item: Item, weights: Weights) -> float:
        """0..1: what the item is worth now, by these weights."""
        phase = self._log.phases.current
        return weights.value(self.standing(item), self.step, "" if phase is None else phase.value)

    def experience(self, start: Experience | None = None) -> Experience:
        """What became of what was folded so far, as factors of values, starting from an earlier session's."""
        return self._outcomes.experience(self.step, start)

    def obsolete(self, item: Item) -> Obsolete | None:
        """The proof that newer items hold all it said; None where there is none: then it may not be pruned."""
        return self._log.obsolete.of.get(item.id)

    @property
    def newest_turn(self) -> int:
        """First turn of the newest step: what happened since then is news."""
        return self._log.newest_turn()

    def level(self, item: int) -> Level:
        return self._shown.level(item)

    def item(self, item: int) -> Item:
        return self._log.items[item]

    def episode(self, item: Item) -> Episode | None:
        return self._log.episodes.episode_of(item.turn)

    def turn_items(self, turn: int) -> tuple[Item, ...]:
        return self._log.items_of_turn(turn)

    def past_stretches(self, most: int) -> list[tuple[int, ...]]:
        """Items of closed episodes of which nothing is in sight any more, the newest first, at most so many."""
        found: list[tuple[int, ...]] = []
        for episode in reversed(self._log.episodes.all):
            if len(found) == most:
                break
            turns = range(episode.first_turn, episode.last_turn + 1)
            items = tuple(i.id for t in turns for i in self._log.items_of_turn(t) if not i.pinned and i.id > 0)
            if items and not episode.open and all(self._shown.level(i) <= Level.STUB for i in items):
                found.append(items)
        return found

    def stage_tokens(self, items: Sequence[int]) -> int:
        """What the fold note would take to tell of these items together; 0 when there is nothing to tell."""
        self._check()
        text = self._digests.stage(items)
        return self.count(text) + 1 if text else 0

    def superseded(self, item: Item) -> bool:
        """Whether a later item made the very call again, or brought the very result."""
        return self._log.superseded_by(item.id) > 0

    def digest(self, item: Item) -> str:
        """What would stand for the item at `abstract`."""
        self._check()
        return self._digests.text(item)

    def digest_tokens(self, item: Item) -> int | None:
        """What the item would cost as a digest; None where a digest would not be worth its frame."""
        self._check()
        return self._digests.tokens(item) if self._digests.worthwhile(item) else None

    def rendition_tokens(self, item: Item, compressor: str) -> int | None:
        """What the item's text would cost as a registered compressor leaves it; None where that shortens nothing."""
        self._check()
        text = self._digests.by(compressor, item)
        return None if text == self.result(item) else self.count(text)

    def folded_turns(self, most: int) -> list[int]:
        """Turns of which nothing is in sight, the newest first, at most so many. O(visible turns and `most`)."""
        found: list[int] = []
        for turn in range(len(self._log.turns) - 1, -1, -1):
            if len(found) == most:
                break
            if self._log.turn_items[turn] and not self.is_visible(turn):
                found.append(turn)
        return found

    def is_visible(self, turn: int) -> bool:
        """Whether any item of a turn is shown in its place; a fold note may stand there all the same."""
        return any(not gone(self._shown, item) for item in self._log.items_of_turn(turn))

    def turn_tokens(self, turn: int) -> int:
        """What a turn costs at raw."""
        return self._log.turn_tokens[turn]

    def recent_items(self, steps: int) -> list[Item]:
        """Items of the last `steps` agent steps, newest first."""
        found: list[Item] = []
        for turn in range(len(self._log.turns) - 1, -1, -1):
            items = self._log.items_of_turn(turn)
            if items and items[0].created_step < self.step - steps:
                break
            found.extend(reversed(items))
        return found

    def readers_of(self, target: str) -> list[Item]:
        """Items that read this file, oldest first."""
        ids = self._log.reads.get(target.rsplit("/", 1)[-1], ())
        items = [self._log.items[i] for i in ids]
        return [i for i in items if any(same_file(t, target) for t in i.targets)]

    def edits_of(self, target: str) -> list[Item]:
        """Items that edited this file, oldest first."""
        return [self._log.items[i] for i in self._log.edits_of(target)]

    def in_sight(self, item: int) -> bool:
        """Whether an item's text, or a recalled copy of it, is visible in place."""
        held = (item, *self._log.copies.get(item, ()))
        return any(self._shown.level(i) > Level.ABSTRACT for i in held)

    def action(self, item: Item) -> str:
        """The arguments of a call as the agent wrote them."""
        return self._log.action_text(item)

    @property
    def lines(self) -> tuple[int, ...]:
        """Items that have a line in the fold note now, ascending."""
        return tuple(sorted(self._shown.lines))

    @property
    def state(self) -> State:
        """Goal, constraints, confirmed facts."""
        return self._past.state()

    def so_far(self, rhythm: Rhythm) -> SoFar:
        """The short-term digest of what was done, in updates of this rhythm."""
        return self._past.so_far(rhythm)

    @property
    def sections(self) -> tuple[str, ...]:
        """Titles of the passages that were handed in from outside."""
        return tuple(self._shown.sections)

    def step_of(self, turn: int) -> int:
        """The model call that a turn was made in, counted from 0."""
        return self._log.turn_step[turn]

    def step_tokens(self, upto: int, most: int) -> list[int]:
        """What each of the newest steps up to a turn brought, the newest first, at most so many. O(their turns)."""
        sizes: dict[int, int] = {}
        for turn in range(min(upto, len(self._log.turns) - 1), -1, -1):
            step = self._log.turn_step[turn]
            if step not in sizes and len(sizes) == most:
                break
            sizes[step] = sizes.get(step, 0) + self._log.turn_tokens[turn]
        return list(sizes.values())

    @property
    def last_turn(self) -> int:
        return len(self._log.turns) - 1

    def text(self, item: Item) -> str:
        self._check()
        return self._log.text_of(item)

    def result(self, item: Item) -> str:
        self._check()
        return self._log.result_text(item)

    def is_observation(self, item: Item) -> bool:
        """Holds something the environment supplied: a tool span or an environment message."""
        turn = self._log.turns[item.turn]
        return turn.kind is TurnKind.OBSERVATION or any(turn.parts[p].type is PartType.CALL for p in item.parts)

    def query(self) -> str:
        """What the agent is about: the newest user words and the newest assistant text."""
        user = assistant = ""
        for turn in range(len(self._log.turns) - 1, max(-1, len(self._log.turns) - 200), -1):
            parts = self._log.turns[turn].parts
            if not user and self._log.turns[turn].kind is TurnKind.USER:
                user = "\n".join(p.text for p in parts)[:4000]
            if not assistant:
                assistant = "\n".join(p.text for p in parts if p.role == "assistant")[:4000]
            if user and assistant:
                break
        return f"{user}\n{assistant}"

    def count(self, text: str) -> int:
        """Tokens of a text in the target model's encoding."""
        return self._log.counter.counter.count(text)

    def line_tokens(self, item: Item, anchors: Sequence[str]) -> int:
        """What the stub line of an item costs inside a fold note."""
        self._check()
        return self._line_cost(item, anchors)
