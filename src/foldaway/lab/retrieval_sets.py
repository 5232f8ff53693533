"""Retrieval sets with known answers, read from a folder of public data sets.

Each set is a list of documents and of queries with the documents that answer them. `scope` keeps the corpora of one set
apart (one user's conversations, one list of keys): a query only looks among the documents of its own scope. Queries are
split in two halves by their group (the gold document, the task), so that a setting chosen on one half has not seen the
other: `Query.chosen_on`.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from foldaway.errors import ReadError

NAMES = ("bfcl-memory", "code-chunks", "kv-retrieval", "letta-records", "tau2-banking")
KV_LISTS = 40
"""Lists of 75 keys taken of kv-retrieval; each list's first, middle and last key and the one asked for are queries."""
MOST_GOLD = 6
"""A question of the Letta set whose literals more records than this hold names none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doc:
    id: str
    text: str
    source: str
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    text: str
    gold: frozenset[str]
    """Ids of the documents that answer it; at least one."""
    scope: str = ""
    group: str = ""
    """Queries of one group are in the same half."""

    @property
    def chosen_on(self) -> bool:
        """In the half that settings were chosen on; the other half is the one to report."""
        return crc32(self.group.encode()) % 2 == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSet:
    name: str
    docs: tuple[Doc, ...]
    queries: tuple[Query, ...]


def read_sets(folder: Path, names: tuple[str, ...] = NAMES) -> list[RetrievalSet]:
    """The sets of these names found below `folder`, those that are not there left out.

    Raises ReadError where none is there, or a file is not what it should be.
    """
    found = [made for name in names if (made := _read(folder, name)) is not None]
    if not found:
        raise ReadError(f"none of the retrieval sets is here: {', '.join(names)}", file=str(folder))
    return found


def _read(folder: Path, name: str) -> RetrievalSet | None:
    try:
        docs, queries = _READERS[name](folder)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, EOFError) as error:
        raise ReadError(f"retrieval set {name}: not in the form expected ({error})", file=str(folder)) from error
    return RetrievalSet(name=name, docs=tuple(docs), queries=tuple(query for query in queries if query.gold))


def _lines(path: Path) -> Iterator[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _whole(path: Path) -> Any:
    with gzip.open(path, "rt", encoding="utf-8") as text:
        return json.load(text)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def _bfcl(folder: Path) -> tuple[list[Doc], list[Query]]:
    """What users told in conversations, a document a turn; questions weeks later, their source quoted by the set."""
    base = folder / "bfcl"
    docs: list[Doc] = []
    answers = {row["id"]: row for row in _lines(base / "possible_answer-BFCL_v4_memory.jsonl.gz")}
    questions = list(_lines(base / "BFCL_v4_memory.jsonl.gz"))
    for scenario in sorted({row["scenario"] for row in questions}):
        for talk in _lines(base / f"memory_prereq_{scenario}.jsonl.gz"):
            for n, turn in enumerate(talk["question"]):
                text = "\n".join(message["content"] for message in turn)
                docs.append(Doc(id=f"{talk['id']}/{n}", text=text, source=talk["topic"], scope=scenario))
    plain = [(doc, _plain(doc.text)) for doc in docs]
    queries = []
    for row in questions:
        quoted = [_plain(piece) for piece in re.split(r"\.\.\.|…", answers[row["id"]]["source"])]
        pieces = [piece for piece in quoted if len(piece) > 8]
        gold = {doc.id for doc, text in plain if doc.scope == row["scenario"] and any(p in text for p in pieces)}
        text, group = row["question"][0][0]["content"], min(gold, default="")
        queries.append(Query(text=text, gold=frozenset(gold), scope=row["scenario"], group=group))
    return docs, queries


def _code(folder: Path) -> tuple[list[Doc], list[Query]]:
    """Source files in chunks; questions about them with the chunks that answer."""
    docs = [
        Doc(id=f"{file['original_uuid']}/{chunk['original_index']}", text=chunk["content"], source=file["doc_id"])
        for file in _whole(folder / "code-chunks" / "codebase_chunks.json.gz")
        for chunk in file["chunks"]
    ]
    queries = [
        Query(
            text=row["query"],
            gold=frozenset(f"{uuid}/{index}" for uuid, index in row["golden_chunk_uuids"]),
            group=row["golden_doc_uuids"][0],
        )
        for row in _lines(folder / "code-chunks" / "evaluation_set.jsonl.gz")
    ]
    return docs, queries


def _kv(folder: Path) -> tuple[list[Doc], list[Query]]:
    """Lists of 75 random keys with random values, a document a pair; asked for by the key."""
    docs: list[Doc] = []
    queries: list[Query] = []
    for n, row in enumerate(_lines(folder / "kv-retrieval" / "kv-retrieval-75_keys.jsonl.gz")):
        if n == KV_LISTS:
            break
        scope, pairs = f"list {n}", row["ordered_kv_records"]
        docs += [Doc(id=f"{n}/{key}", text=f"{key}: {value}", source=scope, scope=scope) for key, value in pairs]
        for key in dict.fromkeys((row["key"], pairs[0][0], pairs[len(pairs) // 2][0], pairs[-1][0])):
            text = f"What is the value of {key}?"
            queries.append(Query(text=text, gold=frozenset({f"{n}/{key}"}), scope=scope, group=scope))
    return docs, queries


_HEAD = re.compile(r"^### ", re.MULTILINE)
_LITERAL = re.compile(r"""["']([^"'\n]{3,40})["']|(https?://[^\s,?"']+)|(\(\d{3}\) [\d-]+|\d[\d-]{6,})""")


def _letta(folder: Path) -> tuple[list[Doc], list[Query]]:
    """Records of invented people, a document a record; questions that start at a record they name.

    The set names the files that a question needs, not the records. Gold here: the records in those files that hold, as
    a whole value, a literal of the question (quoted, a URL, a number of 7 digits and more) or, where it has none, those
    of its capitalised names that few records hold. It is the first hop of these questions, no more.
    """
    docs: list[Doc] = []
    for file in sorted((folder / "letta-filesystem" / "files").glob("*.txt.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as text:
            records = [piece.strip() for piece in _HEAD.split(text.read()) if piece.strip()]
        name = file.name.removesuffix(".gz")
        docs += [Doc(id=f"{name}/{n}", text=record, source=name) for n, record in enumerate(records)]
    queries = []
    for row in _lines(folder / "letta-filesystem" / "questions.jsonl.gz"):
        needed = set(row["agent_args"]["extra"]["required_files"])
        gold = _named(row["input"], [doc for doc in docs if doc.source in needed])
        queries.append(Query(text=row["input"], gold=gold, group=row["input"]))
    return docs, queries


_CAPITALISED = re.compile(r"\b[A-Z][\w.]*(?:[- ](?:and )?[A-Z][\w.]*)*")
_ASKING = frozenset("What Which Among Between How Whose Who The".split())


def _named(question: str, docs: list[Doc]) -> frozenset[str]:
    found: set[str] = set()
    literals = [next(filter(None, groups)) for groups in _LITERAL.findall(question)]
    if not literals:
        names = [name for name in _CAPITALISED.findall(question) if name not in _ASKING]
        literals = [name for name in names if 0 < len(_holding(name, docs)) <= MOST_GOLD]
    for literal in literals:
        held = _holding(literal, docs)
        if len(held) <= MOST_GOLD:
            found |= held
    return frozenset(found) if len(found) <= MOST_GOLD else frozenset()


def _holding(literal: str, docs: list[Doc]) -> set[str]:
    """Documents with this literal between signs that do not belong to a word."""
    bounded = re.compile(rf"(?<![\w-]){re.escape(literal)}(?![\w-])", re.IGNORECASE)
    return {doc.id for doc in docs if bounded.search(doc.text)}


def _banking(folder: Path) -> tuple[list[Doc], list[Query]]:
    """A bank's rules; queries are what a customer is told to want, whole, and gold the documents the task requires."""
    docs = []
    for row in _lines(folder / "tau2-banking-knowledge" / "documents.jsonl.gz"):
        doc = row["document"]
        docs.append(Doc(id=doc["id"], text=f"{doc['title']}\n\n{doc['content']}", source=row["path"]))
    known = {doc.id for doc in docs}
    queries = [
        Query(
            text=task["user_scenario"]["instructions"],
            gold=frozenset(task["required_documents"]) & known,
            group=task["id"],
        )
        for task in _whole(folder / "tau2-banking-knowledge" / "tasks.json.gz")
    ]
    return docs, queries


_READERS = {
    "bfcl-memory": _bfcl,
    "code-chunks": _code,
    "kv-retrieval": _kv,
    "letta-records": _letta,
    "tau2-banking": _banking,
}
