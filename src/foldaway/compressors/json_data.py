"""JSON, JSON lines and cut-off JSON: shape, keys, counts, extremes and samples, as JSON that still parses.

Small values stay as they are, lists of like objects become tables, long strings keep their best sentences, and what
is left out is counted where it stood. Words around the JSON (a prompt, a status line) stay in front and behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from foldaway.compressors._json_fit import Fitter, water
from foldaway.compressors._json_read import Read, Spelled, read
from foldaway.compressors._json_text import counted
from foldaway.compressors._literals import literals, worth_of
from foldaway.compressors._picking import ends, named
from foldaway.compressors.base import EDGE_CHARS, Digest, Fact, Hint
from foldaway.compressors.facts import MAX_FACTS, facts
from foldaway.compressors.prose import Prose

MOST_CHARS = 8_000_000
"""A longer text is not parsed."""
NAMES_SHARE = 0.2
"""Of the room, for names out of long strings that had to be cut."""
LONG_STRING = 80
_SLACK = 0.06
"""So little of the room may stay empty."""
READ_CHARS = 100_000
LEAD = "also named: "
_MOST_SEGMENTS = 8
_TRIES = 4
_MOST_LEAVES = 4_000


_KEY = re.compile(r'[\[{\s]{1,99}"[^"\n]{0,120}"\s{0,9}:')
# "[1] see the note" is none.
_NUMBERS = re.compile(r"\[\s{0,99}(?:-?[\d.eE+-]{1,40}|null|true|false)\s{0,99},\s{0,99}[-\dntf\"{\[]")
_BEGINS = re.compile(r"""\n[{\[]\s{0,8}["{]""")


class JsonData:
    """JSON in any of the shapes in which tools return it."""

    name = "json"
    surest = 0.95

    def matches(self, text: str, hint: Hint) -> float:
        edge = text[:EDGE_CHARS].lstrip("\ufeff \t\r\n")
        if not edge:
            return 0.0
        signs = sum(map(edge.count, '":,{}[]')) / len(edge)
        if edge[0] in "{[":
            follows = edge[1:200].lstrip()[:1]
            if follows and follows in '"{[]}':
                return 0.95 if signs > 0.02 or _KEY.match(edge) else 0.4
            return 0.9 if _NUMBERS.match(edge) else 0.0
        if hint.path.endswith((".json", ".jsonl", ".ndjson", ".geojson", ".ipynb")):
            return 0.7
        begins = _BEGINS.search(edge)
        written = hint.path.lower().endswith((".md", ".mdx", ".rst", ".txt"))
        return (0.75 if begins.start() < 600 and not written else 0.5) if begins and signs > 0.12 else 0.0

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        room = max(0, room_chars)
        pieces = segments(text) if len(text) <= MOST_CHARS else []
        found = next((piece for piece in pieces if isinstance(piece, Read)), None)
        if len(text) <= room:
            return Digest(text=text, content="json", facts=json_facts(text, found, hint.line))
        if found is None:
            # It only looked like JSON, or is too long to be read as such.
            return replace(Prose().digest(text, hint, room), content="text")
        names = text_names(pieces)
        fitter = Fitter(hint)
        sizes = [fitter.size(p.value) + 1 if isinstance(p, Read) else len(p) + 1 for p in pieces]
        for_names = min(int(room * NAMES_SHARE), sum(len(name) + 2 for name in names) + 30) if names else 0
        # Words around the JSON are mostly short; where they are not, they may not crowd it out.
        sizes = [s if isinstance(p, Read) else min(s, room // 8) for s, p in zip(sizes, pieces, strict=True)]
        shown = []
        for piece, share in zip(pieces, water(sizes, room - for_names), strict=True):
            shown.append(within(fitter, piece.value, share - 1) if isinstance(piece, Read) else ends(piece, share - 1))
        whole = "\n".join(piece for piece in shown if piece)
        single = len(pieces) == 1
        told = _with_names(whole, names, room, single=single)
        if len(told) < room * (1.0 - _SLACK):
            told = _with_names(whole, {**small_names(pieces), **names}, room, single=single)
        whole = told
        content = "json lines" if found.lines else "cut-off json" if found.cut else "json"
        return Digest(text=whole[:room], content=content, facts=json_facts(text, found, hint.line), lost=lost(found))


def text_names(pieces: Sequence[Read | str]) -> dict[str, float]:
    """What the long strings speak of, with its worth; {} when strings are no large part of the JSON."""
    found: list[dict[str, float]] = []
    size = 0
    for piece in pieces:
        if isinstance(piece, Read):
            for _, value in _leaves(piece.value):
                if len(value) >= LONG_STRING:
                    found.append(literals(value[:READ_CHARS], phrases=True))
                    size += len(value)
    return worth_of(found) if size >= LONG_STRING * 4 else {}


def small_names(pieces: Sequence[Read | str]) -> dict[str, float]:
    """What keys, short strings and numbers speak of, and the words around the JSON; for room that is left over."""
    found: list[dict[str, float]] = []
    for piece in pieces:
        if isinstance(piece, Read):
            for path, value in _leaves(piece.value):
                # Long strings are `text_names`' business; half of one would give half a name.
                found += [literals(part) for part in (path.rpartition(".")[2], value) if len(part) < LONG_STRING]
        else:
            found.append(literals(ends(piece, READ_CHARS)))
    return worth_of(found)


def _with_names(whole: str, names: Mapping[str, float], room: int, *, single: bool) -> str:
    """The digest with the names it lacks: as its last key where it is one object or list, else on a line of its own."""
    if not names or not whole:
        return whole
    if single and (whole[-1] not in "]}" or len(whole) < 3):
        # One value, only counted: the names stand beside it, so that it stays JSON.
        line = named(names, whole, room - len(whole) - 5)
        return f'[{whole},"{_in_quotes(line)}"]' if line else whole
    plain = not single
    line = named(names, whole, room - len(whole) - (1 if plain else 18), "" if whole[-1] == "}" and not plain else LEAD)
    if not line or plain:
        return f"{whole}\n{line}" if line else whole
    line = _in_quotes(line)
    return f'{whole[:-1]},"also named":"{line}"}}' if whole[-1] == "}" else f'{whole[:-1]},"{line}"]'


def _in_quotes(line: str) -> str:
    return line.replace("\\", "/").replace('"', "'")


def segments(text: str) -> list[Read | str]:
    """The text as words and JSON by turns, at most a few; empty pieces are left out."""
    pieces: list[Read | str] = []
    rest = text
    for _ in range(_MOST_SEGMENTS):
        found = read(rest)
        if found is None:
            break
        pieces += [found.before, found]
        rest = found.after
    pieces.append(rest)
    return [piece for piece in pieces if isinstance(piece, Read) or piece.strip()]


def within(fitter: Fitter, value: Any, room: int) -> str:
    """The value as JSON in at most `room` characters; "" when there is no room even to count it."""
    wish, best = room, ""
    for _ in range(_TRIES):
        shown = fitter.fit(value, wish)
        if len(best) < len(shown) <= room:
            best = shown
        if 0.85 * room < len(shown) <= room:
            break
        # Estimates err on both sides; room that is left over may still hold a column or a sentence.
        wish = int(wish * min(2.0, 0.95 * room / max(1, len(shown))))
    if best:
        return best
    shown = counted(value)
    return shown if len(shown) <= room else ""


def lost(found: Read) -> str:
    """What a digest of this value may lack, in a phrase."""
    if isinstance(found.value, list):
        return f"parts of {len(found.value):,} items"
    if isinstance(found.value, dict):
        return f"parts of {len(found.value):,} keys"
    return "part of one value"


def json_facts(text: str, found: Read | None, first: int = 1) -> tuple[Fact, ...]:
    """Values by their path with their line; of repeated keys the first few. Falls back to the facts of plain text."""
    if found is None:
        return facts(text, first=first)
    listed: list[Fact] = []
    seen: dict[str, int] = {}
    at, line = 0, first
    for path, value in _leaves(found.value):
        seen[path] = seen.get(path, 0) + 1
        if seen[path] > 3 or not _telling(value):
            continue
        place = text.find(value, at)
        if place < 0:
            continue
        line += text.count("\n", at, place)
        at = place
        listed.append(Fact(path, value, line))
        if len(listed) == MAX_FACTS:
            break
    return tuple(listed)


def _telling(value: str) -> bool:
    if isinstance(value, Spelled):
        return True
    return 2 < len(value) <= 160 and (any(c.isdigit() for c in value) or "/" in value or "_" in value)


def _leaves(value: Any) -> Iterator[tuple[str, str]]:
    """Strings and numbers with their paths, in order; list places are left out of the path."""
    stack: list[tuple[str, Any]] = [("", value)]
    count = 0
    while stack and count < _MOST_LEAVES:
        path, node = stack.pop()
        count += 1
        if isinstance(node, str):
            yield path, node
        elif isinstance(node, dict):
            stack.extend(
                (f"{path}.{k}"[-120:] if path else str(k)[:120], v) for k, v in reversed(list(node.items())[:500])
            )
        elif isinstance(node, list):
            stack.extend((path, v) for v in reversed(node[:500]))
