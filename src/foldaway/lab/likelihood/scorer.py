"""What the lab asks of a model that reads, and a wrapper that keeps its answers on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

ANSWERS = 1
"""Version of the saved answers; part of their key."""


@dataclass(frozen=True, slots=True)
class Likelihood:
    """How likely a model finds a given text, token by token."""

    logprobs: tuple[float, ...]
    """Natural logarithms: nats, <= 0. One for each token of the text."""
    ends: tuple[int, ...]
    """Where each token ends: bytes of the text's UTF-8."""

    @property
    def total(self) -> float:
        return sum(self.logprobs)

    @property
    def tokens(self) -> int:
        return len(self.logprobs)

    @property
    def per_token(self) -> float:
        return self.total / len(self.logprobs) if self.logprobs else 0.0

    def over(self, start: int, end: int) -> tuple[float, int]:
        """(sum, tokens) over the tokens that share a byte with [start, end)."""
        begins = (0, *self.ends)
        hit = [lp for lp, a, b in zip(self.logprobs, begins, self.ends, strict=False) if a < end and b > start]
        return sum(hit), len(hit)


class Scorer(Protocol):
    """A language model that tells how likely a given continuation is.

    A scorer may keep the state of the context it read last, so contexts that share their front are best asked for
    one after the other.
    """

    @property
    def name(self) -> str:
        """Which model, which engine: all that its answers depend on."""
        ...

    @property
    def window_tokens(self) -> int:
        """The most that context and continuation may come to, in the model's own tokens."""
        ...

    def count(self, text: str) -> int:
        """Tokens of the model in a text."""
        ...

    def loglik(self, context: str, continuation: str, take: int = 0) -> Likelihood:
        """Teacher-forced log-likelihood of the continuation.

        Context and continuation are tokenised apart, so that the same continuation is the same tokens behind every
        context. `take` numbers repeated measurements: a cache must not answer one with another.
        """
        ...


class CachedScorer:
    """A scorer whose answers are kept in a folder, one small JSON file each, by the hash of all they depend on."""

    def __init__(self, scorer: Scorer, folder: Path) -> None:
        self._scorer = scorer
        self._folder = folder
        self.asked = 0
        """How often the scorer itself had to be asked."""

    @property
    def name(self) -> str:
        return self._scorer.name

    @property
    def window_tokens(self) -> int:
        return self._scorer.window_tokens

    def count(self, text: str) -> int:
        return self._scorer.count(text)

    def loglik(self, context: str, continuation: str, take: int = 0) -> Likelihood:
        key = content_key(self.name, str(take), context, continuation)
        file = self._folder / key[:2] / f"{key}.json"
        known = _read(file)
        if known is None:
            known = self._scorer.loglik(context, continuation, take)
            self.asked += 1
            _write(file, known)
        return known


def content_key(*parts: str) -> str:
    """One hash over several texts."""
    data = json.dumps([ANSWERS, *parts], ensure_ascii=True)
    return hashlib.blake2b(data.encode("ascii"), digest_size=16).hexdigest()


def _read(file: Path) -> Likelihood | None:
    try:
        data = json.loads(file.read_text("utf-8"))
        return Likelihood(_floats(data["logprobs"]), tuple(int(end) for end in data["ends"]))
    except (OSError, ValueError, KeyError, TypeError):
        # A cache: whatever is wrong with it, the model can be asked again.
        return None


def _floats(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _write(file: Path, answer: Likelihood) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(json.dumps({"logprobs": answer.logprobs, "ends": answer.ends}), "utf-8")
    part.replace(file)
