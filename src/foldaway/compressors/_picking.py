"""Which pieces of a text to keep when not all can stay: those that bring most new literals for their length.

Budgeted maximum coverage by greedy choice of gain per cost (Khuller, Moss, Naor, "The budgeted maximum coverage
problem", Inf. Proc. Letters 70(1), 1999), with lazy evaluation (Minoux 1978), bounded so that it stays near linear.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice

from foldaway.compressors._literals import literals, literals_of_all, worth_of

_WANTED = 50.0
_RECOMPUTED = 4
"""So many times the number of units may be weighed again; past that a gain counts as it stands."""
_SHORTEST_END = 60
"""Characters below which head and tail of a text tell nothing."""
_MOST_NAMED = 2_000
"""Literals considered for a closing list."""


@dataclass(slots=True)
class Unit:
    """A piece that is kept whole or not at all."""

    text: str
    bonus: float = 0.0
    """Worth beside its literals: a heading, the first sentence of a section. Below 0: not worth to be shown."""
    literals: Mapping[str, float] = field(default_factory=dict)
    """Filled in by `weigh`."""


def weigh(units: Sequence[Unit], *, phrases: bool = False) -> dict[str, float]:
    """What each literal of the units is worth. Fills in `Unit.literals`. No unit holds a line feed."""
    for unit, found in zip(units, literals_of_all([unit.text for unit in units], phrases=phrases), strict=True):
        unit.literals = found
    return worth_of(unit.literals for unit in units)


def pick(
    units: Sequence[Unit],
    weights: Mapping[str, float],
    room: int,
    wanted: Sequence[str] = (),
    gap: int = 2,
    first: Sequence[tuple[float, int]] | None = None,
) -> list[int]:
    """Indexes of the units to keep, ascending; their costs and gaps of `gap` characters fit into `room`.

    `first` is what `ranked` gives for the same units, where several rooms are tried. O(n log n) in the units and linear
    in their text.
    """
    wanted = [literal for literal in wanted if literal]
    heap = list(ranked(units, weights, wanted) if first is None else first)
    covered: set[str] = set()
    kept: set[int] = set()
    left, again = room, _RECOMPUTED * len(units)
    while heap and left > 0:
        worth, index = heapq.heappop(heap)
        unit = units[index]
        # A piece that joins two kept runs saves a gap, one that stands alone brings one more.
        cost = len(unit.text) + 1 + gap * (1 - ((index - 1) in kept) - ((index + 1) in kept))
        if cost > left or worth >= 0:
            continue
        if again > 0 and heap:
            again -= 1
            now = -_density(unit, weights, covered, wanted)
            if now > worth and now > heap[0][0]:
                heapq.heappush(heap, (now, index))
                continue
        kept.add(index)
        covered.update(unit.literals)
        left -= cost
    return sorted(kept)


def ranked(units: Sequence[Unit], weights: Mapping[str, float], wanted: Sequence[str] = ()) -> list[tuple[float, int]]:
    """A heap of (negative gain per cost, index) of the units while none is kept."""
    nothing: Set[str] = frozenset()
    wanted = [literal for literal in wanted if literal]
    heap = [(-_density(unit, weights, nothing, wanted), index) for index, unit in enumerate(units)]
    heapq.heapify(heap)
    return heap


def _density(unit: Unit, weights: Mapping[str, float], covered: Set[str], wanted: Sequence[str]) -> float:
    gain = unit.bonus + 0.05
    for literal in unit.literals:
        if literal not in covered:
            gain += weights.get(literal, 0.0)
    if wanted:
        gain += _WANTED * sum(1 for literal in wanted if literal in unit.text)
    return gain / (len(unit.text) + 9)


def named(
    weights: Mapping[str, float],
    shown: str,
    room: int,
    lead: str = "also named: ",
    seen: Container[str] | None = None,
) -> str:
    """One line of the literals that `shown` does not hold, most worth for their length first; "" when none fits.

    `seen`: the literals of `shown`, phrases included, where they are known.
    """
    if room <= len(lead) or not weights:
        return ""
    if seen is None:
        seen = literals(shown, phrases=True)
    missing = list(islice((name for name in weights if name not in seen), _MOST_NAMED))
    chosen, used = [], len(lead)
    for literal in sorted(missing, key=lambda name: -weights[name] / (len(name) + 2)):
        if used + len(literal) + 2 <= room:
            chosen.append(literal)
            used += len(literal) + 2
    order = {name: place for place, name in enumerate(missing)}
    return lead + ", ".join(sorted(chosen, key=order.__getitem__)) if chosen else ""


def joined(pieces: Iterable[tuple[int, str]], total: int, mark: str = "…") -> str:
    """The kept pieces (index, text), one a line, with `mark` on a line where some of the `total` are missing."""
    lines: list[str] = []
    before = -1
    for index, text in pieces:
        if index > before + 1:
            lines.append(mark)
        lines.append(text)
        before = index
    if before < total - 1:
        lines.append(mark)
    return "\n".join(lines)


def ends(text: str, room: int, mark: str = " … ") -> str:
    """Head and tail of a text in at most `room` characters, cut at lines or else at white space, never in a word.

    A word that is longer than all of the room is left out.
    """
    if len(text) <= room:
        return text
    if room < _SHORTEST_END:
        return ""
    half = (room - len(mark)) // 2
    head, tail = text[:half], text[len(text) - half :]
    if not text[half].isspace():
        head = head[: max(head.rfind("\n"), head.rfind(" "), head.rfind("\t")) + 1]
    if not text[len(text) - half - 1].isspace():
        starts = [at for at in (tail.find("\n"), tail.find(" "), tail.find("\t")) if at >= 0]
        tail = tail[min(starts) :] if starts else ""
    return (head.rstrip() + mark + tail.lstrip()).strip(" ")
