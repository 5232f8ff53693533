"""A text in lines, made short: the lines that rate highest stay whole, each gap says which names stood in it.

The compressors of line-shaped content (code, diffs, logs, test runs, ...) rate the lines; this file decides what fits.
Of lines that rate alike those go first that hold most names for their length: a name on a kept line costs nothing
extra, a name in a gap costs its own length. A gap reads `[lines 13-40: saveMessage startSession]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from dataclasses import dataclass

from foldaway.compressors.excerpt import cut_head
from foldaway.compressors.names import Names, searched

MAX_LINE = 400
"""A longer line is cut to this many characters, or to a third of the room, whichever is more."""

ESSENTIAL = 5.0
"""Lines that rate this or more (an error, a summary, a file's head) go before names, up to most of the room."""

_ESSENTIAL_SHARE = 0.85
_LEGEND_ROOM = 240
"""In less room a legend would cost more than it explains."""
_LEGEND = " left out, names there"
_SHORT_LEGEND = " left out"
_CUT = " … "
_BORDER = re.compile(r"[\s,;(){}\[\]\"'<>|]")
_GAP_CHARS = 16
_WANTED_RATING = 100.0
_MAX_WANTED = 64
_BROKEN = 1200
"""A line longer than this, and than a third of the room, is chosen from piece by piece."""
_PIECE = 200
_SHORTEST_START = 200
"""In fewer characters lines that follow each other are no stretch."""
_SLACK = 0.03
"""So little of the room may stay empty."""
_ROUNDS = 3
_MISSES = 20
"""So many lines that do not fit end the search for a shorter one."""
_TIER = 0.5
"""Filler (comments, blank lines) rates lower than what matters by more than this."""


@dataclass(frozen=True, slots=True)
class Condensed:
    """The short text and how much of the long one is in it."""

    text: str
    kept: int
    """Lines shown (perhaps cut)."""
    left_out: int
    """Lines not shown."""


def condense(
    lines: Sequence[str],
    ratings: Sequence[float],
    room: int,
    *,
    names_share: float = 0.5,
    numbers: Sequence[int] | int = 1,
    named: Sequence[str] | None = None,
    wanted: Sequence[str] = (),
) -> Condensed:
    """At most `room` characters of `lines`, chosen by `ratings` (below 0: never shown, nor its names).

    `names_share` (0..1) is the most that names in gaps may take; `numbers` are the lines' numbers, or that of
    the first; with 0 gaps only count their lines. `named` are the lines to look for names in, when not all of a line
    is worth it. Lines with one of the `wanted` literals rate above all others. O(n log n) in the lines, linear in
    their text.
    """
    if not lines or (min(ratings) >= 0 and sum(map(len, lines)) + len(lines) - 1 <= room):
        return Condensed("\n".join(lines), len(lines), 0)
    whole = len(lines)
    if max(map(len, lines)) > max(_BROKEN, room // 3):
        lines, ratings, numbers, named = _broken(lines, ratings, numbers, named)
    sheet = _Sheet(lines, ratings, max(0, room), numbers, lines if named is None else named)
    sheet.prefer(wanted)
    sheet.gather()
    sheet.keep(int(room * _ESSENTIAL_SHARE), ESSENTIAL)
    sheet.keep(int(room * (1.0 - names_share)))
    text = sheet.filled()
    kept = len(sheet.kept) if len(lines) == whole else min(whole, len(sheet.kept))
    return Condensed(text, kept, whole - kept)


def lift_start(
    lines: Sequence[str], ratings: MutableSequence[float], room: int, rating: float, above: float = -0.5
) -> None:
    """Rate the first lines, of `room` characters together, at least `rating`: whoever goes on from a result copies
    lines that follow each other, and what was asked for first stands first. Lines not rated `above` stay there. Linear.
    """
    if room < _SHORTEST_START:
        return
    used = 0
    for index, line in enumerate(lines):
        if ratings[index] <= above:
            continue
        used += len(line) + 1
        if used > room:
            break
        ratings[index] = max(ratings[index], rating)


def _broken(
    lines: Sequence[str], ratings: Sequence[float], numbers: Sequence[int] | int, named: Sequence[str] | None
) -> tuple[list[str], list[float], Sequence[int] | int, list[str]]:
    """The same with giant lines in pieces, each with the number and the rating of its line."""
    shown: list[str] = []
    rated: list[float] = []
    numbered: list[int] = []
    names: list[str] = []
    for index, line in enumerate(lines):
        giant = len(line) > _BROKEN and ratings[index] >= 0
        parts = list(_pieces(line)) if giant else [line]
        shown += parts
        rated += [ratings[index]] * len(parts)
        number = numbers + index if isinstance(numbers, int) else numbers[index]
        numbered += [number] * len(parts)
        names += parts if giant or named is None else [named[index]]
    return shown, rated, numbered if numbers else 0, names


def _pieces(line: str) -> Iterator[str]:
    """A long line cut where words end. Linear."""
    start = 0
    while len(line) - start > 2 * _PIECE:
        border = _BORDER.search(line, start + _PIECE)
        if border is None:
            break
        yield line[start : border.end()].rstrip()
        start = border.end()
    yield line[start:]


class _Sheet:
    """The state of one choice: which lines are kept and what they take."""

    def __init__(
        self,
        lines: Sequence[str],
        ratings: Sequence[float],
        room: int,
        numbers: Sequence[int] | int,
        named: Sequence[str],
    ) -> None:
        self.kept: set[int] = set()
        self._legends = [_SHORT_LEGEND, _LEGEND] if room >= _LEGEND_ROOM else ["", ""]
        self.used = _GAP_CHARS + len(self._legends[1])
        self._lines, self._room, self._numbers, self._named = lines, room, numbers, named
        self._ratings = list(ratings)
        self._longest = max(MAX_LINE, room // 3)
        self._found = Names()
        self._names_of: dict[int, list[str]] = {}
        self._wanted: dict[str, int] = {}
        self._order: list[int] = []

    def prefer(self, wanted: Sequence[str]) -> None:
        """Lift lines that hold wanted literals, those of the best literals highest."""
        self._wanted = {
            literal: n for n, literal in enumerate(dict.fromkeys(w for w in wanted if w)) if n < _MAX_WANTED
        }
        if not self._wanted:
            return
        pattern = re.compile("|".join(re.escape(w) for w in sorted(self._wanted, key=len, reverse=True)))
        for index, line in enumerate(self._lines):
            if self._ratings[index] >= 0 and (found := pattern.findall(line)):
                self._ratings[index] += _WANTED_RATING - min(self._wanted[literal] for literal in found)

    def gather(self) -> None:
        """Find the names of all lines; put the lines in the order in which they are to be kept."""
        lines, ratings = self._named, self._ratings
        head, tail = searched(lines)
        keys: list[tuple[float, int]] = []
        looked = [n for n, r in enumerate(ratings) if r >= 1 or (r >= 0 and (n < head or n >= tail))]
        found = self._found.add_all([lines[n] for n in looked], looked)
        for index, rating in enumerate(ratings):
            if index in found:
                fresh, self._names_of[index] = found[index]
                # Worth of a line among its equals: the share of it that would have to be listed anyway.
                rating += min(1.0, fresh / (len(lines[index]) + 8))
            if rating >= 0:
                keys.append((-rating, index))
        keys.sort()
        self._order = [index for _, index in keys]

    def keep(self, room: int, at_least: float = 0.0) -> None:
        """Keep lines of a rating of `at_least`, best first, until `room` characters are used."""
        misses = 0
        for index in self._order:
            # Filler does not take the place of a better line that is only too long.
            if self._ratings[index] < at_least:
                break
            if index in self.kept:
                continue
            gaps = 1 - ((index - 1) in self.kept) - ((index + 1) in self.kept)
            cost = min(len(self._lines[index]), self._longest) + 1 + gaps * _GAP_CHARS
            if self.used + cost > room:
                misses += 1
                at_least = max(at_least, min(self._ratings[index], 1.0) - _TIER)
                if misses == _MISSES:
                    break
                continue
            self.kept.add(index)
            self.used += cost

    def names(self, room: int) -> list[str]:
        """The best names of lines that are not kept, as many as fit, in order of appearance."""
        found = self._found
        rest = self.missing(found.line)
        best = sorted(rest, key=lambda name: (self._wanted.get(name, _MAX_WANTED), -_worth(name, found.count[name])))
        chosen: set[str] = set()
        for name in best:
            if len(name) + 3 > room:
                continue
            room -= len(_spelled(name)) + 1
            chosen.add(name)
        return [name for name in rest if name in chosen]

    def filled(self) -> str:
        """The short text, with names in its gaps. Estimates are careful: what they leave is given out again."""
        text = ""
        for _ in range(_ROUNDS):
            before = set(self.kept)
            names = self.names(self._room - self.used)
            self.keep(self._room - sum(len(_spelled(name)) + 1 for name in names))
            more = self.fitted(self.missing(names))
            if text and len(more) <= len(text):
                self.kept = before
                break
            text = more or cut_head(self._render([]), self._room)
            left = self._room - len(text)
            if left < self._room * _SLACK or len(self.kept) == len(self._lines):
                break
            self.used -= left
        return text

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of `names` that no kept line holds."""
        of = self._names_of
        shown = {name for index in self.kept if index in of for name in of[index]}
        return [name for name in names if name not in shown]

    def fitted(self, names: Sequence[str]) -> str:
        """The short text; names are taken back where the estimate was short of the truth. "" when it never fits."""
        while True:
            text = self._render(names)
            over = len(text) - self._room
            if over <= 0:
                return text
            if not names:
                return ""
            drop = 0
            while drop < len(names) and over > 0:
                drop += 1
                over -= len(names[-drop]) + 1
            names = names[: len(names) - drop]

    def _render(self, names: Sequence[str]) -> str:
        by_line: dict[int, list[str]] = {}
        for name in names:
            by_line.setdefault(self._found.line[name], []).append(name)
        at = sorted(by_line, reverse=True)
        out: list[str] = []
        legends = list(self._legends)
        cursor = 0
        for start, end in self._gaps():
            out.extend(self._line(index) for index in range(cursor, start))
            cursor = end
            inside = []
            while at and at[-1] < end:
                inside.extend(by_line[at.pop()])
            mark = self._mark(start, end, inside, legends[bool(inside)])
            if sum(len(self._lines[i]) + 1 for i in range(start, min(end, start + 4))) <= len(mark) and end - start < 4:
                out.extend(self._lines[start:end])
            else:
                out.append(mark)
                # Said once where it is first met; later marks speak for themselves.
                legends = ["", "" if inside else legends[1]]
        out.extend(self._line(index) for index in range(cursor, len(self._lines)))
        return "\n".join(out)

    def _gaps(self) -> Iterator[tuple[int, int]]:
        before = 0
        for index in sorted(self.kept):
            if index > before:
                yield before, index
            before = index + 1
        if before < len(self._lines):
            yield before, len(self._lines)

    def _mark(self, start: int, end: int, names: Sequence[str], legend: str) -> str:
        lines = self._called(start, end)
        if not names:
            return f"[{lines}{legend}]"
        return f"[{lines}{legend}: {' '.join(_spelled(name) for name in names)}]"

    def _called(self, start: int, end: int) -> str:
        numbers = self._numbers
        if not numbers:
            return f"{end - start} line{'s' if end - start > 1 else ''}"
        if isinstance(numbers, int):
            first, last = start + numbers, end - 1 + numbers
        else:
            first, last = numbers[start], numbers[end - 1]
        return f"line {first}" if first == last else f"lines {first}-{last}"

    def _line(self, index: int) -> str:
        line = self._lines[index]
        if len(line) <= self._longest:
            return line
        head = self._longest * 2 // 3
        tail = len(line) - (self._longest - head - len(_CUT))
        # Between words: half a name is a wrong name.
        if before := _BORDER.search(line[head : head - 80 : -1]):
            head -= before.start()
        if after := _BORDER.search(line[tail : tail + 80]):
            tail += after.start()
        return line[:head] + _CUT + line[tail:]


def _spelled(name: str) -> str:
    """Phrases stand in quotes, so that one sees where they end."""
    return f'"{name}"' if " " in name else name


def _worth(name: str, count: int) -> float:
    """What listing a name brings for a character: names used more than once are the text's subject."""
    # A phrase is copied less often than an identifier, a path more often.
    kind = 0.6 if " " in name else 2.0 if "/" in name else 1.0
    return (1.0 + 0.25 * min(count - 1, 3)) * kind / (len(name) + 4)
