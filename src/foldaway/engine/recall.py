"""Bringing things back: by id, by range of lines, by words; the text is data and marked as such.

References: `12`, `#12`, `12-15`, `#12–#15`, `12:40-80` (lines of one item), `12.call` (its arguments), several
separated by commas, each with words behind it (`#12 gate`: the lines of #12 about "gate"; `#12-15 gate`: searched for
there); anything else is taken as words to search for (`engine.finding`): these bring passages, not whole items, best
first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from foldaway.compressors.excerpt import cut_head
from foldaway.engine.finding import Hit, find_items
from foldaway.engine.log import Log
from foldaway.engine.stubs import clean_long, recall_head
from foldaway.linking.kinds import one_line
from foldaway.model.items import Item, Kind
from foldaway.retrieval.passages import Passage, Text, passage, places, told_within
from foldaway.retrieval.terms import asked

_REFERENCE = re.compile(
    r"^\s*#?(?P<first>\d{1,9})(?P<call>\.call)?(?:\s*[-–]\s*#?(?P<last>\d{1,9}))?(?::(?P<from>\d{1,9})(?:\s*[-–]\s*(?P<to>\d{1,9}))?)?"
    r"(?:\s+(?P<words>.+?))?\s*$",
    re.DOTALL,
)
_BELOW = re.compile(r"^\s*#-\d+\s*$")
WORD_HITS = 3
"""Items of which a search by words brings a passage back at most."""
WORD_CHARS = 2_400
"""Of all passages of one search together, where there is room."""
LEAST_WORD_CHARS = 800
"""So much where there is none."""
FIRST_SHARE = 0.55
"""Of that for the best item, where there are others."""
WHOLE_CHARS = 800
"""An item up to this size comes whole."""
CLOSE = 0.8
"""An item must score this share of the best to be brought along; below it is named."""
NAMED = 4
"""Further items that are named at most."""
NAMED_CHARS = 60
PART_CHARS = 4_000
"""Of the part of one item about some words; a text up to this size comes whole where no line matches."""
UNMATCHED_CHARS = 1_000
"""Of a longer one so much."""
LARGEST_RANGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What came back. `text` is byte for byte what was seen (or the asked part of it), without marks."""

    text: str
    items: tuple[int, ...]
    found: bool
    problem: str = ""
    """One line when nothing, or not all, was found."""
    also: str = ""
    """One line that names further items about the words that were asked for."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """One text that comes back, and what stands above it where several do or where it is a part."""

    item: Item
    text: str
    about: str = ""


_Answer = tuple[list[_Piece], str, str]
"""(texts, problem, what else there is)"""


@dataclass(frozen=True, slots=True)
class _Search:
    """How a search by words is answered."""

    log: Log
    chars: int
    by_model: bool


def recall(
    log: Log, reference: str | Sequence[str], find: str | None = None, *, for_view: bool = False,
    word_chars: int | None = None,
) -> Recalled:  # fmt: skip
    """Answer one or several references in one go. Never raises; unknown ids are named in `problem`.

    An attachment comes back as its block in JSON, or, `for_view`, as a line that says it is shown again in its place.
    A search by words brings passages of the best items, together about `word_chars`.
    """
    wanted = [str(reference)] if isinstance(reference, str | int) else [str(r) for r in reference]
    search = _Search(log, WORD_CHARS if word_chars is None else word_chars, by_model=for_view)
    pieces: dict[tuple[int, str], _Piece] = {}
    problems: list[str] = []
    also: list[str] = []
    references = _split(wanted)
    if not references and find and find.strip():
        references, find = [find], None
    if not references:
        problems.append("nothing was asked for: name the id of an item, or words")
    for one in references:
        found, problem, named = _answer(search, one, find)
        problems.extend([problem] if problem else [])
        also.extend([named] if named else [])
        for piece in found:
            shown = _for_view(log, piece) if for_view else piece
            pieces.setdefault((shown.item.id, shown.text), shown)
    headed = for_view and (len(pieces) > 1 or any(p.about for p in pieces.values()))
    texts = [f"— #{p.item.id} {p.item.title}{p.about}\n{p.text}" if headed else p.text for p in pieces.values()]
    items = tuple(dict.fromkeys(p.item.id for p in pieces.values()))
    return Recalled(
        text="\n".join(texts), items=items, found=bool(items), problem="; ".join(problems), also="; ".join(also)
    )


def _answer(search: _Search, reference: str, find: str | None) -> _Answer:
    """What comes back for one reference."""
    if _BELOW.match(reference):
        return [], f"no item {reference.strip()} in this session", ""
    matched = _REFERENCE.match(reference)
    if matched is not None:
        words = matched["words"] or find
        if words and matched["last"] and not matched["call"]:
            return _by_words(search, words, int(matched["first"]), int(matched["last"]))
        found, problem = _by_id(search.log, matched, words)
        # "404 not found": figures in front are an id only where there is one, or where it says so.
        if found or not matched["words"] or reference.lstrip().startswith("#"):
            return [_Piece(item, text) for item, text in found], problem, ""
    return _by_words(search, f"{reference} {find}" if find else reference)


def _for_view(log: Log, piece: _Piece) -> _Piece:
    item = piece.item
    if item.kind is Kind.ATTACHMENT:
        return replace(piece, text=f"{item.title} #{item.id} is shown again in its place")
    if log.media(item):
        return replace(piece, text=f"{piece.text}\n(#{item.id} with its pictures is shown again in its place)".strip())
    return piece


def _by_words(search: _Search, query: str, first: int = 1, last: int | None = None) -> _Answer:
    found = find_items(search.log, query, WORD_HITS + NAMED, first, last, by_model=search.by_model)
    if not found.hits:
        where = f" in #{first}–#{last}" if last is not None else ""
        return [], f"nothing folded or shown{where} matches {one_line(query, 80)!r}", ""
    pieces, brought = _passages(search.log, found.hits, search.chars)
    rest = [hit.item for hit in found.hits if hit.item.id not in brought][:NAMED]
    named = ", ".join(f"#{item.id} {one_line(item.title, NAMED_CHARS)}" for item in rest)
    missing = f"nothing there holds: {', '.join(found.unknown[:NAMED])}" if found.unknown else ""
    return pieces, missing, f"less close: {named}" if named else ""


def _passages(log: Log, hits: Sequence[Hit], chars: int) -> tuple[list[_Piece], set[int]]:
    """(what the close ones say, these and such as say the very same)."""
    close = [hit for hit in hits if hit.score >= CLOSE * hits[0].score]
    pieces: list[_Piece] = []
    seen: set[int] = set()
    left = chars
    for number, hit in enumerate(close):
        if len(pieces) == WORD_HITS:
            break
        last = number == len(close) - 1 or len(pieces) == WORD_HITS - 1
        made = _passage(log, hit, left if last else int(left * FIRST_SHARE))
        seen.add(hit.item.id)
        if all(made.text != piece.text for piece in pieces):
            pieces.append(made)
            left = max(0, left - len(made.text))
    return pieces, seen


def _passage(log: Log, hit: Hit, chars: int) -> _Piece:
    item = hit.item
    if item.kind is Kind.ATTACHMENT:
        return _Piece(item, log.result_text(item))
    text = Text.of(log.action_text(item) if hit.in_call else log.result_text(item))
    part = passage(text, hit.places, chars, min(chars, WHOLE_CHARS))
    what = ", its call" if hit.in_call else ""
    return _Piece(item, part.text, what if part.whole else f"{what}, {_lines(part, text)}")


def _lines(part: Passage, text: Text) -> str:
    """`lines 3–9, 40–44 of 120`"""
    many = text.units[-1].line + 1
    if many == 1:
        return "a part of one line"
    return f"lines {', '.join(f'{a}–{b}' if a < b else f'{a}' for a, b in part.lines)} of {many}"


def _split(references: Sequence[str]) -> list[str]:
    parts = []
    for reference in references:
        pieces = [p.strip() for p in reference.split(",") if p.strip()]
        parts.extend(pieces if pieces and all(re.match(r"^#?\d", p) for p in pieces) else [reference.strip()])
    return [p for p in parts if p]


def _by_id(log: Log, matched: re.Match[str], words: str | None) -> tuple[list[tuple[Item, str]], str]:
    first = int(matched["first"])
    asked = int(matched["last"] or first)
    last = min(asked, first + LARGEST_RANGE - 1)
    found: list[tuple[Item, str]] = []
    unmatched: list[int] = []
    outside: list[str] = []
    for number in range(first, last + 1):
        item = log.item_at(number)
        if item is None:
            continue
        if matched["call"]:
            text = log.action_text(item)
        else:
            text = log.result_text(item) if first == last else log.text_of(item)
        if matched["from"]:
            lines = text.split("\n")
            start, end = int(matched["from"]), int(matched["to"] or matched["from"])
            if not max(1, start) <= min(end, len(lines)):
                outside.append(f"#{number} has lines 1–{len(lines)}, none of them in {start}–{end}")
                continue
            text = "\n".join(lines[max(0, start - 1) : end])
        elif words:
            part = part_about(text, words)
            if part is text and len(text) > PART_CHARS:
                unmatched.append(number)
                part = cut_head(text, UNMATCHED_CHARS)
            text = part
        found.append((item, text))
    if outside:
        return found, "; ".join(outside)
    if unmatched:
        named = ", ".join(f"#{number}" for number in unmatched[:NAMED])
        return found, f"no line of {named} is about {one_line(str(words), 80)!r}: here is how it begins"
    if last < asked:
        return found, f"#{first}–#{asked} is a long range: here are #{first}–#{last}, ask for the rest"
    problem = "" if found else f"no item #{first}" + (f"–#{last}" if last != first else "") + " in this session"
    return found, problem


def part_about(text: str, words: str) -> str:
    """The lines about some words, with a little context; the text itself when no line matches. O(len(text))."""
    wanted, whole = asked(words), Text.of(text)
    found = places(whole, wanted, told_within(whole, wanted))
    return passage(whole, found, PART_CHARS).text if found else text


def as_data(recalled: Recalled, limit_chars: int, rests_on: Sequence[str] = (), stale: Sequence[str] = ()) -> str:
    """A recall as it enters a view: framed as data, its own marks unable to close the frame.

    `rests_on`: lines about what the recalled items depend on, put behind them. `stale`: lines that warn of what has
    changed since, put in front.
    """
    body = recalled.text
    if len(body) > limit_chars:
        body = cut_head(body, limit_chars) + f"\n[foldaway: {len(body) - limit_chars:,} more characters; ask for lines]"
    if stale:
        body = "\n".join((*stale, body))
    if rests_on:
        body = "\n".join((body, "it rests on:", *rests_on))
    told = "\n".join(line for line in (body, recalled.also, recalled.problem) if line)
    return f"{recall_head(recalled.items)}\n{clean_long(told)}\n[/foldaway recall]"
