"""Logs of builds, services and CI: errors and warnings with what stands around them, repeats once with their count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from typing import ClassVar

from foldaway.compressors import trace
from foldaway.compressors._spots import holding
from foldaway.compressors.base import EDGE_CHARS, Digest, Fact, Hint
from foldaway.compressors.condense import condense
from foldaway.compressors.hints import lines_of

ERROR, WARNING, BESIDE_ERROR, END, PLAIN, REPEATED, SAME = 4.5, 2.5, 1.5, 2.0, 0.6, 0.05, -1.0
NAMES_SHARE = 0.45
REPEATS = 4
"""From so many lines on that differ in their digits only, they count as repeats."""
KEY_CHARS = 80
"""Lines are compared over this many characters."""
_READ_CHARS = 400
"""Of a longer line no more is looked at."""

IS_ERROR = re.compile(
    r"\b(?:ERROR|FATAL|CRITICAL|FAILED|FAILURE|Traceback|panic|PANIC|SEVERE)\b"
    r"|(?<!\b0 )\b[Ee]rrors?\b(?! ?[:=]? ?0\b)|\berr!|"
    r"\b[A-Z]\w{0,60}(?:Error|Exception)\b|\b(?:[Ff]ailed|[Ff]ailure|[Ff]atal|[Cc]annot|[Uu]nable to|[Dd]enied"
    r"|undefined reference)\b|"
    r"\bnot found\b|\b[Nn]o such\b|✗|✘|✖"
)
_SIGNS = (
    "error", "fail", "exception", "fatal", "panic", "traceback", "cannot", "no such", "not found", "denied", "unable",
    "undefined ref", "err!", "critical", "severe", "✗", "✘", "✖",
)  # fmt: skip
IS_WARNING = re.compile(r"\b(?:WARN(?:ING)?|[Ww]arning|[Dd]eprecat\w{0,8})\b")
_LEVEL = re.compile(
    r"\b(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE|NOTICE|CRITICAL)\b|\blevel=\w|\[(?:info|warn|error|debug)\]",
    re.IGNORECASE,
)
_LEVELS = ("debug", "info", "warn", "error", "fatal", "trace", "notice", "critical", "level=")
_TIME = re.compile(
    r"[\s\[(]{0,4}(?:\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [\s\d]\d \d\d:\d\d:\d\d)"
)
_BUILD = re.compile(
    r"\s{0,8}(?:npm (?:WARN|ERR!|warn|error|notice)|added \d+ packages|Collecting |Downloading "
    r"|Requirement already|Installing |Building |"
    r"Compiling |Checking |Finished |Running |make(?:\[\d+\])?:|gcc |g\+\+ |cc |\[\s{0,3}\d{1,3}%\]|\[\d+/\d+\]"
    r"|Step \d+/\d+|#\d+ |Get:\d+ |"
    r"Unpacking |Setting up |Preparing to|Fetching |Resolving |Progress: |> Task |\[INFO\]|> \S+@\S+ |ok\s)"
)
_BUILD_STARTS = frozenset(
    "np ad Co Do Re In Bu Ch Fi Ru ma gc g+ cc St Ge Un Se Pr Fe ok".split()
    + [a + b for a in "[#>" for b in " 0123456789I"]
)
"""How the words of `_BUILD` begin; `[`, `#` and `>` stand before a digit, a space or a letter."""


@dataclass(frozen=True, slots=True)
class Log:
    """Compressor of logs."""

    name: str = "log"
    surest: ClassVar[float] = 0.8

    def matches(self, text: str, hint: Hint) -> float:
        """By the share of lines with a time, a level or the words of a build tool."""
        edges = text if len(text) <= 2 * EDGE_CHARS else f"{text[:EDGE_CHARS]}\n{text[-EDGE_CHARS:]}"
        lines = [line[:200] for line in edges.split("\n") if line.strip()]
        lines = lines[:40] + lines[40:][-20:]
        if len(lines) < 5:
            return 0.0
        levelled = set(holding("\n".join([line[:60] for line in lines]).lower(), _LEVELS))
        marked = sum(
            1
            for index, line in enumerate(lines)
            if _TIME.match(line)
            or (line.lstrip()[:2] in _BUILD_STARTS and _BUILD.match(line))
            or (index in levelled and _LEVEL.search(line[:60]))
        )
        share = marked / len(lines)
        return 0.8 if share > 0.6 else 0.6 if share > 0.3 else 0.0

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        lines = lines_of(text)
        ratings = [PLAIN] * len(lines)
        errors = error_lines(lines)
        rate(lines, ratings, errors)
        shown = collapse(lines, ratings)
        short = condense(
            shown, ratings, room_chars,
            names_share=NAMES_SHARE, numbers=hint.line, named=lines, wanted=hint.wanted,
        )  # fmt: skip
        lost = f"{short.left_out} of {len(lines)} lines" if short.left_out else ""
        return Digest(text=short.text, content="log", facts=error_facts(lines, errors), lost=lost)


def error_lines(lines: Sequence[str]) -> list[int]:
    """Indexes of the lines that tell of an error, ascending. Linear."""
    small = "\n".join(lines).lower()
    return [index for index in holding(small, _SIGNS) if IS_ERROR.search(lines[index], 0, _READ_CHARS)]


def rate(lines: Sequence[str], ratings: MutableSequence[float], errors: Sequence[int]) -> None:
    """Lift errors, warnings, traces and both ends; lines next to an error rise with it. Linear."""
    trace.rate(lines, ratings)
    for index, line in enumerate(lines):
        if not line or line[:_READ_CHARS].isspace():
            ratings[index] = 0.0
    for index in holding("\n".join(lines), ("warn", "WARN", "Warn", "eprecat")):
        if IS_WARNING.search(lines[index], 0, _READ_CHARS):
            ratings[index] = max(ratings[index], WARNING)
    for index in errors:
        ratings[index] = max(ratings[index], ERROR)
        for beside in (index - 1, index + 1, index + 2):
            if 0 <= beside < len(lines) and ratings[beside] >= 0 and lines[beside].strip():
                ratings[beside] = max(ratings[beside], BESIDE_ERROR)
    for index in (*range(min(2, len(lines))), *range(max(0, len(lines) - 5), len(lines))):
        if ratings[index] >= PLAIN:
            ratings[index] = max(ratings[index], END)


def collapse(lines: Sequence[str], ratings: MutableSequence[float]) -> list[str]:
    """The lines, the first of many alike with their count behind it; sets the ratings of the others low. Linear.

    Equal lines are hidden; lines that differ in their digits stay as a last choice, so that ids in them are named.
    """
    heads = "\n".join([line[:KEY_CHARS] for line in lines]).encode("utf-8", "surrogatepass")
    keys = heads.translate(None, b"0123456789").decode("utf-8", "surrogatepass").split("\n")
    counts, left = Counter(keys), Counter(keys)
    seen: set[str] = set()
    shown = list(lines)
    for index, key in enumerate(keys):
        if counts[key] < REPEATS or len(key.strip()) < 3:
            continue
        left[key] -= 1
        line = lines[index]
        if left[key] == counts[key] - 1:
            shown[index] = f"{line} [× {counts[key]} lines]"
        elif left[key]:
            ratings[index] = SAME if line in seen else min(ratings[index], REPEATED)
        elif line in seen:
            ratings[index] = SAME
        seen.add(line)
    return shown


def error_facts(lines: Sequence[str], errors: Sequence[int], most: int = 20) -> tuple[Fact, ...]:
    """The distinct error lines with their numbers, at most `most`."""
    found: dict[str, Fact] = {}
    for index in errors:
        bare = lines[index].strip()[:300]
        found.setdefault(bare, Fact("error", bare, index + 1))
        if len(found) >= most:
            break
    return tuple(found.values())
