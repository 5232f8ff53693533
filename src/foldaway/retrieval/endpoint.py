"""Vectors of any endpoint that speaks OpenAI's /v1/embeddings."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from foldaway.asking.client import Client
from foldaway.errors import AskError

BATCH = 64
MOST_CHARS = 20_000
"""Of a longer text only the first are sent: most models take 8,192 tokens and refuse more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointEmbedder(Client):
    """Asks one model for vectors, `BATCH` texts a request. Keys, timeouts and retries: see `Client`."""

    dims: int
    """Of this model's vectors; another length in an answer is an error, never stored."""
    max_reply_bytes: int = 20_000_000

    @property
    def name(self) -> str:
        return f"endpoint-{self.model}-{self.dims}"

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """Unit vectors, one a text; all zeros for a blank text, and for one the endpoint refuses while it takes others.

        Raises:
            AskError: no answer came, or it was none ("timeout", "unreachable", "status", "protocol").
        """
        found: list[Sequence[float]] = [array("f", bytes(4 * self.dims))] * len(texts)
        told = [n for n, text in enumerate(texts) if text.strip()]
        for start in range(0, len(told), BATCH):
            these = told[start : start + BATCH]
            for n, vector in zip(these, self._batch([texts[n][:MOST_CHARS] for n in these]), strict=True):
                found[n] = vector
        return found

    def _batch(self, texts: Sequence[str]) -> list[Sequence[float]]:
        try:
            return self._asked(texts)
        except AskError as error:
            if error.kind != "status" or len(texts) == 1:
                raise
            return self._one_by_one(texts, error)

    def _one_by_one(self, texts: Sequence[str], refused: AskError) -> list[Sequence[float]]:
        """One text that a model does not take must not keep the others of its batch from being found."""
        found: list[Sequence[float]] = []
        taken = 0
        for text in texts:
            try:
                found += self._asked([text])
                taken += 1
            except AskError as error:
                if error.kind != "status" or (len(found) > 2 and not taken):
                    raise
                found.append(array("f", bytes(4 * self.dims)))
        if not taken:
            raise refused
        return found

    def _asked(self, texts: Sequence[str]) -> list[Sequence[float]]:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        body = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        reply = self.post("/embeddings", body, headers)
        try:
            rows = sorted(json.loads(reply)["data"], key=lambda row: int(row["index"]))
            vectors = [[float(value) for value in row["embedding"]] for row in rows]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise AskError("protocol", "the answer holds no embeddings") from error
        if len(vectors) != len(texts) or any(len(vector) != self.dims for vector in vectors):
            shapes = f"{len(vectors)} of {len(vectors[0]) if vectors else 0} dimensions"
            raise AskError("protocol", f"expected {len(texts)} vectors of {self.dims} dimensions, got {shapes}")
        return [_unit(vector) for vector in vectors]


def _unit(vector: Sequence[float]) -> Sequence[float]:
    length = math.sqrt(sum(value * value for value in vector))
    if not math.isfinite(length):
        raise AskError("protocol", "the answer holds numbers that are none")
    return array("f", [value / length for value in vector] if length else vector)
