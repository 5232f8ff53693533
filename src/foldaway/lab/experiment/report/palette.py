"""Colour, dash and dot of each name: told apart by colour-blind readers, in grey and on paper.

Colours after Okabe and Ito, "Color Universal Design", 2008, darkened where they would vanish on white; a second set is
for dark screens. Dot shapes differ too, so colour never stands alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

COLOURS = (
    ("#0072b2", "#4db2ec"),
    ("#d55e00", "#ff8c3f"),
    ("#00795a", "#2fc79a"),
    ("#a8467f", "#e58fc0"),
    ("#8a6d00", "#e3c23c"),
    ("#2b8cbe", "#8fd3f5"),
    ("#6a51a3", "#b9a6ea"),
    ("#5b5b5b", "#b8b8b8"),
    ("#a50f15", "#ff7a7a"),
    ("#3f7d20", "#9bd65f"),
)
"""(on white, on black)"""
SHAPES = ("circle", "square", "diamond", "triangle", "cross", "plus")
PLACES = {
    "auto": 0,
    "window": 1,
    **{limit: 7 + 10 * n for n, limit in enumerate(("oracle", "bound", "budget", "full history", "inferred"))},
}
"""Names that always look the same; limits, which are no policies, are grey."""


@dataclass(frozen=True, slots=True)
class Look:
    number: int

    @property
    def css(self) -> str:
        """Class that sets the colour."""
        return f"c{self.number % len(COLOURS)}"

    @property
    def shape(self) -> str:
        return SHAPES[self.number % len(SHAPES)]


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A look for each name, by order of appearance but for those with a fixed one."""
    given = list(dict.fromkeys(names))
    free = (n for n in range(len(given) + len(PLACES)) if n not in {PLACES[g] for g in given if g in PLACES})
    return {name: Look(PLACES[name] if name in PLACES else next(free)) for name in given}


def css() -> str:
    light = "".join(f".c{n}{{--c:{one}}}" for n, (one, _) in enumerate(COLOURS))
    dark = "".join(f".c{n}{{--c:{one}}}" for n, (_, one) in enumerate(COLOURS))
    return f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}"
