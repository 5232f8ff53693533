"""When to look into the memory: at events, not at every step.

Five events: the user refers to what was before, somebody asks for a preference, the user asks what only he knows
("where did I put ..."), the user names a thing that this session has never seen, the work enters a new phase. Words
decide, in English and Chinese; pasted blocks are not listened to.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from foldaway.retrieval.exact import literals

LISTENED_CHARS = 2_000
"""Of a turn that is longer, head and tail of this size each: people ask at the beginning or the end."""
MOST_NAMED = 4
_QUERY_CHARS = 500


class Trigger(StrEnum):
    HISTORY = "reference to history"
    PREFERENCE = "preference question"
    PERSONAL = "personal question"
    ENTITY = "unknown entity"
    PHASE = "new phase"


@dataclass(frozen=True, slots=True)
class Event:
    kind: Trigger
    query: str
    """What to look for."""
    why: str
    """The words, the entities or the phase that triggered it."""


@dataclass(frozen=True, slots=True)
class Said:
    role: Literal["user", "assistant", "tool"]
    text: str


def _any(english: Sequence[str], chinese: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(english)})|{'|'.join(chinese)}", re.IGNORECASE)


_HISTORY = _any(
    (
        r"(?:as|like|than) (?:before|last time|we (?:did|had|discussed|agreed|decided|said))\b",
        r"(?:as|like) i (?:said|mentioned|told)\b",
        r"(?:last|previous|other|earlier) (?:session|conversation|chat|meeting|sprint)\b",
        r"last time (?:we|you|i|it)\b",
        r"(?:earlier|previously|yesterday|last week|last month),? (?:we|you|i) ",
        r"(?:we|you|i) (?:\w+ )?(?:\w+ )?(?:previously|earlier|last time|yesterday|last week|last month)\b",
        r"(?:do|can|don't) you (?:still )?remember\b",
        r"(?<!n't )(?<!n’t )(?<!not )remember (?:when|how|what|that (?:we|you|i|time)|our|my|the time)\b",
        r"(?:we|you)(?:'ve| have)? (?:already )?(?:talked|discussed|agreed|decided) (?:about|on|that|to|this|it)\b",
        r"as (?:always|usual)\b|the usual\b",
        r"where we (?:left off|stopped)\b",
    ),
    (
        r"上次|上一次|上回|还记得|记不记得|记得吗|像以前|跟以前|和以前一样|像之前|跟之前|和之前一样|照旧|老样子|照常",
        r"(?:我们|我|你)(?:之前|以前|先前|早先|昨天|上周|上个月|前几天)",
        r"(?<!在)(?:之前|以前|昨天|上周)(?:我们|我|你)?(?:说|提|聊|讨论|决定|约定|商量|讲)(?:过|到|好|的|了)",
    ),
)
_PREFERENCE = _any(
    (
        r"what(?:'s| is| are| was| were) my (?:\w+ )?(?:favou?rite|preferred|preference|usual|default|habit)",
        r"(?:what|which)\b[^.?!\n]{0,40}\b(?:do|would|did) i (?:usually |normally )?(?:like|prefer|use|drink|eat)\b",
        r"do i (?:usually |normally )?(?:like|prefer)\b",
        r"my (?:usual|preferred|favou?rite|preferences?)\b",
        r"(?:the way i|how i) (?:like|want|prefer) (?:it|them|things)\b",
    ),
    (
        r"我(?:通常|平时|一般|习惯|最)?(?:喜欢|偏好|爱用|爱吃|爱喝|习惯用)(?:什么|哪|吗|用什么|怎)",
        r"我的(?:偏好|习惯|默认)|按我的(?:喜好|习惯)",
    ),
)
_ASKED_BACK = _any(
    (
        r"(?:do|would) you prefer\b(?! to)",
        r"what(?:'s| is| are) your (?:preferred|preference|favou?rite)",
        r"which (?:one |option |\w+ )?(?:do|would) you (?:prefer|like best)",
    ),
    (r"(?:更喜欢|偏好)(?:哪|什么)|你的偏好是",),
)
_ABOUT_ONESELF = re.compile(
    r"\b(?:what|which|whose|whom?|where|when|how (?:old|many|much|often|long|far|tall|big))\b"
    r"(?=[^?\n]*\b(?:i|me|my|mine|myself)\b)"
    r"|我(?!们|应该|该|要|需要|可以|能|怎|如何)[^。！？?\n]{0,30}(?:什么|哪|谁|几|多少|何时)",
    re.IGNORECASE,
)
_ABOUT_WORK = re.compile(
    r"\b(?:should|can|could|shall|must|might|may|will|would|need to) (?:i|we|you)\b|\bwrong with my\b"
    r"|\b(?:do|am) i (?:need|have to(?! \w+ for)|do|get|go about|fix|change|add|use|put|run|set|configure|install|call|"
    r"write|make|create|handle|missing|doing|supposed|going)\b"
    r"|\b(?:give|send|show|tell|help|let|get|for|to|call|walk|ask(?:ed|ing)?) me\b"
    r"|\bi (?:need|want to (?:know|see|ask)|would like|'d like|(?:was )?wonder(?:ing)?)\b"
    r"|\bmy (?:code|script|build|app|config|branch|repo|quer(?:y|ies)|"
    r"(?:test|command|error|function|program|file|question|request)s?)\b|怎么|如何",
    re.IGNORECASE,
)
"""Asking for advice or for work: what the one who asks does not know either."""
# A full stop inside "3 a.m. on Monday" or "v1.2" ends nothing. Every match goes on where the last ended: linear.
_WHOLE_SENTENCES = re.compile(r"(?:[^.!?。！？\n]|\.(?! +[A-Z]|\s*\n))+[.!?。！？]*")
_FENCED = re.compile(r"```.*?(?:```|\Z)|<([\w-]+)[^>]*>.*?</\1>", re.DOTALL)
_SENTENCES = re.compile(r"[^.!?。！？\n]*[.!?。！？]?")


def find_event(newest: Sequence[Said], *, seen: Container[str], phase: str = "", before: str = "") -> Event | None:
    """The event that the newest turns are, or None; the most telling one where there are several.

    `newest`: what was said since the last look. `seen`: literals that this session has met before these turns; `phase`
    and `before`: what work is going on now, and what was (a change with a word of the user's to search by is an event).
    Pure. O(size of the newest turns).
    """
    user = "\n".join(_listened(said.text) for said in newest if said.role == "user").strip()
    agent = "\n".join(_listened(said.text) for said in newest if said.role == "assistant").strip()
    for kind, pattern in ((Trigger.HISTORY, _HISTORY), (Trigger.PREFERENCE, _PREFERENCE)):
        if match := pattern.search(user):
            return Event(kind, _around(user, match), match.group().strip())
    if match := _ASKED_BACK.search(agent[-LISTENED_CHARS:]):
        return Event(Trigger.PREFERENCE, _around(agent, match), match.group().strip())
    if personal := _about_oneself(user):
        return personal
    strong, _ = literals(user)
    # A quotation is how somebody talks as often as it is a name.
    unknown = [literal for literal in strong if not _is_prose(literal) and literal not in seen][:MOST_NAMED]
    if unknown:
        return Event(Trigger.ENTITY, " ".join(unknown), ", ".join(unknown))
    if phase and before and phase != before:
        about = user or agent
        return Event(Trigger.PHASE, about[:_QUERY_CHARS], f"{before} -> {phase}") if about else None
    return None


def _about_oneself(user: str) -> Event | None:
    for asked in _WHOLE_SENTENCES.findall(user):
        if not asked.endswith(("?", "？")) or _ABOUT_WORK.search(asked):
            continue
        if match := _ABOUT_ONESELF.search(asked):
            return Event(Trigger.PERSONAL, asked.strip()[:_QUERY_CHARS], match.group().strip())
    return None


def _listened(text: str) -> str:
    """What somebody says, without what is pasted."""
    text = _FENCED.sub(" ", text)
    if len(text) > 2 * LISTENED_CHARS:
        text = f"{text[:LISTENED_CHARS]}\n{text[-LISTENED_CHARS:]}"
    return text


def _around(text: str, match: re.Match[str]) -> str:
    """The sentence of a match; words that point at the past find nothing by themselves."""
    for sentence in _SENTENCES.finditer(text):
        if sentence.start() <= match.start() < sentence.end():
            return sentence.group().strip()[:_QUERY_CHARS]
    return text[:_QUERY_CHARS]


def _is_prose(literal: str) -> bool:
    """Words, emphasised ones too; a name in Chinese is no prose here."""
    return " " in literal or (literal.isascii() and literal.strip("_*").isalpha() and literal.strip("_*").islower())
