"""What was decided and done: answers of the user, finished parts of the agent's plan, the session in a few lines."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

from foldaway.linking.kinds import one_line
from foldaway.linking.state import Topic
from foldaway.linking.subgoals import Happening, Source, State, SubGoal
from foldaway.model.wire import TurnKind
from foldaway.protocols import Memory
from foldaway.remembering._told import source_of
from foldaway.session import Session

MOST_FILES = 8
MOST_RESULTS = 3
GOAL_CHARS = 240
_CLOSING = re.compile(
    r"\W*(?:thank|that['’]?s (?:all|perfect|great|it)|perfect|great|ok(?:ay)?\b|bye|谢谢|好的)", re.IGNORECASE
)
_STATED = frozenset({Source.PLAN, Source.DECLARED})
"""Sub-goals that the agent itself stated; those told from its behaviour have no words of their own."""


def decisions(session: Session) -> Iterator[Memory]:
    """Kind `decision`: what the user answered, and how each stated sub-goal ended."""
    for fact in session.state.facts:
        if fact.topic is Topic.DECISION:
            text = f"Asked «{fact.subject}», the user said {fact.value}."
            yield Memory(
                text=text, kind="decision", key=f"asked · {fact.subject}", source="user", item=fact.confirmed_by
            )
    goals = session.engine.log.subgoals
    ended = {
        event.subgoal: event.happening
        for event in goals.events
        if event.happening in (Happening.FINISHED, Happening.DROPPED)
    }
    for goal in goals.all:
        # What was done before the agent kept a plan is finished without an event.
        how = Happening.FINISHED if goal.state is State.FINISHED else ended.get(goal.number)
        if goal.source in _STATED and how is not None and goal.text:
            yield _sub_goal(session, goal, how)


def _sub_goal(session: Session, goal: SubGoal, how: Happening) -> Memory:
    log = session.engine.log
    last = max((i for t in (*goal.turns, goal.last_turn) for i in log.turn_items[t] if i > 0), default=0)
    folder, files = _below(_paths(goal.files))
    text = f"{'Done' if how is Happening.FINISHED else 'Dropped from the plan'}: {goal.text}"
    if files and how is Happening.FINISHED:
        text += f" (files{f' in {folder}' if folder else ''}: {', '.join(files)})"
    source = source_of(log.items[last]) if last else "plan"
    return Memory(text=text, kind="decision", key=f"plan · {goal.text}", source=source, item=last)


def digest(session: Session) -> Iterator[Memory]:
    """Kind `digest`: what was asked, what came of it. One a session; none where nothing is known of either."""
    state = session.state
    if state.goal is None:
        return
    lines = [f"Asked: {one_line(state.goal.text, GOAL_CHARS)}"]
    last = state.request
    if last is not None and last.item != state.goal.item and not _CLOSING.match(last.text):
        lines.append(f"Asked last: {one_line(last.text, GOAL_CHARS)}")
    outcome = [*_outcome(session)]
    if outcome:
        text = "\n".join([*lines, *outcome])
        yield Memory(text=text, kind="digest", key=f"session {session.name}", source="session", item=state.goal.item)


def _outcome(session: Session) -> Iterator[str]:
    facts = session.state.facts
    folder, files = _below(_paths([fact.subject for fact in facts if fact.topic is Topic.WRITTEN]))
    made = [f"{fact.key} {fact.value}" for fact in facts if fact.topic is Topic.CREATED]
    results = [f"{one_line(f.subject, 80)}: {f.value}" for f in facts if f.topic is Topic.RESULT and f.value]
    where = f" in {folder}" if folder else ""
    for what, found in ((f"Files written{where}", files), ("Made", made), ("Last results", results[-MOST_RESULTS:])):
        if found:
            yield f"{what}: {'; '.join(found[-MOST_FILES:])}"
    log = session.engine.log
    if log.turns and log.turns[-1].kind is TurnKind.ASSISTANT and not log.open:
        said = one_line(log.text_of(log.items_of_turn(len(log.turns) - 1)[0]), GOAL_CHARS)
        if said:
            yield f"The agent's last words, confirmed by nobody: {said}"


def _below(files: Sequence[str]) -> tuple[str, list[str]]:
    """The folder that all of several absolute paths have in common, and the paths below it."""
    if len(files) < 2 or not all(file.startswith("/") for file in files):
        return "", list(files)
    folder = posixpath.commonpath(files)
    return ("", list(files)) if folder == "/" else (folder, [file[len(folder) + 1 :] for file in files])


def _paths(files: Iterable[str]) -> list[str]:
    """Those that are surely files, the newest `MOST_FILES`."""
    return [f for f in dict.fromkeys(files) if "." in f.rsplit("/", 1)[-1][1:]][-MOST_FILES:]
