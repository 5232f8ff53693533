"""Sub-goals: what the agent is after now, and what it is done with, as sets of active and finished ones.

The agent's own plan comes first (`linking.plans`), then the episodes it declared; where it says nothing, each episode
told from its behaviour is a sub-goal (`linking.episodes`). Work belongs to the sub-goals that were active while it was
done, and to those whose words name what it holds. A finished sub-goal is reopened by the plan, or when the work comes
back to a file that hardly any other sub-goal touched. Deterministic; a turn costs what is new in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from foldaway.linking.anchors import AnchorKind, anchors
from foldaway.linking.episodes import Episode
from foldaway.linking.index import AnchorIndex
from foldaway.linking.kinds import one_line, same_file
from foldaway.linking.plans import Entry, Statement, Status, same, statements
from foldaway.model.items import Item, Kind
from foldaway.model.wire import Turn, TurnKind

STALE_TURNS = 48
"""A plan that nothing was said about for so many turns is not what the agent works by any more."""
STALE_WORDS = 2
"""Nor one that so many user turns have passed over."""
RETURN_TURNS = 12
"""A finished sub-goal is come back to when its file was left alone for this many turns."""
VISIT_TURNS = 6
"""Turns without a touch after which a sub-goal come back to is done again."""
RARE_OWNERS = 2
"""A file of more sub-goals than this tells none of them apart."""
RARE_ITEMS = 12
"""Nor does a word in a sub-goal's text that more observations than this hold."""
MOST_OWNERS = 3
"""Sub-goals that one turn may belong to: the newest."""
MOST_TITLES = 8


class State(StrEnum):
    OPEN = "open"
    """In the plan, not begun."""
    ACTIVE = "active"
    FINISHED = "finished"
    DROPPED = "dropped"
    """Taken out of the plan unfinished."""
    REOPENED = "reopened"
    """Active again after it was finished."""


class Source(StrEnum):
    PLAN = "plan"
    """The agent's plan tool or checklist."""
    DECLARED = "declared"
    """An episode the agent opened by its delimiter."""
    EPISODE = "episode"
    """Told from what the agent does."""


class Happening(StrEnum):
    NEW_PLAN = "new plan"
    STARTED = "started"
    FINISHED = "finished"
    DROPPED = "dropped"
    REOPENED = "reopened"


WORKING = frozenset({State.ACTIVE, State.REOPENED})


