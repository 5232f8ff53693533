"""User words in short: every instruction, constraint and literal kept word for word, the rest left out with a mark.

Used only when user words alone would take more than their share of the room. Works sentence by sentence; a sentence
stays when it is the first or last, asks for something, forbids something, or holds a literal. Chinese included.
"""

from __future__ import annotations

import re

from foldaway.linking.anchors import anchors

_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.!?。！？]+(?=\s|$|[^\x00-\x7f])|\n|$)|[^\n]+")
_BINDING = re.compile(
    r"\b(?:must|never|always|only|do not|don't|dont|should|shall|avoid|instead|without|except|unless|ensure|make sure|"
    r"no longer|not|remember|keep|use|please|want|need|important|require[sd]?|prefer|ban|stop|forbid|allow|can't|cannot|"
    r"add|remove|delete|change|fix|write|create|rename|run|test|update|move|replace|implement|commit|push|revert|undo)\b"
    r"|不要|不得|必须|禁止|只能|请|务必|应该|需要|别|切勿|改|删|加",
    re.IGNORECASE,
)


def abstract_words(text: str, ask: str) -> str:
    """The binding sentences of a user's text, and a mark with `ask` (how to get the whole) for what is left out."""
    sentences = [m.group() for m in _SENTENCE.finditer(text) if m.group().strip()]
    kept, left_out = [], 0
    for number, sentence in enumerate(sentences):
        binding = number in (0, len(sentences) - 1) or _BINDING.search(sentence) or anchors(sentence) or '"' in sentence
        if binding or "`" in sentence or "'" in sentence:
            kept.append(sentence)
        else:
            left_out += len(sentence.split()) or 1
    if not left_out:
        return text
    return "".join(kept).rstrip() + f"\n[foldaway: {left_out} words of this message left out. {ask}]"
