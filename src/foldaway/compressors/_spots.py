"""Which lines of a text are worth an expensive look: those that hold one of a few signs, found in the whole text at once.

Looking for a fixed string in a whole text is many times as fast as asking each line for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate


class Spots:
    """Lines joined to one text, with the way back from a place in it to a line."""

    __slots__ = ("_starts", "text")

    def __init__(self, lines: Sequence[str]) -> None:
        """No line holds a line feed."""
        self.text = "\n".join(lines)
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=0))

    def line(self, place: int) -> int:
        """Index of the line that holds the character at `place`."""
        return bisect_right(self._starts, place) - 1

    def holding(self, signs: Iterable[str]) -> list[int]:
        """Indexes of the lines that hold any of `signs`, ascending. Linear in the text for each sign."""
        found: set[int] = set()
        text, starts = self.text, self._starts
        for sign in signs:
            at = text.find(sign)
            while at >= 0:
                line = bisect_right(starts, at) - 1
                found.add(line)
                at = text.find(sign, starts[line + 1])
        return sorted(found)


def holding(lines: Sequence[str], signs: Iterable[str]) -> list[int]:
    """Indexes of the lines that hold any of `signs`, ascending."""
    return Spots(lines).holding(signs)


def holding_small(lines: Sequence[str], signs: Iterable[str]) -> list[int]:
    """The same, whether signs stand there in small letters or capitals; `signs` are given in small letters."""
    low = "\n".join(lines).lower()
    # Some letters become two in small; the lines are cut anew, so that places are those of the small text.
    return Spots(low.split("\n")).holding(signs)
