"""Proof that a digest makes nothing up: each literal in it stands in its source or is a count under a fixed word.

Literals are what later work may copy: numbers, words with digits or inner capitals or underscores, paths, URLs, ids.
Ordinary words are not checked. A count that a compressor made is written as a number beside one of `COUNT_WORDS`
("1,204 rows", "lines 3–9 of 80"), so that a reader can tell the two apart.
"""

from __future__ import annotations

import html
import re

from foldaway.compressors.hints import uncoloured

COUNT_WORDS = frozenset(
    "line lines row rows column columns col cols item items key keys value values char chars character characters "
    "byte bytes kb mb kib mib word words sentence sentences record records object objects element elements entry "
    "entries file files match matches hit hits change changes call calls query queries result results time times "
    "distinct unique more other others left total of in table tables section sections heading headings link links "
    "image images page pages token tokens function functions method methods class classes definition definitions "
    "import imports test tests case cases passed failed skipped errors error warnings warning frame frames hunk hunks "
    "added removed replaced folder folders dir dirs directory directories string strings number numbers field fields "
    "null nulls empty missing repeated repeats identical similar different differ step steps block blocks paragraph "
    "paragraphs read reads search searches edit edits command commands listing listings write writes fetch fetches "
    "pixel pixels level levels kind kinds name names literal literals message messages event events comment comments "
    "statement statements attribute attributes constant constants body bodies lists list places "
    "numbered".split()
)
"""A number counts as made by the digest when one of these words stands right before or right after it."""

_TOKEN = re.compile(r"[A-Za-z0-9_\u00c0-\u024f]+(?:[-.:,/@+][A-Za-z0-9_\u00c0-\u024f]+)*")
_PIECE = re.compile(r"[A-Za-z0-9_\u00c0-\u024f]+")
_HUMP = re.compile(r"[a-z0-9][A-Z]")
_COUNT = re.compile(r"\d{1,3}(?:,\d{3})*|\d+")
_AFTER = re.compile(r"[\s)\]×]{0,2}([A-Za-z]+)|\s?×")
_BEFORE = re.compile(r"(?:([A-Za-z]+)[\s:(]{1,2}|[#×]\s?|(?:lines?|rows?) [\d,]+\s?[–-]\s?)$")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrtbfv])|(.))", re.DOTALL)
_ESCAPED_TIMES = 3
"""JSON in JSON in a printed string is escaped that often."""


def unsupported(digest_text: str, source: str) -> tuple[str, ...]:
    """The literals of a digest that its source does not hold, each once, in order; () proves it honest.

    Colours of a terminal, escapes of JSON and entities of HTML in the source are undone before a literal is given
    up. O(len(source)) for each of a few forms of the source; a literal cut short in the digest counts as unsupported.
    """
    source_forms = _Forms(source)
    found: dict[str, None] = {}
    for match in _TOKEN.finditer(digest_text):
        token = match.group()
        if match.start() and digest_text[match.start() - 1] == "\\" and token[0] in "nrt":
            # An escape of the digest's own JSON.
            token = token[1:]
        if token in found or not _literal(token) or source_forms.holds(token):
            continue
        if _is_count(digest_text, match.start(), match.end()):
            continue
        # "2,3" may be two cells of a row, "a/b" two alternatives: the pieces may stand apart in the source.
        pieces = [p for p in _PIECE.finditer(digest_text, match.start(), match.end()) if _literal(p.group())]
        if len(pieces) == 1 and pieces[0].group() == token:
            found[token] = None
            continue
        for piece in pieces:
            text = piece.group()
            if not source_forms.holds(text) and not _is_count(digest_text, piece.start(), piece.end()):
                found[text] = None
    return tuple(found)


class _Forms:
    """Words of the source as written, and of its unescaped forms, made when asked for."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._words = [frozenset(_words(source))]
        self._complete = False

    def holds(self, token: str) -> bool:
        if any(token in words for words in self._words):
            return True
        if not self._complete:
            self._complete = True
            # `\x1b[32m12` shows a 12, not a 32m12; without its colours the text has other words.
            form = uncoloured(self._source)
            if form is not self._source:
                self._words.append(frozenset(_words(form)))
            for _ in range(_ESCAPED_TIMES):
                form, before = unescaped(form), form
                if form == before:
                    break
                self._words.append(frozenset(_words(form)))
            if "&" in form:
                self._words.append(frozenset(_words(html.unescape(form))))
            return any(token in words for words in self._words)
        return False


def _words(text: str) -> set[str]:
    words = {match.group() for match in _TOKEN.finditer(text)}
    words.update(_PIECE.findall(text))
    return words


def unescaped(text: str) -> str:
    """The text with backslash escapes of JSON, Python and JavaScript undone once. O(len(text))."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_plain, text)


def _plain(match: re.Match[str]) -> str:
    code = match.group(1) or match.group(2)
    if code:
        return chr(int(code, 16))
    control = match.group(3)
    if control:
        return {"n": "\n", "r": "\r", "t": "\t"}.get(control, " ")
    return match.group(4)


def _literal(token: str) -> bool:
    """Whether a token is one that a later step might copy."""
    return any(c.isdigit() for c in token) or "_" in token.strip("_") or _HUMP.search(token) is not None


def _is_count(text: str, start: int, end: int) -> bool:
    token = text[start:end]
    if not _COUNT.fullmatch(token):
        return False
    after = _AFTER.match(text, end)
    if after and (after.group(1) is None or after.group(1).lower() in COUNT_WORDS):
        return True
    before = _BEFORE.search(text[max(0, start - 40) : start])
    return before is not None and (before.group(1) is None or before.group(1).lower() in COUNT_WORDS)
