"""Stale facts: how often the old value comes before the new one, or without its mark.

Made from the facts of two sets: each fact is told twice, with its recorded value and later with another one of the same
field (BFCL: the value of another question of the same user and kind; Letta: that of the next record in the file). Every
second fact is put into the store newest first, so that the order of arrival tells nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from foldaway.lab.retrieval_sets import Doc, RetrievalSet
from foldaway.protocols import Embedder, Memory, Reader
from foldaway.retrieval.embedding import catch_up
from foldaway.retrieval.retriever import Retriever
from foldaway.stores.memory import MemoryStore

OLD_AT, NEW_AT, NOW = "2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-07-01T00:00:00Z"
MOST_RECORDS = 200
SHOWN = 5
_READER = Reader(owner="somebody")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing told twice."""

    key: str
    question: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """What came back for the questions of one set in one way of telling."""

    set_name: str
    told: str
    facts: int
    found: int
    """Facts of which at least one version was among the first ten."""
    old_first: int
    """Of those, where the old version stood before the new one, or alone."""
    unmarked: int
    """Of those, where the old version stood among the first five without being marked as superseded."""


WAYS = ("no subject, no time", "no subject, time", "subject")
"""How the store was told: text alone; with its time and the time of asking; and with the subject, so that it knows."""


def facts_of(one: RetrievalSet) -> list[Fact]:
    """Facts whose value can be exchanged; [] for sets that have none."""
    if one.name == "letta-records":
        return _of_records(one.docs)
    return _of_answers(one) if one.name == "bfcl-memory" else []


def _of_records(docs: Sequence[Doc]) -> list[Fact]:
    step = max(1, len(docs) // MOST_RECORDS)
    found = []
    for n in range(0, len(docs) - 1, step):
        doc, other = docs[n], docs[n + 1]
        fields, others = (dict(re.findall(r"^(\w+): (.+)$", d.text, re.MULTILINE)) for d in (doc, other))
        changed = [name for name in list(fields)[1:] if name in others and fields[name] != others[name]]
        if changed and doc.source == other.source:
            name = changed[n % len(changed)]
            new = doc.text.replace(f"{name}: {fields[name]}", f"{name}: {others[name]}", 1)
            subject = doc.text.split(" ", 1)[0]
            question = f"What is the {name.replace('_', ' ')} in {subject}?"
            found.append(Fact(key=f"{subject} {name}", question=question, old=doc.text, new=new))
    return found


def _of_answers(one: RetrievalSet) -> list[Fact]:
    """The recorded values stand in the answers; here a number or a name of the text is exchanged."""
    texts = {doc.id: doc for doc in one.docs}
    found = []
    for n, query in enumerate(one.queries):
        doc = texts[min(query.gold)]
        numbers = re.findall(r"(?<![\w.])\d{1,3}(?![\w.])", doc.text)
        names = re.findall(r"(?<=[a-z,] )[A-Z][a-z]{3,}", doc.text)
        if numbers:
            new = re.sub(rf"(?<![\w.]){numbers[0]}(?![\w.])", str(int(numbers[0]) + 1 + n % 7), doc.text)
        elif names:
            other = ("Lisbon", "Marigold", "Thursday", "Fairview", "Juniper")[n % 5]
            new = re.sub(rf"\b{names[0]}\b", other, doc.text)
        else:
            continue
        if new != doc.text:
            found.append(Fact(key=f"{query.scope} {doc.id}", question=query.text, old=doc.text, new=new))
    # One fact a document: a document told in two new versions would supersede twice.
    return list({fact.old: fact for fact in found}.values())


def staleness(one: RetrievalSet, embedder: Embedder | None) -> list[Staleness]:
    """What comes back for each way of telling, one store each."""
    facts = facts_of(one)
    return [_told(one.name, facts, way, embedder) for way in WAYS] if facts else []


def _told(set_name: str, facts: Sequence[Fact], way: str, embedder: Embedder | None) -> Staleness:
    store = MemoryStore()
    try:
        for n, fact in enumerate(facts):
            key = fact.key if way == "subject" else ""
            pair = [Memory(text=fact.old, key=key, at=OLD_AT), Memory(text=fact.new, key=key, at=NEW_AT)]
            if way == "no subject, no time":
                pair = [replace(memory, at=OLD_AT) for memory in pair]
            store.put_memories(_READER, pair[::-1] if n % 2 else pair)
        while embedder is not None and catch_up(store, embedder):
            pass
        retriever = Retriever(store, embedder)
        seen = [_seen(retriever, fact, NOW if way != "no subject, no time" else "") for fact in facts]
    finally:
        store.close()
    found = [one for one in seen if one is not None]
    return Staleness(
        set_name=set_name,
        told=way,
        facts=len(facts),
        found=len(found),
        old_first=sum(first for first, _ in found),
        unmarked=sum(unmarked for _, unmarked in found),
    )


def _seen(retriever: Retriever, fact: Fact, now: str) -> tuple[bool, bool] | None:
    """(old before new, old unmarked among the first); None where neither came back."""
    found = retriever.retrieve(_READER, fact.question, limit=10, now=now)
    texts = [one.memory.text for one in found]
    places = [texts.index(text) if text in texts else len(texts) for text in (fact.old, fact.new)]
    if places[0] == places[1]:
        return None
    unmarked = places[0] < min(SHOWN, len(found)) and not found[places[0]].memory.superseded_by
    return places[0] < places[1], unmarked
