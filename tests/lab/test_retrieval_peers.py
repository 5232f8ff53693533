"""Other libraries' memories beside ours, where they are installed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from foldaway.lab.retrieval import measure
from foldaway.lab.retrieval_peers import PeerRanker, peer_rankers, suits
from foldaway.lab.retrieval_sets import Doc, Query, RetrievalSet
from foldaway.protocols import Embedder
from foldaway.retrieval.hashed import HashedEmbedder

DOCS = tuple(
    Doc(id=f"{scope}{n}", text=text, source="s", scope=scope)
    for scope in "ab"
    for n, text in enumerate(("the cat drinks fresh milk", "dogs bark at night", "rain falls on the old bridge"))
)


def asked(text: str, scope: str, gold: str) -> Query:
    return Query(text=text, gold=frozenset({gold}), scope=scope, group=text)


def test_a_query_is_asked_of_the_documents_of_its_scope_alone() -> None:
    def build(docs: Sequence[Doc], embedder: Embedder) -> object:
        return lambda text, k: [doc.id for doc in docs][:k]

    ranker = PeerRanker("peer", build, HashedEmbedder(64))  # type: ignore[arg-type]
    ranker.index(DOCS)
    assert ranker.rank(asked("x", "b", "b0"), 2) == ["b0", "b1"]


def test_what_is_not_installed_is_named_and_what_would_take_hours_is_left_out() -> None:
    rankers, missing = peer_rankers(HashedEmbedder(64))
    assert len(rankers) + len(missing) == 7
    mem0 = PeerRanker("mem0", lambda docs, embedder: lambda text, k: [], HashedEmbedder(64))
    large = RetrievalSet(name="letta-records", docs=DOCS, queries=())
    assert not suits(mem0, large)
    assert all(suits(ranker, large) for ranker in rankers if ranker.name != "mem0")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ranker", peer_rankers(HashedEmbedder(256))[0], ids=lambda ranker: ranker.name)
def test_an_installed_library_finds_what_shares_words_with_the_query(ranker: PeerRanker) -> None:
    queries = (asked("milk for the cat", "a", "a0"), asked("bridge in the rain", "b", "b2"))
    (found,) = measure([RetrievalSet(name="tiny", docs=DOCS, queries=queries)], [ranker])
    assert found.recall(1) == 1.0
