"""Which of many literals occur in a text, in one pass over the text."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from foldaway.model.wire import Message

_WORD = re.compile(r"[A-Za-z0-9_]+")
_ESCAPED_BREAK = re.compile(r"\\+[nrt]")
_ESCAPED_QUOTE = re.compile(r"\\+([\"'])")
_BACKSLASHES = re.compile(r"\\{2,}")
# Not for the model's eyes, or not literals: ids that pair calls, signatures, encrypted text, base64.
_SKIPPED_KEYS = frozenset(
    {"role", "type", "id", "call_id", "tool_call_id", "tool_use_id", "signature", "encrypted_content", "data", "status"}
)
_JSON_KEYS = frozenset({"arguments", "input"})


def normalise(text: str) -> str:
    """The text with JSON escapes of line breaks, tabs, quotes and backslashes undone, however often it was escaped.

    Tool results often hold JSON in JSON; a literal must be found there too. Applied to both sides, so a `\\n` in
    source code compares equal as well.
    """
    if "\\" not in text:
        return text
    return _BACKSLASHES.sub(r"\\", _ESCAPED_QUOTE.sub(r"\1", _ESCAPED_BREAK.sub("\n", text)))


def message_text(message: Message) -> str:
    """All that a model can read of a message, as one text."""
    return "\n".join(strings_of(message))


def strings_of(value: Any) -> list[str]:
    found: list[str] = []
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        key, node = stack.pop()
        if isinstance(node, str):
            if key not in _SKIPPED_KEYS:
                found.extend(_decoded(node) if key in _JSON_KEYS else [node])
        elif isinstance(node, Mapping):
            stack.extend((str(k), v) for k, v in reversed(list(node.items())))
        elif isinstance(node, Sequence) and not isinstance(node, bytes):
            stack.extend((key, v) for v in reversed(node))
        elif isinstance(node, int | float) and not isinstance(node, bool):
            found.append(str(node))
    return found


def _decoded(text: str) -> list[str]:
    if text[:1] in ("{", "["):
        try:
            return strings_of(json.loads(text))
        except (ValueError, RecursionError):
            return [text]
    return [text]


class Finder:
    """Looks for a fixed set of literals; borders of words, identifiers and numbers are respected.

    `foo` is found in `self.foo(` and in `src/foo/`, not in `foobar` or `foo_1`; `1234` not in `1234.5`.
    """

    def __init__(self, literals: Iterable[str]) -> None:
        self.literals = tuple(literals)
        self._single: dict[str, int] = {}
        self._keyed: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        self._unkeyed: list[tuple[int, str]] = []
        for index, literal in enumerate(self.literals):
            text = normalise(literal)
            words = _WORD.findall(text)
            if words == [text] and not text.isdigit() and text not in self._single:
                self._single[text] = index
            elif words:
                # The longest inner word is the rarest, near enough; the first and last may be cut by the border rule
                # no more than the others, as borders are checked afterwards.
                self._keyed[max(words, key=len)].append((index, text))
            else:
                self._unkeyed.append((index, text))

    def find(self, text: str) -> frozenset[int]:
        """Indexes of the literals that occur in the text. Linear in the text, but for literals that share a word."""
        text = normalise(text)
        words = set(_WORD.findall(text))
        found = {self._single[word] for word in words if word in self._single}
        for word in words & self._keyed.keys():
            found.update(index for index, literal in self._keyed[word] if occurs(literal, text))
        found.update(index for index, literal in self._unkeyed if literal in text)
        return frozenset(found)


def occurs(literal: str, text: str) -> bool:
    """Whether the literal stands in the text with no word or number going on at either end."""
    at = text.find(literal)
    while at >= 0:
        if _free(literal, text, at, at + len(literal)):
            return True
        at = text.find(literal, at + 1)
    return False


def _free(literal: str, text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    if (_is_word(literal[0]) and _is_word(before)) or (_is_word(literal[-1]) and _is_word(after)):
        return False
    # Digits go on over a point or a comma.
    if literal[0].isdigit() and before in (".", ",") and text[max(0, start - 2) : start - 1].isdigit():
        return False
    return not (literal[-1].isdigit() and after in (".", ",") and text[end + 1 : end + 2].isdigit())


def _is_word(char: str) -> bool:
    return char != "" and (char == "_" or (char.isascii() and char.isalnum()))
