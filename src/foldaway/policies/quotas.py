"""How the room is shared out between the layers of memory, as data (S3.5).

Four layers share the budget: working memory (raw turns), the state of the work, short-term memory (digests and lines of
what was folded) and what was retrieved. Their shares follow the stage of the task, early, middle or late; a reserve
stays free, as large as the session's own steps are uneven. Both are read off at the last finished sub-goal, so they
change there and nowhere in between. Pure: the same log gives the same quotas, after a restart too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from foldaway.engine.snapshot import Snapshot
from foldaway.linking.subgoals import Happening, Source, State

MEASURED_STEPS = 200
"""Newest steps whose sizes count."""
MOST_ENTRIES = 60
"""Sub-goals looked at, the newest: a plan is no longer."""
FEWEST_ENTRIES = 3
"""A plan of fewer entries does not tell how far the work is."""
MIDDLE_STEPS, LATE_STEPS = 15, 60
"""Without a plan: the steps from which on a task counts as middle and late."""


class Stage(StrEnum):
    EARLY = "early"
    MIDDLE = "middle"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Shares:
    """Of the room above the pinned floor; what is left is working memory's."""

    state: float
    short_term: float
    retrieved: float

    @property
    def working(self) -> float:
        return max(0.0, 1.0 - self.state - self.short_term - self.retrieved)


DEFAULT_SHARES: Mapping[Stage, Shares] = {
    Stage.EARLY: Shares(state=0.05, short_term=0.36, retrieved=0.15),
    Stage.MIDDLE: Shares(state=0.06, short_term=0.40, retrieved=0.15),
    Stage.LATE: Shares(state=0.08, short_term=0.44, retrieved=0.10),
}
"""Exploring early wants raw results, finishing late wants what was found: working memory gives way to digests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """The layers' tokens for one decision."""

    stage: Stage
    reserve_tokens: int
    """Kept free of the budget."""
    limit_tokens: int
    """The view with everything stays below this: budget less reserve."""
    working: int
    state: int
    short_term: int
    retrieved: int


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Works quotas out of a snapshot."""

    most_reserve: float = 0.20
    """Of the budget the reserve takes at most this share, and at least what the session keeps free in any case."""
    shares: Mapping[Stage, Shares] = field(default_factory=lambda: DEFAULT_SHARES)

    def quotas(self, snapshot: Snapshot) -> Quotas:
        """O(steps measured), at most `MEASURED_STEPS`."""
        turn = last_end(snapshot)
        whole = snapshot.budget_tokens + snapshot.reserve_tokens
        sizes = snapshot.step_tokens(turn, MEASURED_STEPS)
        reserve = self.reserve(sizes, snapshot.reserve_tokens, whole)
        limit = whole - reserve
        room = max(0, limit - snapshot.floor_tokens)
        stage = stage_at(snapshot, turn)
        shares = self.shares[stage]
        return Quotas(
            stage=stage, reserve_tokens=reserve, limit_tokens=limit, working=int(room * shares.working),
            state=int(room * shares.state), short_term=int(room * shares.short_term),
            retrieved=int(room * shares.retrieved),
        )  # fmt: skip

    def reserve(self, step_tokens: Sequence[int], least: int, budget_tokens: int) -> int:
        """p95 - median of the steps' sizes, no less than `least` and no more than the share of the budget allows."""
        sizes = sorted(step_tokens)
        spread = sizes[(len(sizes) * 95 - 1) // 100] - sizes[(len(sizes) - 1) // 2] if sizes else 0
        return max(least, min(int(budget_tokens * self.most_reserve), spread))


def last_end(snapshot: Snapshot) -> int:
    """The turn at which a sub-goal was finished last; -1 while none was. O(events since)."""
    for event in reversed(snapshot.subgoals.events):
        if event.happening is Happening.FINISHED:
            return event.turn
    return -1


def stage_at(snapshot: Snapshot, turn: int) -> Stage:
    """How far the work was at a turn: by the share of the plan done, without a plan by the steps made."""
    if turn < 0:
        return Stage.EARLY
    newest = snapshot.subgoals.all[-MOST_ENTRIES:]
    plan = [s for s in newest if s.source is Source.PLAN and s.state is not State.DROPPED]
    if len(plan) >= FEWEST_ENTRIES and any(s.state is not State.FINISHED for s in plan):
        done = sum(s.state is State.FINISHED for s in plan)
        return Stage.EARLY if 3 * done < len(plan) else Stage.MIDDLE if 3 * done < 2 * len(plan) else Stage.LATE
    steps = snapshot.step_of(turn)
    return Stage.EARLY if steps < MIDDLE_STEPS else Stage.MIDDLE if steps < LATE_STEPS else Stage.LATE
