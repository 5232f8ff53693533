"""Exact values of a text as key/value facts with their line: counts, codes, versions, ids, extremes, error texts.

Values are spelled as the text spells them and are never rounded or put in other words. One pass over the lines; giant
texts are read at head and tail, lines are read up to a bound, so the cost of a text is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.compressors._spots import holding
from foldaway.compressors.base import Fact

MAX_FACTS = 40
HEAD_CHARS = 150_000
TAIL_CHARS = 100_000
LINE_CHARS = 400
"""Of a longer line only this much is read: what follows is data, not a statement."""
_MOST_PER_KEY = 8
_MOST_TRIED = 20_000
"""Facts looked at: beyond that a text is data, and its facts are a matter of search."""

_COUNTED = (
    "passed|failed|skipped|errors?|warnings?|rows?|columns?|files?(?:\\ changed)?|insertions?(?:\\(\\+\\))?|"
    "deletions?(?:\\(-\\))?|tests?|matches|results?|records?|items?|entries|lines?|commits?|packages?|vulnerabilities|"
    "seconds|deselected|xfailed|xpassed|failures?|issues?"
)
_SPECIAL = re.compile(
    rf"""
    \b(?:exit(?:ed)?(?:\ with)?(?:\ (?:code|status))?[:=\s]{{1,3}}|returncode\W{{1,3}})
      (?P<exit_value>-?\d{{1,10}})\b
  | \b(?:HTTP/\d(?:\.\d)?\s|HTTP\s|[Ss]tatus(?:[ _][Cc]ode)?\W{{1,3}})(?P<status>[1-5]\d\d)\b
  | (?<![\w.,])(?P<count>\d[\d,]{{0,20}})\ (?P<counted>{_COUNTED})(?!\w)
  | \b[vV]?(?P<version>\d{{1,4}}\.\d{{1,4}}\.\d{{1,6}}(?:[-.+]?(?:[a-z]{{1,8}}[.-]?\d{{0,6}}))?)(?![\w.])
  | \b(?P<uuid>[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}})\b
    """,
    re.VERBOSE,
)
_KEY_VALUE = re.compile(
    r"""^[\s>*|-]{0,12}["'`]?(?P<key>[A-Za-z_][\w .()/-]{1,39}?)["'`*]{0,3}\s{0,8}[:=]\s{0,8}["'`*]{0,3}"""
    r"""(?P<value>-?\d[\w.,:+%/-]{0,60}|[A-Z]{2,}[\w-]{0,40}|[\w.-]*[\d_/@][\w./@:+-]{0,120})["'`*]{0,3},?\s*$"""
)
_KEY_CHARS, _PAIR_CHARS = 66, 220
"""The sign behind a key stands no further from the start of its line; a key and its value are no longer together."""
_ERROR = re.compile(
    r"\b(?:[A-Z]\w{0,60}(?:Error|Exception|Warning)\b|[Ee]rror\b|ERROR\b|FAILED\b|[Ff]atal\b|panic:|[Cc]annot\b|"
    r"[Nn]o such\b|not found\b|[Dd]enied\b|[Tt]imed out\b|[Uu]nable to\b)"
)
# Parts of what `_ERROR` looks for: most lines have none.
_ERROR_SIGNS = (
    "rror", "xception", "arning", "ERROR", "FAILED", "atal", "anic", "annot", "o such", "not found", "enied",
    "imed out", "nable to",
)  # fmt: skip
_SPECIAL_SIGNS = ("exit", "returncode", "HTTP", "tatus")
_NEAR = re.compile(r"\d,{0,20} (?=[a-z])|\.\d{1,4}\.\d|-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-")
"""Of a line where `_SPECIAL` may find something: it has this, or one of the signs above."""
_RANKED = {"exit_value": (0, "exit code"), "status": (0, "status"), "version": (2, "version"), "uuid": (3, "id")}
_NUMBER = re.compile(r"(?<![\w.,-])-?\d{1,15}(?:\.\d{1,15})?(?![\w.,])")


_Found = Iterator[tuple[int, Fact]]


@dataclass(frozen=True, slots=True)
class _Looks:
    """Numbers of the lines that are worth an expensive look."""

    special: frozenset[int]
    errors: frozenset[int]


def facts(text: str, limit: int = MAX_FACTS, *, first: int = 1) -> tuple[Fact, ...]:
    """At most `limit` facts, in the order of the text: exit and status codes, errors, counts, versions, ids, key/value
    lines, and the smallest and largest of each series of numbers under one key. `first` is the number of the text's
    first line. O(len(text)), never raises."""
    found: dict[tuple[str, str], tuple[int, Fact]] = {}
    per_key: dict[str, int] = {}
    series: dict[str, list[tuple[float, str, int]]] = {}
    tried = 0
    looks = _Looks(*(frozenset(n + first for n in holding(text, signs)) for signs in (_SPECIAL_SIGNS, _ERROR_SIGNS)))
    for number, line in _lines(text, first):
        if not (number in looks.errors or number in looks.special or _may_be_pair(line) or _NEAR.search(line)):
            continue
        for rank, fact in _of_line(line, number, looks, series):
            tried += 1
            if (fact.key, fact.value) in found or per_key.get(fact.key, 0) >= _MOST_PER_KEY:
                continue
            per_key[fact.key] = per_key.get(fact.key, 0) + 1
            found[fact.key, fact.value] = (rank, fact)
        if tried > _MOST_TRIED:
            break
    for key, values in series.items():
        if per_key.get(key, 0) >= _MOST_PER_KEY:
            for name, chosen in (("smallest", min(values)), ("largest", max(values))):
                found[f"{name} {key}", chosen[1]] = (2, Fact(f"{name} {key}", chosen[1], chosen[2]))
    best = sorted(found.values(), key=lambda ranked: (ranked[0], ranked[1].line))[: max(0, limit)]
    return tuple(sorted((fact for _, fact in best), key=lambda fact: fact.line))


def _lines(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Line numbers with the lines, cut short; the middle of a giant text is counted, not read."""
    start, number, jump = 0, first, len(text) - TAIL_CHARS
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + LINE_CHARS)]
        if line and not line.isspace():
            yield number, line.rstrip("\r")
        number, start = number + 1, end + 1
        if HEAD_CHARS < start < jump:
            number += text.count("\n", start, jump)
            start = jump


def _may_be_pair(line: str) -> bool:
    head = line[:_KEY_CHARS]
    return (":" in head or "=" in head) and (len(line) <= _PAIR_CHARS or len(line.rstrip()) <= _PAIR_CHARS)


def _of_line(line: str, number: int, looks: _Looks, series: dict[str, list[tuple[float, str, int]]]) -> _Found:
    if number in looks.special or _NEAR.search(line):
        for match in _SPECIAL.finditer(line):
            kind = match.lastgroup or ""
            if kind == "counted":
                yield 1, Fact(match.group("counted"), match.group("count"), number)
            else:
                rank, key = _RANKED[kind]
                yield rank, Fact(key, match.group(kind), number)
    if number in looks.errors and _ERROR.search(line):
        yield 1, Fact("error", line.strip()[:200], number)
    if _may_be_pair(line) and (pair := _KEY_VALUE.match(line)):
        key, value = pair.group("key").strip(), pair.group("value").rstrip(",.")
        if _NUMBER.fullmatch(value):
            series.setdefault(key, []).append((float(value), value, number))
        yield 3, Fact(key, value, number)
