"""Value weights that adapt to outcomes: what was folded and missed gains, what was folded and never missed loses.

A pure function of the ledger: the same entries give the same factors, so nothing of it needs to be stored, and what one
session learned is a small JSON value that a later session of the same kind starts from. A fault moves a factor much
further than a quiet fold, since a miss costs a whole call; factors stay within bounds and fall back towards 1 when a
later session starts from them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from foldaway.model.items import Level
from foldaway.scoring.value import Weights

FAULT_RATE = 0.15
"""A miss of one kind of item multiplies its factor by e to this power."""
QUIET_RATE = 0.005
"""And an item folded and not missed in time by e to minus this: one miss in thirty folds leaves a factor alone."""
QUIET_STEPS = 30
LEAST, MOST = 0.5, 2.0
CARRIED = 0.5
"""Of what an earlier session learned this share (of the logarithm) is the start of a later one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """What the outcomes of one session say about kinds of items: factors of their value, by kind and by kind/phase."""

    factors: Mapping[str, float] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)
    folds: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(
            {"factors": dict(self.factors), "faults": dict(self.faults), "folds": dict(self.folds)}, sort_keys=True
        )

    @classmethod
    def from_json(cls, text: str) -> Experience:
        """Raises ValueError on anything that `to_json` does not write."""
        given = json.loads(text)
        wrong = ValueError("experience: expected a JSON object as Experience.to_json writes it")
        if not isinstance(given, dict):
            raise wrong
        tables: list[dict[str, Any]] = []
        for name in ("factors", "faults", "folds"):
            table = given.get(name, {})
            if not isinstance(table, dict):
                raise wrong
            if not all(isinstance(n, int | float) and math.isfinite(n) for n in table.values()):
                raise wrong
            tables.append(table)
        factors = {k: min(MOST, max(LEAST, float(v))) for k, v in tables[0].items()}
        return cls(factors=factors, faults=tables[1], folds=tables[2])

    def carried(self) -> Experience:
        """What a later session starts from: half as sure, and no counts."""
        return Experience(factors={k: round(v**CARRIED, 6) for k, v in sorted(self.factors.items())})

    def applied(self, weights: Weights) -> Weights:
        """The weights scaled by it."""
        scaled = {k: round(weights.learned.get(k, 1.0) * v, 6) for k, v in self.factors.items()}
        return replace(weights, learned={**weights.learned, **scaled})


def learn(
    entries: Iterable[Mapping[str, Any]],
    kind_of: Callable[[int], str],
    step: int,
    start: Experience | None = None,
    phase_of: Callable[[int], str] = lambda step: "",
) -> Experience:
    """What the ledger's entries up to this step teach, starting from earlier experience. O(entries)."""
    outcomes = Outcomes(kind_of, phase_of)
    for entry in entries:
        outcomes.take(entry)
    return outcomes.experience(step, start)


@dataclass(slots=True)
class Outcomes:
    """What became of folded items, counted as entries join the ledger: an entry costs what is in it.

    `kind_of` names the kind of an item ("" for one it does not know, which is passed over), `phase_of` the phase at a
    model call ("" where none is known); with a phase, outcomes count by kind and phase besides.
    """

    kind_of: Callable[[int], str]
    phase_of: Callable[[int], str] = lambda step: ""
    _faults: dict[str, int] = field(default_factory=dict)
    _folds: dict[str, int] = field(default_factory=dict)
    _waiting: dict[int, int] = field(default_factory=dict)
    """Item below its digest -> the step it was folded at, oldest first: its time is not up yet."""

    def take(self, entry: Mapping[str, Any]) -> None:
        """The next entry of the ledger."""
        step = int(entry.get("step", 0))
        self._pass_quiet(step)
        match entry.get("type"):
            case "commit":
                for item, before, after, *_ in entry.get("changes", ()):
                    if before > Level.STUB >= after:
                        self._waiting.pop(item, None)
                        self._waiting[item] = step
            case "fault":
                self._miss(entry.get("below", ()), step)
            case "refetch":
                self._miss([entry["earlier"]], step)
            case _:
                pass

    def experience(self, step: int, start: Experience | None = None) -> Experience:
        """What all of it teaches by this step. O(kinds and phases, and folds whose time is up)."""
        self._pass_quiet(step)
        begin = (start or Experience()).factors
        factors = {}
        for name in sorted({*begin, *self._faults, *self._folds}):
            log = FAULT_RATE * self._faults.get(name, 0) - QUIET_RATE * self._folds.get(name, 0)
            factor = begin.get(name, 1.0) * math.exp(max(-1.0, min(1.0, log)))
            factors[name] = round(min(MOST, max(LEAST, factor)), 6)
        return Experience(factors=factors, faults=dict(self._faults), folds=dict(self._folds))

    def _pass_quiet(self, step: int) -> None:
        """Count what was folded long enough ago and never missed."""
        while self._waiting:
            item, folded = next(iter(self._waiting.items()))
            if step - folded < QUIET_STEPS:
                return
            del self._waiting[item]
            self._count(self._folds, item, folded)

    def _miss(self, items: Iterable[int], step: int) -> None:
        for item in items:
            self._waiting.pop(item, None)
            self._count(self._faults, item, step)

    def _count(self, table: dict[str, int], item: int, step: int) -> None:
        kind, phase = self.kind_of(item), self.phase_of(step)
        for name in (kind, f"{kind}/{phase}" if phase else ""):
            if kind and name:
                table[name] = table.get(name, 0) + 1
