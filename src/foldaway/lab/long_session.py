"""Many tasks in one session: what a working week costs an agent that is never restarted.

Tasks of different agents, as chat messages (see `as_chat`), follow one another in one session. Each is also replayed
alone, under the same policy and budget. Needs are judged by the labels of the task alone, their positions shifted, so
both sides are asked for the same things.

Stated, because it bears on the figures: only one system prompt can be the session's, and a hundred pinned ones fit no
budget; so a task's own comes in the long session as a message of role user at the head of the task, told apart as the
environment's. For that is who wrote it: a harness, for one task, and not the person whose words have to stay. It may
fold like any observation. `prompts_from=""` takes them all for a person's words instead, which is a stress test: the
words of a hundred tasks alone are then more than a small budget holds, and must be shortened (S1.9). Tool
schemas are left out on both sides. A literal that the view shows in the text of another task counts as visible, on the
long side only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from foldaway.lab.as_chat import ENVIRONMENT, as_chat
from foldaway.lab.needs import Labels, Need, label
from foldaway.lab.timeline import Said, steps_of, timeline
from foldaway.model.recorded import Recorded
from foldaway.readers import chain

TASKS = 120
"""Enough for a margin of two points: at least 89 are asked for."""
MIN_CALLS = 3
"""A task of fewer calls is a question, not a task."""
MAX_CALLS = 80
"""A task of more is a session of its own: a few of them would be most of what is measured, and of the time it takes."""


@dataclass(frozen=True, slots=True)
class Span:
    """One task inside the long session."""

    name: str
    source_format: str
    start: int
    """Position of its first message."""
    end: int
    calls: tuple[int, int]
    """Its first call, and the one behind its last."""


@dataclass(frozen=True, slots=True)
class LongSession:
    """The joined session with its labels, and the tasks alone with theirs."""

    recorded: Recorded
    labels: Labels
    spans: tuple[Span, ...]
    tasks: tuple[tuple[Recorded, Labels], ...]


def join_tasks(
    recordings: Iterable[Recorded], *, tasks: int = TASKS, max_calls: int = MAX_CALLS, prompts_from: str = ENVIRONMENT
) -> LongSession:
    """Join up to `tasks` tasks, one of each source in turn, both in the order of their names.

    Taken are those of `MIN_CALLS` to `max_calls` calls with at least one need. `prompts_from` is the origin of the
    messages that hand over system prompts: "environment" for observations, which may fold, "" for a person, whose words
    are pinned. Raises ValueError when there is no task.
    """
    chosen = _choose(recordings, tasks, max_calls)
    if not chosen:
        raise ValueError(f"no task of {MIN_CALLS} to {max_calls} calls with a need among the recordings")
    shaped = [_handed_over(task, prompts_from) for task, _ in chosen]
    recorded = replace(chain(shaped, f"long-{len(chosen)}"), source_format="joined", tools=None, system=None)
    starts = [part["start"] for part in recorded.meta["parts"]]
    spans: list[Span] = []
    calls = 0
    for (task, labels), start in zip(chosen, starts, strict=True):
        end = start + len(task.messages)
        spans.append(Span(task.name, task.source_format, start, end, (calls, calls + len(labels.needs))))
        calls += len(labels.needs)
    return LongSession(recorded, _joined_labels(chosen, starts, timeline(recorded)), tuple(spans), tuple(chosen))


def _choose(recordings: Iterable[Recorded], count: int, max_calls: int) -> list[tuple[Recorded, Labels]]:
    """Round robin over sources; labels are made only of what may be taken."""
    sources: dict[str, list[Recorded]] = {}
    for recorded in recordings:
        sources.setdefault(recorded.source_format, []).append(recorded)
    queues = [iter(sorted(sources[name], key=lambda r: (r.name, len(r.messages)))) for name in sorted(sources)]
    chosen: list[tuple[Recorded, Labels]] = []
    while queues and len(chosen) < count:
        for queue in list(queues):
            found = next((task for r in queue if (task := _task(r, max_calls))), None)
            if found is None:
                queues.remove(queue)
            elif len(chosen) < count:
                chosen.append(found)
    return chosen


def _task(recorded: Recorded, max_calls: int) -> tuple[Recorded, Labels] | None:
    task = as_chat(recorded)
    if not MIN_CALLS <= len(steps_of(task)) <= max_calls:
        return None
    # What a tool's schema says is standing text, though neither side is sent it.
    labels = label(task)
    return (replace(task, tools=None), labels) if any(labels.needs) else None


def _handed_over(task: Recorded, origin: str) -> Recorded:
    """The task with its system prompts as messages of role user."""
    given = task.origins or [""] * len(task.messages)
    prompt = [message.get("role") in ("system", "developer") for message in task.messages]
    messages = [{**m, "role": "user"} if p else m for m, p in zip(task.messages, prompt, strict=True)]
    origins = tuple(origin if p else was for was, p in zip(given, prompt, strict=True))
    return replace(task, messages=messages, origins=origins if any(origins) else ())


def _joined_labels(tasks: Sequence[tuple[Recorded, Labels]], starts: Sequence[int], said: Sequence[Said]) -> Labels:
    literals: dict[str, int] = {}
    needs: list[tuple[Need, ...]] = []
    places = {place: index for index, place in enumerate(_places(said))}
    positions = [part.position for part in said]
    for (task, labels), start in zip(tasks, starts, strict=True):
        numbers = [literals.setdefault(text, len(literals)) for text in labels.literals]
        parts = [(position + start, nth) for position, nth in _places(timeline(task))]
        for step in labels.needs:
            shifted = []
            for need in step:
                place = parts[need.supplier]
                # Repair may read a broken history otherwise when another follows: then the message stands for its part.
                supplier = places.get(place, bisect_left(positions, place[0], hi=len(positions) - 1))
                first, newest = need.first + start, need.newest + start
                shifted.append(
                    replace(need, literal=numbers[need.literal], first=first, newest=newest, supplier=supplier)
                )
            needs.append(tuple(shifted))
    return Labels(tuple(literals), tuple(needs))


def _places(said: Sequence[Said]) -> list[tuple[int, int]]:
    """Each part as (position of its message, its number within it): what stays the same but for a shift."""
    counts: dict[int, int] = {}
    found = []
    for part in said:
        nth = counts.get(part.position, 0)
        counts[part.position] = nth + 1
        found.append((part.position, nth))
    return found
