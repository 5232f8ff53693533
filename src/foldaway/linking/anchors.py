"""Anchors: the literals that later work refers to.

An anchor is worth keeping because it cannot be guessed again: a path, a URL, an identifier, an id with digits, a
hash, an error code, a long number. Ordinary words are not anchors. One pass of one regular expression, linear in
the length of the text; giant texts are read at head and tail only, so the cost of an item is bounded.
"""

from __future__ import annotations

import re
from enum import StrEnum

HEAD_CHARS = 400_000
TAIL_CHARS = 200_000
"""Of a text longer than both together only these are read: past that size a result is searched, not remembered."""

MAX_LENGTH = 200
"""A longer literal is a payload (base64, minified code), not something an agent types again."""


MAX_CHAIN = 60
"""A dotted chain of names up to this length is one anchor (os.path.join); of a longer one only its pieces are."""


class AnchorKind(StrEnum):
    URL = "url"
    PATH = "path"
    FILE = "file"
    ID = "id"
    """letters and digits mixed, or joined by - or _ with digits: flight_HAT136, 0b-9f2ac6f3aa, v2.1.0"""
    NAME = "name"
    """identifiers of code: snake_case, camelCase, CONSTANT, os.path.join"""
    NUMBER = "number"
    FLAG = "flag"
    QUOTED = "quoted"


# ASCII classes (with Latin letters) on purpose: text in other scripts stands next to literals without a space. The
# look-behind and the bounded segments keep a run of path characters from being scanned again from each of its places.
_W = "A-Za-z0-9_\u00c0-\u024f"
_PATTERN = re.compile(
    rf"""
    (?P<url>https?://[^\s"'<>()\[\]{{}}|\\^`,;\u3000-\u9fff]{{4,}})
  | (?P<path>(?<![{_W}.@+/-])(?:~|\.{{1,2}})?/?(?:[{_W}.@+-]{{1,80}}/)+[{_W}.@+-]*[{_W}]
      |(?<![{_W}/])/[{_W}.@+-]{{1,80}})
  | (?P<flag>(?<![{_W}-])--[a-z][{_W}-]+)
  | (?P<word>[A-Za-z_\u00c0-\u024f][{_W}$]*(?:[-.:][{_W}$]+)*)
  | (?P<number>\d[{_W},]*(?:[.:\-][{_W}]+)*)
    """,
    re.VERBOSE,
)
_QUOTED = re.compile(r"""(?<![\w\\)\]}"'`])(["'`])([^\s"'`\\)\]},;:][^\n"'`\\]{6,58}[^\s"'`\\(\[{=,])\1(?![\w"'`])""")
_FILE = re.compile(r"^[\w.-]+\.[A-Za-z][A-Za-z0-9]{0,7}$")
_EXTENSIONS = frozenset(
    "py ts tsx js jsx mjs cjs go rs java kt c h cc cpp hpp cs rb php sh bash zsh ps1 md mdx rst txt json jsonl yaml "
    "yml toml ini cfg conf xml html htm css scss sql csv tsv log lock mod sum ipynb pdf png jpg jpeg gif svg zip gz "
    "tar env proto swift lua pl r scala vue svelte gradle dockerfile diff patch snap xlsx xls docx pptx db sqlite "
    "parquet".split()
)
_HEX = re.compile(r"^[0-9a-f]{7,}$")
_VERSION = re.compile(r"^v\d+(?:\.\d+)+$")
_CHAIN = re.compile(r"^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$")
_INNER_UPPER = re.compile(r"[a-z0-9][A-Z]")
_SPLIT = re.compile(r"[-.:]")


