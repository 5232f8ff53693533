"""Reads of a file that was read again later, and results that came twice: the newest stays, older ones point to it.

Line by line and linear: a line counts as kept when the newer text holds it too, wherever it stands. That is no edit
script, but it tells in microseconds what an older reading would still add.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from foldaway.compressors._picking import Unit, joined, pick, weigh
from foldaway.compressors.base import Digest

_LIMIT_LINES = 200_000


@dataclass(frozen=True, slots=True)
class Overlap:
    """How an older text of the same thing relates to a newer one."""

    older_lines: int
    kept: int
    """Lines of the older text that the newer one still has."""
    gone: tuple[int, ...]
    """Lines (from 1) of the older text that the newer one does not have."""

    @property
    def share(self) -> float:
        """Part of the older text that the newer one makes unnecessary (0..1)."""
        return self.kept / self.older_lines if self.older_lines else 1.0


def overlap(older: str, newer: str) -> Overlap:
    """Compare by whole lines, without line numbers in front (`cat -n`, `12:`). O(len(older) + len(newer))."""
    left = Counter(_bare(line) for line in newer.split("\n")[:_LIMIT_LINES])
    gone: list[int] = []
    lines = older.split("\n")[:_LIMIT_LINES]
    filled = 0
    for number, line in enumerate(lines, 1):
        bare = _bare(line)
        if not bare:
            continue
        filled += 1
        if left[bare] > 0:
            left[bare] -= 1
        else:
            gone.append(number)
    return Overlap(filled, filled - len(gone), tuple(gone))


def same_result(item: int) -> str:
    """What stands for a result that is word for word the same as that of an item."""
    return f"[same as #{item}]"


def digest(older: str, newer: str, item: int, room_chars: int) -> Digest:
    """What an older reading is worth once item #`item` holds a newer one: a line, and the lines only it has.

    The same text gives `[same as #12]`. At most `room_chars` characters, and never longer than `older`.
    """
    room = min(max(0, room_chars), len(older))
    if older == newer:
        return Digest(text=same_result(item)[:room], content="repeated result", lost="nothing: it stands in the newer")
    found = overlap(older, newer)
    head = f"[superseded by #{item}; {len(found.gone):,} of {found.older_lines:,} lines differ: {spans(found.gone)}]"
    if len(head) > room:
        head = f"[superseded by #{item}]"
    if len(head) > room:
        return Digest(text="", content="superseded read", lost="all lines")
    lines = older.split("\n")
    units = [Unit(lines[number - 1]) for number in found.gone if lines[number - 1].strip()]
    kept = pick(units, weigh(units), room - len(head) - 4)
    shown = joined(((index, units[index].text) for index in kept), len(units)) if kept else ""
    text = f"{head}\n{shown}" if shown else head
    lost = f"{len(units) - len(kept):,} of {len(units):,} lines that only it had"
    return Digest(text=text[:room], content="superseded read", lost=lost)


def spans(numbers: tuple[int, ...], most: int = 8) -> str:
    """`3–9, 12, 40–41`: runs of line numbers, at most so many, then an ellipsis."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        elif len(runs) > most:
            break
        else:
            runs.append((number, number))
    said = [str(first) if first == last else f"{first}–{last}" for first, last in runs[:most]]
    return "lines " + ", ".join(said) + ("…" if len(runs) > most else "") if said else "no lines"


def _bare(line: str) -> str:
    """A line without a number in front and white space around."""
    bare = line.strip()
    digits = 0
    while digits < len(bare) and digits < 7 and bare[digits].isdigit():
        digits += 1
    if digits and bare[digits : digits + 1] in ("\t", ":", "|", "→"):
        return bare[digits + 1 :].strip()
    return bare
