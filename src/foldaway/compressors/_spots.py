"""Which lines of a text are worth an expensive look: those that hold one of a few signs, found in the text as a whole.

Looking for a fixed string in a whole text is many times as fast as asking each line for it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

_WINDOW_LINES = 4


def line_starts(lines: Sequence[str]) -> list[int]:
    """Where each line begins in the text that they make joined by line feeds, and one place more, behind the end."""
    return list(accumulate((len(line) + 1 for line in lines), initial=0))


def holding(text: str, signs: Iterable[str]) -> list[int]:
    """Indexes of the lines of `text` (only line feeds part them) that hold any of `signs`, ascending.

    Linear in the text for each sign.
    """
    found: set[int] = set()
    starts: list[int] = []
    for sign in signs:
        at = text.find(sign)
        if at >= 0 and not starts:
            starts = line_starts(text.split("\n"))
        while at >= 0:
            line = bisect_right(starts, at) - 1
            found.add(line)
            at = text.find(sign, starts[line + 1])
    return sorted(found)


def searched_at(text: str, signs: Iterable[str], pattern: re.Pattern[str]) -> bool:
    """Whether `pattern` matches anywhere: looked for only where one of `signs` stands, which each match must hold.

    A match spans a few lines at most and holds the sign in its first.
    """
    for sign in signs:
        at = text.find(sign)
        while at >= 0:
            start, end = text.rfind("\n", 0, at) + 1, at
            for _ in range(_WINDOW_LINES):
                end = text.find("\n", end + 1)
                if end < 0:
                    break
            if pattern.search(text, start, len(text) if end < 0 else end):
                return True
            after = text.find("\n", at)
            at = text.find(sign, after) if after >= 0 else -1
    return False
