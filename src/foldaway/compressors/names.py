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
# apart once. Runs are bounded, so that a hostile one is not one giant key.
_RUN = re.compile(r"[\w$@~+/.:-]{4,300}", re.ASCII)
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
        fresh = 0
        first, count = self.line, self.count
        # Most runs are ordinary words: they are looked up and dropped without a step of Python.
        names = [name for pieces in filter(None, map(name_pieces, _RUN.findall(line))) for name in pieces]
        for name in names:
            if name in count:
                count[name] += 1
            else:
                count[name] = 1
                first[name] = index
                fresh += len(name) + 1
        if '"' in line or "'" in line:
            for phrase in quoted(line):
                names.append(phrase)
                count[phrase] = count.get(phrase, 0) + 1
                first.setdefault(phrase, index)
        return fresh, names


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
