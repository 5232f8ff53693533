"""Output of commands, and whatever no other compressor knows: errors, both ends, headings, repeats with their count."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from foldaway.compressors import log
from foldaway.compressors.base import Digest, Hint
from foldaway.compressors.condense import condense, lift_start
from foldaway.compressors.hints import lines_of

NAMES_SHARE = 0.5
HEADING = 2.2
START_SHARE = 0.25
"""Of the room, for the first lines as they stand. Chosen on the sources that constants are fitted on: 0.4 kept fewer
values there, 0 fewer needs."""
START = 2.4
"""Rating of those lines: after errors, before all other lines."""

_HEADING = re.compile(
    r"\s{0,4}(?:[=#*-]{2,10} ?\S.{0,200}|#{1,4} \S.{0,200}|FILE:? .{1,200}|\$ .{1,300}|\+ .{1,300}|>>> .{1,300}"
    r"|On branch .{1,100})$"
)


@dataclass(frozen=True, slots=True)
class Shell:
    """Compressor of plain output; takes anything, so it is the last resort."""

    name: str = "output"
    surest: ClassVar[float] = 0.3

    def matches(self, text: str, hint: Hint) -> float:
        """Always a little."""
        return 0.3

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        lines = lines_of(text)
        ratings = [log.PLAIN] * len(lines)
        errors = log.error_lines(lines)
        log.rate(lines, ratings, errors)
        for index, line in enumerate(lines):
            if ratings[index] == log.PLAIN and _HEADING.match(line[:400]):
                ratings[index] = HEADING
        shown = log.collapse(lines, ratings)
        lift_start(shown, ratings, int(room_chars * START_SHARE), START)
        short = condense(
            shown, ratings, room_chars,
            names_share=NAMES_SHARE, numbers=hint.line, named=lines, wanted=hint.wanted,
        )  # fmt: skip
        lost = f"{short.left_out} of {len(lines)} lines" if short.left_out else ""
        return Digest(text=short.text, content="output", facts=log.error_facts(lines, errors), lost=lost)
