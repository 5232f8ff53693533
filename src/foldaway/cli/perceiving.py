"""`foldaway perceive`: the perception of a window as a panel that a person can read."""

from __future__ import annotations

from collections.abc import Iterator

from foldaway.cli.output import clipped
from foldaway.engine.perception import WORDS, Perception, Valued
from foldaway.lab.table import aligned

BAR = 40
"""Characters of a bar that stands for the whole budget."""
TITLE_WIDTH = 60
LEAST_TOKENS = 50
"""Smaller items do not compete for a place among those worth least: folding them frees nothing."""


def panel(perception: Perception, name: str, call: int, items: int) -> str:
    """The window in parts and levels, what it is worth, and the items worth most and least per token."""
    used = round(100 * perception.tokens / max(1, perception.budget_tokens))
    head = (
        f"{name} before call {call}: {perception.tokens} of {perception.budget_tokens} tokens ({used} %), "
        f"{perception.room_left} left"
    )
    return "\n\n".join(
        (head, _parts(perception), _levels(perception), "\n".join(_facts(perception)), *_map(perception, items))
    )


def _parts(perception: Perception) -> str:
    rows = [["part", "tokens", "share", ""]]
    for part, tokens in perception.parts.items():
        bar = "█" * round(BAR * tokens / max(1, perception.budget_tokens))
        rows.append([part.value, str(tokens), f"{100 * perception.share(part):.0f} %", bar])
    rows.append(["room left", str(max(0, perception.room_left)), "", "·" * round(BAR * _left(perception))])
    return _table(rows, right=(1, 2))


def _left(perception: Perception) -> float:
    return max(0, perception.room_left) / max(1, perception.budget_tokens)


def _levels(perception: Perception) -> str:
    rows = [["level", "items", "tokens", "at raw"]]
    for level, at in perception.levels.items():
        rows.append([level.name.lower(), str(at.items), str(at.tokens), str(at.raw_tokens)])
    return _table(rows, right=(1, 2, 3))


def _facts(perception: Perception) -> Iterator[str]:
    median, most, oldest = perception.ages
    yield f"age of the tokens: half at most {median} steps, 90 % at most {most}, oldest {oldest}"
    yield f"came again later: {perception.redundant_tokens} tokens; three largest: {perception.largest_tokens}"
    plan = "" if perception.progress < 0 else f"; plan {100 * perception.progress:.0f} % done"
    yield f"phase: {perception.phase or 'unknown'}{plan}; pinned floor {perception.floor_tokens}"


def _map(perception: Perception, items: int) -> Iterator[str]:
    """Worth most, and worth least, per token: what a policy would keep and let go first."""
    free = [v for v in perception.values if v.kind not in WORDS]
    ranked = sorted(free, key=lambda v: (-v.density, v.item))
    large = [v for v in ranked if v.tokens >= LEAST_TOKENS]
    if items and ranked:
        yield "worth most per token\n" + _values(large[:items] or ranked[:items])
    if items and len(large) > items:
        yield "worth least per token\n" + _values(large[items:][: -items - 1 : -1])


def _values(values: list[Valued]) -> str:
    rows = [["item", "kind", "level", "tokens", "value", "age", "title"]]
    for v in values:
        title = clipped(v.title, TITLE_WIDTH)
        rows.append(
            [f"#{v.item}", v.kind.value, v.level.name.lower(), str(v.tokens), f"{v.value:.2f}", str(v.age_steps), title]
        )
    return _table(rows, right=(3, 4, 5))


def _table(rows: list[list[str]], right: tuple[int, ...]) -> str:
    """Aligned, the columns of numbers to the right."""
    widths = {column: max(len(row[column]) for row in rows) for column in right}
    padded = [[cell.rjust(widths[n]) if n in widths else cell for n, cell in enumerate(row)] for row in rows]
    return aligned(padded, left=len(rows[0]))
