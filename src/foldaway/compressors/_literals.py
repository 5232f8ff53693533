"""The literals of many short pieces of one text with what each is worth keeping; fast because tokens repeat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from foldaway.compressors.names import MAX_NAME, name_pieces

_W = "A-Za-z0-9_$\u00c0-\u024f"
_URL = r"https?://[^\s\"'<>()\[\]{}|\\^`,\u3000-\u9fff]+"
_ADDRESS = re.compile(_URL)
_LATIN = re.compile("[\u00c0-\u024f]")
_JOINING = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-./:@+~")
_TOKEN = re.compile(rf"{_URL}|(?:--|[~.]{{0,2}}/)?[{_W}]+(?:[-./:@+]{{1,3}}[{_W}]+)*")
_PHRASE = re.compile(r"[A-Z][\w'’]{1,20}\b(?: (?:of |the |and |de |von |& )?[A-Z][\w'’]{1,20}\b){1,4}")
_NOT_TELLING = re.compile(r"[\d.]+[eE][+-]?\d*|\d{1,9}Z|\d{4}-\d\d-\d\dT\d\d")
_PARTED = bytes(code if chr(code).isalnum() or code in b"_$-./:@+~\n" else 0x20 for code in range(128)) + b" " * 128
"""Of plain text without addresses: what is no part of any token becomes a space."""
_ESCAPED = re.compile(r"\\[nrt]")
_WORTH_URL, _WORTH_NUMBER, _WORTH_PHRASE, _WORTH_JOINED, _WORTH_OTHER = 2.0, 1.0, 1.0, 0.5, 3.0


def literals(text: str, *, phrases: bool = False) -> dict[str, float]:
    """The literals of one piece with their worth, in order. `phrases`: names of several words (people, places) too."""
    return literals_of_all([text.replace("\n", "\r")], phrases=phrases)[0]


def literals_of_all(texts: Sequence[str], *, phrases: bool = False) -> list[dict[str, float]]:
    """The same for many pieces at once, which spares most of the cost of each. No piece holds a line feed."""
    whole = "\n".join(texts)
    if "\\" in whole:
        texts = [_ESCAPED.sub(" ", text) for text in texts]
        whole = "\n".join(texts)
    # Plain text is taken apart all at once.
    plain = "://" not in whole and (whole.isascii() or not _LATIN.search(whole))
    lines = _spaced(whole).split("\n") if plain else []
    found: list[dict[str, float]] = []
    for place, text in enumerate(texts):
        one: dict[str, float] = {}
        for pieces in filter(None, map(_of_run, lines[place].split() if plain else _runs(text))):
            one.update(pieces)
        found.append(one)
    if phrases:
        for place, phrase in _phrases(whole, texts):
            found[place][phrase] = _WORTH_PHRASE
    return found


def _spaced(text: str) -> str:
    """What is no part of any token becomes a space. Not for letters beyond ASCII that `_TOKEN` knows."""
    return text.encode("ascii", "replace").translate(_PARTED).decode("ascii")


def _runs(text: str) -> list[str]:
    """Runs of characters that tokens are found in, one by one. Addresses are whole: they go on over other signs."""
    if not text.isascii() and _LATIN.search(text):
        return _TOKEN.findall(text)
    if "://" not in text:
        return _spaced(text).split()
    runs: list[str] = []
    at = 0
    for match in _ADDRESS.finditer(text):
        if match.start() and text[match.start() - 1] in _JOINING:
            return _TOKEN.findall(text)
        runs += _spaced(text[at : match.start()]).split()
        runs.append(match.group())
        at = match.end()
    return runs + _spaced(text[at:]).split()


@lru_cache(maxsize=1 << 16)
def _of_run(run: str) -> tuple[tuple[str, float], ...]:
    """The literals of a run of characters that no space parts, with their worth; () for ordinary words."""
    bare = run.rstrip(".-:+@/~")
    if len(bare) < 3 or (bare.isalpha() and (bare.islower() or bare.istitle())):
        return ()
    return tuple(pair for token in _TOKEN.findall(run) for pair in _of_token(token))


def _of_token(token: str) -> Iterator[tuple[str, float]]:
    if 3 <= len(token) <= MAX_NAME and not (token.isalpha() and (token.islower() or token.istitle())):
        yield from ((name, _worth(name)) for name in name_pieces(token) if _telling(name))


def _phrases(whole: str, texts: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Names of several words, with the place of the text that holds them; `whole` is all texts, a line each."""
    place, end = 0, len(texts[0]) if texts else 0
    # A search for capitals is several times as fast as one for the beginnings of words.
    found = _PHRASE.search(whole)
    while found is not None:
        start = found.start()
        if start and (whole[start - 1].isalnum() or whole[start - 1] == "_"):
            found = _PHRASE.search(whole, start + 1)
            continue
        while start > end:
            place += 1
            end += len(texts[place]) + 1
        yield place, found.group()
        found = _PHRASE.search(whole, found.end())


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
