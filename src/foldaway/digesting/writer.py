"""From a text to a checked digest by a model: prompt, pieces, check, exact values beside."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from foldaway.compressors.base import Fact, Hint
from foldaway.compressors.registry import Registry
from foldaway.digesting import mapreduce
from foldaway.digesting.check import check, made_up_literals
from foldaway.digesting.language import script_shares
from foldaway.digesting.prompt import MERGING, PURPOSE, messages
from foldaway.errors import AskError, DigestError, SettingsError
from foldaway.stores.redaction import redact

Complete = Callable[[Sequence[dict[str, str]], int], str]
"""(messages, most tokens of the answer) -> the answer. Raises AskError when there is none."""
ASKED_SHARE = 0.7
"""Of the room the model is asked for this much: models overrun, and exact values stand beside."""
VALUES_SHARE = 0.3
"""Of the room the exact values take at most this much."""
MOST_OVERRUN = 2.5
"""A longer answer than so many rooms is no digest; a shorter one is cut at a line or a sentence."""
EXTRACT_HEAD = "\nextract:\n"
SMALLEST_EXTRACT_CHARS = 160
ECHO_CHARS = 24
"""An answer that begins with so much of the prompt, in the prompt's words, is no answer."""
FREE_TEXT = frozenset({"text", "markdown", "web page"})
"""Classes of content (see `Digest.content`) that a model is asked about; templates do the others better."""

