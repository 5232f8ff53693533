"""HTML to Markdown-like text in one pass: headings, paragraphs, lists, tables, code, links; no scripts, styles, chrome.

A scanner of its own: the standard library's parser takes quadratic time on unclosed comments and declarations
(CVE-2025-6069) in releases that are still in use. Every search here either moves on or is remembered to have failed.
"""

from __future__ import annotations

import html
import re

_TAG = re.compile(r"""</?([A-Za-z][A-Za-z0-9:-]{0,40})((?>[^<>"']+|"[^"]*"|'[^']*'){0,2000})/?>""")
_MARKUP = re.compile(r"</?[A-Za-z!?]")
_ATTRIBUTE = re.compile(r"""([A-Za-z:-]{1,40})\s{0,8}=\s{0,8}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_SPACE = re.compile(r"\s+")
_LINES = re.compile(r"\n\s*\n\s*")
_LONGEST_TAG = 8_000
_SILENT = frozenset("script style noscript template svg canvas iframe object math".split())
_CHROME = frozenset("nav footer aside".split())
_BLOCK = frozenset(
    "p div section article main header ul ol li table tr dl dt dd blockquote pre figure figcaption form fieldset br hr "
    "h1 h2 h3 h4 h5 h6 title body nav footer aside details summary address label option select button".split()
)


def to_text(source: str) -> str:
    """The readable text. O(len(source)), never raises."""
    return _Page(source).read()


class _Page:
    def __init__(self, source: str) -> None:
        self._source = source
        self._out: list[str] = []
        self._links: list[str | None] = []
        self._absent: set[str] = set()
        self._code = 0

    def read(self) -> str:
        source, at = self._source, 0
        while True:
            found = _MARKUP.search(source, at)
            if found is None:
                self._words(source[at:])
                break
            self._words(source[at : found.start()])
            at = self._markup(found.start())
        return _LINES.sub("\n", "".join(self._out)).strip()

    def _words(self, raw: str) -> None:
        if not raw:
            return
        text = html.unescape(raw)
        self._out.append(text if self._code else _SPACE.sub(" ", text))

    def _markup(self, start: int) -> int:
        """Deal with what begins at `start`; returns where to go on, always further."""
        source = self._source
        if source[start + 1] in "!?":
            return self._skip(start + 2, "-->" if source.startswith("<!--", start) else ">")
        tag = _TAG.match(source, start, start + _LONGEST_TAG)
        if tag is None:
            return self._skip(start + 2, ">")
        name, closing = tag.group(1).lower(), source[start + 1] == "/"
        if not closing and (name in _SILENT or name in _CHROME):
            return self._element(name, tag.end())
        self._tag(name, closing, tag.group(2))
        return tag.end()

    def _skip(self, at: int, sign: str) -> int:
        """Behind the next `sign`; at `at` when there is none any more."""
        if sign not in self._absent:
            end = self._source.find(sign, at)
            if end >= 0:
                return end + len(sign)
            self._absent.add(sign)
        return at

    def _element(self, name: str, at: int) -> int:
        """Behind the end of an element that is not read."""
        end = self._skip(at, f"</{name}>")
        self._out.append("\n")
        # An element that is never closed: what follows is read as text, but for scripts and styles.
        return len(self._source) if end == at and name in ("script", "style") else end

    def _tag(self, name: str, closing: bool, attributes: str) -> None:
        out = self._out
        if name == "a":
            self._link(closing, attributes)
        elif name in ("td", "th"):
            out.append("" if closing else " | ")
        elif name in ("code", "pre"):
            self._code += -1 if closing and self._code and name == "pre" else name == "pre" and not closing
            out.append("\n" if name == "pre" else "`")
        elif name == "img" and not closing:
            alt = _attribute(attributes, "alt")
            out.append(f" [image: {alt}] " if alt else " ")
        elif name == "meta" and not closing and _attribute(attributes, "name").lower() == "description":
            out.append(f"\n{_attribute(attributes, 'content')}\n")
        elif name in _BLOCK:
            out.append("\n")
            if not closing:
                level = 1 if name == "title" else int(name[1]) if name[0] == "h" and name[1:].isdigit() else 0
                out.append("#" * level + " " if level else "- " if name in ("li", "dt") else "")

    def _link(self, closing: bool, attributes: str) -> None:
        if not closing:
            target = _attribute(attributes, "href")
            self._links.append(target if target and target[:1] != "#" and not target.startswith("javascript") else None)
            self._out.append("[" if self._links[-1] else "")
        elif self._links:
            address = self._links.pop()
            self._out.append(f"]({address})" if address else "")


def _attribute(attributes: str, name: str) -> str:
    for found in _ATTRIBUTE.finditer(attributes[:_LONGEST_TAG]):
        if found.group(1).lower() == name:
            return _SPACE.sub(" ", html.unescape(found.group(2) or found.group(3) or found.group(4) or "")).strip()
    return ""
