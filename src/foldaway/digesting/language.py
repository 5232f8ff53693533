"""Which language a text is in, roughly: its scripts by range of code points, and of the Latin ones the small words."""

from __future__ import annotations

import re
from collections import Counter

READ_CHARS = 40_000
"""Of a longer text only the start and the end are looked at, half of this each."""
OWN_SHARE = 0.05
"""A script with less of the source's letters than this is a stranger there."""
MAIN_SHARE = 0.25
"""A script with this share of the digest's letters is one that it is written in."""
RULING_SHARE = 0.6
"""A script with this share of the source's letters has to appear in the digest, with `KEPT_SHARE`."""
KEPT_SHARE = 0.2
FEWEST_WORDS = 6
FEWEST_DIFFERENT = 3
"""Small words a text must hold, and different ones among them, before its language is told by them."""

_SCRIPTS = {
    "Latin": "A-Za-z\u00c0-\u024f",
    "Greek": "\u0370-\u03ff",
    "Cyrillic": "\u0400-\u052f",
    "Hebrew": "\u0590-\u05ff",
    "Arabic": "\u0600-\u06ff\u0750-\u077f",
    "Indic": "\u0900-\u0dff",
    "Thai": "\u0e00-\u0e7f",
    "Kana": "\u3041-\u30ff",
    "Han": "\u3400-\u9fff",
    "Hangul": "\u1100-\u11ff\uac00-\ud7af",
}
_LETTERS = {script: re.compile(f"[{signs}]+") for script, signs in _SCRIPTS.items()}
_NAMES = {
    "Greek": "Greek",
    "Hebrew": "Hebrew",
    "Thai": "Thai",
    "Kana": "Japanese",
    "Han": "Chinese",
    "Hangul": "Korean",
}
_SMALL_WORDS = {
    "English": "the and of to is are that with for this from was which have not be by an it on".split(),
    "German": "der die das und ist nicht mit für von den dem ein eine auf werden sich auch wird zu im".split(),
    "French": "le la les des et est une dans pour que qui sur pas avec par sont au du ce cette".split(),
    "Spanish": "el los las y es una en para que por con del se como más pero su al lo está".split(),
    "Italian": "il gli della che è una per con non sono di del nel anche alla dei come più si questo".split(),
    "Portuguese": "os as uma é para que com não por dos da do em mais como ao são na pela isso".split(),
    "Dutch": "de het een en van is dat niet met voor op zijn aan ook wordt door bij naar uit deze".split(),
}
_WORD = re.compile(r"[a-z\u00df-\u024f]+")


def script_shares(text: str) -> dict[str, float]:
    """Script -> its share (0..1) of the letters; a sign of Chinese or Korean counts for three. O(len(text))."""
    counts = {script: sum(map(len, letters.findall(text))) for script, letters in _LETTERS.items()}
    for script in ("Han", "Hangul"):
        counts[script] *= 3
    total = sum(counts.values())
    return {script: count / total for script, count in counts.items() if count} if total else {}


def language_of(text: str) -> str:
    """The English name of the language a text is mostly in; "" where that cannot be told."""
    text = _edges(text)
    shares = script_shares(text)
    ruling = max(shares, key=lambda script: (shares[script], script), default="")
    if ruling == "Han" and shares.get("Kana", 0.0) > OWN_SHARE:
        return "Japanese"
    if ruling == "Latin":
        return _by_small_words(text)
    return _NAMES.get(ruling, "") if shares.get(ruling, 0.0) >= RULING_SHARE else ""


def mismatch(digest: str, source: str) -> str:
    """How the language of a digest differs from its source's; "" when it does not, or when it cannot be told."""
    source = _edges(source)
    theirs, ours = script_shares(source), script_shares(digest)
    for script, share in ours.items():
        if share >= MAIN_SHARE and theirs.get(script, 0.0) < OWN_SHARE:
            return f"it is written in {script} letters, which the source hardly has"
    for script, share in theirs.items():
        if share >= RULING_SHARE and ours.get(script, 0.0) < KEPT_SHARE:
            return f"the source is written in {script} letters, the digest is not"
    said, meant = _by_small_words(digest), _by_small_words(source)
    return f"it is in {said}, the source in {meant}" if said and meant and said != meant else ""


def _edges(text: str) -> str:
    half = READ_CHARS // 2
    return text if len(text) <= READ_CHARS else f"{text[:half]}\n{text[-half:]}"


def _by_small_words(text: str) -> str:
    words = Counter(_WORD.findall(text.lower()))
    found = {language: sum(words[w] for w in small) for language, small in _SMALL_WORDS.items()}
    first, second = sorted(found, key=lambda language: (-found[language], language))[:2]
    # Languages share small words ("die", "is", "de"): one has to be well ahead.
    different = sum(w in words for w in _SMALL_WORDS[first])
    sure = found[first] >= max(FEWEST_WORDS, 2 * found[second]) and different >= FEWEST_DIFFERENT
    return first if sure else ""
