"""The phase the agent is in: planning, exploring, acting, verifying, or talking.

Each turn votes by what it does (reads, edits, tests, words, its plan); votes fade, and the phase
changes when another one leads clearly and the present one has lasted: so a single read between edits changes nothing.
An episode the agent declared counts for its type; a boundary of its plan lets a change through at once. O(1) a turn.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from foldaway.linking.episodes import Episode, EpisodeType
from foldaway.linking.kinds import Kinds, command_of
from foldaway.linking.subgoals import Happening, Source, SubGoalEvent
from foldaway.model.items import Item, Kind
from foldaway.model.wire import Part, PartType, Turn, TurnKind

FADE = 0.7
"""What is left of a vote one turn later: half of it is gone after two turns."""
LEAD = 0.75
"""By how many votes another phase must lead."""
SHORTEST_TURNS = 4
"""Turns a phase lasts at least, but for boundaries that the agent itself draws."""
PLAN_VOTES = 3.0
DECLARED_VOTES = 1.0


class Phase(StrEnum):
    PLAN = "plan"
    EXPLORE = "explore"
    ACT = "act"
    VERIFY = "verify"
    """Runs tests, builds, linters, or its own script."""
    CONVERSE = "converse"
    """Words that a person answers, without tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseChange:
    turn: int
    step: int
    before: Phase | None
    phase: Phase
    why: str


_VERIFIES = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|ctest|rspec|phpunit|runtests|ruff|mypy|eslint|tsc|flake8|"
    r"golangci-lint|clippy|pre-commit)\b|"
    r"\b(?:go|cargo|mise(?: run)?|dotnet|bun|deno|swift|mvn|gradle|gradlew|npm|yarn|pnpm|make|uv run|rake)"
    r"(?: run)?(?: -\S+)* (?:test|tests|check|checks|lint|build|vet|verify|ci|typecheck|type-check|fmt)\b|"
    r"\b(?:python3?|node|ruby|bash|sh)\b \S*(?:test|repro|verify|check)\S*|\bmanage\.py test\b"
)
_OF_KIND = {
    Kind.READ: Phase.EXPLORE, Kind.LISTING: Phase.EXPLORE, Kind.SEARCH: Phase.EXPLORE,
    Kind.EDIT: Phase.ACT, Kind.PLAN: Phase.PLAN,
}  # fmt: skip
_OF_TYPE = {EpisodeType.EXPLORE: Phase.EXPLORE, EpisodeType.ACT: Phase.ACT}
_WHY = {
    Phase.PLAN: "a plan is being made", Phase.EXPLORE: "mostly reads and searches",
    Phase.ACT: "mostly edits", Phase.VERIFY: "mostly tests and builds", Phase.CONVERSE: "words without tools",
}  # fmt: skip
_BOUNDARIES = frozenset({Happening.FINISHED, Happening.NEW_PLAN, Happening.REOPENED})


@dataclass(slots=True)
class Phases:
    """The phases of one branch, oldest first."""

    changes: list[PhaseChange] = field(default_factory=list)
    _votes: dict[Phase, float] = field(default_factory=lambda: dict.fromkeys(Phase, 0.0))
    _turns: int = 0
    """Turns that voted since the phase began."""
    _talk: bool = False
    """The turn before was words of the agent without a call."""

    @property
    def current(self) -> Phase | None:
        """None before the agent did anything."""
        return self.changes[-1].phase if self.changes else None

    def at(self, turn: int) -> Phase | None:
        """The phase a turn fell into. O(log changes)."""
        found = bisect_right(self.changes, turn, key=lambda change: change.turn)
        return self.changes[found - 1].phase if found else None

    def at_step(self, step: int) -> Phase | None:
        """The phase a model call was made in. O(log changes)."""
        found = bisect_right(self.changes, step, key=lambda change: change.step)
        return self.changes[found - 1].phase if found else None

    def since(self, turn: int) -> tuple[PhaseChange, ...]:
        """Changes at this turn and later, but for the first phase of all, which nothing came before."""
        return tuple(c for c in self.changes[-4:] if c.turn >= turn and c.before is not None)

    def observe(
        self, index: int, turn: Turn, items: Sequence[Item], step: int, kinds: Kinds,
        episode: Episode | None, events: Sequence[SubGoalEvent],
    ) -> None:  # fmt: skip
        """A settled turn, with its episode and what happened to sub-goals in it."""
        found = votes_of(turn, items, kinds)
        if self._talk and turn.kind is TurnKind.USER:
            # Words that the agent went on working after were a remark; those a person answers are conversation.
            found[Phase.CONVERSE] = 1.0
        self._talk = turn.kind is TurnKind.ASSISTANT
        planned = any(e.happening is Happening.NEW_PLAN for e in events)
        if planned:
            found[Phase.PLAN] = PLAN_VOTES
        if not found:
            return
        if episode is not None and episode.declared and episode.open:
            found[_OF_TYPE[episode.type]] = found.get(_OF_TYPE[episode.type], 0.0) + DECLARED_VOTES
        for phase in self._votes:
            self._votes[phase] = round(self._votes[phase] * FADE + found.get(phase, 0.0), 6)
        self._turns += 1
        self._decide(index, step, any(e.happening in _BOUNDARIES and e.source is not Source.EPISODE for e in events))

    def _decide(self, index: int, step: int, boundary: bool) -> None:
        now = self.current
        # The earlier member of the enumeration wins a tie, so that equal is equal everywhere.
        best = max(Phase, key=lambda phase: self._votes[phase])
        if best is now:
            return
        if now is not None:
            leads = self._votes[best] >= self._votes[now] + LEAD
            if not leads or (self._turns < SHORTEST_TURNS and not boundary):
                return
        self.changes.append(PhaseChange(turn=index, step=step, before=now, phase=best, why=_WHY[best]))
        self._turns = 0


def votes_of(turn: Turn, items: Sequence[Item], kinds: Kinds) -> dict[Phase, float]:
    """What a turn speaks for: one vote, shared by its calls; {} for turns that say nothing of it."""
    done = [phase for part in turn.parts if part.type is PartType.CALL if (phase := _of_call(part, kinds)) is not None]
    if turn.kind is TurnKind.OBSERVATION:
        done = [phase for item in items if (phase := _of_title(item)) is not None]
    if done:
        return {phase: done.count(phase) / len(done) for phase in dict.fromkeys(done)}
    return {}


def _of_call(part: Part, kinds: Kinds) -> Phase | None:
    kind = kinds.of_call(part.name, part.arguments, part.text)
    if kind is Kind.COMMAND or kind is Kind.EDIT:
        command = command_of(part.arguments, "")
        if command and _VERIFIES.search(command[:2000]):
            return Phase.VERIFY
    return _OF_KIND.get(kind)


def _of_title(item: Item) -> Phase | None:
    if _VERIFIES.search(item.title):
        return Phase.VERIFY
    return _OF_KIND.get(item.kind)
