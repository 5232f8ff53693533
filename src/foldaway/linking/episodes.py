"""Episodes: runs of turns that serve one sub-goal, typed explore or act, with what they rest on.

Opened and closed by the agent's `delimiter` calls where it makes them, and without any annotation by what the agent
does: a user's words open a new episode; within one, the first edit turns exploring into acting, and exploring again
after an action closes it. Deterministic, O(1) per turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from foldaway.model.items import Item, Kind
from foldaway.model.wire import PartType, Turn, TurnKind

EXPLORING = frozenset({Kind.READ, Kind.LISTING, Kind.SEARCH})
LONGEST = 24
"""Turns after which an unannotated episode is closed, so that growth is bounded without any cooperation."""


class EpisodeType(StrEnum):
    EXPLORE = "explore"
    ACT = "act"


@dataclass(slots=True)
class Episode:
    number: int
    type: EpisodeType
    first_turn: int
    last_turn: int
    name: str = ""
    declared: bool = False
    """Opened by the agent's own annotation."""
    open: bool = True
    description: str = ""
    """The agent's own words on closing an explore episode; survives its eviction. "" of an act."""
    depends_on: tuple[int, ...] = ()
    """Numbers of the explore episodes an act episode was declared to rest on."""


@dataclass(slots=True)
class Episodes:
    """All episodes of one branch."""

    all: list[Episode] = field(default_factory=list)
    of_turn: dict[int, int] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    """What was wrong with annotations that were not followed."""

    def current(self) -> Episode | None:
        return self.all[-1] if self.all and self.all[-1].open else None

    def episode_of(self, turn: int) -> Episode | None:
        number = self.of_turn.get(turn)
        return None if number is None else self.all[number]

    def observe(self, index: int, turn: Turn, items: Sequence[Item], step: int) -> None:
        """A settled turn joins its episode. `step` is the model call that made it."""
        if turn.kind is TurnKind.INSTRUCTION:
            return
        if turn.kind is TurnKind.USER:
            self._boundary(index)
            return
        annotations = [p for p in turn.parts if p.type is PartType.CALL and p.name == "delimiter"]
        for part in annotations:
            self._annotate(index, part.arguments)
        current = self.current()
        if not annotations and (current is None or not current.declared):
            current = self._by_behaviour(index, items, current)
        if current is not None:
            current.last_turn = index
            self.of_turn[index] = current.number

    def _boundary(self, index: int) -> None:
        current = self.current()
        if current is not None and not current.declared:
            current.open = False

    def _by_behaviour(self, index: int, items: Sequence[Item], current: Episode | None) -> Episode:
        kinds = {item.kind for item in items}
        acts = Kind.EDIT in kinds
        explores = bool(kinds & EXPLORING) and not acts
        if current is not None:
            changes = current.type is EpisodeType.ACT and explores
            if changes or index - current.first_turn >= LONGEST:
                current.open = False
        if current is None or not current.open:
            current = self._open(index, EpisodeType.ACT if acts else EpisodeType.EXPLORE)
        elif acts:
            current.type = EpisodeType.ACT
        return current

    def _open(self, index: int, kind: EpisodeType, name: str = "", declared: bool = False) -> Episode:
        episode = Episode(
            number=len(self.all), type=kind, first_turn=index, last_turn=index, name=name, declared=declared
        )
        self.all.append(episode)
        return episode

    def _annotate(self, index: int, arguments: object) -> None:
        problem = self._follow(index, arguments if isinstance(arguments, dict) else {})
        if problem:
            self.refusals.append(problem)

    def _follow(self, index: int, call: dict[str, object]) -> str:
        """Act on one delimiter call; says what is wrong with it, or ""."""
        current = self.current()
        if call.get("action") == "start":
            name, kind = str(call.get("name") or ""), _TYPES.get(str(call.get("type") or ""))
            if not name or kind is None:
                return "delimiter start needs name and type (explore or act)"
            if any(e.name == name for e in self.all):
                return f"episode {name!r} exists already; choose another name"
            wanted = call.get("dependencies") or ()
            names = {e.name: e.number for e in self.all if e.declared and e.type is EpisodeType.EXPLORE and not e.open}
            listed = [str(w) for w in wanted] if isinstance(wanted, list | tuple) else []
            unknown = [w for w in listed if w not in names]
            if current is not None:
                current.open = False
            episode = self._open(index, kind, name, declared=True)
            if kind is EpisodeType.EXPLORE and listed:
                return f"episode {name!r}: an explore episode rests on no other"
            episode.depends_on = tuple(names[w] for w in listed if w in names)
            return f"episode {name!r}: no closed explore episode {', '.join(unknown)}" if unknown else ""
        if call.get("action") == "end":
            if current is None or not current.declared:
                return "delimiter end: no open episode"
            if current.type is EpisodeType.EXPLORE:
                # What an act did stands in the environment; a description would only outlive it.
                current.description = str(call.get("description") or "")
            current.open = False
            current.last_turn = index
            self.of_turn[index] = current.number
            return ""
        return "delimiter needs action start or end"


_TYPES = {
    "explore": EpisodeType.EXPLORE, "expl": EpisodeType.EXPLORE, "act": EpisodeType.ACT, "action": EpisodeType.ACT,
}  # fmt: skip
