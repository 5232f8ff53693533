"""Text on its way to the client: directives are taken out, and held back only while they could still be one."""

from __future__ import annotations

from foldaway.engine.recall import DIRECTIVE
from foldaway.proxy.answers.base import Recall

_START = "[RETRIEVE:"
_LONGEST = 300
"""Characters after which an unclosed bracket is no directive."""


def stripped(text: str) -> tuple[str, list[Recall]]:
    """A whole text without its directives, and what they ask for."""
    found = [Recall(ids=m.strip()) for m in DIRECTIVE.findall(text)]
    return (DIRECTIVE.sub("", text), found) if found else (text, found)


class TextGate:
    """One stretch of text, piece by piece."""

    def __init__(self) -> None:
        self.found: list[Recall] = []
        self._held = ""

    def feed(self, text: str) -> str:
        """What may go on now."""
        open_text, found = stripped(self._held + text)
        self.found += found
        at = open_text.rfind("[")
        # Only the last bracket can be unfinished, and only a tail that still fits the pattern waits.
        while at >= 0 and not _unfinished(open_text[at:]):
            at = open_text.rfind("[", 0, at) if len(open_text) - at < _LONGEST else -1
        if at < 0:
            self._held = ""
            return open_text
        self._held = open_text[at:]
        return open_text[:at]

    def end(self) -> str:
        """What was held back and is no directive after all."""
        held, self._held = self._held, ""
        return held


def _unfinished(tail: str) -> bool:
    if len(tail) <= len(_START):
        return _START.startswith(tail)
    if not tail.startswith(_START) or len(tail) > _LONGEST:
        return False
    said = tail[len(_START) :].lstrip()
    return "\n" not in said and "]" not in said


def apart(before: str, after: str) -> str:
    """Two stretches of text that a recall stood between, not glued together."""
    if not before or not after or before[-1].isspace() or after[0].isspace():
        return before + after
    return f"{before}\n\n{after}"
