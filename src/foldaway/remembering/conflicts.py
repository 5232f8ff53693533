"""Whether two of the user's wishes say the opposite: the same words in another polarity, or a choice turned round.

By rule, and careful: what it does not see stays unmarked, and both wishes are shown with their times all the same.
"""

from __future__ import annotations

import re

from foldaway.retrieval.words import content_words

ALIKE = 0.6
"""Share of content words in common, words of polarity aside, from which two wishes are about one thing."""
_NEGATIVE = re.compile(
    r"\b(?:never|not|no longer|don'?t|doesn'?t|won'?t|cannot|can'?t|mustn'?t|shouldn'?t|avoid|without|stop|forbidden)\b"
    r"|不要|不得|禁止|切勿|别|不再",
    re.IGNORECASE,
)
_POLAR = frozenset("alway never longer avoid without stop want prefer like".split())
"""Stems that say how much, not what."""
_NAME = r"([\w+#-]+(?:\.[\w+#-]+)*)"
_CHOICE = re.compile(rf"{_NAME}\s+(?:over|instead of|rather than)\s+{_NAME}", re.IGNORECASE)


def contradict(one: str, other: str) -> bool:
    """Linear in both; symmetric."""
    first, second = _choices(one), _choices(other)
    if first and second:
        return any((b, a) in second for a, b in first)
    if bool(_NEGATIVE.search(one)) == bool(_NEGATIVE.search(other)):
        return False
    mine, theirs = _about(one), _about(other)
    return bool(mine and theirs) and len(mine & theirs) >= ALIKE * len(mine | theirs)


def _choices(text: str) -> set[tuple[str, str]]:
    return {(a.lower(), b.lower()) for a, b in _CHOICE.findall(text)}


def _about(text: str) -> set[str]:
    # Marks of polarity out first, so that their halves ("don", "不") are no content.
    return {word for word in content_words(_NEGATIVE.sub(" ", text)) if word not in _POLAR}
