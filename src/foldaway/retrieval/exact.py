"""Literals of a query that must be found exactly: ids, paths, codes, addresses, quoted words, in any script.

A text holds a literal *whole* when the signs around it do not make it a longer one: `ord-12` stands whole in
"(ord-12)", not in "ord-12-3" nor in "ord-125".
"""

from __future__ import annotations

import re

from foldaway.linking.anchors import AnchorKind, anchors
from foldaway.retrieval.words import folded

MOST_LITERALS = 6
MOST_CHARS = 200
"""A longer quotation is a passage, not a literal."""

_QUOTED = re.compile(
    r"""["“„]([^"“”\n]{2,80})["”]|(?<![\w'])'([^'\n]{2,80})'(?!\w)|`([^`\n]{2,120})`|「([^」\n]{1,80})」|『([^』\n]{1,80})』"""
    r"""|《([^》\n]{1,80})》"""
)
# Begins where a run of its signs begins, and holds 64 of them (RFC 5321): or a run without @ costs its length squared.
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_WEAK_NUMBER = 6
"""Shorter numbers are years, counts and prices as often as they are ids."""


def literals(query: str) -> tuple[list[str], list[str]]:
    """(strong, weak): those that name one thing wherever they stand, and those that may be ordinary words or numbers.

    Distinct, quoted ones first, then in order; at most `MOST_LITERALS` together. O(len(query)).
    """
    strong: dict[str, None] = {}
    weak: dict[str, None] = {}
    for match in _QUOTED.finditer(query):
        strong[next(filter(None, match.groups())).strip()] = None
    strong.update(dict.fromkeys(_ADDRESS.findall(query)))
    for literal, kind in anchors(query).items():
        if not any(literal in longer for longer in strong):
            (strong if _names_one_thing(literal, kind) else weak)[literal] = None
    kept = [literal for literal in strong if literal and len(literal) <= MOST_CHARS][:MOST_LITERALS]
    return kept, list(weak)[: MOST_LITERALS - len(kept)]


def _names_one_thing(literal: str, kind: AnchorKind) -> bool:
    if kind is AnchorKind.NUMBER:
        return sum(sign.isdigit() for sign in literal) >= _WEAK_NUMBER
    if kind is AnchorKind.NAME:
        return "_" in literal or "." in literal
    if kind is AnchorKind.PATH and literal.count("/") == 1 and literal.replace("/", "").isalpha():
        # "input/output", "and/or"
        return literal.startswith("/")
    return kind is not AnchorKind.FLAG


def holds(text: str, literal: str) -> int:
    """3: whole and letter for letter; 2: whole; 1: inside something longer; 0: not at all. O(len(text))."""
    if literal in text and _stands_whole(text, literal):
        return 3
    text, literal = folded(text), folded(literal)
    if literal not in text:
        return 0
    return 2 if _stands_whole(text, literal) else 1


def _stands_whole(text: str, literal: str) -> bool:
    start = text.find(literal)
    while start >= 0:
        end = start + len(literal)
        # What a longer literal looks like shows in the next two signs.
        before, after = text[max(0, start - 2) : start][::-1], text[end : end + 2]
        if not _grows(before, literal[0]) and not _grows(after, literal[-1]):
            return True
        start = text.find(literal, start + 1)
    return False


def _grows(beside: str, edge: str) -> bool:
    """Whether the signs beside an edge (nearest first) belong to a longer literal."""
    if not beside or not edge.isalnum():
        return False
    if not edge.isascii():
        # Scripts written without blanks: whatever stands beside is the next word.
        return False
    if _is_word(beside[0]):
        return True
    return beside[0] in "-./:@" and len(beside) > 1 and _is_word(beside[1])


def _is_word(sign: str) -> bool:
    return sign == "_" or (sign.isalnum() and (sign.isascii() or "\u00c0" <= sign <= "\u024f"))
