"""S3.1, S3.4: the memories of a store as a session asks them."""

from __future__ import annotations

from foldaway import Session
from foldaway.protocols import Memory, Reader
from foldaway.retrieval.long_term import LongTerm
from foldaway.retrieval.retriever import Retriever
from foldaway.stores.memory import MemoryStore

ANN = Reader(owner="ann")


def store() -> MemoryStore:
    made = MemoryStore()
    old = Memory(text="Deploys run from crane-03.", key="deploy", source="runbook", session="harbour", item=12)
    new = Memory(text="Deploys run from crane-04.", key="deploy", source="runbook", session="tide", item=3)
    made.put_memories(ANN, [old])
    made.put_memories(ANN, [new])
    made.put_memories(Reader(owner="bob"), [Memory(text="Bob deploys from his laptop.", key="deploy")])
    return made


def test_what_comes_in_holds_now_and_names_its_source() -> None:
    [passage] = LongTerm(Retriever(store()), ANN).recollect("how do deploys run?", 4)
    assert passage.text == "Deploys run from crane-04."
    assert "runbook" in passage.source
    assert "tide #3" in passage.source
    assert passage.ref


def test_a_session_shows_what_its_reader_may_see() -> None:
    session = Session(budget=4_000, retriever=LongTerm(Retriever(store()), ANN))
    session.append([{"role": "user", "content": "Run the deploys as we did last time."}])
    shown = str(session.view().messages)
    assert "crane-04" in shown
    assert "Bob" not in shown
    assert session.warnings == []


def test_what_shares_one_word_by_chance_does_not_come_in_unasked() -> None:
    made = store()
    made.put_memories(ANN, [Memory(text=f"The {thing} is in the tide tables.") for thing in ("moon", "sun", "wind")])
    asked = LongTerm(Retriever(made), ANN)
    assert asked.recollect("which colour of the moon did my grandmother paint on her kitchen wall?", 4) == []
    assert [p.text for p in asked.recollect("is the moon in the tables?", 1)] == ["The moon is in the tide tables."]
