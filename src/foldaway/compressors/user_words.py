"""User words in short: every instruction, constraint and literal kept word for word, the rest left out with a mark.

Used only when user words alone would take more than their share of the room. Works sentence by sentence; a sentence
stays when it is the first or last, asks for something, forbids something, or holds a literal. Chinese included.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from foldaway.linking.anchors import anchors

_SENTENCE_END = re.compile(r"(?<=[.!?])(?=\s)|(?<=[。！？\n])")
_BINDING = re.compile(
    r"\b(?:must|never|always|only|do not|don't|dont|should|shall|avoid|instead|without|except|unless|ensure|make sure|"
    r"no longer|not|remember|keep|use|please|want|need|important|require[sd]?|prefer|ban|stop|forbid|allow|can't|"
    r"cannot|"
    r"add|remove|delete|change|fix|write|create|rename|run|test|update|move|replace|implement|commit|push|revert|undo)\b"
    r"|不要|不得|必须|禁止|只能|请|务必|应该|需要|别|切勿|改|删|加",
    re.IGNORECASE,
)


_FORBIDDING = re.compile(
    r"\b(?:must|never|always|do not|don't|dont|avoid|except|unless|no longer|ban|forbid(?:den)?|not allowed|mandatory|"
    r"under no circumstances|important)\b|不要|不得|必须|禁止|只能|务必|切勿",
    re.IGNORECASE,
)


def abstract_words(text: str, item: int) -> str:
    """The binding sentences of a user's text, word for word, and a mark for what is left out (item #`item`)."""
    return _keep(text, item, lambda s, first_or_last: first_or_last or bool(_BINDING.search(s)) or _literal(s))


def constraints_only(text: str, item: int) -> str:
    """Only what forbids or demands for good, word for word, with the mark; "" when there is nothing of the kind."""
    return _keep(text, item, lambda s, first_or_last: bool(_FORBIDDING.search(s)))


def constraints(text: str) -> list[str]:
    """The sentences that forbid or demand something for good, word for word, each on one line."""
    found = (" ".join(s.split()) for s in _SENTENCE_END.split(text) if _FORBIDDING.search(s))
    return [s for s in found if s]


def _keep(text: str, item: int, binds: Callable[[str, bool], bool]) -> str:
    sentences = [s for s in _SENTENCE_END.split(text) if s.strip()]
    last = len(sentences) - 1
    kept = [s for number, s in enumerate(sentences) if binds(s, number in (0, last))]
    left_out = sum(len(s.split()) or 1 for s in sentences) - sum(len(s.split()) or 1 for s in kept)
    if not left_out:
        return text
    if not kept:
        return ""
    return "".join(kept).rstrip() + f"\n[foldaway: {left_out} words of #{item} left out]"


def _literal(sentence: str) -> bool:
    return any(mark in sentence for mark in "\"'`“”「」") or bool(anchors(sentence))
