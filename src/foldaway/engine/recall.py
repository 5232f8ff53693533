"""Bringing things back: by id, by range of lines, by words; the text is data and marked as such.

References: `12`, `#12`, `12-15`, `#12–#15`, `12:40-80` (lines of one item), `12.call` (its arguments), several
separated by commas, each with words behind it (`#12 gate`: the lines of #12 about "gate"); anything else is taken as
words to search for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from foldaway.compressors.excerpt import cut_head
from foldaway.engine.log import Log
from foldaway.engine.stubs import recall_head
from foldaway.linking.anchors import anchors
from foldaway.model.items import Item, Kind

DIRECTIVE = re.compile(r"\[RETRIEVE:\s*([^\]\n]{1,200})\]")
_REFERENCE = re.compile(
    r"^\s*#?(?P<first>\d{1,9})(?P<call>\.call)?(?:\s*[-–]\s*#?(?P<last>\d{1,9}))?(?::(?P<from>\d{1,9})(?:\s*[-–]\s*(?P<to>\d{1,9}))?)?"
    r"(?:\s+(?P<words>.+?))?\s*$",
    re.DOTALL,
)
_WORD = re.compile(r"[\w./@+-]+|[一-鿿]")
_OWN_MARK = re.compile(r"\[(\s*/?\s*(?:foldaway|RETRIEVE))", re.IGNORECASE)
CONTEXT_LINES = 2
"""Lines around each line that matches the words."""
WORD_HITS = 5
"""Items that a search by words brings back at most."""
LARGEST_RANGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What came back. `text` is byte for byte what was seen (or the asked part of it), without marks."""

    text: str
    items: tuple[int, ...]
    found: bool
    problem: str = ""
    """One line when nothing, or not all, was found."""


def recall(log: Log, reference: str | Sequence[str], find: str | None = None, *, for_view: bool = False) -> Recalled:
    """Answer one or several references in one go. Never raises; unknown ids are named in `problem`.

    An attachment comes back as its block in JSON, or, `for_view`, as a line that says it is shown again in its place.
    """
    wanted = [str(reference)] if isinstance(reference, str | int) else [str(r) for r in reference]
    texts: list[str] = []
    items: list[int] = []
    problems: list[str] = []
    got: set[tuple[int, str]] = set()
    owners: list[int] = []
    for one in _split(wanted):
        matched = _REFERENCE.match(one)
        if matched is None:
            hits = search(log, one)[:WORD_HITS]
            found = [(i, part_about(log.text_of(i), one)) for i in hits]
            if not found:
                problems.append(f"nothing folded or shown matches {one[:80]!r}")
        else:
            found, problem = _by_id(log, matched, find)
            problems.extend([problem] if problem else [])
        for item, text in found:
            if for_view and item.kind is Kind.ATTACHMENT:
                text = f"{item.title} #{item.id} is shown again in its place"
            elif for_view and log.media(item):
                text = f"{text}\n(#{item.id} with its pictures is shown again in its place)".strip()
            if (item.id, text) not in got:
                got.add((item.id, text))
                owners.append(item.id)
                texts.append(text)
            if item.id not in items:
                items.append(item.id)
    if for_view and len(texts) > 1:
        texts = [f"— #{i} {log.items[i].title}\n{t}" for i, t in zip(owners, texts, strict=True)]
    return Recalled(text="\n".join(texts), items=tuple(items), found=bool(items), problem="; ".join(problems))


def _split(references: Sequence[str]) -> list[str]:
    parts = []
    for reference in references:
        pieces = [p.strip() for p in reference.split(",") if p.strip()]
        parts.extend(pieces if pieces and all(re.match(r"^#?\d", p) for p in pieces) else [reference.strip()])
    return [p for p in parts if p]


def _by_id(log: Log, matched: re.Match[str], find: str | None) -> tuple[list[tuple[Item, str]], str]:
    first = int(matched["first"])
    asked = int(matched["last"] or first)
    last = min(asked, first + LARGEST_RANGE - 1)
    words = matched["words"] or find
    found = []
    for number in range(first, last + 1):
        item = log.item_at(number)
        if item is None:
            continue
        if matched["call"]:
            text = log.action_text(item)
        else:
            text = log.result_text(item) if first == last else log.text_of(item)
        if matched["from"]:
            start, end = int(matched["from"]), int(matched["to"] or matched["from"])
            text = "\n".join(text.split("\n")[max(0, start - 1) : end])
        elif words:
            text = part_about(text, words)
        found.append((item, text))
    if last < asked:
        return found, f"#{first}–#{asked} is a long range: here are #{first}–#{last}, ask for the rest"
    problem = "" if found else f"no item #{first}" + (f"–#{last}" if last != first else "") + " in this session"
    return found, problem


def part_about(text: str, words: str) -> str:
    """The lines about some words, with a little context; the whole text when no line matches. O(len(text))."""
    wanted = {w.lower() for w in _WORD.findall(words) if len(w) > 1} or {words.lower().strip()}
    phrase = " ".join(words.lower().split())
    lines = text.split("\n")
    scored = [(_score(line.lower(), wanted, phrase), number) for number, line in enumerate(lines)]
    best = max((s for s, _ in scored), default=0)
    if best == 0:
        return text
    keep: set[int] = set()
    for _, number in sorted((p for p in scored if p[0] >= max(1, best - 1)), key=lambda p: (-p[0], p[1]))[:40]:
        keep.update(range(max(0, number - CONTEXT_LINES), min(len(lines), number + CONTEXT_LINES + 1)))
    out, previous = [], -1
    for number in sorted(keep):
        if previous >= 0 and number != previous + 1:
            out.append("…")
        out.append(lines[number])
        previous = number
    return "\n".join(out)


def _score(line: str, wanted: set[str], phrase: str) -> int:
    return sum(1 for w in wanted if w in line) + (len(wanted) + 1 if phrase in line else 0)


def search(log: Log, query: str, limit: int = 20) -> list[Item]:
    """Items about some words, best first: exact literals count most, then words, newer before older."""
    literals = list(anchors(query))
    wanted = [w.lower() for w in _WORD.findall(query) if len(w) > 1]
    if not wanted and not literals:
        return []
    ranked = []
    for item in log.items.values():
        if item.kind is Kind.RECALLED:
            continue
        held = set(log.anchors.of_item(item.id))
        exact = sum(1 for literal in literals if literal in held)
        text = log.text_of(item)
        low = text.lower() if len(text) < 2_000_000 else text[:2_000_000].lower()
        score = 3 * exact + sum(1 for w in wanted if w in low)
        if score:
            ranked.append((-score, -item.id, item))
    ranked.sort(key=lambda r: r[:2])
    need = max(1, (len(wanted) + 1) // 2)
    return [item for score, _, item in ranked if -score >= need][:limit] or [i for _, _, i in ranked[:limit]]


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
    body = _OWN_MARK.sub(r"(\1", body)
    tail = f"\n{recalled.problem}" if recalled.problem else ""
    return f"{recall_head(recalled.items)}\n{body}{tail}\n[/foldaway recall]"