@dataclass(slots=True)
class SubGoal:
    """One thing the agent set out to do. Changed only by `SubGoals`."""

    number: int
    text: str
    source: Source
    state: State
    first_turn: int
    last_turn: int
    """The last turn that worked on it or changed its state."""
    finished_step: int = -1
    """Model call at which it was last finished; -1 while it was not."""
    turns: list[int] = field(default_factory=list)
    """Turns of work on it, ascending."""
    named: dict[int, None] = field(default_factory=dict)
    """Items, wherever they stand, that hold a rare word of its text."""
    files: dict[str, None] = field(default_factory=dict)
    """Files that its work read or edited, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubGoalEvent:
    """A change of what the agent is after."""

    turn: int
    step: int
    happening: Happening
    subgoal: int
    """Its number; of a new plan, the number of the first entry."""
    source: Source
    why: str = ""


@dataclass(slots=True)
class SubGoals:
    """All sub-goals of one branch."""

    all: list[SubGoal] = field(default_factory=list)
    events: list[SubGoalEvent] = field(default_factory=list)
    _of_turn: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _of_item: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _plan: list[int] = field(default_factory=list)
    """Numbers of the plan in force, in its order."""
    _by_text: dict[str, int] = field(default_factory=dict)
    _by_key: dict[str, int] = field(default_factory=dict)
    _by_anchor: dict[str, list[int]] = field(default_factory=dict)
    _by_file: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """File name -> sub-goals that touched a file of that name, and which."""
    _of_episode: dict[int, int] = field(default_factory=dict)
    _working: dict[int, None] = field(default_factory=dict)
    _visits: dict[int, int] = field(default_factory=dict)
    """Come back to by topic -> the last turn that touched it."""
    changed_turns: list[int] = field(default_factory=list)
    """Turns of sub-goals whose state the newest turn changed: what stands otherwise to the work now than before."""
    changed_items: list[int] = field(default_factory=list)
    """And items that it linked to a sub-goal, or whose sub-goal it changed, wherever they stand."""
    _said_turn: int = -1
    _words_since: int = 0
    _request: str = ""

    @property
    def active(self) -> tuple[SubGoal, ...]:
        """What the agent works on now, by number."""
        return tuple(self.all[n] for n in sorted(self._working))

    @property
    def finished(self) -> tuple[SubGoal, ...]:
        """What is done with, by number. O(sub-goals)."""
        return tuple(s for s in self.all if s.state is State.FINISHED)

    def of_turn(self, turn: int) -> tuple[SubGoal, ...]:
        """The sub-goals that a turn worked on."""
        return tuple(self.all[n] for n in self._of_turn.get(turn, ()))

    def of_item(self, item: Item) -> tuple[SubGoal, ...]:
        """The sub-goals of its turn, and those whose words name what it holds. O(those)."""
        numbers = dict.fromkeys((*self._of_turn.get(item.turn, ()), *self._of_item.get(item.id, ())))
        return tuple(self.all[n] for n in numbers)

    def since(self, turn: int) -> tuple[SubGoalEvent, ...]:
        """Events of this turn and later ones, oldest first. O(those)."""
        first = len(self.events)
        while first and self.events[first - 1].turn >= turn:
            first -= 1
        return tuple(self.events[first:])

    def observe(
        self, index: int, turn: Turn, items: Sequence[Item], step: int, episode: Episode | None, found: AnchorIndex
    ) -> None:
        """A settled turn, after it joined the index and its episode. `step` is the model call that made it."""
        self.changed_turns.clear()
        self.changed_items.clear()
        if turn.kind is TurnKind.INSTRUCTION:
            return
        if turn.kind is TurnKind.USER:
            self._words_since += 1
            self._request = next((i.title for i in items if i.kind in (Kind.USER, Kind.GOAL)), self._request)
            self._close_episodes(index, step, None)
            return
        for said in statements(turn):
            self._take(said, index, step, found)
        self._follow(index, step, episode)
        self._work(index, items)
        self._come_back(index, step, items)

    # -- the agent's own plan

    def _take(self, said: Statement, index: int, step: int, found: AnchorIndex) -> None:
        if said.current_done:
            for number in sorted(self._working):
                self._change(number, State.FINISHED, index, step, "the agent says it is done")
            return
        numbers = [self._entry(entry, index, step, found) for entry in said.entries]
        known = [n for n in numbers if n is not None]
        if not known:
            return
        self._said_turn, self._words_since = index, 0
        fresh = not set(known) & set(self._plan)
        if said.whole or (fresh and not self._live(index)):
            for number in self._plan:
                if number not in known and self.all[number].state is not State.FINISHED:
                    self._change(number, State.DROPPED, index, step, "no longer in the plan")
            self._plan = known
            if fresh:
                self._happen(Happening.NEW_PLAN, min(known), index, step, f"{len(known)} entries")
        else:
            self._plan.extend(n for n in known if n not in self._plan)

    def _entry(self, entry: Entry, index: int, step: int, found: AnchorIndex) -> int | None:
        """The number of the sub-goal an entry speaks of, its state followed; None for a key nobody knows."""
        number = self._by_key.get(entry.key) if entry.key else None
        if entry.text and (number is None or same(self.all[number].text) != same(entry.text)):
            # Ids start again with a new plan, so a text that is not the known one is another entry.
            number = self._by_text.get(same(entry.text))
        wanted = _STATES[entry.status]
        if number is None:
            if not entry.text:
                return None
            number = self._make(entry.text, Source.PLAN, State.OPEN, index)
            self._by_text[same(entry.text)] = number
            self._name(number, found)
            if wanted is State.FINISHED:
                # Born finished: the agent tells of what was done before it kept a plan.
                self.all[number].state, self.all[number].finished_step = wanted, step
        if entry.key:
            self._by_key[entry.key] = number
        if entry.firm or self.all[number].state is not State.FINISHED:
            self._change(number, wanted, index, step, "in the agent's plan")
        return number

    def _name(self, number: int, found: AnchorIndex) -> None:
        """Link a sub-goal to the items that hold a rare word of its text, past and to come."""
        for literal, kind in anchors(self.all[number].text).items():
            if kind is AnchorKind.NUMBER:
                continue
            self._by_anchor.setdefault(literal, []).append(number)
            anchor = found.get(literal)
            if anchor is not None and anchor.seen <= RARE_ITEMS:
                for item in dict.fromkeys((anchor.first_item, *anchor.items)):
                    self._own(item, number)

    def _live(self, index: int) -> bool:
        """Whether the plan in force is what the agent works by."""
        if index - self._said_turn > STALE_TURNS or self._words_since >= STALE_WORDS:
            return False
        return any(self.all[n].state in (State.OPEN, *WORKING) for n in self._plan)

    # -- without one

    def _follow(self, index: int, step: int, episode: Episode | None) -> None:
        """Keep the sub-goals of episodes in step with the episode of this turn."""
        wanted = episode is not None and (episode.declared or not self._live(index))
        self._close_episodes(index, step, episode.number if episode is not None and wanted else None)
        if episode is None or not wanted:
            return
        number = self._of_episode.get(episode.number)
        if number is None:
            source = Source.DECLARED if episode.declared else Source.EPISODE
            number = self._make(episode.name or self._request, source, State.OPEN, index)
            self._of_episode[episode.number] = number
            self._change(number, State.ACTIVE, index, step, f"a new episode: {episode.type.value}")
        if not episode.open:
            self._change(number, State.FINISHED, index, step, "its episode is closed")

    def _close_episodes(self, index: int, step: int, but: int | None) -> None:
        kept = self._of_episode.get(but) if but is not None else None
        for number in sorted(self._working):
            if self.all[number].source is not Source.PLAN and number != kept and number not in self._visits:
                self._change(number, State.FINISHED, index, step, "its episode is closed")

    # -- what belongs to what

    def _work(self, index: int, items: Sequence[Item]) -> None:
        """The turn's work belongs to what is active, or else to the first open entry of the plan in force."""
        doing = sorted(n for n in self._working if n not in self._visits)[-MOST_OWNERS:]
        if not doing and self._live(index):
            doing = [n for n in self._plan if self.all[n].state is State.OPEN][:1]
        self._of_turn[index] = tuple(doing)
        for number in doing:
            goal = self.all[number]
            goal.turns.append(index)
            goal.last_turn = index
            if goal.source is Source.EPISODE and len(goal.turns) <= MOST_TITLES:
                goal.text = self._told(goal, items)
        for target in dict.fromkeys(t for i in items for t in i.targets):
            for number in doing:
                if target not in self.all[number].files:
                    self.all[number].files[target] = None
                    self._by_file.setdefault(_name(target), []).append((number, target))

    def _told(self, goal: SubGoal, items: Sequence[Item]) -> str:
        """An episode in words: what was asked, and the files it is about."""
        files = dict.fromkeys((*goal.files, *(t for i in items for t in i.targets)))
        about = ", ".join(_name(f) for f in list(files)[:3])
        return one_line(f"{self._request} ({about})" if about else self._request, TEXT_CHARS)

    def _come_back(self, index: int, step: int, items: Sequence[Item]) -> None:
        for number in [n for n, last in self._visits.items() if index - last > VISIT_TURNS]:
            del self._visits[number]
            self._working.pop(number, None)
            if self.all[number].state is State.REOPENED:
                self.all[number].state = State.FINISHED
                self._mark(self.all[number])
        for item in items:
            for literal in dict.fromkeys((*item.targets, *anchors(item.title))):
                for number in self._by_anchor.get(literal, ())[-MOST_OWNERS:]:
                    self._own(item.id, number)
            for target in item.targets:
                self._touch(target, index, step)

    def _touch(self, target: str, index: int, step: int) -> None:
        """A file is read or edited: its finished sub-goal is at work again, if it is the file of few."""
        owners = [n for n, other in self._by_file.get(_name(target), ()) if same_file(other, target)]
        for number in owners:
            if number in self._visits:
                self._visits[number] = index
        # The turn's own sub-goals have the file by now: they do not count against those who had it before.
        before = [n for n in dict.fromkeys(owners) if n not in self._working]
        if not before or len(before) > RARE_OWNERS:
            return
        goal = self.all[before[-1]]
        if goal.state is State.FINISHED and index - goal.last_turn >= RETURN_TURNS:
            self._visits[goal.number] = index
            self._change(goal.number, State.REOPENED, index, step, f"the work is back at {target}")

    def _own(self, item: int, number: int) -> None:
        owners = self._of_item.get(item, ())
        if number not in owners:
            self._of_item[item] = (*owners, number)[-MOST_OWNERS:]
            self.all[number].named[item] = None
            self.changed_items.append(item)

    def _mark(self, goal: SubGoal) -> None:
        self.changed_turns.extend(goal.turns)
        self.changed_items.extend(goal.named)

    # -- states

    def _make(self, text: str, source: Source, state: State, index: int) -> int:
        number = len(self.all)
        text = one_line(text, TEXT_CHARS)
        self.all.append(
            SubGoal(number=number, text=text, source=source, state=state, first_turn=index, last_turn=index)
        )
        return number

    def _change(self, number: int, wanted: State, index: int, step: int, why: str) -> None:
        goal = self.all[number]
        before = goal.state
        if wanted is State.ACTIVE and before in (State.FINISHED, State.REOPENED):
            wanted = State.REOPENED
        if wanted is State.OPEN and before is State.FINISHED:
            wanted = State.REOPENED
        if wanted is before:
            return
        goal.state, goal.last_turn = wanted, index
        self._mark(goal)
        goal.finished_step = step if wanted is State.FINISHED else -1
        if wanted in WORKING:
            self._working[number] = None
        else:
            self._working.pop(number, None)
            self._visits.pop(number, None)
        if wanted in _TOLD:
            self._happen(_TOLD[wanted], number, index, step, why)

    def _happen(self, happening: Happening, number: int, index: int, step: int, why: str) -> None:
        source = self.all[number].source
        self.events.append(
            SubGoalEvent(turn=index, step=step, happening=happening, subgoal=number, source=source, why=why)
        )


TEXT_CHARS = 120
_STATES = {
    Status.OPEN: State.OPEN, Status.ACTIVE: State.ACTIVE, Status.DONE: State.FINISHED, Status.DROPPED: State.DROPPED,
}  # fmt: skip
_TOLD = {
    State.ACTIVE: Happening.STARTED, State.FINISHED: Happening.FINISHED, State.DROPPED: Happening.DROPPED,
    State.REOPENED: Happening.REOPENED,
}  # fmt: skip


def _name(target: str) -> str:
    return target.rsplit("/", 1)[-1]
