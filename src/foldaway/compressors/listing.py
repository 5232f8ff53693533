"""Directory listings and search hits: one line a folder or file, every name when it fits, the rest by count.

Paths of one folder are written as the shell would take them (see `paths`); hits of one file stand under its path, so
that the path is spelled once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from foldaway.compressors.base import EDGE_CHARS, Digest, Fact, Hint
from foldaway.compressors.condense import condense, lift_start
from foldaway.compressors.excerpt import cut_head
from foldaway.compressors.hints import lines_of
from foldaway.compressors.paths import grouped, shared_folder
from foldaway.compressors.shell import Shell
from foldaway.compressors.source import unnumbered
from foldaway.linking.kinds import command_of

NAMES_SHARE = 0.25
START_SHARE = 0.4
"""Of the room, for the first hits as they stand. Chosen on the sources that constants are fitted on, 0.25 to 0.5 are
about as good."""
START = 4.0
"""Rating of those lines: after the files, before all other hits."""
_LOOKED_AT = 200
"""Lines that decide which form a listing has."""

# A name with an extension first: folders may be called `fix-109-text`.
_HIT = re.compile(
    r"((?:[A-Za-z]:)?[^\s:][^:\n]{0,299}?\.[A-Za-z]\w{0,7}|(?:[A-Za-z]:)?[^\s:][^:\n]{0,299}?)([:-])(\d{1,7})\2(.*)"
)
_HEADING_HIT = re.compile(r"\s{0,6}(\d{1,7})[:-](.*)|\s{1,4}Line (\d{1,7}): (.*)")
_PATH = re.compile(r"[^\s:{},*|<>\"'`;=]{1,1000}")
_LONG_ROW = re.compile(r"[bcdlps-][rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+([\d,.]+[KMGT]?)\s+(?:\S+\s+){2}\S+\s+(.+)")
_TREE_ROW = re.compile(r"[\s│|]{0,120}[├└|`]─?─?[─-]")
_TOTAL = re.compile(r"total [\d.]+[KMGT]?$")
_LISTS = re.compile(r"(?:^|[;&|]\s*)(?:ls|find|fd|tree|git ls-files|git ls-tree|rg --files|du|locate)\b")


@dataclass(frozen=True, slots=True)
class Listing:
    """Compressor of listings and search hits."""

    name: str = "listing"
    surest: ClassVar[float] = 0.9

    def matches(self, text: str, hint: Hint) -> float:
        """0.9 when most lines are hits, 0.88 for paths, long rows or a tree."""
        lines = [line[:500] for line in text[:EDGE_CHARS].split("\n") if line.strip()]
        if len(text) > EDGE_CHARS and len(lines) > 1:
            lines.pop()
        if len(lines) < 3:
            return 0.0
        most = 0.6 * len(lines)
        # Counting what a form cannot do without spares most texts its pattern.
        marked = [line for line in lines if ":" in line or "-" in line]
        if len(marked) >= most and _count(_HIT, marked) >= most:
            return 0.9
        headed = [line for line in lines if (bare := line.lstrip())[:1].isdigit() or bare[:5] == "Line "]
        if len(headed) >= most and _count(_HEADING_HIT, headed) >= most and not unnumbered(lines)[1]:
            return 0.9
        rows = [line for line in lines if line[1:2] in "rwx-"]
        if len(rows) >= most and _count(_LONG_ROW, rows) >= most:
            return 0.88
        branches = [line for line in lines if line.lstrip()[:1] in "│|├└`"]
        if len(branches) >= most and _count(_TREE_ROW, branches) >= most:
            return 0.88
        listed = _LISTS.search(command_of(hint.arguments or {}, "")[:300]) is not None
        paths = sum(1 for line in lines if ("/" in line or listed) and _PATH.fullmatch(line.strip()))
        return 0.88 if paths >= most else 0.0

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        lines = lines_of(text)
        sample = _sample(lines)
        most = 0.5 * len(sample)
        if _count(_HIT, sample) >= most:
            return _hits(lines, hint, room_chars)
        if _count(_LONG_ROW, sample) >= most:
            return _rows(lines, hint, room_chars)
        if _count(_HEADING_HIT, sample) >= most or _count(_TREE_ROW, sample) >= most:
            return _as_it_is(lines, hint, room_chars)
        if sum(1 for line in sample if _PATH.fullmatch(line.strip())) < most:
            # It began as a listing and went on as something else: the outputs of several commands.
            return Shell().digest(text, hint, room_chars)
        return _paths(lines, hint, room_chars)


def _sample(lines: Sequence[str]) -> list[str]:
    """Lines from all over the text, cut to a length that is cheap to look at."""
    full = [line for line in lines if line.strip()]
    return [line[:1000] for line in full[:: max(1, len(full) // _LOOKED_AT)]]


def _count(pattern: re.Pattern[str], lines: Sequence[str]) -> int:
    return sum(1 for line in lines if pattern.match(line))


def _hits(lines: Sequence[str], hint: Hint, room: int) -> Digest:
    """`path:12:text` grouped by file; context lines (`path-12-text`) rate lower."""
    out: list[str] = []
    named: list[str] = []
    ratings: list[float] = []
    counts: dict[str, int] = {}
    heads: dict[str, int] = {}
    before = None
    for line in lines:
        match = _HIT.match(line)
        path = match.group(1) if match else None
        if path is not None and path != before:
            if path not in heads:
                heads[path] = len(out)
            out.append(path)
            named.append(path)
            ratings.append(5.0 if heads[path] == len(out) - 1 else 3.0)
        before = path if match else before
        if match is None:
            out.append(line)
            named.append(line)
            ratings.append(0.0 if line in ("--", "") else 2.0)
            continue
        sign, number, rest = match.group(2), match.group(3), match.group(4)
        counts[match.group(1)] = counts.get(match.group(1), 0) + (sign == ":")
        out.append(f"{number}{sign}{rest.strip()}")
        named.append(rest)
        ratings.append(1.0 if sign == ":" else 0.5)
    for path, index in heads.items():
        out[index] = f"{path} [{counts[path]} hits]"
    lift_start(out, ratings, int(room * START_SHARE), START)
    short = condense(out, ratings, room, names_share=NAMES_SHARE, numbers=0, named=named, wanted=hint.wanted)
    facts = tuple(Fact("hits", f"{path}: {count}", heads[path] + 1) for path, count in counts.items())
    lost = f"{short.left_out} of {len(out)} lines, hits in {len(counts)} files" if short.left_out else ""
    return Digest(text=short.text, content="search hits", facts=facts[:40], lost=lost)


def _rows(lines: Sequence[str], hint: Hint, room: int) -> Digest:
    """`ls -l`: size and name of each entry; rights, owners and dates go."""
    found = [match for line in lines if (match := _LONG_ROW.match(line))]
    below = shared_folder([match.group(2) for match in found])
    out = [f"[below {below.rstrip('/')}]"] if below else []
    for line in lines:
        match = _LONG_ROW.match(line)
        if match and match.group(2) in (".", ".."):
            continue
        if match:
            name = match.group(2)[len(below) :]
            out.append(f"{name}/" if line[0] == "d" else f"{match.group(1)} {name}")
        elif line.strip() and not _TOTAL.match(line):
            out.append(line)
    named = [line.lstrip("0123456789.,KMGT ") for line in out]
    short = condense(out, [1.0] * len(out), room, names_share=0.7, numbers=0, named=named, wanted=hint.wanted)
    left = f" and {short.left_out} of {len(out)} lines" if short.left_out else ""
    return Digest(text=short.text, content="listing", lost=f"rights, owners and dates{left}")


def _as_it_is(lines: Sequence[str], hint: Hint, room: int) -> Digest:
    ratings = [1.0 if line.strip() else 0.0 for line in lines]
    for index, line in enumerate(lines):
        if line.strip() and not _HEADING_HIT.match(line) and not _TREE_ROW.match(line):
            ratings[index] = 3.0
    named = [match.group(2) or "" if (match := _HEADING_HIT.match(line)) else line for line in lines]
    short = condense(lines, ratings, room, names_share=NAMES_SHARE, numbers=0, named=named, wanted=hint.wanted)
    lost = f"{short.left_out} of {len(lines)} lines" if short.left_out else ""
    return Digest(text=short.text, content="listing", lost=lost)


def _paths(lines: Sequence[str], hint: Hint, room: int) -> Digest:
    """One path a line; lines that are none (headings, errors) stand above."""
    bare = [line.strip() for line in lines]
    paths = [line for line in bare if line and _PATH.fullmatch(line)]
    others = [line for line in bare if line and not _PATH.fullmatch(line)]
    said = condense(others, [1.0] * len(others), room // 4, numbers=0, wanted=hint.wanted).text if others else ""
    text, counted = grouped(paths, room - len(said) - bool(said), hint.wanted)
    lost = f"{counted} of {len(paths)} names" if counted else ""
    shown = "\n".join(part for part in (said, text) if part)
    facts = (Fact("entries", str(len(paths)), 1),)
    return Digest(
        text=shown if len(shown) <= room else cut_head(shown, room), content="listing", facts=facts, lost=lost
    )
