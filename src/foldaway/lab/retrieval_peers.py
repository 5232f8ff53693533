"""Memories of other libraries on the retrieval sets, each by its own public API, all with the same embedder.

What is set is said here; everything else is a library's default. None is given a model: what would ask one (extracting
facts, rewriting queries) is left out, as documents go in as they are. Every scope of a set is an index or a user of
its own, as a query only looks among the documents of its scope.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

from foldaway.lab.retrieval_rankers import Ranker
from foldaway.lab.retrieval_sets import Doc, Query, RetrievalSet
from foldaway.protocols import Embedder

Ask = Callable[[str, int], list[str]]
Build = Callable[[Sequence[Doc], Embedder], Ask]
MEM0_SETS = ("bfcl-memory", "code-chunks", "tau2-banking")
"""mem0 takes in one document after the other and writes its whole index each time: the larger sets take hours."""
RRF_CONSTANT = 60


@dataclass(slots=True)
class PeerRanker:
    """One way of one library."""

    name: str
    build: Build
    embedder: Embedder
    _asks: dict[str, Ask] = field(default_factory=dict, init=False)

    def index(self, docs: Sequence[Doc]) -> None:
        scopes: dict[str, list[Doc]] = {}
        for doc in docs:
            scopes.setdefault(doc.scope, []).append(doc)
        self._asks = {scope: self.build(held, self.embedder) for scope, held in scopes.items()}

    def rank(self, query: Query, k: int) -> list[str]:
        return self._asks[query.scope](query.text, k)


# LangChain


def _langchain_embeddings(embedder: Embedder) -> Any:
    base: Any = import_module("langchain_core.embeddings").Embeddings

    class Same(base):  # type: ignore[misc]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [list(vector) for vector in embedder.embed(texts)]

        def embed_query(self, text: str) -> list[float]:
            return list(embedder.embed([text])[0])

    return Same()


def _langchain_docs(docs: Sequence[Doc]) -> list[Any]:
    make = import_module("langchain_core.documents").Document
    return [make(page_content=doc.text, metadata={"name": doc.id}) for doc in docs]


def langchain_vectors(docs: Sequence[Doc], embedder: Embedder) -> Ask:
    """`InMemoryVectorStore`."""
    store = import_module("langchain_core.vectorstores").InMemoryVectorStore(_langchain_embeddings(embedder))
    store.add_documents(_langchain_docs(docs))
    return lambda text, k: [found.metadata["name"] for found in store.similarity_search(text, k=k)]


def _langchain_bm25(docs: Sequence[Doc], k: int) -> Any:
    return import_module("langchain_community.retrievers").BM25Retriever.from_documents(_langchain_docs(docs), k=k)


def langchain_bm25(docs: Sequence[Doc], embedder: Embedder) -> Ask:
    """`BM25Retriever` as it comes: words are cut at blanks and compared as they stand."""
    retriever = _langchain_bm25(docs, 10)
    return lambda text, k: [found.metadata["name"] for found in retriever.invoke(text)][:k]


def langchain_hybrid(docs: Sequence[Doc], embedder: Embedder) -> Ask:
    """`EnsembleRetriever` (reciprocal rank fusion) over both, half and half, 50 of each."""
    store = import_module("langchain_core.vectorstores").InMemoryVectorStore(_langchain_embeddings(embedder))
    store.add_documents(_langchain_docs(docs))
    both = [_langchain_bm25(docs, 50), store.as_retriever(search_kwargs={"k": 50})]
    ensemble = import_module("langchain_classic.retrievers").EnsembleRetriever(retrievers=both, weights=[0.5, 0.5])
    return lambda text, k: [found.metadata["name"] for found in ensemble.invoke(text)][:k]


# LlamaIndex


def _llama_embedding(embedder: Embedder) -> Any:
    base: Any = import_module("llama_index.core.embeddings").BaseEmbedding

    class Same(base):  # type: ignore[misc]
        def _get_text_embedding(self, text: str) -> list[float]:
            return list(embedder.embed([text])[0])

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [list(vector) for vector in embedder.embed(texts)]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    return Same()


def _llama_nodes(docs: Sequence[Doc]) -> list[Any]:
    make = import_module("llama_index.core.schema").TextNode
    return [make(text=doc.text, id_=doc.id) for doc in docs]


def _llama_asked(retriever: Any) -> Ask:
    bundle = import_module("llama_index.core.schema").QueryBundle
    return lambda text, k: [found.node.node_id for found in retriever.retrieve(bundle(query_str=text))][:k]


def _llama_vectors(docs: Sequence[Doc], embedder: Embedder, k: int) -> Any:
    index = import_module("llama_index.core").VectorStoreIndex(
        _llama_nodes(docs), embed_model=_llama_embedding(embedder)
    )
    return index.as_retriever(similarity_top_k=k)


def _llama_bm25(docs: Sequence[Doc], k: int) -> Any:
    made = import_module("llama_index.retrievers.bm25").BM25Retriever
    return made.from_defaults(nodes=_llama_nodes(docs), similarity_top_k=min(k, len(docs)), verbose=False)


def llama_vectors(docs: Sequence[Doc], embedder: Embedder) -> Ask:
    """`VectorStoreIndex` in memory, as its `VectorMemoryBlock` asks it."""
    return _llama_asked(_llama_vectors(docs, embedder, 10))


def llama_bm25(docs: Sequence[Doc], embedder: Embedder) -> Ask:
    """`BM25Retriever`: English stems, stop words left out."""
    return _llama_asked(_llama_bm25(docs, 10))


def llama_hybrid(docs: Sequence[Doc], embedder: Embedder) -> Ask:
    """`QueryFusionRetriever` (reciprocal rank fusion) over both, 50 of each, no further queries made up."""
    fused = import_module("llama_index.core.retrievers").QueryFusionRetriever(
        [_llama_vectors(docs, embedder, 50), _llama_bm25(docs, 50)],
        llm=import_module("llama_index.core.llms").MockLLM(),
        mode="reciprocal_rerank",
        similarity_top_k=10,
        num_queries=1,
        use_async=False,
    )
    return _llama_asked(fused)


# mem0


def mem0_memory(docs: Sequence[Doc], embedder: Embedder) -> Ask:
    """`Memory.add(infer=False)` and `search`, FAISS on disk, no threshold; its language model is never asked."""
    # Read when it is imported: no word home.
    os.environ["MEM0_TELEMETRY"] = "False"
    folder = tempfile.TemporaryDirectory(prefix="foldaway-mem0-")
    os.environ.setdefault("MEM0_DIR", folder.name)
    silent = import_module("langchain_core.language_models").FakeListChatModel(responses=["{}"])
    store = {"path": folder.name, "embedding_model_dims": embedder.dims, "distance_strategy": "cosine"}
    memory = import_module("mem0").Memory.from_config(
        {
            "embedder": {"provider": "langchain", "config": {"model": _langchain_embeddings(embedder)}},
            "llm": {"provider": "langchain", "config": {"model": silent}},
            "vector_store": {"provider": "faiss", "config": {"collection_name": "docs", **store}},
            "history_db_path": f"{folder.name}/history.db",
        }
    )
    names: dict[str, str] = {}
    for doc in docs:
        for made in memory.add(doc.text, user_id="one", infer=False)["results"]:
            names[made["id"]] = doc.id

    def ask(text: str, k: int, kept: object = folder) -> list[str]:
        found = memory.search(text, filters={"user_id": "one"}, top_k=k, threshold=0.0)["results"]
        return [names[one["id"]] for one in found]

    return ask


_PEERS: dict[str, tuple[Build, tuple[str, ...]]] = {
    "langchain bm25": (langchain_bm25, ("langchain_community", "rank_bm25")),
    "langchain vectors": (langchain_vectors, ("langchain_core",)),
    "langchain ensemble": (langchain_hybrid, ("langchain_classic", "langchain_community", "rank_bm25")),
    "llama-index bm25": (llama_bm25, ("llama_index.retrievers.bm25",)),
    "llama-index vectors": (llama_vectors, ("llama_index.core",)),
    "llama-index fusion": (llama_hybrid, ("llama_index.core", "llama_index.retrievers.bm25")),
    "mem0": (mem0_memory, ("mem0", "faiss", "langchain_core")),
}
_DISTRIBUTIONS = ("langchain-core", "langchain-community", "llama-index-core", "llama-index-retrievers-bm25", "mem0ai")


def peer_rankers(embedder: Embedder) -> tuple[list[Ranker], list[str]]:
    """Those that are installed, and the names of those that are not."""
    here = {name: all(map(_installed, modules)) for name, (_, modules) in _PEERS.items()}
    made: list[Ranker] = [PeerRanker(name, _PEERS[name][0], embedder) for name, there in here.items() if there]
    return made, [name for name, there in here.items() if not there]


def suits(ranker: Ranker, one: RetrievalSet) -> bool:
    """False where a library would take hours for a set."""
    return ranker.name != "mem0" or one.name in MEM0_SETS


def peer_versions() -> dict[str, str]:
    """Of the distributions that are installed."""
    found = {}
    for name in _DISTRIBUTIONS:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
