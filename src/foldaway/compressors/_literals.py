"""The literals of many short pieces of one text with what each is worth keeping; fast because tokens repeat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from foldaway.compressors.names import MAX_NAME, name_pieces

_W = "A-Za-z0-9_$\u00c0-\u024f"
_TOKEN = re.compile(
    rf"https?://[^\s\"'<>()\[\]{{}}|\\^`,\u3000-\u9fff]+|(?:--|[~.]{{0,2}}/)?[{_W}]+(?:[-./:@+]{{1,3}}[{_W}]+)*"
)
_PHRASE = re.compile(r"\b[A-Z][\w'’]{1,20}\b(?: (?:of |the |and |de |von |& )?[A-Z][\w'’]{1,20}\b){1,4}")
_NOT_TELLING = re.compile(r"[\d.]+[eE][+-]?\d*|\d{1,9}Z|\d{4}-\d\d-\d\dT\d\d")
_ESCAPED = re.compile(r"\\[nrt]")
_WORTH_URL, _WORTH_NUMBER, _WORTH_PHRASE, _WORTH_JOINED, _WORTH_OTHER = 2.0, 1.0, 1.0, 0.5, 3.0


class Literals(dict[str, tuple[tuple[str, float], ...]]):
    """Token -> its literals with their worth; () for an ordinary word. Every token of a text is classed once."""

    def __missing__(self, token: str) -> tuple[tuple[str, float], ...]:
        if len(token) > MAX_NAME or len(token) < 3 or (token.isalpha() and (token.islower() or token.istitle())):
            self[token] = ()
            return ()
        found = tuple((name, _worth(name)) for name in name_pieces(token) if _telling(name))
        self[token] = found
        return found

    def of(self, text: str, *, phrases: bool = False) -> dict[str, float]:
        """The literals of one piece, in order. `phrases`: names of several words (people, places, titles) as well."""
        found: dict[str, float] = {}
        if "\\" in text:
            text = _ESCAPED.sub(" ", text)
        for pieces in filter(None, map(self.__getitem__, _TOKEN.findall(text))):
            found.update(pieces)
        if phrases:
            found.update((name, _WORTH_PHRASE) for name in _PHRASE.findall(text))
        return found


def worth_of(pieces: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Each literal of all pieces with its worth: more when several pieces speak of it, up to twice."""
    counts: Counter[str] = Counter()
    worth: dict[str, float] = {}
    for piece in pieces:
        counts.update(piece.keys())
        worth.update(piece)
    return {name: value * (1.0 + 0.25 * min(counts[name] - 1, 4)) for name, value in worth.items()}


def _telling(name: str) -> bool:
    """Not a piece of a float or of a time, nor as long as only payload is (base64, signatures)."""
    return (len(name) <= 80 or "/" in name) and not _NOT_TELLING.fullmatch(name)


def _worth(name: str) -> float:
    if "://" in name:
        return _WORTH_URL
    if "-" in name and name.replace("-", "").isalpha():
        # In prose "well-known" is as likely as "kebab-case".
        return _WORTH_JOINED
    return _WORTH_NUMBER if name[0].isdigit() and not any(c.isalpha() for c in name) else _WORTH_OTHER
