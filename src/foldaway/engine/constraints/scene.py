"""What the rules of `constraints` look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from foldaway.engine.log import Log
from foldaway.engine.window import Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Log and levels as they stand before a decision."""

    log: Log
    shown: Shown
    pins: frozenset[int]
    guarded: frozenset[int]
    """Items recalled or brought back lately."""


Rule = Callable[[Scene], Iterator[tuple[int, str]]]
"""Yields (item, why it must stay as it is)."""
