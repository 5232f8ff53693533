"""What every store must keep. Subclass it in a test module and say how to make one:

    class TestMyStore(StoreContract):
        def make(self, folder: Path, clock: Clock) -> Store:
            return MyStore(folder / "store", clock=clock)

With `lasting = False` the tests that open the same folder a second time are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from foldaway.protocols import MOST_NAME_BYTES, Memory, Note, Reader, SessionKey, Store
from foldaway.testing.memories_contract import MemoriesContract
from foldaway.testing.store_basics import Clock, FixedClock, refusal

__all__ = ["Clock", "FixedClock", "StoreContract", "refusal"]

NAMES = (
    *(
        "../../outside",
        "..",
        ".",
        "a/b",
        "a\\b",
        "/abs/name",
        "C:\\name",
        "nul\0name",
        "CON",
        "name.",
        "name ",
        "n" * 300,
    ),
    *(
        "🚢 harbour",
        "caf\u00e9",
        "cafe\u0301",
        "%2e%2e%2fname",
        "~",
        "-rf",
        "a:b",
        "Name",
        "name",
        "lone \ud83d",
        "' OR 1",
    ),
)
QUERIES = (
    *(
        "",
        "   ",
        "-",
        "%",
        "_",
        '"',
        "'; --",
        '"open quote',
        "lift*",
        "AND",
        "NOT lift",
        "lift NEAR/2 file",
        "(lift",
        "\0",
    ),
    *("a:b:c", "^lift", "🚢", "{lift}", "lift OR", "terms:lift", '"lift" "', "\ud83d", "*", "**", "港", "1/lift", "\\"),
)


def hashed(count: int) -> str:
    """So many characters that no compression makes fewer."""
    return "".join(sha256(b"%d" % n).hexdigest() for n in range(count // 64 + 1))[:count]


class StoreContract(MemoriesContract):
    """Conformance of one kind of store."""

    lasting = True
    clock: FixedClock

    def make(self, folder: Path, clock: Clock) -> Store:
        raise NotImplementedError

    def opened(self, folder: Path) -> tuple[Store, str]:
        """A store and the handle of a session in it."""
        self.clock = FixedClock()
        store = self.make(folder, self.clock)
        return store, store.open(SessionKey(user="user-one", name="main"))

    def told(self, store: Store, session: str, text: str, key: str = "", at: str | None = None) -> Note:
        return store.put_note(session, key=key, text=text, at=at)

    # Sessions

    def test_a_session_is_made_once_and_found_again(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        assert store.open(SessionKey(user="user-one", name="main")) == session
        assert store.sessions("user-one") == ["main"]
        assert store.sessions("nobody") == []
        assert (store.head(session), store.read(session, 0), store.read_ledger(session, 0)) == (0, [], [])

    def test_blank_users_and_sessions_are_refused_by_name(self, tmp_path: Path) -> None:
        store, _ = self.opened(tmp_path)
        for blank in ("", "   ", "\n\t"):
            assert "user" in refusal(lambda user=blank: store.open(SessionKey(user=user, name="main")))  # type: ignore[misc]
            assert "session" in refusal(lambda name=blank: store.open(SessionKey(user="u", name=name)))  # type: ignore[misc]
            assert "user" in refusal(lambda user=blank: store.sessions(user))  # type: ignore[misc]

    def test_any_other_name_is_a_session_of_its_own(self, tmp_path: Path) -> None:
        folder = tmp_path / "inside"
        folder.mkdir()
        store, _ = self.opened(folder)
        for name in NAMES:
            self.told(store, store.open(SessionKey(user=name, name=name)), f"kept for {name}", key="k")
        for name in NAMES:
            note = store.note(store.open(SessionKey(user=name, name=name)), key="k")
            assert note is not None
            assert note.text == f"kept for {name}"
            assert store.sessions(name) == [name]
        assert [path.name for path in tmp_path.iterdir()] == ["inside"]

    def test_names_are_as_long_in_every_store_and_longer_ones_are_refused_by_what_they_are(
        self, tmp_path: Path
    ) -> None:
        store, session = self.opened(tmp_path)
        reader = Reader(owner="user-one")
        long, longer = (hashed(count) for count in (MOST_NAME_BYTES, MOST_NAME_BYTES + 1))
        fields = ("kind", "key", "task", "source", "session")
        store.put_memories(Reader(owner=long), [Memory(text="t", **dict.fromkeys(fields, long))])  # type: ignore[arg-type]
        store.put_note(store.open(SessionKey(user=long, name=long)), key=long, text="t", at=None)
        store.put_marks(session, {long: "t"})
        store.index(session, [(long, "t")])
        store.make_pool(Reader(owner=long[:1_000]), long)
        assert store.marks("user-one", [long]) == {long: "t"}
        tries: dict[str, Callable[[], object]] = {
            "user name": lambda: store.open(SessionKey(user=longer, name="main")),
            "session name": lambda: store.open(SessionKey(user="u", name=longer)),
            "owner name": lambda: store.put_memories(Reader(owner=longer), [Memory(text="t")]),
            "note key": lambda: store.put_note(session, key=longer, text="t", at=None),
            "mark": lambda: store.put_marks(session, {longer: "t"}),
            "ref": lambda: store.index(session, [(longer, "t")]),
            "pool name": lambda: store.make_pool(reader, longer),
        }
        for field in fields:
            told = Memory(text="t", **{field: longer})  # type: ignore[arg-type]
            tries[f"memory's {field}"] = lambda told=told: store.put_memories(reader, [told])  # type: ignore[misc]
        for what, act in tries.items():
            said = refusal(act)
            assert what in said
            assert f"at most {MOST_NAME_BYTES:,}" in said
            assert len(said) < 300
        assert "item" in refusal(lambda: store.put_memories(reader, [Memory(text="t", item=2**63)]))

    def test_users_see_nothing_of_each_other(self, tmp_path: Path) -> None:
        store, mine = self.opened(tmp_path)
        note = self.told(store, mine, "My word for the door is blue lamp.", key="door")
        store.append(mine, 0, 0, ["shared text"])
        for key in (SessionKey(user="user-two", name="main"), SessionKey(user="user-one", name="other")):
            other = store.open(key)
            assert other != mine
            assert store.search(other, "word for the door") == []
            assert store.notes(other) == []
            assert store.note(other, handle=note.handle) is None
            assert store.note(other, key="door") is None
            assert store.read(other, 0) == []

    def test_unknown_sessions_and_branches_are_refused(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        for unknown in ("", "1", "x' OR 1 --", "\ud83d", session + "0"):
            assert "session" in refusal(lambda handle=unknown: store.notes(handle))  # type: ignore[misc]
        for branch in (-1, 1, 2**62):
            assert "branch" in refusal(lambda number=branch: store.read(session, number))  # type: ignore[misc]
            assert "branch" in refusal(lambda number=branch: store.append(session, number, 0, ["x"]))  # type: ignore[misc]

    # Marks

    def test_marks_are_found_by_their_user_alone_and_the_newest_text_counts(self, tmp_path: Path) -> None:
        store, mine = self.opened(tmp_path)
        other = store.open(SessionKey(user="user-one", name="other"))
        store.put_marks(mine, {"a": "one", "b": "港口 \ud83d"})
        store.put_marks(other, {"a": "two"})
        assert store.marks("user-one", ["a", "b", "c"]) == {"a": "two", "b": "港口 \ud83d"}
        assert store.marks("user-two", ["a", "b"]) == {}
        assert store.marks("user-one", [f"k{n}" for n in range(1_000)]) == {}
        store.put_marks(store.open(SessionKey(user="user-two", name="main")), {"a": "mine"})
        assert store.marks("user-one", ["a"]) == {"a": "two"}

    def test_marks_go_with_their_session(self, tmp_path: Path) -> None:
        store, mine = self.opened(tmp_path)
        other = store.open(SessionKey(user="user-one", name="other"))
        store.put_marks(mine, {"a": "one"})
        store.put_marks(other, {"b": "two"})
        store.delete(mine)
        assert store.marks("user-one", ["a", "b"]) == {"b": "two"}

    # Log and ledger

    def test_records_come_back_as_they_were(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        records = ["", '{"a": 1}', "nul\0 bell\a \r\n\ufeff\u2028", "lone \ud83d", "港口 🚢", "x" * 300_000, '{"a": 1}']
        assert store.append(session, 0, 0, records)
        assert store.read(session, 0) == records
        assert store.read(session, 0, 2) == records[2:]
        assert store.read(session, 0, 99) == []

    def test_an_append_at_another_length_writes_nothing(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        assert store.append(session, 0, 0, ["a", "b"])
        for position in (0, 1, 3):
            assert not store.append(session, 0, position, ["c"])
        assert store.read(session, 0) == ["a", "b"]

    def test_a_branch_shares_the_records_before_its_fork(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        store.append(session, 0, 0, ["a", "b", "c"])
        store.write_ledger(session, 0, ["one"])
        first = store.fork(session, 0, 2)
        assert store.head(session) == first
        assert not store.append(session, first, 3, ["x"])
        assert store.append(session, first, 2, ["x", "y"])
        assert store.append(session, 0, 3, ["d"])
        store.write_ledger(session, 0, ["two"])
        store.write_ledger(session, first, ["three"])
        second = store.fork(session, first, 1)
        assert store.append(session, second, 1, ["z"])
        assert store.read(session, 0) == ["a", "b", "c", "d"]
        assert store.read(session, first) == ["a", "b", "x", "y"]
        assert store.read(session, second) == ["a", "z"]
        assert store.read(session, first, 1) == ["b", "x", "y"]
        assert store.read(session, first, 3) == ["y"]
        assert store.read_ledger(session, 0) == ["one", "two"]
        assert store.read_ledger(session, first) == ["one", "three"]
        assert store.read_ledger(session, second, 1) == ["three"]

    def test_a_fork_behind_the_end_is_a_mistake(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        store.append(session, 0, 0, ["a"])
        for at in (-1, 2):
            assert str(at) in refusal(lambda place=at: store.fork(session, 0, place), ValueError)  # type: ignore[misc]
        assert store.head(session) == 0

    # Notes

    def test_the_newer_of_two_notes_of_a_key_is_the_current_one(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        old = self.told(store, session, "gate 4", key="gate")
        self.clock.now += timedelta(days=1)
        new = self.told(store, session, "gate 9", key="gate")
        late = self.told(store, session, "gate 2", key="gate", at="2020-01-01")
        tied = self.told(store, session, "gate 8", key="gate")
        assert (old.superseded, new.superseded, late.superseded) == (False, False, True)
        assert store.note(session, key="gate") == tied
        assert [(note.text, note.superseded) for note in store.notes(session)] == [
            ("gate 2", True),
            ("gate 4", True),
            ("gate 9", True),
            ("gate 8", False),
        ]
        assert store.note(session, handle=old.handle) == store.notes(session)[1]
        assert store.note(session, key="other", handle=old.handle) is None
        assert store.note(session, key="other") is None
        assert store.note(session, handle="n:0") is None

    def test_notes_without_a_key_supersede_nothing(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        self.told(store, session, "one")
        self.told(store, session, "two")
        assert [note.superseded for note in store.notes(session)] == [False, False]

    def test_times_have_one_reading_whatever_their_spelling(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        spellings = ("2031-05-01T19:30:00+09:00", "2031-05-01T10:15:00Z", "2031-05-01T10:00:00", " 2031-05-01t10:20z ")
        for at in spellings:
            self.told(store, session, at, key="berth", at=at)
        self.clock.now = datetime(2031, 5, 2, 9, tzinfo=UTC)
        self.told(store, session, "now", key="berth")
        assert [(note.at, note.text) for note in store.notes(session)] == [
            ("2031-05-01T10:00:00Z", spellings[2]),
            ("2031-05-01T10:15:00Z", spellings[1]),
            ("2031-05-01T10:20:00Z", spellings[3]),
            ("2031-05-01T10:30:00Z", spellings[0]),
            ("2031-05-02T09:00:00Z", "now"),
        ]
        assert store.search(session, "berth")[0].text == "now"

    def test_what_is_no_time_is_refused(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        for at in ("yesterday", "", "2031-13-01", "0001-01-01T00:00:00+09:00"):
            assert "ISO 8601" in refusal(lambda time=at: self.told(store, session, "x", at=time))  # type: ignore[misc]
        assert store.notes(session) == []

    # Search

    def test_a_word_with_signs_is_found_by_itself_and_by_its_parts(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        texts = (
            "The file crate-lift_v2.py drives the lift.",
            "The lift board is written in C++ and NOT in Rust.",
            "The lift answers at 10.0.0.7:8080 by day.",
            "港口的起重机停在五号泊位。",
            "See src/stores/dock-plan.md, please",
        )
        for text in texts:
            self.told(store, session, text)
        for query, best in {
            "crate-lift_v2.py": 0,
            "CRATE": 0,
            "v2": 0,
            "C++": 1,
            "10.0.0.7:8080": 2,
            "10.0.0.7": 2,
            "起重机": 3,
            "位": 3,
            "dock-plan.md": 4,
            "src/stores/dock-plan.md": 4,
        }.items():
            assert [hit.text for hit in store.search(session, query)][:1] == [texts[best]], query

    def test_no_query_raises_or_is_read_as_a_language(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        for text in ("The lift stands.", "The file lies.", "A ship 🚢 sails."):
            self.told(store, session, text)
        found = {query: [hit.text for hit in store.search(session, query)] for query in QUERIES}
        for query in ("lift*", "(lift", "^lift", "{lift}", "lift OR", '"lift" "', "NOT lift"):
            assert found[query] == ["The lift stands."], query
        assert sorted(found["lift NEAR/2 file"]) == ["The file lies.", "The lift stands."]
        assert found["🚢"] == ["A ship 🚢 sails."]
        assert [found[query] for query in ("", "   ", "-", "*", '"', "%")] == [[]] * 6
        assert store.search(session, "lift " * 5000)[0].text == "The lift stands."

    def test_current_facts_stand_before_superseded_ones(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        self.told(store, session, "Deliveries for the north depot go to gate 4.", key="north depot deliveries")
        self.clock.now += timedelta(days=80)
        self.told(store, session, "Deliveries for the north depot go to gate 9.", key="north depot deliveries")
        self.told(store, session, "Deliveries of bonded cargo go to gate 4 as before.", key="bonded cargo")
        hits = store.search(session, "which gate takes deliveries for the north depot")
        assert "gate 9" in hits[0].text
        assert [hit.superseded for hit in hits] == [False, False, True]
        assert "bonded cargo" in store.search(session, "bonded cargo gate")[0].text

    def test_equal_ranks_come_in_a_fixed_order(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        for key in "abcde":
            self.told(store, session, "same words", key=key)
        refs = [note.handle for note in store.notes(session)]
        assert [hit.ref for hit in store.search(session, "same words")] == refs[::-1]
        assert [hit.ref for hit in store.search(session, "same words", limit=2)] == refs[:2:-1]
        assert store.search(session, "same words", limit=0) == []

    def test_indexed_texts_are_found_and_replaced_by_their_ref(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        store.index(session, [("12", "the crane stands"), ("13", "the tug lies")])
        store.index(session, [("12", "the crane stands")])
        assert [hit.ref for hit in store.search(session, "crane")] == ["12"]
        store.index(session, [("12", "the barge waits")])
        assert store.search(session, "crane") == []
        assert [(hit.ref, hit.text) for hit in store.search(session, "barge")] == [("12", "the barge waits")]

    def test_other_sessions_change_no_rank(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        for text in ("tug and crane", "crane at the quay", "tug tug"):
            self.told(store, session, text)
        before = store.search(session, "tug crane")
        other = store.open(SessionKey(user="user-two", name="main"))
        for number in range(20):
            self.told(store, other, f"tug {number}")
        assert store.search(session, "tug crane") == before

    # Copies

    def test_an_exported_session_is_the_same_in_another_store(self, tmp_path: Path) -> None:
        (tmp_path / "one").mkdir()
        (tmp_path / "two").mkdir()
        store, session = self.opened(tmp_path / "one")
        store.append(session, 0, 0, ["a", "lone \ud83d", "c"])
        store.write_ledger(session, 0, ["one"])
        first = store.fork(session, 0, 2)
        store.append(session, first, 2, ["x" * 5000, "y"])
        store.write_ledger(session, 0, ["two"])
        store.write_ledger(session, first, ["three"])
        second = store.fork(session, first, 1)
        store.append(session, second, 1, ["z"])
        note = self.told(store, session, "gate 4", key="gate", at="2031-01-01T00:00:00Z")
        self.told(store, session, "gate 9", key="gate", at="2031-01-01T00:00:00Z")
        store.index(session, [("12", "the crane stands"), ("2", "the tug lies")])
        copy = store.export_session(session)
        other = self.other(tmp_path / "two", self.clock)
        made = other.open(SessionKey(user="user-one", name="main"))
        other.import_session(made, copy)
        assert other.export_session(made) == copy
        for branch in (0, first, second):
            assert other.read(made, branch) == store.read(session, branch)
            assert other.read_ledger(made, branch) == store.read_ledger(session, branch)
        assert (other.head(made), other.notes(made)) == (second, store.notes(session))
        assert other.note(made, handle=note.handle) == store.note(session, handle=note.handle)
        assert other.search(made, "crane gate") == store.search(session, "crane gate")
        assert "empty" in refusal(lambda: other.import_session(made, copy))
        assert other.append(made, second, 2, ["more"])

    def test_the_users_and_what_is_kept_are_told_in_numbers(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        before = store.stats()
        assert (store.users(), before.users, before.sessions, before.records) == (["user-one"], 1, 1, 0)
        store.append(session, 0, 0, ["crane " * 2000, "short"])
        self.told(store, session, "a note")
        store.put_memories(Reader(owner="another"), [Memory(text="tug " * 1000)])
        stats = store.stats()
        assert store.users() == ["another", "user-one"]
        assert (stats.users, stats.sessions, stats.records, stats.notes, stats.memories) == (2, 1, 2, 1, 1)
        assert stats.raw_bytes == 12_000 + len("short") + len("a note") + 4_000
        assert 0 < stats.kept_bytes < stats.raw_bytes / 10
        assert stats.total_bytes > stats.kept_bytes

    # Delete

    def test_a_deleted_session_is_gone_and_the_others_are_whole(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        other = store.open(SessionKey(user="user-one", name="other"))
        for each in (session, other):
            store.append(each, 0, 0, ["shared record", f"own record of {each}"])
            store.write_ledger(each, 0, ["shared entry"])
            store.index(each, [("1", "shared words")])
            self.told(store, each, "shared note", key="k")
        store.fork(session, 0, 1)
        store.delete(session)
        store.delete(session)
        assert store.sessions("user-one") == ["other"]
        assert "session" in refusal(lambda: store.read(session, 0))
        assert store.read(other, 0) == ["shared record", f"own record of {other}"]
        assert store.read_ledger(other, 0) == ["shared entry"]
        assert sorted(hit.text for hit in store.search(other, "shared")) == ["shared note", "shared words"]
        again = store.open(SessionKey(user="user-one", name="main"))
        assert again != session
        assert (store.read(again, 0), store.notes(again), store.search(again, "shared")) == ([], [], [])

    # Life

    def test_all_is_there_after_opening_again(self, tmp_path: Path) -> None:
        if not self.lasting:
            return
        store, session = self.opened(tmp_path)
        store.append(session, 0, 0, ["a", "b"])
        branch = store.fork(session, 0, 1)
        store.append(session, branch, 1, ["c"])
        store.write_ledger(session, branch, ["entry"])
        note = self.told(store, session, "text", key="k")
        hits = store.search(session, "text")
        store.close()
        store = self.make(tmp_path, self.clock)
        assert store.open(SessionKey(user="user-one", name="main")) == session
        assert store.head(session) == branch
        assert store.read(session, branch) == ["a", "c"]
        assert store.read_ledger(session, branch) == ["entry"]
        assert store.note(session, handle=note.handle) == note
        assert store.search(session, "text") == hits
        store.close()

    def test_a_closed_store_says_so(self, tmp_path: Path) -> None:
        store, session = self.opened(tmp_path)
        store.close()
        store.close()
        assert "closed" in refusal(lambda: store.notes(session))
