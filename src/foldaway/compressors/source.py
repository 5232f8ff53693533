"""Source code: signatures, classes and constants stay with their line numbers, bodies are told by their names.

Line-numbered reads (`   12→code`, `12<tab>code`, `12:code`) lose their prefix; the numbers live on in the gaps.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import ClassVar

from foldaway.compressors._spots import holding
from foldaway.compressors.base import EDGE_CHARS, Digest, Fact, Hint
from foldaway.compressors.condense import condense
from foldaway.compressors.hints import lines_of, path_of
from foldaway.compressors.outline import Definition, language_of, outline

MAX_FACTS = 60
NAMES_SHARE = 0.42
STRETCH_SHARE = 0.5
"""Of the room, for one stretch of whole lines: who edits the file needs lines that follow each other."""
STRETCH_AT = 0.36
"""Middle of that stretch in the text: whoever reads a part of a file reads around what it is about. In 135 reads below
5,000 characters, of the sources that constants are fitted on, lines edited later are densest at 0.25 to 0.4; in
87 longer reads they lie about evenly. 0.3 to 0.45 makes little difference."""
STRETCH = 3.5
"""Rating of its lines: after classes, before signatures."""

_GUESSED_FROM = 200
"""Lines, and characters of a line, that a language is guessed from."""
_NUMBERED = re.compile(r"\s{0,8}(\d{1,7})(→|\t|:|-|\|| {2})")
_CODE_WORDS = frozenset(
    "import from package use using export def class func fn return const let var if for while else elif try except "
    "catch "
    "case switch raise throw await public private protected static async type struct interface impl pub #include defer "
    "go end elsif unless module namespace function } })".split()
)
_CODE_ENDS = ("{", "}", ";", "):", "=>", "(", "},", "});", "})", "),", "],", "[", ") {")
_COMMENT = re.compile(r"\s*(?://|#(?!include|define|\[)|/\*|\*(?:\s|/|$)|--\s|<!--|\"\"\"|''')")
_IMPORT = re.compile(r"(?:import|from|package|use|#include|using|require|export \*|export \{|\"[\w./-]+\"$)\b")
_CONSTANT = re.compile(
    r"(?:export\s+)?(?:const|let|var|static)?\s?[A-Za-z_$][\w$]*\s?(?::[^=]{0,80})?:?=[^=]|#define\s"
)
_DECORATOR = re.compile(r"\s{0,40}(?:@[\w.]|#\[)")
_TELLING = ("return", "raise", "throw", "panic", "assert", "yield", "case ", "except", "catch", "} catch")
_STRING_END = re.compile(r"\"\"\"|'''")
_KEY = re.compile(r"\s{0,40}(?:- )?[\w.\"'/-]{1,60}\s?[:=]|\s{0,4}\[[^\]]{1,80}\]\s*$")
_PLAIN_KEYS = frozenset({"yaml", "toml", "ini"})


@dataclass(frozen=True, slots=True)
class Source:
    """Compressor of source code."""

    name: str = "source"
    surest: ClassVar[float] = 0.95

    def matches(self, text: str, hint: Hint) -> float:
        """0.9 for a read of a file with the extension of a language, else by how much the lines look like code."""
        lines = (text[:EDGE_CHARS] if len(text) <= 2 * EDGE_CHARS else text[:EDGE_CHARS].rpartition("\n")[0]).split(
            "\n"
        )
        bare, numbers = unnumbered(lines)
        language = language_of(path_of(hint))
        share = _code_share(bare)
        if numbers:
            return 0.95 if language or share >= 0.25 else 0.6
        if language:
            # Also where it opens with a long comment: the name says what it is.
            return 0.7 if language in _PLAIN_KEYS else 0.9 if share >= 0.15 else 0.86
        return 0.75 if share >= 0.5 else 0.6 if share >= 0.35 else 0.0

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        lines, numbers = unnumbered(lines_of(text))
        numbers = numbers or range(hint.line, hint.line + len(lines))
        language = language_of(path_of(hint)) or _guessed(lines)
        content = f"{language} source".strip()
        definitions = outline(lines, language) if language not in _PLAIN_KEYS else []
        ratings = _rate(lines, definitions, language)
        _lift_stretch(lines, ratings, definitions, int(room_chars * STRETCH_SHARE))
        short = condense(lines, ratings, room_chars, names_share=NAMES_SHARE, numbers=numbers, wanted=hint.wanted)
        facts = tuple(Fact(d.kind, d.name, numbers[d.start]) for d in definitions if d.name)[:MAX_FACTS]
        return Digest(
            text=short.text, content=content, facts=facts, lost=_lost(short.left_out, len(lines), definitions)
        )


def unnumbered(lines: Sequence[str]) -> tuple[list[str], Sequence[int]]:
    """The lines without the numbers a tool put before them, and those numbers; () when there are none.

    Numbers count when most lines have one that is one more than that before. A line without a number gets the next.
    """
    expected, hits, looked = -1, 0, 0
    for line in lines[:80]:
        if not line.strip():
            continue
        looked += 1
        if match := _NUMBERED.match(line):
            number = int(match.group(1))
            hits += number == expected
            expected = number + 1
        elif looked == 12 and not hits:
            break
    if hits < 2 or hits < 0.5 * (looked - 1):
        return list(lines), ()
    bare: list[str] = []
    numbers: list[int] = []
    number = 0
    numbered = _NUMBERED.match
    for line in lines:
        match = numbered(line)
        number = int(match.group(1)) if match else number + 1
        numbers.append(number)
        bare.append(line[match.end() :] if match else line)
    return bare, numbers


def _code_share(lines: Sequence[str]) -> float:
    full = [bare for line in lines[:120] if (bare := line.strip())][:80]
    if len(full) < 3:
        return 0.0
    return sum(
        bare.endswith(_CODE_ENDS) or bare.split(None, 1)[0] in _CODE_WORDS or bare[0] == "@" for bare in full
    ) / len(full)


def _guessed(lines: Sequence[str]) -> str:
    """The language of a text that comes without a file name, by what only one of them says."""
    first = lines[:_GUESSED_FROM]
    head = "\n".join(first)
    for language, signs, pattern in _TELLTALE:
        # Each match holds a sign and stays in its line.
        if sum(map(head.count, signs)) < 2:
            continue
        telling = "\n".join([first[index][:_GUESSED_FROM] for index in holding(head, signs)])
        if len(list(islice(pattern.finditer(telling), 2))) == 2:
            return language
    return ""


_TELLTALE: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = (
    (
        "go",
        ("func ", "package ", ":=", "err != nil"),
        re.compile(r"^func |^package \w+$|:= |\berr != nil|^\t+\w+, \w+ :=", re.MULTILINE),
    ),
    (
        "rust",
        ("fn ", "let mut ", "impl", "use ", "->"),
        re.compile(r"\bfn \w+|\blet mut |\bimpl\b|^use \w+::|->\s?Result<", re.MULTILINE),
    ),
    (
        "python",
        ("def ", "class ", "from ", "import ", "self."),
        re.compile(r"^\s*def \w+\(|^\s*class \w+[(:]|^from \S+ import |^import \w+$|\bself\.", re.MULTILINE),
    ),
    (
        "java",
        ("import java", "public ", "private ", "package "),
        re.compile(
            r"^import java|^\s*(?:public|private) (?:static |final )*[\w<>]+ \w+\(|^package [\w.]+;", re.MULTILINE
        ),
    ),
    (
        "typescript",
        ("const ", "=> {", "import ", "export ", "): "),
        re.compile(
            r"\bconst \w+|=> \{|^import .* from |\bexport (?:const|function|class|interface)|\): \w+", re.MULTILINE
        ),
    ),
)


def _rate(lines: Sequence[str], definitions: Sequence[Definition], language: str) -> list[float]:
    ratings = [_rated(line) for line in lines] if language not in _PLAIN_KEYS else [_rated_key(line) for line in lines]
    if language in ("python", ""):
        _lower_docstrings(lines, ratings)
    for definition in definitions:
        value = 4.0 if definition.kind in ("class", "interface", "struct", "type", "enum", "trait", "table") else 3.0
        for index in range(definition.start, min(definition.body, definition.start + 12)):
            ratings[index] = max(ratings[index], value)
    return ratings


def _lift_stretch(lines: Sequence[str], ratings: list[float], definitions: Sequence[Definition], room: int) -> None:
    """Rate the lines of one stretch of `room` characters alike; it begins with a definition where one is near."""
    if room >= sum(map(len, lines)) + len(lines):
        return
    ends = list(accumulate(len(line) + 1 for line in lines))
    start = bisect_left(ends, max(0.0, ends[-1] * STRETCH_AT - room / 2))
    near = [d.start for d in definitions if d.start <= start and ends[start] - ends[d.start] < room // 3]
    start = max(near, default=start)
    used = 0
    for index in range(start, len(lines)):
        # Comments say least for their length.
        if ratings[index] == 0.0 and lines[index].strip():
            continue
        used += len(lines[index]) + 1
        if used > room:
            break
        ratings[index] = max(ratings[index], STRETCH)


def _rated(line: str) -> float:
    bare = line.lstrip()
    if len(bare) < 3:
        return 0.0
    first = bare[0]
    if not first.isalpha():
        if first in "@#" and _DECORATOR.match(line):
            return 1.5
        if first in "/#*-<\"'" and _COMMENT.match(line):
            return 0.0
    elif len(bare) == len(line):
        if _IMPORT.match(line):
            return 0.8
        if _CONSTANT.match(line):
            return 2.0
    return 0.9 if bare.startswith(_TELLING) or "rror" in bare else 0.6


def _rated_key(line: str) -> float:
    if not line.strip() or _COMMENT.match(line):
        return 0.0
    if not _KEY.match(line):
        return 0.4
    return 2.0 if line[0] not in " \t-" else 1.0 if line[:4].strip() else 0.6


def _lower_docstrings(lines: Sequence[str], ratings: list[float]) -> None:
    text = "\n".join(lines)
    if '"""' not in text and "'''" not in text:
        return
    inside = False
    for index, line in enumerate(lines):
        marks = len(_STRING_END.findall(line)) if ('"""' in line or "'''" in line) else 0
        if inside or (marks and line.lstrip()[:3] in ('"""', "'''")):
            ratings[index] = 0.0
        if marks % 2:
            inside = not inside


def _lost(left_out: int, total: int, definitions: Sequence[Definition]) -> str:
    if not left_out:
        return ""
    bodies = sum(1 for d in definitions if d.kind in ("function", "method", "test") and d.end > d.body)
    within = f", bodies of {bodies} functions" if bodies else ""
    return f"{left_out} of {total} lines{within}"
