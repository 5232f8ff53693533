"""Texts as a ranking compares them: folded words in order, without the words that say nothing, CJK in pairs.

Not the terms of the word index (those are the store's own): here "owns" and "owned" are one word, since what is
compared are a query and a few candidates, and a wrong match costs little.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_DENSE = "\u0e00-\u0eff\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_DENSE}]+|[^\W_{_DENSE}]+")
_DENSE_RUN = re.compile(rf"[{_DENSE}]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

STOP = frozenset(
    "a about above after again all also am an and any are as at be because been before being below between both but by "
    "can could did do does doing done down during each either else ever every few for from further get gets got had "
    "has have having he her here hers him his how i if in into is it its itself just let like made make many may me "
    "might more most much must my no nor not now of off on once only or other our ours out over own per please "
    "same shall she should since so some still such than that the their theirs them then there these they thing things "
    "this those through to too under until up us use used using very was we well were what when where which while who "
    "whom whose why will with within without would yes yet you your yours re ve ll don didn doesn isn wasn aren "
    "tell show give know say said".split()
)
"""English words that stand in every text. Other languages come by without a list: their common words only cost rank."""
STOP_PAIRS = frozenset(
    "什么 怎么 如何 哪个 哪些 哪里 是否 为什 么样 请问 可以 我们 你们 他们 这个 那个 一个 一下 的是 了吗 是什 "
    "吗？ 是的 有没 没有 有什 么时 时候 多少 告诉 诉我".split()
)

_SUFFIXES = ("ingly", "edly", "ings", "ing", "ied", "ies", "edly", "ed", "es", "s", "ly")


def folded(text: str) -> str:
    """Compatibility forms and case folded."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word without its commonest English endings; short words and words with digits as they are."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            word = word[: -len(suffix)] + ("y" if suffix in ("ies", "ied") else "")
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "aeious":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def raw_words(text: str) -> list[str]:
    """The words of a text in order, case kept out, compound names cut apart; runs of CJK whole."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return [word.casefold() for word in _TOKEN.findall(_CAMEL.sub(" ", text))]


def is_dense(word: str) -> bool:
    """Written without blanks between words."""
    return _DENSE_RUN.match(word) is not None


def pairs(run: str) -> list[str]:
    """A run of CJK as overlapping pairs of characters; one character alone stays one."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def content_words(text: str) -> list[str]:
    """The words that tell something, stemmed, in order, repeats kept. O(len(text))."""
    found: list[str] = []
    for word in raw_words(text):
        if is_dense(word):
            found += [pair for pair in pairs(word) if pair not in STOP_PAIRS]
        elif word not in STOP:
            found.append(stem(word))
    return found
