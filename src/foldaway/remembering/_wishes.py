"""What the user wants in general: sentences that state a preference, and those that forbid or demand. English, Chinese.

Word for word. Tasks are not wishes: "fix the tests" is done once, "never touch the tests" may hold the next time too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldaway.model.items import Kind
from foldaway.protocols import Memory
from foldaway.session import Session

LONGEST = 300
"""A longer sentence is a specification; it stays in the log."""
FEWEST_WORDS = 3
READ_CHARS = 12_000
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_PREFERRED = re.compile(
    r"\bI(?:'d| would)? (?:really |generally |usually |always |much )?(?:prefer|rather|like (?:it )?(?:when|if|to))\b"
    r"|\b(?:my|our) (?:preference|convention|preferred)\b|\bwe (?:prefer|always|never)\b"
    r"|\b(?:from now on|in (?:the )?future|going forward|by default|for next time|next time)\b"
    r"|\b(?:call me|please remember|remember that)\b"
    r"|我(?:更)?(?:喜欢|偏好|习惯)|以后(?:请|都)?|今后|记住",
    re.IGNORECASE,
)
_TAGGED = re.compile(r"<([A-Za-z][\w-]{0,40})>.*?</\1>", re.DOTALL)
_RULE = re.compile(
    r"^(?:(?:please|also|and|but|so|then|important)[ ,:]+)*(?:do not|don'?t|avoid|only|make sure|keep)\b"
    r"|\b(?:must|never|always|no longer|not allowed|forbidden|mandatory|under no circumstances)\b|(?-i:\bDO NOT\b)"
    r"|不要|不得|必须|禁止|只能|务必|切勿",
    re.IGNORECASE,
)
"""A sentence that commands; one that only tells of a condition does not."""
_LENIENT = re.compile(r"\b(?:don'?t|do not|no) (?:have|need) to\b|\bit'?s (?:fine|ok)\b|不用|不必", re.IGNORECASE)
"""What looks like a prohibition and is leave."""
_MARKS = "-*•#> \t0123456789.)"
_CHINESE = re.compile(r"[一-鿿]{4}")


def wishes(session: Session) -> Iterator[Memory]:
    """Kinds `preference` and `constraint`; without a key, as two wishes have no common subject by rule."""
    for sentence, request in session.state.constraints.items():
        if _is_rule(sentence):
            yield Memory(text=sentence, kind="constraint", source="user", item=request.item)
    log = session.engine.log
    for item in log.items.values():
        if item.kind in (Kind.USER, Kind.GOAL) and item.id > 0 and item.turn < log.settled:
            for sentence in _preferences(log.text_of(item)):
                yield Memory(text=sentence, kind="preference", source="user", item=item.id)


def _is_rule(sentence: str) -> bool:
    if len(sentence) > LONGEST or sentence.endswith(("?", "？")):
        return False
    return bool(_RULE.search(sentence)) and not _LENIENT.search(sentence) and not _PREFERRED.search(sentence)


def _preferences(text: str) -> Iterator[str]:
    # What programs put into a user's message speaks for the program.
    for sentence in _END.split(_TAGGED.sub("", text[:READ_CHARS])):
        bare = " ".join(sentence.split()).lstrip(_MARKS)
        says = len(bare.split()) >= FEWEST_WORDS or _CHINESE.search(bare)
        if says and len(bare) <= LONGEST and not bare.endswith(("?", "？", ":")) and _PREFERRED.search(bare):
            yield bare
