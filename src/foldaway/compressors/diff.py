"""Diffs and patches (unified, `git diff`/`show`/`log -p`, `--stat`, apply_patch): files with the number of lines
changed, hunks, changed lines before context."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from foldaway.compressors.base import EDGE_CHARS, Digest, Fact, Hint
from foldaway.compressors.condense import condense, lift_start
from foldaway.compressors.hints import lines_of

FILE, TOTAL, HUNK, STAT, COMMIT, MESSAGE, ADDED, REMOVED, CONTEXT, NOISE = (
    6.0,
    7.0,
    3.0,
    4.0,
    5.0,
    2.0,
    1.4,
    1.2,
    0.4,
    0.1,
)
NAMES_SHARE = 0.4
START_SHARE = 0.4
"""Of the room, for the first lines as they stand. Chosen on the sources that constants are fitted on, 0.3 to 0.5 are
about as good."""
START = 3.5
"""Rating of those lines: after files and totals, before other hunks."""

_FILE = re.compile(r"diff --git |diff -\S+ |Index: |\*\*\* (?:Update|Add|Delete) File: |diff --cc ")
_HUNK = re.compile(r"@@+ -\d{1,9}(?:,\d{1,9})? .{0,300}@@|@@(?: |$)")
_STAT = re.compile(
    r" {0,4}\S.{0,300} \| +(?:\d+ [+-]*|Bin .{0,80}|\d+)$| \d+ files? changed|\d+ files? changed| (?:create|delete"
    r"|rename) mode "
)
_NOISE = re.compile(
    r"index [0-9a-f]{4,40}\.\.|similarity index |dissimilarity index |old mode |\\ No newline|\*\*\* (?:Begin"
    r"|End) Patch"
)
_MODE = re.compile(r"new file mode |deleted file mode |rename (?:from|to) |copy (?:from|to) |Binary files ")
_PLUS_PATH = re.compile(r"(?:\+\+\+|---) (\S.{0,300})")


@dataclass(slots=True)
class _File:
    """One file's part of a diff, while it is read."""

    header: int
    name: str
    added: int = 0
    removed: int = 0


@dataclass(slots=True)
class _Reading:
    ratings: list[float]
    files: list[_File] = field(default_factory=list)
    in_hunk: bool = False
    git: bool = False


@dataclass(frozen=True, slots=True)
class Diff:
    """Compressor of diffs."""

    name: str = "diff"
    surest: ClassVar[float] = 0.95

    def matches(self, text: str, hint: Hint) -> float:
        """0.95 with the head of a file or hunk at the text's start, 0.8 for a bare `--stat`."""
        files = hunks = changed = stats = lines = 0
        for line in text[:EDGE_CHARS].split("\n"):
            lines += bool(line.strip())
            first = line[:1]
            files += (first in ("d", "*", "I") and _FILE.match(line) is not None) or line.startswith("+++ ")
            hunks += first == "@" and _HUNK.match(line) is not None
            stats += (" | " in line or "changed" in line) and _STAT.match(line) is not None
            changed += first in ("+", "-")
        if files or (hunks and changed >= 2):
            return 0.95
        return 0.8 if lines >= 3 and stats > lines // 2 else 0.0

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        lines = lines_of(text)
        reading = _read(lines)
        shown = list(lines)
        for file in reading.files:
            if file.added or file.removed:
                shown[file.header] += f" [{file.added} lines added, {file.removed} removed]"
        lift_start(shown, reading.ratings, int(room_chars * START_SHARE), START, NOISE)
        short = condense(
            shown, reading.ratings, room_chars,
            names_share=NAMES_SHARE, numbers=hint.line, named=lines, wanted=hint.wanted,
        )  # fmt: skip
        facts = [Fact("file", file.name, file.header + 1) for file in reading.files]
        facts += [
            Fact("total", line.strip(), n)
            for n, line in enumerate(lines, 1)
            if len(line) < 200 and "changed, " in line and _STAT.match(line)
        ]
        lost = (
            f"{short.left_out} of {len(lines)} lines of a diff of {len(reading.files)} files" if short.left_out else ""
        )
        return Digest(text=short.text, content="diff", facts=tuple(facts[:60]), lost=lost)


def _read(lines: Sequence[str]) -> _Reading:
    reading = _Reading([CONTEXT] * len(lines))
    for index, line in enumerate(lines):
        reading.ratings[index] = _rated(line, index, reading)
    return reading


def _rated(line: str, index: int, reading: _Reading) -> float:
    first = line[:1]
    if first in ("d", "*", "I") and _FILE.match(line):
        reading.in_hunk, reading.git = False, first == "d"
        reading.files.append(_File(index, line.rpartition(" b/")[2] if " b/" in line else line.rpartition(": ")[2]))
        reading.in_hunk = first == "*"
        return FILE
    if first == "@" and _HUNK.match(line):
        reading.in_hunk = True
        return HUNK if len(line) > 3 else CONTEXT
    if first in ("+", "-") and not (line.startswith(("+++ ", "--- ")) and _PLUS_PATH.match(line)):
        return _changed(line, reading)
    if line.startswith("+++ ") and not reading.git:
        reading.in_hunk = False
        reading.files.append(_File(index, line[4:].partition("\t")[0]))
        return FILE
    if line.startswith(("+++ ", "--- ")):
        return NOISE
    if line.startswith("commit ") and len(line) >= 12:
        reading.in_hunk = False
        return COMMIT
    if _STAT.match(line[:400]):
        return TOTAL if "changed" in line else STAT
    if _NOISE.match(line):
        return NOISE
    if _MODE.match(line):
        return MESSAGE
    if not line.strip():
        return 0.0
    return CONTEXT if reading.in_hunk else 1.0 if line.startswith(("Author:", "Date:")) else MESSAGE


def _changed(line: str, reading: _Reading) -> float:
    if not reading.in_hunk and not reading.files:
        return CONTEXT
    if reading.files:
        file = reading.files[-1]
        if line[0] == "+":
            file.added += 1
        else:
            file.removed += 1
    if len(line.strip()) < 4:
        return NOISE
    return ADDED if line[0] == "+" else REMOVED
