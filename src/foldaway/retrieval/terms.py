"""The words and literals of a question, and how well a text holds each: for texts that no index was built for.

Words count by their stem where a word begins, less inside a longer word (`table` in "ratetable"); numbers only as they
stand. What a term tells is judged by how many of the texts at hand hold it.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009 (weights of terms).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from foldaway.retrieval.exact import literals
from foldaway.retrieval.words import STOP, STOP_PAIRS, folded, is_dense, pairs, raw_words, stem

MOST_TERMS = 16
LITERAL = 2.0
"""A literal weighs so many words."""
PREFIX = 0.7
INSIDE = 0.5
"""Of a word that is only a part of a longer one; the first part, a later part."""
INSIDE_CHARS = 4
"""Shorter words count only where a word begins."""
SUFFIX_CHARS = 3
"""A word that goes on for so many letters is taken for another form of the same."""
OCCURRENCES = 400
"""Of a term in a text that are looked at."""


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that a text may hold."""

    text: str
    """Folded; a word's stem."""
    weight: float
    whole: bool
    """Counts only where it stands by itself: numbers, ids, literals."""

    def places(self, text: str) -> list[tuple[int, float]]:
        """(where, how well 0..1) in a folded text, in order. O(len(text))."""
        found: list[tuple[int, float]] = []
        at = text.find(self.text)
        while at >= 0 and len(found) < OCCURRENCES:
            if (grade := self._grade(text, at)) > 0:
                found.append((at, grade))
            at = text.find(self.text, at + 1)
        return found

    def held(self, text: str) -> float:
        """The best of its places, 0 when it has none. O(len(text))."""
        best = 0.0
        at, looked = text.find(self.text), 0
        while at >= 0 and best < 1.0 and looked < OCCURRENCES:
            best = max(best, self._grade(text, at))
            at, looked = text.find(self.text, at + 1), looked + 1
        return best

    def _grade(self, text: str, at: int) -> float:
        end = at + len(self.text)
        before, after = text[at - 1 : at], text[end : end + SUFFIX_CHARS + 1]
        if not self.text[0].isascii() or is_dense(self.text):
            return 1.0
        begins = not (before.isalnum() and self.text[0].isalnum())
        ends = not (after[:1].isalnum() and self.text[-1].isalnum())
        if begins and ends:
            return 1.0
        if self.whole:
            return 0.0
        if begins:
            rest = len(after) - len(after.lstrip("abcdefghijklmnopqrstuvwxyz"))
            return 1.0 if rest <= SUFFIX_CHARS else PREFIX
        return INSIDE if len(self.text) >= INSIDE_CHARS else 0.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question taken apart."""

    terms: tuple[Term, ...]
    together: tuple[tuple[str, tuple[int, ...]], ...]
    """Words side by side, as written, with the numbers of their terms."""


def asked(query: str) -> Asked:
    """What a question asks for. Empty where it holds nothing but signs. O(len(query))."""
    terms: dict[str, Term] = {}
    strong, weak = literals(query)
    for literal in (*strong, *weak):
        text = folded(literal)
        terms[text] = Term(text, LITERAL, whole=True)
    words = raw_words(query)
    telling = [w for w in words if w not in STOP]
    for word in telling or words:
        for piece in _pieces(word):
            terms.setdefault(piece, Term(piece, 1.0, whole=not piece.isalpha() or len(piece) < 3))
    number = {text: n for n, text in enumerate(terms)}
    together = []
    for first, second in pairwise(words):
        known = tuple(number[stem(w)] for w in (first, second) if stem(w) in number)
        if known and not (is_dense(first) or is_dense(second)):
            together.append((f"{first} {second}", known))
    return Asked(tuple(terms.values()), tuple(together))


def _pieces(word: str) -> list[str]:
    if is_dense(word):
        return [pair for pair in pairs(word) if pair not in STOP_PAIRS]
    return [stem(word)]


def telling(terms: Sequence[Term], held: Sequence[Sequence[float]]) -> list[float]:
    """What each term tells among these texts; `held`: for each text how well it holds each term.

    0 for terms that no text holds, and for all but the `MOST_TERMS` that tell most.
    """
    many = len(held)
    found = []
    for number, term in enumerate(terms):
        holders = sum(text[number] > 0 for text in held)
        told = math.log(1 + (many - holders + 0.5) / (holders + 0.5)) if holders else 0.0
        found.append(told * term.weight)
    least = sorted(found, reverse=True)[:MOST_TERMS][-1] if found else 0.0
    return [told if told >= least else 0.0 for told in found]
