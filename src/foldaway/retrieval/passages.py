"""The passages of a text that a question is about: where its words stand close together, with the lines around.

A text is read in units: lines, and long lines in pieces, so that JSON on one line has passages too. A window of units
scores what its terms tell, the more the closer they stand; words that stand side by side in both count more.

Source: Metzler and Croft, "A Markov Random Field Model for Term Dependencies", SIGIR 2005 (order and closeness).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from foldaway.retrieval.terms import Asked, telling

UNIT_CHARS = 320
"""A longer line is read in pieces of about this size."""
NEAR = (1.0, 0.8, 0.6, 0.4)
"""What a term counts that stands so many units away from a window's middle."""
SIDE_BY_SIDE = 0.4
"""Of what the more telling of two words tells, where they stand side by side in both: together they tell which of the
many places of each is meant."""
HEADING = 0.85
"""What a term counts that stands in the heading of a text (its title, what was asked for) alone."""
AROUND = 2
"""Units shown around the middle of a passage."""
ALSO = 0.75
"""A further passage of the same text must score this share of the best."""
GAP = "…"
_BREAK = re.compile(r"[\s,;}\])]")


@dataclass(frozen=True, slots=True)
class Unit:
    line: int
    """0-based."""
    start: int
    end: int
    """Of its text within the whole, without the line break."""


@dataclass(frozen=True, slots=True)
class Place:
    """The middle of a passage and what it scores."""

    score: float
    unit: int


@dataclass(frozen=True, slots=True)
class Text:
    """A text as it is searched."""

    whole: str
    low: str
    """In small letters, character by character."""
    units: tuple[Unit, ...]

    @classmethod
    def of(cls, whole: str) -> Text:
        return cls(whole, lowered(whole), tuple(_units(whole)))


@dataclass(frozen=True, slots=True)
class Passage:
    """What is shown of a text."""

    text: str
    lines: tuple[tuple[int, int], ...]
    """First and last line of each piece, 1-based."""
    whole: bool


def places(text: Text, asked: Asked, told: Sequence[float], heading: Sequence[float] = ()) -> list[Place]:
    """Middles of windows, best first, the earlier of equal ones first. `heading`: how well that holds each term.

    O(len(text) x terms).
    """
    held = _by_unit(text, asked, told)
    beside = _side_by_side(text, asked, told, held)
    found = [
        Place(_score(unit, held, told, heading) + beside.get(unit, 0.0), unit)
        for unit in sorted(held)
    ]  # fmt: skip
    return sorted(found, key=lambda place: (-place.score, place.unit))


def told_within(text: Text, asked: Asked) -> list[float]:
    """What each term tells among the lines of one text."""
    by_unit = _by_unit(text, asked, [1.0] * len(asked.terms))
    numbers = range(len(asked.terms))
    return telling(asked.terms, [[by_unit.get(u, {}).get(n, 0.0) for n in numbers] for u in range(len(text.units))])


def passage(text: Text, found: Sequence[Place], most_chars: int, whole_chars: int = 0) -> Passage:
    """The best places with the lines around them, in the order of the text, in about `most_chars`.

    The whole text where it is no longer than `whole_chars`; its beginning where nothing was found.
    """
    last = text.units[-1].line + 1
    if len(text.whole) <= whole_chars:
        return Passage(text.whole, ((1, last),), whole=True)
    kept: set[int] = set()
    for place in found:
        if kept and place.score < ALSO * found[0].score:
            break
        wanted = _window(text, place.unit, most_chars - _size(text, kept), kept)
        if not wanted and kept:
            break
        kept |= wanted
    return _shown(text, sorted(kept or _window(text, 0, most_chars, set())))


def lowered(text: str) -> str:
    """In small letters, of the same length. Compatibility forms stay: folding these costs more than all the rest."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def _units(whole: str) -> Iterable[Unit]:
    start = 0
    for number, line in enumerate(whole.split("\n")):
        at, end = start, start + len(line)
        while end - at > 2 * UNIT_CHARS:
            cut = _BREAK.search(whole, at + UNIT_CHARS, min(end, at + 2 * UNIT_CHARS))
            stop = cut.end() if cut else at + UNIT_CHARS
            yield Unit(number, at, stop)
            at = stop
        yield Unit(number, at, end)
        start = end + 1


def _by_unit(text: Text, asked: Asked, told: Sequence[float]) -> dict[int, dict[int, float]]:
    """Unit -> term -> how well it is held there."""
    starts = [unit.start for unit in text.units]
    held: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for number, term in enumerate(asked.terms):
        if told[number] <= 0:
            continue
        for at, grade in term.places(text.low):
            terms = held[bisect_right(starts, at) - 1]
            terms[number] = max(grade, terms.get(number, 0.0))
    return dict(held)


def _side_by_side(
    text: Text, asked: Asked, told: Sequence[float], held: Mapping[int, Mapping[int, float]]
) -> dict[int, float]:
    found: dict[int, float] = {}
    for unit, terms in held.items():
        one = text.units[unit]
        low = text.low[one.start : one.end]
        for words, numbers in asked.together:
            if all(n in terms for n in numbers) and words in low:
                found[unit] = found.get(unit, 0.0) + SIDE_BY_SIDE * max(told[n] for n in numbers)
    return found


def _score(
    middle: int, held: Mapping[int, Mapping[int, float]], told: Sequence[float], heading: Sequence[float]
) -> float:
    best = {number: HEADING * grade for number, grade in enumerate(heading) if grade > 0}
    for away in range(1 - len(NEAR), len(NEAR)):
        for number, grade in held.get(middle + away, {}).items():
            best[number] = max(best.get(number, 0.0), grade * NEAR[abs(away)])
    return sum(told[number] * grade for number, grade in best.items())


def _window(text: Text, middle: int, room: int, had: set[int]) -> set[int]:
    """Units around a middle, nearest first, as far as they fit; never less than a first middle."""
    wanted: set[int] = set()
    reach = [middle, *(u for away in range(1, AROUND + 1) for u in (middle + away, middle - away))]
    for unit in reach:
        if unit in had or not 0 <= unit < len(text.units):
            continue
        size = text.units[unit].end - text.units[unit].start + 1
        if size > room and (wanted or had):
            break
        wanted.add(unit)
        room -= size
    return wanted


def _size(text: Text, units: Iterable[int]) -> int:
    return sum(text.units[u].end - text.units[u].start + 1 for u in units)


def _shown(text: Text, kept: Sequence[int]) -> Passage:
    """Runs of units joined, what lies between them marked, cut lines marked at the cut."""
    runs: list[tuple[int, int]] = []
    for unit in kept:
        if runs and unit == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], unit)
        else:
            runs.append((unit, unit))
    pieces, lines = [], []
    for first, last in runs:
        start, end = text.units[first], text.units[last]
        cut_before = first > 0 and text.units[first - 1].line == start.line
        cut_behind = last + 1 < len(text.units) and text.units[last + 1].line == end.line
        shown = text.whole[start.start : end.end]
        pieces.append(f"{GAP if cut_before else ''}{shown}{GAP if cut_behind else ''}")
        lines.append((start.line + 1, end.line + 1))
    return Passage(f"\n{GAP}\n".join(pieces), tuple(lines), whole=False)