def anchors(text: str) -> dict[str, AnchorKind]:
    """The distinct anchors of a text with their kinds, in order of first occurrence. O(len(text)), never raises."""
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        text = text[:HEAD_CHARS] + "\n" + text[-TAIL_CHARS:]
    found: dict[str, AnchorKind] = {}
    seen: set[str] = set()
    for match in _PATTERN.finditer(text):
        literal = match.group()
        if literal in seen:
            continue
        seen.add(literal)
        group = match.lastgroup
        if group == "word":
            _word(literal, found)
        elif len(literal) > MAX_LENGTH:
            continue
        elif group == "url":
            found.setdefault(literal.rstrip(".:/"), AnchorKind.URL)
        elif group == "path":
            _path(literal, found)
        elif group == "flag":
            found.setdefault(literal, AnchorKind.FLAG)
        elif group == "number":
            _number(literal, found)
    for match in _QUOTED.finditer(text):
        literal = match.group(2)
        if literal not in found and " " in literal.strip() and any(c.isalpha() for c in literal):
            found[literal] = AnchorKind.QUOTED
    return found


def _path(literal: str, found: dict[str, AnchorKind]) -> None:
    literal = literal.rstrip(".")
    if len(literal) < 4:
        return
    name = literal.rsplit("/", 1)[-1]
    if "/" in literal.strip("/") and _whole(name) is AnchorKind.FILE:
        found.setdefault(literal, AnchorKind.PATH)
        return
    if literal.replace("/", "").replace(".", "").isdigit():
        found.setdefault(literal, AnchorKind.NUMBER)
    elif "/" in literal.strip("/") or literal.startswith("/"):
        found.setdefault(literal, AnchorKind.PATH)


def _number(literal: str, found: dict[str, AnchorKind]) -> None:
    literal = literal.rstrip(",_")
    if len(literal) < 3:
        return
    if literal.isdigit():
        if len(literal) >= 4:
            found.setdefault(literal, AnchorKind.NUMBER)
        return
    digits = sum(map(str.isdigit, literal))
    if any(map(str.isalpha, literal)):
        if len(literal) >= 4:
            found.setdefault(literal, AnchorKind.ID)
    elif digits >= 3:
        found.setdefault(literal, AnchorKind.NUMBER)


def _word(literal: str, found: dict[str, AnchorKind]) -> None:
    if literal.isidentifier():
        # By far the most: plain words.
        if len(literal) <= MAX_LENGTH and (kind := _piece(literal)) is not None:
            found.setdefault(literal, kind)
        return
    if len(literal) <= MAX_LENGTH and (whole := _whole(literal)) is not None:
        found.setdefault(literal, whole)
        return
    pieces = _SPLIT.split(literal)
    kinds = [_piece(piece) if len(piece) <= MAX_LENGTH else None for piece in pieces]
    for piece, kind in zip(pieces, kinds, strict=True):
        if kind is not None:
            found.setdefault(piece, kind)
    chained = _CHAIN.match(literal) and len(literal) <= MAX_CHAIN and pieces[0] not in ("self", "this")
    if chained and len(pieces) >= 3:
        found.setdefault(literal, AnchorKind.NAME)


def _whole(literal: str) -> AnchorKind | None:
    """A word joined by signs that is one thing: a file name, an id, a kebab-case name."""
    if literal.isidentifier():
        return None
    if _VERSION.match(literal):
        return AnchorKind.ID
    dot = literal.rfind(".")
    if dot > 0 and literal[dot + 1 :].lower() in _EXTENSIONS and _FILE.match(literal):
        return AnchorKind.FILE
    if "." not in literal and ":" not in literal and "-" in literal:
        if any(map(str.isdigit, literal)) or "_" in literal:
            return AnchorKind.ID
        if 8 <= len(literal) <= 40 and literal.islower() and literal.count("-") <= 4:
            return AnchorKind.NAME
    return None


def _piece(piece: str) -> AnchorKind | None:
    if len(piece) < 4:
        return None
    if piece.islower() and piece.isalpha() and piece.isascii():
        return AnchorKind.ID if _HEX.match(piece) else None
    if any(map(str.isdigit, piece)):
        return AnchorKind.ID
    if "_" in piece.strip("_") or (piece.startswith("_") and len(piece) > 4):
        return AnchorKind.NAME
    if _INNER_UPPER.search(piece) or (piece.isupper() and len(piece) >= 5):
        return AnchorKind.NAME
    return AnchorKind.ID if _HEX.match(piece) else None
