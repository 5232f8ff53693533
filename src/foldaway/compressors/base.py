"""What goes into a compressor and what comes out: text and hints in, a digest out. Pure values, no engine in sight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

EDGE_CHARS = 2048
"""How much of a text's start and end `Compressor.matches` may look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """What is known about a text besides the text. Everything may be missing."""

    tool: str = ""
    """Name of the tool whose result the text is, as the model wrote it."""
    arguments: Mapping[str, Any] | None = None
    """The arguments of that call."""
    path: str = ""
    """File the text was read from."""
    error: bool = False
    """The tool said that it failed."""
    wanted: tuple[str, ...] = ()
    """Literals likely needed later, best first: lines that hold them are preferred."""
    line: int = 1
    """Number of the text's first line in the whole result it was taken from."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One exact value of a text: what it is called, how it is spelled there, on which line (from 1)."""

    key: str
    value: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A short text that stands for a long one, and what was lost on the way."""

    text: str
    """What is shown instead. Never longer than the source."""
    content: str
    """Class of content in plain words: "python source", "pytest run", "json", ..."""
    facts: tuple[Fact, ...] = ()
    """Exact values with their place in the source."""
    lost: str = ""
    """One short phrase: what is not in it ("bodies of 14 functions"); "" when nothing was lost."""


class Compressor(Protocol):
    """One class of content. Holds no state; the same arguments give the same digest."""

    @property
    def name(self) -> str:
        """Short name, unique in a registry: "source", "diff", ..."""
        ...

    # Optional: `surest: float`, the most that `matches` ever says; where another is as sure, it is not asked.

    def matches(self, text: str, hint: Hint) -> float:
        """How sure (0..1) it is that `text` is of its class. Cheap: looks at no more than the text's edges."""
        ...

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        """A digest of at most `room_chars` characters, and never longer than `text`. Linear time; never raises."""
        ...
