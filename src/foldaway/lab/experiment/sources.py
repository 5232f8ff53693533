"""Where a recording comes from, and whether parameters were chosen on recordings from there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from foldaway.model.recorded import Recorded

FITTED_SOURCES = frozenset(
    "claude-code/entireio-cli codex/entire-graph mini-swe-agent tau2-bench da-code langgraph-threads "
    "who-and-when".split()
)
"""Sources on which constants were fitted: the half that `scripts/fit_need.py` fits on, a test compares them."""
CHOSEN_ON, HELD_OUT = "chosen on", "held out"


@dataclass(frozen=True, slots=True)
class Input:
    """One recorded session of an experiment."""

    recorded: Recorded
    source: str
    """Agent or data set, with the project behind it where there are several: "claude-code/entireio-cli"."""

    @property
    def half(self) -> str:
        return CHOSEN_ON if is_fitted_source(self.source) else HELD_OUT


def is_fitted_source(source: str) -> bool:
    """Whether constants were fitted on recordings from this source, or one it is part of."""
    return any(source == fitted or source.startswith(f"{fitted}/") for fitted in FITTED_SOURCES)


def source_of(file: Path, root: Path | None, source_format: str) -> str:
    """The source of a file that was named, or found below `root`: its folders, headed by the format of its log."""
    # Without following links: a linked recording lies below the folder that names it, wherever it is kept.
    folder = file.absolute().parent
    below = "" if root is None else folder.relative_to(root.absolute()).as_posix()
    name = folder.name if below in ("", ".") else below
    return name if not name or name.startswith(source_format) else f"{source_format}/{name}"


def with_own_names(inputs: Iterable[Input]) -> list[Input]:
    """The same sessions, each under a name of its own: where several share one, the source goes in front."""
    given = list(inputs)
    told = [one.recorded.name for one in given]
    names = [name if told.count(name) == 1 else f"{one.source}/{name}" for name, one in zip(told, given, strict=True)]
    return [
        _named(one, name, names[:number].count(name))
        for number, (one, name) in enumerate(zip(given, names, strict=True))
    ]


def _named(one: Input, name: str, earlier: int) -> Input:
    own = f"{name} ({earlier + 1})" if earlier else name
    return one if own == one.recorded.name else Input(replace(one.recorded, name=own), one.source)


def sources(inputs: Sequence[Input]) -> tuple[str, ...]:
    """All sources, sorted."""
    return tuple(sorted({one.source for one in inputs}))
