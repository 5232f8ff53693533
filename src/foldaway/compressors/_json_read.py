"""JSON out of a tool result: whole, one value a line, cut off in the middle, or with words before and after it.

Numbers keep their spelling (`Spelled`), so that 1.10 does not come out as 1.1.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

MOST_REPAIRED = 4_000_000
"""A cut-off document longer than this is read as text."""
_TRIES = 3

_SIGNIFICANT = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z|\\\Z)|[\[\]{},]', re.DOTALL)
_OPENING = re.compile(r"^[ \t]*[\[{]", re.MULTILINE)


class Spelled(str):
    """A number as the source spells it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Read:
    """What was found in a text."""

    value: Any
    before: str = ""
    """Text in front of the JSON."""
    after: str = ""
    """Text behind it."""
    lines: int = 0
    """Number of values, where the text has one a line; `value` is their list then."""
    cut: bool = False
    """The JSON ends in the middle; `value` holds what is complete."""


_DECODER = json.JSONDecoder(parse_float=Spelled, parse_int=Spelled, parse_constant=Spelled, strict=False)


def read(text: str) -> Read | None:
    """The JSON of a text, or None when it holds none worth the name. O(len(text)), never raises."""
    start = _start(text)
    if start is None:
        return None
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError:
        return _repaired(text, start)
    except RecursionError:
        return None
    rest = text[end:].lstrip(" \t\r\n,")
    if rest[:1] in ("{", "["):
        values, rest = _more(rest, [value])
        return Read(values, text[:start].rstrip(), rest.strip(), lines=len(values))
    return Read(value, text[:start].rstrip(), rest.strip())


def _start(text: str) -> int | None:
    """Where the JSON begins: at the first sign, or at the start of one of the first lines."""
    bare = len(text) - len(text.lstrip("\ufeff \t\r\n"))
    if text[bare : bare + 1] in ("{", "["):
        return bare
    for number, found in enumerate(_OPENING.finditer(text, bare, min(len(text), bare + 4096))):
        start = found.end() - 1
        follows = text[start + 1 : start + 200].lstrip()[:1]
        if follows and (follows in '"{[]}-' or follows.isdigit()):
            return start
        if number > 8:
            break
    return None


def _more(text: str, values: list[Any]) -> tuple[list[Any], str]:
    at = 0
    while at < len(text):
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if text[at : at + 1] not in ("{", "["):
            break
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        values.append(value)
    return values, text[at:]


def _repaired(text: str, start: int) -> Read | None:
    """What is complete of a document that ends too early: cut behind the last whole element and closed."""
    if len(text) - start > MOST_REPAIRED:
        return None
    ends, closers = _ends(text, start)
    for end, closer in reversed(list(zip(ends, closers, strict=True))[-_TRIES:]):
        try:
            value = _DECODER.decode(text[start:end] + closer)
        except (ValueError, RecursionError):
            continue
        if value:
            return Read(value, text[:start].rstrip(), text[end:].lstrip(" ,\r\n"), cut=True)
    return None


def _ends(text: str, start: int) -> tuple[list[int], list[str]]:
    """Places behind whole elements, the last few, with what closes the document there."""
    stack: list[str] = []
    ends: list[int] = []
    closers: list[str] = []
    for match in _SIGNIFICANT.finditer(text, start):
        sign = match.group()[0]
        if sign == '"':
            if match.end() == len(text) and stack and len(stack) <= 200:
                # Cut off inside a string: its last word may be cut, too.
                place = max(match.start() + 1, text.rfind(" ", match.start(), match.end()))
                ends.append(place)
                closers.append('"' + "".join(reversed(stack)))
            continue
        if sign in "[{":
            stack.append("]" if sign == "[" else "}")
            continue
        if sign in "]}":
            if not stack or stack[-1] != sign:
                break
            stack.pop()
            place = match.end()
        else:
            place = match.start()
        if not stack or len(stack) > 200:
            continue
        ends.append(place)
        closers.append("".join(reversed(stack)))
        if len(ends) > 2 * _TRIES:
            del ends[:_TRIES], closers[:_TRIES]
    return ends, closers
