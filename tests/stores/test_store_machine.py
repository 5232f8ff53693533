"""A store against the simplest thing that could be right: lists in a dict."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from foldaway.protocols import Note, SessionKey, Store
from foldaway.stores.memory import MemoryStore
from foldaway.stores.redaction import RedactingStore
from foldaway.testing.store_contract import FixedClock

texts = st.text(max_size=40) | st.sampled_from(["same", "\ud83d", "x" * 500])
names = st.sampled_from(["a", "b", "A"])
hours = st.integers(0, 5)


class Model:
    """One session."""

    def __init__(self) -> None:
        self.head = 0
        self.logs: list[list[str]] = [[]]
        self.ledgers: list[list[str]] = [[]]
        self.notes: list[tuple[str, Note]] = []


class StoreMachine(RuleBasedStateMachine):
    make: Callable[[], Store] = staticmethod(lambda: MemoryStore(clock=FixedClock()))
    opened = Bundle("opened")

    def __init__(self) -> None:
        super().__init__()
        self.store = self.make()
        self.model: dict[SessionKey, Model] = {}

    def handle(self, key: SessionKey) -> tuple[str, Model]:
        return self.store.open(key), self.model.setdefault(key, Model())

    @rule(target=opened, user=names, name=names)
    def open(self, user: str, name: str) -> SessionKey:
        key = SessionKey(user=user, name=name)
        self.handle(key)
        return key

    @rule(
        key=opened, records=st.lists(texts, max_size=4), off=st.sampled_from([0, 0, 0, 1, -1]), pick=st.integers(0, 9)
    )
    def append(self, key: SessionKey, records: list[str], off: int, pick: int) -> None:
        session, model = self.handle(key)
        branch = pick % len(model.logs)
        position = len(model.logs[branch]) + off
        assert self.store.append(session, branch, position, records) == (off == 0)
        if off == 0:
            model.logs[branch] += records

    @rule(key=opened, pick=st.integers(0, 9), share=st.floats(0, 1))
    def fork(self, key: SessionKey, pick: int, share: float) -> None:
        session, model = self.handle(key)
        branch = pick % len(model.logs)
        at = int(share * len(model.logs[branch]))
        model.logs.append(model.logs[branch][:at])
        model.ledgers.append(list(model.ledgers[branch]))
        model.head = len(model.logs) - 1
        assert self.store.fork(session, branch, at) == model.head

    @rule(key=opened, entries=st.lists(texts, max_size=3), pick=st.integers(0, 9))
    def write_ledger(self, key: SessionKey, entries: list[str], pick: int) -> None:
        session, model = self.handle(key)
        branch = pick % len(model.ledgers)
        self.store.write_ledger(session, branch, entries)
        model.ledgers[branch] += entries

    @rule(key=opened, subject=st.sampled_from(["", "k", "K"]), text=texts, hour=hours)
    def tell(self, key: SessionKey, subject: str, text: str, hour: int) -> None:
        session, model = self.handle(key)
        at = f"2031-01-01T0{hour}:00:00Z"
        note = self.store.put_note(session, key=subject, text=text, at=at)
        assert (note.key, note.text, note.at) == (subject, text, at)
        model.notes.append((at, note))

    @rule(key=opened, query=texts)
    def search(self, key: SessionKey, query: str) -> None:
        session, model = self.handle(key)
        hits = self.store.search(session, query)
        assert {hit.ref for hit in hits} <= {note.handle for _, note in model.notes}
        assert [hit.superseded for hit in hits] == sorted(hit.superseded for hit in hits)

    @rule(key=opened)
    def delete(self, key: SessionKey) -> None:
        session, _ = self.handle(key)
        self.store.delete(session)
        del self.model[key]

    @invariant()
    def all_is_as_in_the_model(self) -> None:
        for key, model in self.model.items():
            session = self.store.open(key)
            assert self.store.head(session) == model.head
            for branch, log in enumerate(model.logs):
                assert self.store.read(session, branch) == log
                assert self.store.read(session, branch, 2) == log[2:]
                assert self.store.read_ledger(session, branch) == model.ledgers[branch]
                assert self.store.read_ledger(session, branch, 1) == model.ledgers[branch][1:]
            ordered = [note for _, note in sorted(model.notes, key=lambda told: told[0])]
            last = {note.key: note.handle for note in ordered if note.key}
            listed = self.store.notes(session)
            assert [(note.handle, note.text) for note in listed] == [(note.handle, note.text) for note in ordered]
            for note in listed:
                assert note.superseded == (note.key in last and last[note.key] != note.handle)

    def teardown(self) -> None:
        self.store.close()


class RedactingMachine(StoreMachine):
    make = staticmethod(lambda: RedactingStore(MemoryStore(clock=FixedClock())))


TestMemory = StoreMachine.TestCase
TestMemory.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestRedacting = RedactingMachine.TestCase
TestRedacting.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
