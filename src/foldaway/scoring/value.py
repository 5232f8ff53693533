"""The value of an item, 0..1: from its kind, its age, the sub-goals it belongs to, errors, and how it was used since.

Each kind starts at a base value and loses half of what is above a floor every so many steps. Work on an active
sub-goal counts for more and ages more slowly, work on finished ones for less; what later actions used is worth more and
is as young as its last use; an error that nothing has made good is worth more, and for long; what is provably obsolete
is worth nothing; the user's own words never decay. All of it but the age is the item's *standing*, which is worked out
anew only when something changed for that very item.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import IntEnum
from typing import Any

from foldaway.model.items import Item, Kind

GOALS = frozenset({Kind.INSTRUCTION, Kind.GOAL, Kind.USER})
"""The user's own words: their value is 1 at any age."""


class Relation(IntEnum):
    """How an item stands to what the agent is after. The strongest of its sub-goals counts."""

    FINISHED = 0
    NONE = 1
    OPEN = 2
    """Of an entry of the plan that is not begun."""
    ACTIVE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the value of an item rests on besides its age."""

    kind: Kind
    made_step: int
    relation: Relation = Relation.NONE
    uses: int = 0
    """Later actions that used a value from it."""
    used_step: int = -1
    """The newest of those."""
    unresolved: bool = False
    """An error that nothing has made good so far."""
    obsolete: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """How one kind of item ages."""

    base: float
    """Value when new (0..1)."""
    half_life_steps: float


_CURVES: Mapping[Kind, Curve] = {
    Kind.PLAN: Curve(base=0.9, half_life_steps=24),
    Kind.READ: Curve(base=0.9, half_life_steps=10),
    Kind.PASTE: Curve(base=0.8, half_life_steps=40),
    Kind.ATTACHMENT: Curve(base=0.6, half_life_steps=20),
    Kind.RECALLED: Curve(base=0.6, half_life_steps=6),
    Kind.ERROR: Curve(base=0.3, half_life_steps=6),
    Kind.LISTING: Curve(base=0.22, half_life_steps=5),
    Kind.EDIT: Curve(base=0.12, half_life_steps=8),
    Kind.COMMAND: Curve(base=0.08, half_life_steps=5),
    Kind.RESULT: Curve(base=0.06, half_life_steps=8),
    Kind.SEARCH: Curve(base=0.05, half_life_steps=5),
    Kind.THOUGHT: Curve(base=0.02, half_life_steps=6),
    Kind.REASONING: Curve(base=0.02, half_life_steps=3),
}
"""Of the kinds that tools bring, the bases stand to a read's as measured for `scoring.passages`; the others and all
half-lives are set by hand. Bases by hand for all (error 0.8, listing 0.5 ...) left 0.15 points fewer steps unharmed on
15 sessions at 32k, and no gain for use 1.4 points fewer."""
_OTHER = Curve(base=0.06, half_life_steps=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The numbers of the estimator. `learned` scales a kind's value by what became of its like (see `learning`)."""

    curves: Mapping[Kind, Curve] = field(default_factory=lambda: dict(_CURVES))
    other: Curve = _OTHER
    floor: float = 0.02
    """What age alone leaves of an item's value."""
    active: float = 1.3
    """Factor for work on an active sub-goal; its half-life grows by it too."""
    open: float = 1.1
    finished: float = 0.6
    use: float = 0.15
    """Added for each doubling of the uses."""
    unresolved: float = 0.5
    """Base of an error that nothing has made good, where its kind's is lower."""
    patience: float = 8.0
    """And how many times as long it keeps its value: an error is answered late or never."""
    learned: Mapping[str, float] = field(default_factory=dict)
    """Kind, or kind and phase ("read", "read/verify") -> factor."""

    def curve(self, kind: Kind) -> Curve:
        return self.curves.get(kind, self.other)

    def value(self, standing: Standing, step: int, phase: str = "") -> float:
        """0..1 at this step, rounded so that equal is equal on any machine. O(1)."""
        if standing.kind in GOALS:
            return 1.0
        if standing.obsolete:
            return 0.0
        curve, factor = self.curve(standing.kind), self._related(standing.relation)
        base, slow = curve.base, max(1.0, factor)
        if standing.unresolved:
            base, slow = max(base, self.unresolved), slow * self.patience
        top = base * factor + self.use * math.log2(1 + standing.uses)
        age = max(0, step - max(standing.made_step, standing.used_step))
        left: float = 0.5 ** (age / (curve.half_life_steps * slow))
        learned = self.learned.get(f"{standing.kind.value}/{phase}", self.learned.get(standing.kind.value, 1.0))
        return round(max(0.0, min(1.0, (self.floor + (top - self.floor) * left) * learned)), 6)

    def _related(self, relation: Relation) -> float:
        return (self.finished, 1.0, self.open, self.active)[relation]

    def to_json(self) -> str:
        """All numbers as JSON, keys sorted: what one session learned, for the next of its kind."""
        curves = {kind.value: asdict(curve) for kind, curve in self.curves.items()}
        return json.dumps({**asdict(self), "curves": curves}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Weights:
        """What `to_json` wrote; kinds and numbers left out keep their defaults. Raises ValueError on anything else."""
        given = json.loads(text)
        if not isinstance(given, dict):
            raise ValueError("weights: expected a JSON object as Weights.to_json writes it")
        try:
            curves = {Kind(k): Curve(**c) for k, c in given.pop("curves", {}).items()}
            other = Curve(**given.pop("other", asdict(_OTHER)))
            made = replace(cls(), curves={**_CURVES, **curves}, other=other, **_numbers(given))
        except (TypeError, AttributeError) as error:
            raise ValueError(f"weights: {error}; expected what Weights.to_json writes") from error
        return made


def _numbers(given: Mapping[str, Any]) -> dict[str, Any]:
    learned = given.get("learned", {})
    values = [*learned.values(), *(v for k, v in given.items() if k != "learned")]
    if not all(isinstance(v, int | float) and math.isfinite(v) for v in values):
        raise TypeError("every weight is a finite number")
    return dict(given)


@dataclass(slots=True)
class Standings:
    """The standing of every item asked about, worked out again only where something changed.

    Whoever sees a change says so by `changed`; the next question about that item costs one `find`, all others a lookup.
    """

    find: Callable[[Item], Standing]
    found: int = 0
    """How often a standing was worked out: what re-valuation costs."""
    _of: dict[int, Standing] = field(default_factory=dict)

    def changed(self, items: Iterable[int]) -> None:
        for item in items:
            self._of.pop(item, None)

    def of(self, item: Item) -> Standing:
        standing = self._of.get(item.id)
        if standing is None:
            standing = self._of[item.id] = self.find(item)
            self.found += 1
        return standing
