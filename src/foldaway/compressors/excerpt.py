"""Head and tail of a text with a plain mark between them. Works on anything, keeps the last lines of a failure.

Cuts fall between lines where there are lines, and never inside a character: not between the halves of a surrogate
pair, nor before a combining mark, a variation selector or a joiner.
"""

from __future__ import annotations

import unicodedata

_JOINER = "‍"


def excerpt(text: str, keep_chars: int, mark: str, *, head_share: float = 0.5) -> str:
    """About `keep_chars` characters of `text`: its head, `mark` on a line of its own, its tail.

    The text itself when it is not longer than that. O(keep_chars). `head_share` (0..1) is the head's part.
    """
    if len(text) <= keep_chars + len(mark):
        return text
    head = cut_head(text, int(keep_chars * head_share))
    tail = cut_tail(text, keep_chars - int(keep_chars * head_share))
    return "\n".join(piece for piece in (head.rstrip("\n"), mark, tail.lstrip("\n")) if piece)


def cut_head(text: str, chars: int) -> str:
    """At most `chars` characters from the start, ending at a line or at least at a whole character."""
    if len(text) <= chars:
        return text
    if chars <= 0:
        return ""
    line = text.rfind("\n", chars // 2, chars)
    return text[: line if line >= 0 else _boundary(text, chars, -1)]


def cut_tail(text: str, chars: int) -> str:
    """At most `chars` characters from the end, starting at a line or at least at a whole character."""
    if len(text) <= chars:
        return text
    if chars <= 0:
        return ""
    start = len(text) - chars
    line = text.find("\n", start, start + chars // 2)
    return text[line + 1 if line >= 0 else _boundary(text, start, 1) :]


def _boundary(text: str, at: int, step: int) -> int:
    """The nearest place from `at` in direction `step` that splits no character; gives up after 64 code points."""
    for _ in range(64):
        if at <= 0 or at >= len(text) or not _inside(text[at - 1], text[at]):
            break
        at += step
    return min(max(at, 0), len(text))


def _inside(before: str, after: str) -> bool:
    if _JOINER in (before, after) or "︀" <= after <= "️" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if "\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff":
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    return "\U000e0020" <= after <= "\U000e007f" or unicodedata.combining(after) != 0
