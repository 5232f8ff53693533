"""Faults: what a step needed and the view did not show, and calls that were made before.

A *recall* fault is a need out of view that a stub in the view leads to; a *silent* one nothing leads to. *again*
counts those on a part that had faulted before. A recorded call that repeats an earlier one, its result unchanged, is a
*duplicate* while that result stands in the view, and a *refetch* when it does not: the recorded agent asked again, and
under this policy would have had to. A *pin* fault is a call whose view lacks a person's words, or the standing prompt
among the messages, as they were recorded (shortened words count).

After the fault kinds of ClawVM (as the literature describes it): refetch, duplicate call, pinned miss, silent recall.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from foldaway.lab.needs import Need
from foldaway.lab.ruler import Measured, Reading, Ruler
from foldaway.lab.timeline import Said, Step, Voice, timeline
from foldaway.model.wire import PartType

PINNED = (Voice.USER, Voice.STANDING)
KINDS = ("recall", "silent", "again", "refetch", "duplicate", "pin")


def thrash_index(faults: Mapping[str, int], served: int) -> float:
    """Faults on what had faulted before, over needs served from the view plus one."""
    return faults.get("again", 0) / (served + 1)


@dataclass(slots=True)
class Faults:
    """Counts the faults of one run, call by call."""

    ruler: Ruler
    steps: Sequence[Step]
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    _faulted: set[int] = field(default_factory=set)
    _repeats: Mapping[int, Sequence[int]] = field(init=False)
    _pins: Sequence[int] = field(init=False)
    _pinned: list[Measured] = field(default_factory=list)
    _due: int = 0

    def __post_init__(self) -> None:
        said = timeline(self.ruler.recorded)
        self._repeats = repeats(self.steps, said)
        self._pins = pinned_messages(said)

    def needs(self, missing: Iterable[Need], lost: set[int]) -> None:
        """The needs of a call that stand out of view; `lost`: literals that nothing in the view leads to."""
        for need in missing:
            self.counts["silent" if need.literal in lost else "recall"] += 1
            self.counts["again"] += need.supplier in self._faulted
            self._faulted.add(need.supplier)

    def calls(self, step: Step, reading: Reading) -> None:
        """The recorded calls of a step against what its view held."""
        recorded = self.ruler.recorded_messages()
        for result in self._repeats.get(step.number, ()):
            self.counts["duplicate" if reading.holds(recorded[result]) else "refetch"] += 1
        while self._due < len(self._pins) and self._pins[self._due] < step.start:
            self._pinned.append(recorded[self._pins[self._due]])
            self._due += 1
        self.counts["pin"] += not all(map(reading.holds, self._pinned))


def pinned_messages(said: Sequence[Said]) -> list[int]:
    """Positions of the messages that hold a person's words or the standing prompt, and nothing else."""
    mixed = {s.position for s in said if s.voice not in PINNED}
    return sorted({s.position for s in said if s.voice in PINNED and s.text} - mixed)


def repeats(steps: Sequence[Step], said: Sequence[Said]) -> dict[int, list[int]]:
    """Step number -> position of the earlier result, for each call that repeats one and got the same result."""
    owner = {position: step.number for step in steps for position in range(step.start, step.end)}
    calls = [s for s in said if s.type is PartType.CALL and s.voice is Voice.AGENT and s.position in owner]
    results = {s.call_id: (s.text, s.position) for s in said if s.type is PartType.RESULT and s.call_id}
    known: dict[str, int] = {}
    found: dict[int, list[int]] = {}
    for call in calls:
        answer = results.get(call.call_id)
        if answer is None:
            continue
        text, position = answer
        key = f"{call.name}\0{json.dumps(call.arguments, sort_keys=True, default=str)}\0{text}"
        if key in known:
            found.setdefault(owner[call.position], []).append(known[key])
        known[key] = position
    return found
