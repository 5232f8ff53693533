"""The literals of a text that somebody may have to type again, told line by line, fast.

The same notion as `foldaway.linking.anchors` (paths, URLs, identifiers, ids, long numbers; no ordinary words), cut
down to what one pass of one regular expression and a set lookup can do, since a digest looks at every line once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

HEAD_CHARS = 400_000
TAIL_CHARS = 200_000
"""Of a text longer than both together only these parts are searched for names; lines that rate high always are."""

MAX_NAME = 160
"""A longer literal is a payload (base64, minified code), not something to type again."""

# One class of characters: far quicker than telling the kinds of literals apart on the way. Each distinct run is taken
# apart once. Runs are bounded, so that a hostile one is not one giant name.
_RUN_CHARS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$@~+/.:-")
_LONGEST_RUN = 300
# One class as a table of bytes: with it all lines are taken apart at once.
_SPACED = bytes(code if code in _RUN_CHARS or code == 0x0A else 0x20 for code in range(256))
_PIECE = re.compile(r"[\w$]+(?:-[\w$]+)*", re.ASCII)
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_NUMBER = re.compile(r"\d[\d.,:_-]*", re.ASCII)
_CHAIN = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){2,}", re.ASCII)
_OPENS = r"[^\s\"'`\\,:;)\]}+=.|&?]"
_QUOTED = re.compile(rf"\"({_OPENS}[^\n\"\\]{{6,58}}[^\s\"\\(\[])\"|'({_OPENS}[^\n'\\]{{6,58}}[^\s'\\(\[])'")


class Names:
    """Which names a text holds, each at the line that has it first."""

    __slots__ = ("count", "line")

    def __init__(self) -> None:
        self.line: dict[str, int] = {}
        """Name -> index of the first line that holds it, in order of appearance."""
        self.count: dict[str, int] = {}
        """Name -> how often it was seen."""

    def add(self, line: str, index: int) -> tuple[int, list[str]]:
        """Take in one line; returns how many characters its new names take, and all its names."""
        return self.add_all([line], [index]).get(index, (0, []))

    def add_all(self, lines: Sequence[str], indexes: Sequence[int]) -> dict[int, tuple[int, list[str]]]:
        """Take in lines in order; what `add` gives, by index, for those that hold names. No line holds a line feed."""
        if not lines:
            return {}
        text = "\n".join(lines)
        phrases = _phrases(text, lines)
        first, count = self.line, self.count
        found: dict[int, tuple[int, list[str]]] = {}
        # Most runs are ordinary words: they are looked up and dropped without a step of Python.
        spaced = text.encode("ascii", "replace").translate(_SPACED).decode("ascii").split("\n")
        for place, (line, index) in enumerate(zip(spaced, indexes, strict=True)):
            names = [name for own in filter(None, map(_names_of, line.split())) for name in own]
            if not names and place not in phrases:
                continue
            fresh = 0
            for name in names:
                if name in count:
                    count[name] += 1
                else:
                    count[name] = 1
                    first[name] = index
                    fresh += len(name) + 1
            if place in phrases:
                for phrase in phrases[place]:
                    names.append(phrase)
                    count[phrase] = count.get(phrase, 0) + 1
                    first.setdefault(phrase, index)
            found[index] = fresh, names
        return found


def _phrases(text: str, lines: Sequence[str]) -> dict[int, list[str]]:
    """Place of a line -> its quoted strings of several words, for all lines joined to one text at once."""
    found: dict[int, list[str]] = {}
    place, end = 0, len(lines[0]) if lines else 0
    for match in _QUOTED.finditer(text) if '"' in text or "'" in text else ():
        phrase = match.group(1) or match.group(2)
        if " " not in phrase:
            continue
        while match.start() > end:
            place += 1
            end += len(lines[place]) + 1
        found.setdefault(place, []).append(phrase)
    return found


def searched(lines: Sequence[str]) -> tuple[int, int]:
    """(end of head, start of tail) as line indexes: names are looked for outside of that gap only."""
    if sum(map(len, lines)) <= HEAD_CHARS + TAIL_CHARS:
        return len(lines), len(lines)
    head, size = 0, 0
    while head < len(lines) and size < HEAD_CHARS:
        size += len(lines[head]) + 1
        head += 1
    tail, size = len(lines), 0
    while tail > head and size < TAIL_CHARS:
        tail -= 1
        size += len(lines[tail]) + 1
    return head, tail


@lru_cache(maxsize=1 << 16)
def _names_of(run: str) -> tuple[str, ...]:
    """The names in a run of any length; most are ordinary words."""
    if len(run) < 4 or (run.isalpha() and (run.islower() or run.istitle())):
        return ()
    if len(run) <= _LONGEST_RUN:
        return name_pieces(run)
    parts = [run[at : at + _LONGEST_RUN] for at in range(0, len(run), _LONGEST_RUN)]
    return tuple(name for part in parts if len(part) >= 4 for name in name_pieces(part))


@lru_cache(maxsize=1 << 16)
def name_pieces(run: str) -> tuple[str, ...]:
    """The names a run of characters stands for: itself, its parts, or nothing when it is an ordinary word."""
    if run.isidentifier():
        return (run,) if _is_name(run) and len(run) <= MAX_NAME else ()
    if "://" in run:
        start = run.find("http")
        return (run[start:].rstrip(".:-+/"),) if start >= 0 and len(run) <= MAX_NAME else ()
    token = run.strip(":+-@$~.") if run[0] not in "-.~@" else run.rstrip(":+-@$~.")
    if "/" in token:
        return _path(token)
    if run.startswith("--") and run[2:3].isalpha():
        return (token,)
    return _joined(token.lstrip("-.~@"))


def quoted(line: str) -> list[str]:
    """Strings of several words in quotes."""
    return [a or b for a, b in _QUOTED.findall(line) if " " in (a or b)] if '"' in line or "'" in line else []


def _path(token: str) -> tuple[str, ...]:
    if ":" in token:
        # path:12:code
        return tuple(name for piece in token.split(":") if len(piece) >= 4 for name in name_pieces(piece))
    bare = token.strip("/")
    if len(bare) < 4 or len(token) > MAX_NAME or bare.replace("/", "").replace(".", "").isdigit():
        return ()
    if "//" in token:
        return tuple(name for piece in token.split("//") if len(piece) >= 4 for name in name_pieces(piece))
    return (token.rstrip("/"),)


def _joined(token: str) -> tuple[str, ...]:
    """What is joined by points, colons and hyphens: one thing (a file, an id, a module), or several names."""
    if len(token) < 4:
        return ()
    if token[0].isdigit() and _NUMBER.fullmatch(token):
        return (token,) if _is_number(token) else ()
    if "." in token and ":" not in token and len(token) <= 60:
        if token.rpartition(".")[2] in _EXTENSIONS and not token.startswith(("self.", "this.")):
            return (token,)
        if token.count(".") >= 2 and _CHAIN.fullmatch(token) and not token.startswith(("self.", "this.", "cls.")):
            return (token,)
    found: list[str] = []
    for piece in _PIECE.findall(token):
        if len(piece) >= 4 and "-" not in piece:
            if _is_name(piece):
                found.append(piece)
        elif len(piece) >= 4 and len(piece) <= MAX_NAME and _hyphened(piece):
            found.append(piece)
    return tuple(found)


def _hyphened(piece: str) -> bool:
    """Of hyphenated words only those that are no plain English: ids, and names of three words or more."""
    return any(c.isdigit() for c in piece) or "_" in piece or (piece.count("-") >= 2 and piece.islower())


def _is_name(word: str) -> bool:
    if word.isdigit():
        return len(word) <= 20
    if "_" in word:
        return "_" in word.strip("_") or (word[0] == "_" and len(word) > 4)
    if word.islower():
        return not word.isalpha()
    if word.isupper():
        return len(word) >= 5 or not word.isalpha()
    return _CAMEL.search(word) is not None or not word.isalpha()


def _is_number(word: str) -> bool:
    digits = sum(c.isdigit() for c in word)
    return digits >= 4 or (digits >= 3 and not word.isdigit())


_EXTENSIONS = frozenset(
    "py ts tsx js jsx mjs cjs go rs java kt c h cc cpp hpp cs rb php sh bash md rst txt json jsonl yaml yml toml "
    "ini cfg "
    "conf xml html htm css scss sql csv tsv log lock mod sum ipynb pdf png jpg svg zip gz tar env proto swift lua diff "
    "patch snap xlsx docx pptx db sqlite parquet".split()
)
