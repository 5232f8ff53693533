"""What an agent read again: results that repeat lines the agent had seen, for a call that repeats an earlier call.

A re-read is told by what came back, not by the call alone: running the tests again is work, getting the same lines
again is a look at what was seen before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from foldaway.lab.finder import strings_of
from foldaway.lab.literals import LiteralKind, scan
from foldaway.model.recorded import Recorded
from foldaway.model.wire import PartType
from foldaway.wire import get_wire

MIN_LINE_CHARS = 16
"""Shorter lines (braces, "ok") repeat by themselves."""
MIN_REPEATED_CHARS = 200
"""A result repeats what was seen when its repeated lines come to this."""
_NUMBERED = re.compile(r"^\s*\d+(?:\t|→|:)")


@dataclass(frozen=True, slots=True)
class Look:
    """One call and what came back."""

    call: int
    """Position of the message with the call."""
    result: int
    """Position of the message with the result."""
    name: str
    arguments: str
    """All values of the arguments as one text."""
    paths: frozenset[str]
    lines: tuple[str, ...]
    """The result's lines that are long enough to tell, without line numbers, each once."""


@dataclass(frozen=True, slots=True)
class Reread:
    """A look at something seen before."""

    look: Look
    text: str
    """The repeated lines."""


def looks_of(recorded: Recorded) -> list[Look]:
    """The calls of a session that have a result, in order. Linear in its text."""
    looks: list[Look] = []
    for turn in get_wire(recorded.format).parse(recorded.messages, origins=recorded.origins).turns:
        calls = {part.call_id: part for part in turn.parts if part.type is PartType.CALL}
        for part in turn.parts:
            asked = calls.get(part.call_id)
            if part.type is not PartType.RESULT or part.stand_in or asked is None:
                continue
            arguments = "\n".join(strings_of(asked.text if asked.arguments is None else asked.arguments))
            paths = frozenset(found.text for found in scan(arguments) if found.kind is LiteralKind.PATH)
            at, to = (turn.sources[min(p.message, len(turn.sources) - 1)] for p in (asked, part))
            looks.append(Look(at, to, asked.name, arguments, paths, _lines(part.text)))
    return sorted(looks, key=lambda look: (look.result, look.call))


def _lines(text: str) -> tuple[str, ...]:
    lines = (_NUMBERED.sub("", line).strip() for line in text.splitlines())
    return tuple(dict.fromkeys(line for line in lines if len(line) >= MIN_LINE_CHARS))


def rereads(looks: Sequence[Look], seen: range, window: range, still: Callable[[str], bool]) -> list[Reread]:
    """The looks at positions in `window` that repeat a look at positions in `seen`.

    Repeats: the same tool was called with the same arguments or on a path in common, and the result gives at least
    `MIN_REPEATED_CHARS` of lines that results in `seen` had given and that are not `still` in view. Lines read again
    once are in view from then on: they count once.
    """
    before = [look for look in looks if look.result in seen]
    known = {line for look in before for line in look.lines}
    found: list[Reread] = []
    for look in looks:
        if look.call not in window or not _repeats(look, before):
            continue
        again = [line for line in look.lines if line in known and not still(line)]
        if sum(map(len, again)) >= MIN_REPEATED_CHARS:
            found.append(Reread(look, "\n".join(again)))
            known.difference_update(again)
    return found


def _repeats(look: Look, before: Iterable[Look]) -> bool:
    return any(
        look.name == old.name and (look.arguments == old.arguments or _shared(look.paths, old.paths)) for old in before
    )


def _shared(paths: Collection[str], others: Collection[str]) -> bool:
    """Whether a path of the one is a path of the other, in full or as its tail."""
    return any(a == b or a.endswith(f"/{b}") or b.endswith(f"/{a}") for a in paths for b in others)
