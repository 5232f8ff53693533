"""What happened in a run: one value for each step, and what is judged of every fit whatever the case asserts."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foldaway.testing.cases.reading import Message, as_bytes, calls_of, canonical, pair_faults, results_of
from foldaway.testing.cases.system import Answer, Json, Listed, Recalled, Sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A message that the case gave a name."""

    message: Message
    position: int
    """Position in the client's history when it joined."""
    handles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What one fit gave, and what it was asked with."""

    sent: Sent
    history: tuple[Message, ...]
    """What the client had, as it came."""
    fixed: tuple[Message, ...]
    """The system and developer messages that the case gave, adopted histories left out."""
    system: Json
    tools: list[Json] | None
    budget: int | None
    stand_ins: Mapping[int, str] = field(default_factory=dict)
    """Position in the history -> what stands in for that message. Only where a check or step asks for it."""
    handles: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def request(self) -> Json:
        return {"system": self.sent.system, "tools": self.sent.tools, "messages": self.sent.messages}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one step did."""

    name: str
    kind: str
    """The step's own key: fit, count, recall, search, entries, remember, restart, append, request ..."""
    seconds: float = 0.0
    since_fit_seconds: float = 0.0
    """Fits: with the appends since the last one, so that no cost hides there."""
    error: Exception | None = None
    own_error: bool = False
    says_missing: bool = False
    fit: Fit | None = None
    """None for other steps, for fits that raised, and for fits that no check looks into."""
    faults: tuple[str, ...] = ()
    """What is wrong with this fit whatever the case asserts."""
    count: int | None = None
    recalled: Recalled | None = None
    listed: tuple[Listed, ...] = ()
    answer: Answer | None = None
    warnings: tuple[str, ...] = ()
    """Reported during this step, each channel's lines as they came."""
    most_reports: int = 0
    """Lines in the channel that reported most."""
    memory_mb: float = 0.0
    bound: Mapping[str, str] = field(default_factory=dict)
    """Variables of the for_each and parallel steps around it."""


@dataclass(slots=True, kw_only=True)
class Run:
    """Everything that checks may look at."""

    format: str
    outcomes: list[Outcome] = field(default_factory=list)
    labels: dict[str, list[Labelled]] = field(default_factory=dict)
    seconds: float = 0.0
    input_changes: list[str] = field(default_factory=list)
    input_bytes: int = 0
    told: list[Listed] = field(default_factory=list)
    """Notes in the order told."""
    store_root: Path | None = None
    outside: list[str] = field(default_factory=list)
    """Files outside the store's folder that were made, changed or read."""
    log_lines: list[str] = field(default_factory=list)
    calls: dict[str, list[int]] = field(default_factory=dict)
    """Stub -> tokens of each request to it."""
    judged: dict[int, str | None] = field(default_factory=dict)
    """Number of the assertion -> why it does not hold, or None."""

    def fits(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.kind == "fit"]


class Order:
    """Where each message of a history stands, to see whether what was kept is still in order.

    A message is known by its JSON or, when it was shortened, by the ids of its calls. Results move with their calls,
    and what stood between a call and its results must move away from there: neither is held to its old place.
    """

    def __init__(self) -> None:
        self._places: dict[str, list[int]] = {}
        self._between: set[int] = set()
        self._open: dict[str, int] = {}
        self._size = 0

    def extend(self, messages: Sequence[Message]) -> None:
        for message in messages:
            for key in self._keys(message):
                self._places.setdefault(key, []).append(self._size)
            for call in calls_of(message):
                self._open[call.id] = self._size
            for result in results_of(message):
                if (start := self._open.pop(result.id, None)) is not None:
                    self._between.update(range(start + 1, self._size + 1))
            self._size += 1

    def faults(self, messages: Sequence[Message]) -> list[str]:
        last = -1
        for index, message in enumerate(messages):
            if results_of(message):
                continue
            places = next((found for key in self._keys(message) if (found := self._places.get(key))), None)
            if not places or any(place in self._between for place in places):
                continue
            at = bisect_right(places, last)
            if at == len(places):
                return [f"message {index} stands behind one that came later"]
            last = places[at]
        return []

    @staticmethod
    def _keys(message: Message) -> list[str]:
        keys = [canonical(message)]
        if ids := [call.id for call in calls_of(message)]:
            keys.append("calls " + json.dumps(ids))
        return keys


def fit_faults(format: str, sent: Sent, again: Sent, order: Order) -> list[str]:
    """What is wrong with a fit, apart from exceptions and changed input."""
    faults = []
    request = {"system": sent.system, "tools": sent.tools, "messages": sent.messages}
    if (why := not_json(request)) is not None:
        return [f"the outcome is not JSON: {why}"]
    try:
        json.dumps(request, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        faults.append(f"the outcome is not valid UTF-8: {error.reason} at {error.start}")
    repeated = {"system": again.system, "tools": again.tools, "messages": again.messages}
    if as_bytes(request) != as_bytes(repeated):
        faults.append("the same fit asked twice gives two things")
    faults.extend(f"pairs: {fault}" for fault in pair_faults(format, sent.messages))
    faults.extend(f"order: {fault}" for fault in order.faults(sent.messages))
    return faults


def not_json(node: Any) -> str | None:
    """Why this is not plain JSON, or None."""
    stack: list[Any] = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, dict):
            if any(not isinstance(key, str) for key in each):
                return "a key is not a string"
            stack.extend(each.values())
        elif isinstance(each, list):
            stack.extend(each)
        elif isinstance(each, float):
            if each != each or each in (float("inf"), float("-inf")):
                return f"{each} is no JSON number"
        elif each is not None and not isinstance(each, str | int | bool):
            return f"a {type(each).__name__}"
    return None
