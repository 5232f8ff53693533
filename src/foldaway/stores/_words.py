"""What a search looks for: text cut into terms, and how the texts that hold them are ranked.

Pure and shared by all stores, so that every store finds the same. A word with signs (`crate-lift_v2.py`, `C++`,
`10.0.0.7:8080`) is one term and its parts are terms too. Scripts written without blanks are cut into pairs of
characters; the last character of a run stands alone as well, so a query of one character finds it as a prefix.

Ranking source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MAX_TERM_CHARS = 64
"""Longer words (base64, minified code) are findable by their first characters only."""
MAX_QUERY_TERMS = 64

_CHUNK = re.compile(r"[^\s\x00-\x1f\x7f\"'`]+")
_SEGMENT = re.compile(r"[^/\\,;=()\[\]{}<>|&?!]+")
_PART = re.compile(r"[^\W_]+")
_DENSE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u30ff\u3130-\u318f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_EDGE = ".,;:!?()[]{}<>*^~-|&=%$\\/"

_K1 = 1.2
_B = 0.75
_MOST_COUNTED = 8
_VERBATIM_BONUS = 0.5
"""Share of the best possible score that a text gets for holding the query word for word."""


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look up."""

    text: str
    prefix: bool = False


def normal(text: str) -> str:
    """The form in which texts are compared: compatibility forms and upper case folded, always encodable."""
    if text.isascii():
        return text.lower()
    return _SURROGATE.sub("\ufffd", unicodedata.normalize("NFKC", text).casefold())


def terms(text: str) -> tuple[list[str], int]:
    """The distinct terms of a text in a fixed order, and its length in words."""
    chunks = _CHUNK.findall(normal(text))
    found: dict[str, None] = {}
    for chunk in dict.fromkeys(chunks):
        found.update(dict.fromkeys(_of_chunk(chunk)))
    return list(found), len(chunks)


def query_terms(query: str) -> list[Term]:
    """What to look up for any text a person or model types; [] when it holds nothing to look up."""
    found: dict[Term, None] = {}
    for chunk in _CHUNK.findall(normal(query)):
        # The lone last character serves queries of one character; in a longer run it would match too much.
        tails = {run[-1] for run in _DENSE.findall(chunk) if len(run) > 1}
        for text in _of_chunk(chunk):
            if text in tails:
                continue
            found[Term(text, prefix=len(text) == 1 and _DENSE.match(text) is not None)] = None
        if len(found) >= MAX_QUERY_TERMS:
            break
    return list(found)[:MAX_QUERY_TERMS]


def _of_chunk(chunk: str) -> Iterator[str]:
    if chunk.isascii() and chunk.isalnum():
        yield chunk[:MAX_TERM_CHARS]
        return
    for word in (chunk, *_SEGMENT.findall(chunk)):
        word = word.strip(_EDGE)
        if len(word) <= MAX_TERM_CHARS and not word.isalnum() and _PART.search(word) and not _DENSE.search(word):
            yield word
    for part in _PART.findall(chunk):
        yield from _of_part(part)
    if not chunk.isascii():
        yield from (sign for sign in chunk if unicodedata.category(sign) == "So")


def _of_part(part: str) -> Iterator[str]:
    end = 0
    for run in _DENSE.finditer(part):
        if run.start() > end:
            yield part[end : run.start()][:MAX_TERM_CHARS]
        text, end = run.group(), run.end()
        yield from (text[i : i + 2] for i in range(len(text) - 1))
        yield text[-1]
    if end < len(part):
        yield part[end:][:MAX_TERM_CHARS]


def weights(frequencies: Mapping[Term, int], texts: int) -> dict[Term, float]:
    """How much each term tells, from the number of texts that hold it."""
    return {term: math.log(1 + (texts - held + 0.5) / (held + 0.5)) for term, held in frequencies.items()}


def score(text: str, words: int, average_words: float, query: str, held: Mapping[Term, float]) -> float:
    """BM25 of one text for the query terms it holds, with a bonus when it holds the query word for word.

    `text` and `query` in normal form. Occurrences are counted as plain substrings, up to a few: near enough for
    a ranking, and no second cutting of long texts into terms.
    """
    spread = _K1 * (1 - _B + _B * words / max(average_words, 1.0))
    total = 0.0
    for term, weight in held.items():
        often = min(max(text.count(term.text), 1), _MOST_COUNTED) if len(term.text) > 2 else 1
        total += weight * often * (_K1 + 1) / (often + spread)
    needle = query.strip()
    if len(needle) > 1 and needle in text:
        total += _VERBATIM_BONUS * (_K1 + 1) * sum(held.values())
    return total
