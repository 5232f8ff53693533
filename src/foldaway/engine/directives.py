"""`[RETRIEVE: ...]` in what a model says: which of them ask for something, and which only quote one.

A directive asks where it ends its line, alone or behind some words, several in a row. Inside a code fence, inside
backticks, in a quoted line or with words behind it somebody shows what one looks like, and it stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

DIRECTIVE = re.compile(r"\[RETRIEVE:\s*([^\]\s][^\]\n]{0,199})\]")
_JOINS = r"(?:[\s.!,;*_&]|and\b)*"
"""What may stand between directives and behind the last."""
_JOINED = re.compile(_JOINS)
_MAY_ASK = re.compile(
    rf"(?:\[RETRIEVE:\s*[^\]\n]{{1,200}}\]{_JOINS})*(?:\[R?E?T?R?I?E?V?E?|\[RETRIEVE:[^\]\n]{{0,220}}|an?)?$"
)
LONGEST = 2_000
"""Characters of a line's directives together; a longer run is no request, and nothing is held back for longer."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class Asked(NamedTuple):
    """Directives at the end of one line."""

    start: int
    """Where the first begins."""
    end: int
    """Behind the last, with what joins or ends them, without blanks."""
    wanted: tuple[str, ...]


class Lines:
    """Where a text stands: inside a code fence or not. Line after line."""

    def __init__(self) -> None:
        self._fence = ""

    @property
    def fenced(self) -> bool:
        """Whether the next line stands in a fence."""
        return bool(self._fence)

    def asked(self, line: str) -> Asked | None:
        """What a whole line asks for; the next one follows."""
        mark = _FENCE.match(line)
        if self._fence:
            if mark and mark[1].startswith(self._fence) and not line[mark.end() :].strip():
                self._fence = ""
            return None
        if mark and not (mark[1][0] == "`" and "`" in line[mark.end() :]):
            self._fence = mark[1]
            return None
        return asked(line)

    def may_ask(self, line: str, start: int) -> int:
        """From where on an unfinished line may still turn out to ask for something, at `start` or behind it; its
        length when nowhere."""
        if self._fence:
            return len(line)
        at = line.find("[", max(start, len(line) - LONGEST))
        while at >= 0:
            if _MAY_ASK.match(line, at) and not _shown(line, at):
                return at
            at = line.find("[", at + 1)
        return len(line)


def asked(line: str) -> Asked | None:
    """What a line outside fences asks for."""
    if "[RETRIEVE:" not in line:
        return None
    row: list[re.Match[str]] = []
    end = len(line)
    for found in reversed(list(DIRECTIVE.finditer(line, max(0, len(line) - LONGEST)))):
        joined = _JOINED.match(line, found.end())
        if joined is None or joined.end() < end or _shown(line, found.start()):
            break
        row.append(found)
        end = found.start()
    if not row:
        return None
    return Asked(end, len(line.rstrip()), tuple(found[1].strip() for found in reversed(row)))


def _shown(line: str, at: int) -> bool:
    """Whether what stands there is quoted: in backticks, or in a line that quotes."""
    before = line[:at]
    return before.count("`") % 2 == 1 or before.lstrip().startswith(">")


def directives(text: str) -> Iterator[str]:
    """What a text asks for, in order. O(size)."""
    lines = Lines()
    for line in text.split("\n"):
        found = lines.asked(line)
        if found is not None:
            yield from found.wanted
