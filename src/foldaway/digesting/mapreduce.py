"""Giants in bounded pieces: each is digested on its own, then the digests of all pieces make one.

Source: Dean and Ghemawat, "MapReduce: simplified data processing on large clusters", OSDI 2004, for the shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foldaway.errors import DigestError

SMALLEST_PART_CHARS = 200
"""A part's digest below this says nothing."""


@dataclass(frozen=True, slots=True)
class Read:
    """What of a text was given to a model."""

    parts: tuple[str, ...]
    of: int
    """Pieces the text has; more than `parts` when there were too many to read them all."""


def pieces(text: str, piece_chars: int) -> list[str]:
    """The text in pieces of at most `piece_chars`, joined they are the text again. O(len(text)).

    Cut behind a line break where the second half of a piece has one, else behind a blank, else anywhere.
    """
    found: list[str] = []
    start = 0
    while len(text) - start > piece_chars:
        middle, end = start + piece_chars // 2, start + piece_chars
        cut = max(text.rfind("\n", middle, end), 0) or max(text.rfind(" ", middle, end), 0)
        found.append(text[start : cut + 1 if cut else end])
        start += len(found[-1])
    found.append(text[start:])
    return found


def chosen(text: str, piece_chars: int, most_pieces: int) -> Read:
    """All pieces of a text, or `most_pieces` of them spread evenly, first and last included."""
    every = pieces(text, piece_chars)
    if len(every) <= most_pieces:
        return Read(tuple(every), len(every))
    steps = max(1, most_pieces - 1)
    return Read(tuple(every[number * (len(every) - 1) // steps] for number in range(most_pieces)), len(every))


def map_parts(
    parts: Sequence[str], part_room: int, by_model: Callable[[str, int], str], by_rule: Callable[[str, int], str]
) -> str:
    """The digests of all parts, in order; a part the model fails at is digested by rule.

    Raises:
        DigestError: the model failed at more than half of the parts, or gave no answer at all (the last failure).
    """
    made: list[str] = []
    failed = 0
    for part in parts:
        try:
            made.append(by_model(part, part_room))
        except DigestError as error:
            failed += 1
            # An endpoint that is down is down for the other parts too.
            if failed * 2 > len(parts) or error.kind in ("unreachable", "timeout", "status"):
                raise
            made.append(by_rule(part, part_room))
    return "\n\n".join(made)
