"""The running digest of a stage: updated with what is new, written anew from the originals every few updates.

An update reads the digest before and the new text only, so its cost does not grow with the stage; but what a model left
out or blurred stays so. The full rewrite keeps such errors from adding up (spec S3.1).
"""

from __future__ import annotations

from dataclasses import dataclass

from foldaway.compressors.base import Hint
from foldaway.digesting.prompt import UPDATING
from foldaway.digesting.writer import Writer
from foldaway.errors import DigestError, SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A stage so far."""

    text: str = ""
    """The digest; after a failure the deterministic one of all originals."""
    originals: tuple[str, ...] = ()
    updates: int = 0
    """Updates since the digest was last written from the originals."""
    failed: str = ""
    """Why the last update is not the model's; "" when it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningDigest:
    """Keeps a stage's digest. `update` takes as long as the model does: call it from a thread of its own."""

    writer: Writer
    room_chars: int = 2_000
    rewrite_every: int = 5
    """Every so many updates the digest is written anew from the originals."""

    def __post_init__(self) -> None:
        if self.rewrite_every < 1:
            raise SettingsError(f"rewrite_every {self.rewrite_every}: expected 1 or more updates")

    def update(self, running: Running, new: str) -> Running:
        """The stage with one more text in it. Never raises for what a model does."""
        originals = (*running.originals, new)
        whole = "\n\n".join(originals)
        anew = not running.text or bool(running.failed) or running.updates + 1 >= self.rewrite_every
        try:
            text = self._anew(whole) if anew else self._revised(running.text, new, whole)
        except DigestError as error:
            return Running(text=self._by_rule(whole), originals=originals, updates=running.updates, failed=str(error))
        return Running(text=text, originals=originals, updates=0 if anew else running.updates + 1)

    def _anew(self, whole: str) -> str:
        return self.writer.write(whole, room_chars=self.room_chars) if len(whole) > self.room_chars else whole

    def _revised(self, before: str, new: str, whole: str) -> str:
        return self.writer.revise(before, new, whole, room_chars=self.room_chars, purpose=UPDATING)

    def _by_rule(self, whole: str) -> str:
        return self.writer.rules.digest(whole, Hint(), self.room_chars).text
