"""Token-level clean-up: what repeats in a stretch is said once, and empty space goes; every other line stays whole.

The mildest of the compressors: no content chooses it, it is asked for by name (`Change.by`). Blank lines come one at
a time, spaces at line ends go, a line redrawn in place (a progress bar) is what it was in the end, and of a stretch of
lines that are alike but for their digits the first and the last stay, with the count between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.compressors.base import Digest, Hint
from foldaway.compressors.excerpt import cut_head

NAME = "clean"
ALIKE = 4
"""From so many lines in a row on that differ in their digits only, they count as repeats."""
KEY_CHARS = 120
"""Lines are compared over this many characters; longer ones must be equal."""
_NO_DIGITS = str.maketrans("", "", "0123456789")


@dataclass(frozen=True, slots=True)
class Clean:
    """Compressor by name only."""

    name: str = NAME

    def matches(self, text: str, hint: Hint) -> float:
        return 0.0

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        kept = list(_spaced(_drawn(text)))
        lines = list(_once(kept))
        cleaned = "\n".join(lines)
        if len(cleaned) >= len(text):
            cleaned = text
        gone = len(kept) - sum(1 for line in lines if not line.startswith("[× "))
        shown = cleaned if len(cleaned) <= room_chars else cut_head(cleaned, max(0, room_chars))
        lost = f"{gone} repeated lines" if gone > 0 else "blank space" if len(cleaned) < len(text) else ""
        return Digest(text=shown, content="cleaned text", lost=lost if len(shown) == len(cleaned) else "its end")


def _drawn(text: str) -> Iterator[str]:
    """Lines as a screen would show them in the end, without spaces behind."""
    for line in text.split("\n"):
        bare = line.rstrip()
        yield bare.rsplit("\r", 1)[-1] if "\r" in bare else bare


def _spaced(lines: Iterator[str]) -> Iterator[str]:
    """No two blank lines in a row, none at the start."""
    blank = True
    for line in lines:
        if line or not blank:
            yield line
        blank = not line


def _once(lines: list[str]) -> Iterator[str]:
    """Of each stretch of lines alike the first, how many there were, and the last."""
    start = 0
    while start < len(lines):
        key, end = _key(lines[start]), start + 1
        while end < len(lines) and key and _key(lines[end]) == key:
            end += 1
        if end - start >= ALIKE:
            yield lines[start]
            if lines[end - 1] == lines[start]:
                yield f"[× {end - start} lines]"
            else:
                yield f"[× {end - start - 2} lines alike]"
                yield lines[end - 1]
        else:
            yield from lines[start:end]
        start = end


def _key(line: str) -> str:
    """What alike lines share; a long line is only like itself."""
    return line[:KEY_CHARS].translate(_NO_DIGITS).strip() and (
        line.translate(_NO_DIGITS) if len(line) <= KEY_CHARS else line
    )
