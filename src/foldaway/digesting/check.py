"""What a model wrote, judged before it may stand for a text: cheap rules, each with the name it fails by.

A rule may refuse a good digest; then the deterministic one stays, which costs little. What no rule sees is a false
statement made of the text's own words: a digest says under which id its source is, and never replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldaway.compressors.checker import unescaped, unsupported
from foldaway.digesting.language import language_of, mismatch
from foldaway.digesting.prompt import nonce_of
from foldaway.errors import DigestError

SHORTEST_CHARS = 24
SHORTEST_SHARE = 0.1
LONGEST_NEEDED_CHARS = 200
"""Shorter than this share of its room, though never more than so many characters, a digest says too little."""
OPENING_CHARS = 240
"""Refusals and error texts are looked for in this much of the start."""
OWN_WORDS_SHARE = 0.4
"""Of the digest's words at least so many come from the source (by their first letters, so that endings may differ)."""
STEM_CHARS = 5
QUARTERS = 4
ONE_PLACE_SHARE = 0.5
"""Where so many of a digest's words stand in one quarter of a long text only, and none in another one only, it speaks
of that place: so does a model that obeys a sentence in the text."""
LONG_CHARS = 2_000

_REFUSAL = re.compile(
    r"\bas an? (?:ai|artificial|large language|language model)|\bi(?:['’]m| am) (?:sorry|unable|not able|afraid)"
    r"|\bi (?:cannot|can['’]t|can not|won['’]t|will not|apologi[sz]e|do not have|don['’]t have)\b"
    r"|\bplease provide\b|\bno text (?:was|is) (?:provided|given)|\bunable to (?:assist|help|comply)"
    r"|抱歉|对不起|很遗憾|作为(?:一个|一名)?\s?(?:AI|人工智能|语言模型)|我(?:无法|不能)|申し訳|죄송",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"^\W{0,4}(?:(?:internal )?server error|error\b|bad gateway|service unavailable|gateway time-?out|<!doctype|<html"
    r"|\{\s*\"(?:error|message|detail)\"|traceback \(most recent|upstream |rate limit|too many requests|unauthorized"
    r"|forbidden|(?:502|503|504|429|500) )",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget) (?:all |any |the |your |these |my ){0,3}(?:previous|prior|above|earlier)\b"
    r"|忽略(?:之前|以上|前面|上述|所有)|\[\s*/?\s*(?:retrieve|foldaway)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LIST_MARK = re.compile(r"^\s*\(?\d{1,2}[.)](?=\s)", re.MULTILINE)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_QUOTED = re.compile(r"`([^`\n]{2,200})`|[\"“«「]([^\"“”«»「」\n]{8,300})[\"”»」]")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][A-Za-z\u00c0-\u024f'’-]{2,40}")
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f\u0370-\u052f]{4,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}")
_DENSE = re.compile(r"[\u3400-\u9fff\uac00-\ud7af]")
_SHORT = re.compile(r"[A-Za-z\u00c0-\u024f'’-]{3,4}")
_POSSESSIVE = re.compile(r"['’](?:s|S)?$")
_BLANKS = re.compile(r"\s+")


def check(text: str, source: str, room_chars: int, *, prompted: str = "") -> None:
    """Raise unless `text` may stand for `source`. O(len(source)).

    `prompted` is the text the model was shown where that is not the source itself (a part of it, digests of parts).

    Raises:
        DigestError: with the rule that failed as its kind.
    """
    if not text.strip():
        raise DigestError("empty", "the model wrote nothing")
    if nonce_of(prompted or source) in text:
        raise DigestError("echo", "the model repeated the prompt")
    _check_opening(text, source)
    if _weight(text) < SHORTEST_CHARS:
        raise DigestError("too-short", f"{len(text)} characters")
    if len(text) > room_chars:
        raise DigestError("too-long", f"{len(text)} characters, {room_chars} were asked for")
    other = mismatch(text, source)
    if other:
        raise DigestError("language", other)
    made_up = made_up_literals(text, source)
    if made_up:
        raise DigestError("literals", f"the source does not hold {', '.join(made_up[:5])[:200]}")
    _check_related(text, source)
    if _weight(text) < min(LONGEST_NEEDED_CHARS, int(room_chars * SHORTEST_SHARE)):
        raise DigestError("too-short", f"{len(text)} characters of {room_chars}")


def made_up_literals(text: str, source: str) -> list[str]:
    """Literals, numbers, names and quotations that the source lacks, each once.

    Stricter than the check of deterministic digests: a model may not count either, a capital inside a sentence makes a
    name, and a quotation is word for word.
    """
    text = _LIST_MARK.sub("", text)
    found = dict.fromkeys(unsupported(text, source))
    found.update(dict.fromkeys(_numbers_made_up(text, source)))
    found.update(dict.fromkeys(_names_made_up(text, source)))
    plain = _plain(unescaped(source))
    for match in _QUOTED.finditer(text):
        quoted = match.group(1) or match.group(2)
        if _plain(quoted) not in plain:
            found[quoted] = None
    return list(found)


def _weight(text: str) -> int:
    """Characters; a sign of Chinese says about what three letters do."""
    return len(text) + 2 * len(_DENSE.findall(text))


def _check_opening(text: str, source: str) -> None:
    opening = text[:OPENING_CHARS]
    for kind, rule, where in (("refusal", _REFUSAL, opening), ("error-text", _ERROR, opening.lstrip())):
        said = rule.search(where)
        # A text that speaks of errors, or a letter that says sorry, may be told of in its own words.
        if said and said.group().lower() not in source.lower():
            raise DigestError(kind, " ".join(opening.split())[:80])
    ordered = _ORDER.search(text)
    if ordered:
        raise DigestError("instructions", f"it passes on {' '.join(ordered.group().split())!r}")


def _numbers_made_up(text: str, source: str) -> Iterator[str]:
    known: set[str] = set()
    for number in _NUMBER.findall(source):
        known.update((number, number.replace(",", ""), *number.split(","), *re.split("[.,]", number)))
    for number in _NUMBER.findall(text):
        pieces = [number.replace(",", "")] if _THOUSANDS.fullmatch(number) else number.split(",")
        if number not in known and not all(piece in known for piece in pieces):
            yield number


def _names_made_up(text: str, source: str) -> Iterator[str]:
    names = _NAME.findall(text)
    # German gives every noun a capital.
    if not names or language_of(text) == "German":
        return
    known = _stems(source) | {word.lower() for word in _SHORT.findall(source)}
    for name in names:
        owner = _POSSESSIVE.sub("", name).lower()
        forms = {name.lower(), owner, name[:STEM_CHARS].lower(), owner[:STEM_CHARS]}
        parts = [part for part in owner.split("-") if len(part) > 2]
        told = parts and all(part in known or part[:STEM_CHARS] in known for part in parts)
        if not told and not forms & known:
            yield name


def _check_related(text: str, source: str) -> None:
    stems = _stems(text)
    quarter = max(1, -(-len(source) // QUARTERS))
    places = [_stems(source[start : start + quarter]) for start in range(0, len(source), quarter)]
    known = set().union(*places)
    own = stems & known
    if len(own) < OWN_WORDS_SHARE * len(stems):
        raise DigestError("unrelated", f"{len(own)} of {len(stems)} words come from the source")
    if len(source) < LONG_CHARS:
        return
    only = [[stem in place for place in places] for stem in sorted(own)]
    single = [row.index(True) for row in only if sum(row) == 1]
    if len(set(single)) == 1 and len(single) >= ONE_PLACE_SHARE * len(own):
        raise DigestError("unrelated", "it speaks of one place in the text only")


def _stems(text: str) -> set[str]:
    return {word[:STEM_CHARS].lower() for word in _WORD.findall(text)}


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", text).strip().lower()
