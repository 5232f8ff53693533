"""Queries made ready: short ones get what they speak of from the dialogue, long ones their most said words.

"What about that file?" finds nothing by itself; the file stands in one of the last turns. A page of instructions holds
hundreds of words that every memory holds too; what it is about it says several times.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from foldaway.linking.anchors import AnchorKind, anchors
from foldaway.retrieval.exact import literals
from foldaway.retrieval.words import STOP, content_words, is_dense, raw_words

SHORT_WORDS = 8
"""Content words up to which a query may get entities from the dialogue."""
FEW_WORDS = 1
"""Content words up to which it gets them even without a pronoun: "and the price?"."""
LAST_TURNS = 4
MOST_ENTITIES = 6
MOST_WORDS = 40
"""Distinct words of a query that are looked up."""
_TURN_CHARS = 4_000

_POINTS_BACK = re.compile(
    r"\b(?:it|its|that|this|those|these|they|them|their|he|him|she|her|his|one|ones|same|there|then|again|former|latter)\b"
    r"|\bthe (?:file|error|function|method|class|module|script|page|link|order|ticket|issue|bug|customer|person|table|"
    r"document|test|branch|commit|account|card|item|project|server)\b"
    r"|它|他|她|这个|那个|这些|那些|这份|那份|这里|那里|该(?:文件|函数|问题|错误|订单|项目|用户)|上面|上述|刚才|刚刚|此",
    re.IGNORECASE,
)
_KINDS: tuple[tuple[re.Pattern[str], frozenset[AnchorKind]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), frozenset(kinds))
    for pattern, kinds in (
        (r"\b(?:file|script|module|document|folder)\b|文件|脚本|模块|文档", (AnchorKind.PATH, AnchorKind.FILE)),
        (r"\b(?:url|link|page|site|website)\b|链接|网页|网址|网站", (AnchorKind.URL,)),
        (r"\b(?:function|method|class|variable|setting|field)\b|函数|方法|变量|字段", (AnchorKind.NAME,)),
        (r"\b(?:order|ticket|issue|id|number|code|commit)\b|订单|工单|编号|号码", (AnchorKind.ID, AnchorKind.NUMBER)),
    )
)
"""What a query that says "that file" takes from the dialogue."""
_NAME = re.compile(r"\b[A-Z][\w'’]+(?: (?:of |de |von |van )?[A-Z][\w'’]+)*")
_SENTENCE = re.compile(r"(?:^|[.!?:。！？]\s*|\n\s*|[\"“(]\s*)$")


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked up for a query."""

    text: str
    """As asked, with the entities added."""
    words: str
    """Its words for a word index: the text itself, or the most said of a long one."""
    added: tuple[str, ...] = ()
    """Entities taken from the dialogue."""
    long: bool = False
    """A page rather than a question: no text covers it, and what it quotes is not what it asks for."""


def rewrite(query: str, dialogue: Sequence[str] = ()) -> Query:
    """The query made ready; `dialogue` is the newest turns' texts, the newest last. Pure, O(size of both)."""
    added = _entities(query, dialogue[-LAST_TURNS:]) if dialogue and needs_dialogue(query) else ()
    text = " ".join((query, *added))
    words = _condensed(text)
    return Query(text, words, added, long=words != text)


def needs_dialogue(query: str) -> bool:
    """Short, names nothing by itself, and points back or says next to nothing."""
    words = content_words(query)
    if len(words) > SHORT_WORDS or literals(query)[0]:
        return False
    return len(words) <= FEW_WORDS or _POINTS_BACK.search(query) is not None


def _entities(query: str, turns: Sequence[str]) -> tuple[str, ...]:
    """What the last turns named, the newest turn's first; of the kind that the query asks for where it says so."""
    wanted = next((kinds for pattern, kinds in _KINDS if pattern.search(query)), None)
    found: dict[str, None] = {}
    rest: dict[str, None] = {}
    for turn in reversed(turns):
        turn = turn[-_TURN_CHARS:]
        kinds = anchors(turn)
        for literal, kind in kinds.items():
            (found if wanted is None or kind in wanted else rest)[literal] = None
        quoted, _ = literals(turn)
        rest.update(dict.fromkeys(literal for literal in quoted if literal not in kinds))
        rest.update(dict.fromkeys(_names(turn)))
    chosen = found if found and wanted is not None else {**found, **rest}
    known = query.casefold()
    return tuple(literal for literal in chosen if literal.casefold() not in known)[:MOST_ENTITIES]


def _names(text: str) -> list[str]:
    """Capitalised words inside a sentence."""
    return [
        match.group()
        for match in _NAME.finditer(text)
        if " " in match.group() or not _SENTENCE.search(text[max(0, match.start() - 4) : match.start()])
    ]


def _condensed(text: str) -> str:
    counts = Counter(word for word in raw_words(text) if word not in STOP or is_dense(word))
    if len(counts) <= MOST_WORDS:
        return text
    # A quotation of several words is how somebody talks, not a name.
    strong = [literal for literal in literals(text)[0] if " " not in literal]
    # Sorting is stable: of words said equally often those said first.
    most_said = sorted(counts, key=lambda word: -counts[word])[:MOST_WORDS]
    return " ".join((*strong, *most_said))