_MARKER = re.compile(r"\[redacted:[a-z-]+:\d+\]")
_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_ENDS = re.compile(r"(?=\n)|(?<=[.!?])(?=\s)|(?<=[。！？])")
_FENCE = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Writes digests of free text. Holds no state; fails by raising `DigestError`, never by a bad digest."""

    complete: Complete
    """A `ChatClient`, or any function of its shape."""
    name: str
    """Of the model, as the mark of its digests names it."""
    purpose: str = PURPOSE
    piece_chars: int = 12_000
    """A longer text is read in pieces of this size."""
    most_pieces: int = 16
    """Of a longer text so many pieces are read, spread evenly: the bound of what one digest may cost."""
    redact: bool = True
    """Secrets that are found are taken out before a text leaves this machine."""
    rules: Registry = field(default_factory=Registry)
    """The deterministic compressors: for pieces that the model fails at, and for exact values."""

    def __post_init__(self) -> None:
        if self.most_pieces < 1 or self.piece_chars < self.most_pieces * mapreduce.SMALLEST_PART_CHARS:
            raise SettingsError(
                f"piece_chars {self.piece_chars} and most_pieces {self.most_pieces}: a piece has to hold the digests "
                f"of all pieces, {mapreduce.SMALLEST_PART_CHARS} characters each"
            )

    def write(
        self, text: str, *, room_chars: int, title: str = "", beside: str = "", hint: Hint | None = None
    ) -> str:  # fmt: skip
        """A digest of at most `room_chars` characters, checked against the text. Seconds to minutes.

        The model's words come first, then exact values that it left out; what room is left holds the digest by rule,
        so that a short answer loses nothing. `beside`: what stands beside the digest in a view (the call's arguments);
        it may name that too.

        Raises:
            DigestError: the model cannot be reached, or what it wrote may not stand for the text.
        """
        source, beside = (redact(text), redact(beside)) if self.redact else (text, beside)
        read = mapreduce.chosen(source, self.piece_chars, self.most_pieces)
        shown, purpose = source, self.purpose
        if read.of > 1:
            room = min(room_chars, self.piece_chars // len(read.parts) - 2)
            shown = mapreduce.map_parts(read.parts, room, self._part(title, beside), self._by_rule)
            purpose = MERGING
        known = f"{source}\n{beside}"
        said = self._asked(shown, known, int(room_chars * ASKED_SHARE), room_chars, title, purpose)
        skipped = f"\n(read: {len(read.parts)} of {read.of} sections)" if len(read.parts) < read.of else ""
        if len(said + skipped) <= room_chars:
            said += skipped
        said += self._values(source, said, hint or Hint(), room_chars)
        return _MARKER.sub("[redacted]", said + self._extract(source, hint or Hint(), room_chars - len(said)))

    def revise(self, before: str, new: str, originals: str, *, room_chars: int, purpose: str) -> str:
        """A digest of an earlier digest and what is new, checked against all that both came from. Raises as `write`."""
        parts = [before, new, originals]
        before, new, originals = map(redact, parts) if self.redact else parts
        if len(new) > self.piece_chars // 2:
            new = self._by_rule(new, self.piece_chars // 2)
        shown = f"Digest so far:\n{before}\n\nNew:\n{new}"
        said = self._asked(shown, originals, int(room_chars * ASKED_SHARE), room_chars, "", purpose)
        return _MARKER.sub("[redacted]", said)

    def free_text(self, text: str, hint: Hint, room_chars: int) -> bool:
        """Whether a text is of a class that a model digests better than a template. Linear in the text."""
        return self.rules.digest(text, hint, room_chars).content in FREE_TEXT

    # -- inside

    def _asked(self, shown: str, source: str, asked: int, room: int, title: str, purpose: str) -> str:
        # A token of Chinese is about one character, of English about four.
        latin = script_shares(shown[: self.piece_chars]).get("Latin", 0.0) > 0.5
        tokens = max(64, room // 2 if latin else room * 2)
        prompt = messages(shown, title=title, room_chars=asked, purpose=purpose)
        try:
            answer = self.complete(prompt, tokens)
        except DigestError:
            raise
        except AskError as error:
            raise DigestError(error.kind, error.message) from error
        except Exception as error:  # transports are other people's code
            raise DigestError("crash", f"{type(error).__name__} in the transport") from error
        said = _fitted(_bare(answer), room)
        frame = "\n".join(message["content"] for message in prompt).replace(shown, "").lower()
        if said and said[:ECHO_CHARS].lower() in frame and said[:ECHO_CHARS] not in shown:
            raise DigestError("echo", "the model repeated the prompt")
        check(said, source, room, prompted=shown)
        return said

    def _part(self, title: str, beside: str) -> Callable[[str, int], str]:
        def by_model(part: str, room: int) -> str:
            return self._asked(part, f"{part}\n{beside}", int(room * ASKED_SHARE), room, title, self.purpose)

        return by_model

    def _by_rule(self, text: str, room: int) -> str:
        return self.rules.digest(text, Hint(), room).text

    def _values(self, source: str, said: str, hint: Hint, room: int) -> str:
        """Exact values that the model left out, as `key=value`; "" when they do not fit or do not hold."""
        most = min(room - len(said), int(room * VALUES_SHARE))
        line = _as_line(self.rules.digest(source, hint, room).facts, said, most)
        return line if line and not made_up_literals(line, source) else ""

    def _extract(self, source: str, hint: Hint, room: int) -> str:
        room -= len(EXTRACT_HEAD)
        return EXTRACT_HEAD + self.rules.digest(source, hint, room).text if room >= SMALLEST_EXTRACT_CHARS else ""


def _bare(answer: str) -> str:
    """The answer without a reasoning model's thoughts and without a fence around all of it."""
    said = _THINKING.sub("", answer).strip()
    fenced = _FENCE.match(said)
    return fenced.group(1).strip() if fenced else said


def _fitted(said: str, room: int) -> str:
    """The first whole lines or sentences that fit; all of it where they would not fill half of the room."""
    if not room < len(said) <= MOST_OVERRUN * room:
        return said
    ends = [end.start() for end in _ENDS.finditer(said[: room + 1]) if end.start() >= room // 2]
    return said[: ends[-1]].rstrip() if ends else said


def _as_line(facts: Sequence[Fact], said: str, room: int) -> str:
    line = ""
    for fact in facts:
        pair = f"{fact.key}={fact.value}"
        longer = f"{line}; {pair}" if line else f"\nvalues: {pair}"
        if fact.value not in said and pair not in line and len(longer) <= room:
            line = longer
    return line
