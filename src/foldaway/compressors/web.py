"""HTML and web pages: readable text first, then its best sentences (see `prose`)."""

from __future__ import annotations

from foldaway.compressors._html import to_text
from foldaway.compressors.base import EDGE_CHARS, Digest, Hint
from foldaway.compressors.excerpt import excerpt
from foldaway.compressors.facts import facts
from foldaway.compressors.prose import extract, shortened, units_of

_SIGNS = (
    "<html",
    "<!doctype html",
    "<body",
    "<head",
    "<div",
    "<span",
    "<p>",
    "<a href",
    "<meta",
    "<table",
    "<script",
    "<li>",
)


class Web:
    """A page as HTML."""

    name = "web"
    surest = 0.95

    def matches(self, text: str, hint: Hint) -> float:
        edge = text[:EDGE_CHARS].lower()
        start = edge.lstrip()[:400]
        if start.startswith(("<!doctype html", "<html")) or "<html" in start:
            return 0.95
        kinds = sum(sign in edge for sign in _SIGNS)
        tags = edge.count("</")
        return 0.8 if kinds >= 3 and tags * 120 > len(edge) else 0.3 if kinds >= 2 else 0.0

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        if len(text) <= room_chars:
            return Digest(text=text, content="web page", facts=facts(text, first=hint.line))
        room = max(0, room_chars)
        readable = to_text(text)
        found = facts(readable)
        if not readable:
            return Digest(text=excerpt(text, room - 3, "…")[:room], content="web page", lost="the page has no words")
        if len(readable) <= room:
            return Digest(text=readable, content="web page", facts=found, lost="markup, scripts and navigation")
        units = units_of(shortened(readable))
        shown, kept = extract(units, hint, room)
        lost = f"markup, and {len(units) - kept:,} of {len(units):,} sentences"
        return Digest(text=shown, content="web page", facts=found, lost=lost)
