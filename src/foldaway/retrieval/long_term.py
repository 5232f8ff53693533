"""Long-term memory as a session asks it: a retriever with its reader, behind the one verb of `Recollector`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from foldaway.protocols import Filter, Passage, Reader
from foldaway.retrieval.retriever import Retriever

LEAST_SURE = 0.34
"""More than one rare word, or than a third of the question: what comes in unasked shall not come by chance. What that
keeps out, and what it costs, is measured: docs/results.md."""


@dataclass(frozen=True, slots=True)
class LongTerm:
    """The memories that one reader may see: `Session(retriever=LongTerm(Retriever(store), Reader(owner="ann")))`."""

    retriever: Retriever
    reader: Reader
    among: Filter = field(default_factory=lambda: Filter(current_only=True))
    """Superseded facts stay out: what comes in unasked shall hold now."""
    now: Callable[[], str] | None = None
    """UTC, ISO 8601; without it nothing ages."""

    def recollect(self, query: str, limit: int) -> Sequence[Passage]:
        now = self.now() if self.now is not None else ""
        found = self.retriever.retrieve(self.reader, query, self.among, limit, now=now, least_sure=LEAST_SURE)
        return [
            Passage(text=f.memory.text, source=f.cited().strip("[]"), ref=f.memory.id) for f in found
        ]  # fmt: skip
