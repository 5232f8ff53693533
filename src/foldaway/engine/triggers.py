"""What may start a commit that nobody forces, as data (S2.5): a share of the window, or something that happened.

A trigger only asks for a commit; whether one is made now is a question of its price (`engine.benefit`). Events are
those of the newest turns, which no model call has answered yet: so the same history asks the same, after a restart too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.benefit import AT_ONCE_SHARE
from foldaway.engine.constraints.last_turn import newest_agent_turn
from foldaway.engine.log import Log
from foldaway.errors import SettingsError
from foldaway.linking.subgoals import Happening
from foldaway.model.wire import TurnKind

WINDOW_SHARE = "window-share"
SUBGOAL_FINISHED = "subgoal-finished"
PHASE_CHANGE = "phase-change"
NEW_PLAN = "new-plan"
USER_TURN = "user-turn"
BOUNDARIES = frozenset({SUBGOAL_FINISHED, USER_TURN})
"""Events at which a task ends or begins: a commit breaks no train of thought there."""
EVENTS = frozenset({SUBGOAL_FINISHED, PHASE_CHANGE, NEW_PLAN, USER_TURN})
TOLD_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """Which of them count. The ceiling, the high watermark and an explicit call always do."""

    window_share: float | None = None
    """A view over this share of the budget (0..1); None: only the high watermark counts."""
    subgoal_finished: bool = False
    phase_change: bool = False
    new_plan: bool = False
    """The agent wrote a new plan."""
    user_turn: bool = False
    """The user spoke again."""
    from_share: float = 0.0
    """Events count from this share of the budget on."""
    at_once_share: float = AT_ONCE_SHARE
    """A commit that pays is made at once when it frees more than this share of the view."""

    def __post_init__(self) -> None:
        for name, share in (
            ("window_share", self.window_share), ("from_share", self.from_share),
            ("at_once_share", self.at_once_share),
        ):  # fmt: skip
            if share is not None and not 0.0 <= share <= 1.0:
                raise SettingsError(f"trigger {name} {share!r}: expected a share from 0 to 1")

    @property
    def events(self) -> frozenset[str]:
        """Names of the events that count."""
        chosen = (
            (SUBGOAL_FINISHED, self.subgoal_finished), (PHASE_CHANGE, self.phase_change), (NEW_PLAN, self.new_plan),
            (USER_TURN, self.user_turn),
        )  # fmt: skip
        return frozenset(name for name, on in chosen if on)


def happened(log: Log) -> Iterator[tuple[str, str]]:
    """(event, what it was) of the newest turns, sub-goals first. O(new turns and events)."""
    since = newest_agent_turn(log)
    for event in log.subgoals.since(since):
        if event.happening is Happening.FINISHED:
            yield SUBGOAL_FINISHED, log.subgoals.all[event.subgoal].text
        elif event.happening is Happening.NEW_PLAN:
            yield NEW_PLAN, event.why
    for change in log.phases.since(since):
        yield PHASE_CHANGE, f"{change.before.value if change.before else 'none'} to {change.phase.value}"
    # The first words of a session begin the task; they end none.
    if any(log.turns[t].kind is TurnKind.USER for t in range(since, len(log.turns))) and log.step > 0:
        yield USER_TURN, ""


def fired(triggers: Triggers, log: Log, *, tokens: int, low_tokens: int, budget_tokens: int) -> str:
    """The trigger that asks for a commit now, in words for the ledger; "" when none does.

    Nothing is asked for below the low watermark: there is nothing to free.
    """
    if tokens <= low_tokens:
        return ""
    if triggers.events and tokens >= triggers.from_share * budget_tokens:
        for event, what in happened(log):
            if event in triggers.events:
                return named(event, what)
    if triggers.window_share is not None and tokens > triggers.window_share * budget_tokens:
        return f"{WINDOW_SHARE} {triggers.window_share:g}"
    return ""


def boundary(log: Log) -> str:
    """The task boundary the session stands at, in words; "" within a task."""
    return next((f"task boundary, {named(*event)}" for event in happened(log) if event[0] in BOUNDARIES), "")


def boundary_of(trigger: str) -> str:
    """The trigger itself where it is an event: whoever chose it has it commit there."""
    return trigger if trigger.partition(":")[0] in EVENTS else ""


def named(event: str, what: str) -> str:
    """An event with what it was, on one line."""
    told = " ".join(what.split())[:TOLD_CHARS]
    return f"{event}: {told}" if told else event
