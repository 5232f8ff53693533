"""What a user's words confirm: an answer to a question, a value they name, a correction. English and Chinese.

Strict on purpose: a state that holds what nobody confirmed is worse than one that lacks something, since the words
themselves stay in the log. Pure, linear in the text; only the first `READ_CHARS` are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

READ_CHARS = 4_000
ANSWER_CHARS = 280
"""A longer text is a new request, not an answer."""
QUESTION_CHARS = 200
ALONE_CHARS = 40
"""A shorter question does not say what it is about."""
_YES = re.compile(
    r"^\W*(?:yes|yep|yeah|yup|correct|right|exactly|sure|ok|okay|confirmed?|agreed|go ahead|please (?:do|proceed)|"
    r"proceed|sounds good|that'?s (?:right|correct|fine)|do it|i confirm)\b|"
    r"^\W*(?:好的?|是的?|对|没错|正确|确认|可以|同意)",
    re.IGNORECASE,
)
_NO = re.compile(
    r"^\W*(?:no|nope|nah|wrong|incorrect|don'?t|do not|stop|not (?:that|yet|now))\b|^\W*(?:不|别|错)", re.IGNORECASE
)
_HEDGED = re.compile(
    r"^\W*(?:right now|ok(?:ay)? so|no (?:problem|worries|rush)|not sure|对于|对比|是否|不知道|不确定)", re.IGNORECASE
)


def _value(name: str) -> str:
    """A word, perhaps in quotes, as a group of this name."""
    return rf"[\"'`“]?(?P<{name}>[^\s\"'`“”,;。，]{{1,80}})[\"'`”]?"


_NAMED = re.compile(
    rf"\b(?:my|the|our|its|their)\s+(?P<key>[A-Za-z][A-Za-z _-]{{1,30}}?)\s+"
    rf"(?:is|are|was changed to|should be|must be)\s+(?:now\s+)?{_value('value')}"
    rf"|(?P<zh>[一-鿿]{{1,8}})(?:是|为|应该是|改成){_value('zh_value')}",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    rf"\b(?P<verb>use|take|pick|choose|it'?s|it is|should be|make it)\s+{_value('value')}\s*,?\s+"
    rf"(?:instead of|rather than|not)\s+{_value('old')}"
    rf"|\bnot\s+{_value('old_first')}\s*,?\s+(?:but|use)\s+{_value('then')}"
    rf"|用\s*{_value('zh_new')}\s*(?:而不是|代替|不要用)\s*{_value('zh_old')}",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.](?=\S)[^.!?。！？\n]*)*[?？]")
_OPEN = re.compile(
    r"\b(?:what|which|who|whom|when|where|why|how)\b|\b(?:could|can|would|will) you (?:please |kindly )?(?:provide|"
    r"tell|share|give|specify|describe|let me know|send|clarify|explain)\b|什么|哪|谁|怎么|如何|多少|几",
    re.IGNORECASE,
)
"""Questions that yes or no does not answer."""
_POINTERS = frozenset("it that this these those the a an them one my your our any".split())
_LITERAL = re.compile(r"[\d_@/\\.-]|[A-Z]{2}|[a-z][A-Z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A value that the user names, under a key of theirs."""

    key: str
    value: str
    instead_of: str = ""
    """The value that it corrects."""
    corrects: bool = False
    """Said as a correction."""


def answer(text: str) -> str:
    """ "yes" or "no" where a text answers what was asked before, else ""."""
    if len(text) > ANSWER_CHARS or _HEDGED.match(text):
        return ""
    if _YES.match(text):
        return "yes"
    return "no" if _NO.match(text) else ""


def question(text: str) -> str:
    """The last question of an assistant's text that yes or no answers, on one line; "" when it asks none.

    A short one ("Is this correct?") comes with the end of what stands before it.
    """
    found = list(_SENTENCE.finditer(text[-READ_CHARS:]))
    if not found:
        return ""
    asked = " ".join(found[-1].group().split()).lstrip("*-•#> ")
    if _OPEN.search(asked):
        return ""
    if len(asked) < ALONE_CHARS:
        before = " ".join(text[-READ_CHARS:][: found[-1].start()].split())
        asked = f"{_ending(before, QUESTION_CHARS - len(asked))} {asked}".strip()
    return _ending(asked, QUESTION_CHARS)


def _ending(text: str, limit: int) -> str:
    return text if len(text) <= limit else "…" + text[1 - limit :]


def named(text: str) -> Iterator[Named]:
    """Values that the user names: `my user id is mia_li_3668`, `use port 8081 instead of 8080`."""
    text = text[:READ_CHARS]
    corrects = bool(_NO.match(text)) or text.lstrip().lower().startswith(("actually", "sorry", "correction"))
    for match in _INSTEAD.finditer(text):
        value = match["value"] or match["then"] or match["zh_new"]
        old = match["old"] or match["old_first"] or match["zh_old"]
        value, old = _trim(value), _trim(old)
        chosen = (match["verb"] or "").lower() in ("use", "take", "pick", "choose") and not {value, old} & _POINTERS
        if value != old and (chosen or _LITERAL.search(value + old)):
            yield Named(key=f"instead of {old}", value=value, instead_of=old, corrects=True)
    for match in _NAMED.finditer(text):
        value = _trim(match["value"] or match["zh_value"])
        if value and _LITERAL.search(value):
            yield Named(key=key_of(match["key"] or match["zh"]), value=value, corrects=corrects)


def key_of(text: str) -> str:
    """A key as all who name it write it: `User ID`, `user_id` -> `user id`."""
    return " ".join(re.sub(r"[_\-\s]+", " ", text).lower().split())


def _trim(value: str) -> str:
    return value.rstrip(".!?:)]}").lstrip("([{")
