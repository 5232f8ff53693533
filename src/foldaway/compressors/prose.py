"""Markdown and running text, extractively: headings, and the sentences that say most, word for word, in their order.

A sentence is worth its new literals, its place (first of the text, first of a section) and how central its words are
to the text (SumBasic: Nenkova and Vanderwende, "The impact of frequency on summarization", MSR-TR-2005-101, 2005).
Works on any script: Chinese, Japanese and Korean sentences end at their own signs, their words are pairs of signs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from foldaway.compressors._picking import Unit, joined, named, pick, ranked, weigh
from foldaway.compressors.base import EDGE_CHARS, Digest, Hint
from foldaway.compressors.excerpt import excerpt
from foldaway.compressors.facts import facts

LONGEST_SENTENCE = 320
"""A longer one is cut at a space: data without sentences must not stay or go as a whole."""
NAMED_SHARE = 0.5
"""Of the room, for naming the literals of sentences that had to go."""
_REPEATED = -0.05
_ROUNDS = 3
_SLACK = 0.05
"""So little of the room may stay empty."""
READ_CHARS = 400_000
"""Of a longer text the middle is not read."""

_END = re.compile(r"[.!?…][\"'”’)\]*_]{0,3}(?=\s)|[。！？；][」』”’）]{0,3}")
_STOP = re.compile(r"[.!?…。！？；]")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|al|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|No|Nr|Fig|Eq|approx|bzw|z\.B|ca|Inc|Ltd|Co|[A-Za-z])|"
    r"\b\d{1,3})\.$"
)
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s|^\*\*[^*\n]{2,80}\*\*:?$")
_UNDERLINE = re.compile(r"^(?:=+|-{3,})\s*$")
_LIST = re.compile(r"^\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s")
_PLACE = re.compile(r"[\s\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f\u0370-\u052f]{4,30}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}")
_LONGEST_WORD = 30
_LETTERS = bytes(code if chr(code).isalpha() or code == 0x0A else 0x20 for code in range(128)) + b" " * 128
_MARK = re.compile(r"#{1,6} |[-*+] |\d{1,2}\. |> |```|\|")


class Prose:
    """Markdown, web text and plain prose."""

    name = "prose"
    surest = 0.8

    def matches(self, text: str, hint: Hint) -> float:
        edge = text[:EDGE_CHARS]
        lines = [line for line in edge.split("\n") if line.strip()]
        if not lines:
            return 0.0
        marked = _marks(edge, lines) / len(lines)
        words = sum(map(len, _words([edge.replace("\n", " ")]))) * 5 / max(1, len(edge))
        ends = len(_END.findall(edge)) / len(lines)
        named_so = hint.path.lower().endswith((".md", ".mdx", ".rst", ".txt", ".adoc"))
        return min(0.8, 0.3 * named_so + 0.25 * min(1.0, marked * 2) + 0.2 * min(1.0, words) + 0.3 * min(1.0, ends))

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        room = max(0, min(room_chars, len(text)))
        edge = text[:EDGE_CHARS]
        content = "markdown" if _marks(edge, edge.split("\n")) > 4 else "text"
        if len(text) <= room_chars:
            return Digest(text=text, content=content, facts=facts(text, first=hint.line))
        units = units_of(shortened(text))
        shown, kept = extract(units, hint, room)
        left_out = len(units) - kept
        return Digest(
            text=shown,
            content=content,
            facts=facts(text, first=hint.line),
            lost=f"{left_out:,} of {len(units):,} sentences",
        )


def _marks(edge: str, lines: Iterable[str]) -> int:
    """How many signs of Markdown there are."""
    return sum(1 for line in lines if _MARK.match(line)) + edge.count("](") + edge.count("**")


def extract(units: list[Unit], hint: Hint, room: int) -> tuple[str, int]:
    """The best of the units within `room` characters, and how many they are."""
    weights = weigh(units, phrases=True)
    _add_centrality(units)
    for_names = min(int(room * NAMED_SHARE), sum(len(name) + 2 for name in weights) + 14)
    best, most = "", 0
    first = ranked(units, weights, hint.wanted)
    for _ in range(_ROUNDS):
        kept = pick(units, weights, room - for_names - 4, hint.wanted, first=first)
        shown = joined(((index, units[index].text) for index in kept), len(units)) if kept else ""
        seen = {name for index in kept for name in units[index].literals}
        names = named(weights, shown, room - len(shown) - 1, seen=seen)
        whole = f"{shown}\n{names}" if shown and names else shown or names
        if len(best) < len(whole) <= room or not best:
            best, most = whole[:room], len(kept)
        # Names that sentences hold need no naming: the room they leave goes to sentences.
        if room - len(whole) < room * _SLACK or for_names == 0:
            break
        for_names = max(0, for_names - (room - len(whole)))
    return best, most


def shortened(text: str) -> str:
    return excerpt(text, READ_CHARS, "…") if len(text) > READ_CHARS + 1 else text


def units_of(text: str) -> list[Unit]:
    """Headings, list items and lines of code as they stand, paragraphs in sentences."""
    units: list[Unit] = []
    opening, fenced = True, False
    for line in text.splitlines():
        bare = line.strip()
        if not bare:
            continue
        if bare.startswith(("```", "~~~")):
            fenced = not fenced
            continue
        if bare[0] in "=-" and _UNDERLINE.match(bare):
            if units:
                units[-1].bonus += 2.0 if not opening else 0.0
            continue
        heading = _HEADING.match(line) if bare[0] in "#*" and not fenced else None
        for place, sentence in enumerate([line.rstrip()] if fenced and len(line) < 400 else sentences(line.rstrip())):
            bonus = 4.0 if not units else 0.0
            if heading:
                bonus += 3.0 if len(heading.group(1) or "##") < 4 else 1.5
            elif not fenced:
                bonus += 1.0 if opening else 0.3 if place == 0 and not _LIST.match(line) else 0.0
            units.append(Unit(sentence, bonus))
            opening = False
        opening = heading is not None
    return units


def sentences(text: str) -> list[str]:
    """The sentences of one paragraph, in order; joined with what stood between them they are the paragraph."""
    if len(text) <= LONGEST_SENTENCE and not _STOP.search(text, 0, len(text) - 1):
        return [text] if text.strip() else []
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if end - start < 2 or (end < len(text) and _ABBREVIATION.search(text[max(start, end - 8) : end])):
            continue
        found.extend(_cut(text[start:end].strip() if found else text[start:end].rstrip()))
        start = end
    if text[start:].strip():
        found.extend(_cut(text[start:].strip() if found else text[start:].rstrip()))
    return [sentence for sentence in found if sentence.strip()]


def _cut(sentence: str) -> Iterator[str]:
    """Pieces of a sentence that is too long, cut at white space or between Chinese signs, never inside a literal."""
    start = 0
    while len(sentence) - start > LONGEST_SENTENCE:
        place = _PLACE.search(sentence, start + LONGEST_SENTENCE // 2)
        if place is None or place.end() >= len(sentence):
            break
        yield sentence[start : place.end()].strip()
        start = place.end()
    yield sentence[start:].strip() if start else sentence


def _add_centrality(units: list[Unit]) -> None:
    """Up to 2 more for a sentence whose words the whole text is about; nothing for one that was said before."""
    seen: set[str] = set()
    for unit in units:
        if unit.text in seen:
            unit.bonus = _REPEATED
        seen.add(unit.text)
    words = _words([unit.text.lower() for unit in units])
    counts = Counter(chain.from_iterable(words))
    total = max(counts.values(), default=0)
    if total < 2:
        return
    for unit, found in zip(units, words, strict=True):
        if len(found) > 2 and unit.bonus >= 0:
            unit.bonus += 2.0 * sum(map(counts.__getitem__, found)) / (len(found) * total)


def _words(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text, as `_WORD` finds them; of plain text without going through it sign by sign."""
    spaced = "\n".join(texts).encode("ascii", "replace").translate(_LETTERS).decode("ascii")
    if not texts or len(max(spaced.split(), key=len, default="")) > _LONGEST_WORD:
        return [_WORD.findall(text) for text in texts]
    return [
        [word for word in line.split() if len(word) > 3] if text.isascii() else _WORD.findall(text)
        for text, line in zip(texts, spaced.split("\n"), strict=True)
    ]
