"""What comes in unasked: answers that are in the memory, and passages by chance where none is.

Questions of one user are asked of that user's memories and of the other users', as a session asks (`LongTerm`). On the
half of the questions that no setting was chosen on.
"""

from __future__ import annotations

from dataclasses import dataclass

from foldaway.keeping.recollecting import MOST_PASSAGES
from foldaway.lab.retrieval_rankers import Stored, reader_of
from foldaway.lab.retrieval_sets import RetrievalSet
from foldaway.protocols import Embedder
from foldaway.retrieval.long_term import LEAST_SURE
from foldaway.retrieval.retriever import Retriever


@dataclass(frozen=True, slots=True, kw_only=True)
class Unasked:
    """What came in on the questions of one set."""

    set_name: str
    least_sure: float
    questions: int
    answered: int
    """Questions with their answer among the passages from the asker's own memories."""
    own: float
    """Passages a question out of the asker's own memories."""
    others: float
    """The same out of another user's memories, where no answer is."""
    silent: float
    """Share of the questions to another user's memories that got nothing."""


def unasked(one: RetrievalSet, embedder: Embedder | None) -> list[Unasked]:
    """Without a bound and with the one in use; [] for sets of a single user."""
    scopes = sorted({doc.scope for doc in one.docs})
    if one.name != "bfcl-memory" or len(scopes) < 2:
        return []
    stored = Stored((embedder,) if embedder is not None else ())
    stored.load(one.docs)
    retriever = Retriever(stored.store, embedder)
    found = [_measured(one, scopes, stored, retriever, bound) for bound in (0.0, LEAST_SURE)]
    stored.store.close()
    return found


def _measured(one: RetrievalSet, scopes: list[str], stored: Stored, retriever: Retriever, bound: float) -> Unasked:
    queries = [query for query in one.queries if not query.chosen_on]
    answered, own, others = 0, 0, []
    for query in queries:
        for scope in scopes:
            came = retriever.retrieve(reader_of(scope), query.text, limit=MOST_PASSAGES, least_sure=bound)
            if scope != query.scope:
                others.append(len(came))
                continue
            own += len(came)
            answered += not query.gold.isdisjoint(stored.docs_of([each.memory.id for each in came]))
    return Unasked(
        set_name=one.name,
        least_sure=bound,
        questions=len(queries),
        answered=answered,
        own=own / max(1, len(queries)),
        others=sum(others) / max(1, len(others)),
        silent=others.count(0) / max(1, len(others)),
    )
