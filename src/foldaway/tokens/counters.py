"""Counters of plain text: OpenAI's own encodings, estimates built on them, and a memo around either.

All of them take any `str`: lone surrogates, NUL and the texts of special tokens are plain text here. All are linear
in the length of the text, one million equal characters included, and none touches the network.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from foldaway.protocols import TokenCounter

_DIGITS = b"0123456789"
_NOT_NARROW = bytes(b for b in range(256) if not 0xC2 <= b <= 0xDF)
_NOT_WIDE = bytes(b for b in range(256) if not 0xE1 <= b <= 0xF4)
_CONTINUATION = bytes(range(0x80, 0xC0))
_ABOVE_ASCII = bytes(range(0x80, 0x100))


@dataclass(frozen=True, slots=True)
class OpenAi:
    """Exact for models of one OpenAI encoding: `cl100k_base` or `o200k_base`. The first count loads it (< 1 s).

    Against tiktoken: equal on all real text tried; one token less for an `'s` behind a combining mark.
    """

    name: str = "o200k_base"
    exact: bool = True
    margin: float = 0.0

    def count(self, text: str) -> int:
        return count_encoded(self.name, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Tokens of a model whose tokenizer is not at hand, from those of o200k and from the scripts of the text.

    tokens = text * o200k + digit * digits + narrow * two-byte letters + indic * South Asian and Thai letters
    + wide * other characters (CJK, Hangul, emoji), and never less than an eighth of the UTF-8 bytes (long runs of
    one character are cheaper for o200k than for most). `families.py` holds the figures and says where they are from.
    """

    name: str
    text: float
    digit: float = 0.0
    narrow: float = 0.0
    indic: float = 0.0
    wide: float = 0.0
    margin: float = 0.15
    exact: bool = False

    def count(self, text: str) -> int:
        if not text:
            return 0
        raw = text.encode("utf-8", "replace")
        tokens = self.text * count_encoded("o200k_base", text)
        if self.digit:
            tokens += self.digit * (len(raw) - len(raw.translate(None, _DIGITS)))
        if not raw.isascii():
            # The first byte of a UTF-8 sequence tells the script roughly: C2-DF Latin to Arabic, E0 Indic and Thai.
            tokens += self.narrow * len(raw.translate(None, _NOT_NARROW))
            tokens += self.indic * raw.count(b"\xe0")
            tokens += self.wide * len(raw.translate(None, _NOT_WIDE))
        return math.ceil(max(tokens, len(raw) / 8))


@dataclass(frozen=True, slots=True)
class PlainEstimate:
    """A quarter of the ASCII bytes plus one for every other character: no tokenizer, the same everywhere."""

    name: str = "plain"
    exact: bool = False
    margin: float = 0.5

    def count(self, text: str) -> int:
        if text.isascii():
            return math.ceil(len(text) / 4)
        raw = text.encode("utf-8", "surrogatepass")
        ascii_bytes = len(raw.translate(None, _ABOVE_ASCII))
        others = len(raw.translate(None, _CONTINUATION)) - ascii_bytes
        return math.ceil(ascii_bytes / 4) + others


@dataclass(slots=True)
class Memo:
    """Another counter, remembering the longer texts it has counted. Safe to share between threads.

    Keyed by the text itself, so two texts are never taken for one another, and asking again about the very same
    object costs one dictionary look-up. Holds at most about `room_chars` characters; what was not asked for during
    the last half of that is let go.
    """

    counter: TokenCounter
    room_chars: int = 16_000_000
    # Counting a short text anew is as fast as looking it up.
    shortest: int = 200
    _young: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    _old: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    _young_chars: int = field(default=0, init=False, repr=False)

    @property
    def name(self) -> str:
        return self.counter.name

    @property
    def exact(self) -> bool:
        return self.counter.exact

    @property
    def margin(self) -> float:
        return self.counter.margin

    def count(self, text: str) -> int:
        if len(text) < self.shortest:
            return self.counter.count(text)
        known = self._young.get(text)
        if known is not None:
            return known
        known = self._old.get(text)
        if known is None:
            known = self.counter.count(text)
        self._keep(text, known)
        return known

    def _keep(self, text: str, tokens: int) -> None:
        # Every step is one atomic dictionary operation: a race costs a count, never a wrong one.
        if self._young_chars + len(text) > self.room_chars // 2:
            self._old = self._young
            self._young = {}
            self._young_chars = 0
        if len(text) <= self.room_chars // 2:
            self._young[text] = tokens
            self._young_chars += len(text)


def count_encoded(encoding: str, text: str) -> int:
    """Tokens of `text` in an OpenAI encoding, special tokens' texts taken as plain text.

    A lone surrogate counts as the replacement character, as tiktoken has it.
    """
    count = _encoder(encoding)
    try:
        return count(text)
    except UnicodeEncodeError:
        return count(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


@cache
def _encoder(encoding: str) -> Callable[[str], int]:
    import toktok  # loads 4 MB of tables: at the first count, not at import

    # The public call takes a batch and costs 30 us a text, the private one 1 us.
    private = getattr(toktok, "_encoding", None)
    count = getattr(private(encoding), "count", None) if private is not None else None
    if count is not None:

        def one(text: str) -> int:
            return int(count(text))

        return one

    def batch(text: str) -> int:
        return int(toktok.batch_count([text], encoding, threads=1)[0])

    return batch
