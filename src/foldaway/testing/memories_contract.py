"""What every store must keep about memories; part of `foldaway.testing.store_contract.StoreContract`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from foldaway.protocols import Filter, Memory, Reader, SessionKey, Store
from foldaway.testing.pools_contract import PoolsContract
from foldaway.testing.store_basics import Clock, FixedClock, refusal
from foldaway.testing.tombstones_contract import TombstonesContract

ANN, BOB = Reader(owner="ann"), Reader(owner="bob", groups=("writers",))
EVE = Reader(owner="eve")
OWN, TEAM = Filter(), Filter(pools=("team",))
DAY = "2031-03-{:02}T09:00:00Z"


def unit(*numbers: float) -> list[float]:
    length = math.sqrt(sum(number * number for number in numbers))
    return [number / length for number in numbers]


def texts(memories: Sequence[Memory]) -> list[str]:
    return [memory.text for memory in memories]


class MemoriesContract(PoolsContract, TombstonesContract):
    """Conformance of the verbs about memories."""

    lasting = True

    def make(self, folder: Path, clock: Clock) -> Store:
        raise NotImplementedError

    def other(self, folder: Path, clock: Clock) -> Store:
        """Another store of this kind, which shares nothing with those of `make`."""
        return self.make(folder, clock)

    def store(self, folder: Path) -> tuple[Store, FixedClock]:
        """A store with a pool "team": Ann's, in which Bob and Eve write, and Zoe reads."""
        clock = FixedClock()
        store = self.make(folder, clock)
        store.make_pool(ANN, "team")
        store.grant_pool(ANN, "team", {"user:bob": "writer", "user:eve": "writer", "user:zoe": "reader"})
        return store, clock

    def all_of(self, store: Store, reader: Reader, among: Filter, ids: Sequence[str]) -> Iterator[set[str]]:
        """The ids that each reading verb shows this reader, given ids it may have picked up anywhere."""
        yield {memory.id for memory in store.memories(reader, ids)}
        yield {memory.id for memory in store.find_memories(reader, among)}
        yield {found for found, _ in store.by_words(reader, among, "crane", 50)}
        yield {found for found, _ in store.by_vector(reader, among, "m", unit(1, 0), 50)}

    # Keeping

    def test_a_memory_comes_back_as_it_was_told(self, tmp_path: Path) -> None:
        store, _ = self.store(tmp_path)
        told = Memory(
            text="nul\0, lone \ud83d, 港口 🚢 " + "x" * 5000,
            kind="decision",
            key="berth of the 'tug' %_",
            task="t-1",
            source="https://harbour.example/plan?a=1",
            session="../night shift",
            item=12,
            at="2031-02-01T10:00:00.000250Z",
            expires_at="2041-01-01T00:00:00Z",
        )
        (found,) = store.put_memories(ANN, [told])
        (back,) = store.memories(ANN, [found])
        assert back == replace(told, id=found, owner="ann")
        assert store.find_memories(ANN, OWN) == [back]

    def test_ids_come_back_in_the_order_asked_for_and_strange_ones_not_at_all(self, tmp_path: Path) -> None:
        store, clock = self.store(tmp_path)
        one, two = store.put_memories(ANN, [Memory(text="one"), Memory(text="two")])
        strange = ["", "m:", one + "0", one.upper(), one[2:], "m:" + "0" * 32, "m:" + "é" * 32, "' OR 1 --", "\ud83d\0"]
        assert texts(store.memories(ANN, [two, *strange, one])) == ["two", "one"]
        assert store.memories(ANN, [two])[0].at == clock.now.isoformat().replace("+00:00", "Z")
        assert store.forget_memories(ANN, strange) == 0

    def test_what_cannot_be_kept_is_refused_whole(self, tmp_path: Path) -> None:
        store, _ = self.store(tmp_path)
        for bad, word in (
            (Memory(text=""), "text"),
            (Memory(text="x", access="everyone"), "everyone"),
            (Memory(text="x", access="group:"), "group"),
            (Memory(text="x", at="soon"), "ISO 8601"),
            (Memory(text="x", expires_at="never"), "ISO 8601"),
        ):
            assert word in refusal(lambda memory=bad: store.put_memories(ANN, [Memory(text="good"), memory]))  # type: ignore[misc]
        assert "owner" in refusal(lambda: store.put_memories(Reader(owner=" "), [Memory(text="x")]))
        assert store.find_memories(ANN, OWN) == []
        assert store.put_memories(ANN, []) == []

    def test_the_same_again_is_kept_once_with_the_later_time(self, tmp_path: Path) -> None:
        store, _ = self.store(tmp_path)
        (first,) = store.put_memories(ANN, [Memory(text="same", at=DAY.format(5))])
        again = store.put_memories(ANN, [Memory(text="same", at=DAY.format(4)), Memory(text="same", at=DAY.format(6))])
        assert again == [first, first]
        assert [memory.at for memory in store.find_memories(ANN, OWN)] == [DAY.format(6)]
        others = [
            Memory(text="same", kind="pitfall"),
            Memory(text="same", key="k"),
            Memory(text="same", pool="team"),
            Memory(text="same", pool="team", access="public"),
        ]
        ids = store.put_memories(ANN, others) + store.put_memories(BOB, [Memory(text="same")])
        assert len({first, *ids}) == 6

    # Filters

    def test_each_field_filters_and_all_of_them_together(self, tmp_path: Path) -> None:
        store, _ = self.store(tmp_path)
        told = [
            Memory(text="crane a", kind="fact", key="k1", task="t1", source="s1", session="n1", at=DAY.format(1)),
            Memory(text="crane b", kind="digest", key="k2", task="t1", source="s2", session="n1", at=DAY.format(2)),
            Memory(text="crane c", kind="fact", key="", task="t2", source="s1", session="n2", at=DAY.format(3)),
            Memory(text="crane d", kind="pitfall", key="k1", task="", source="", session="", at=DAY.format(4)),
        ]
        ids = store.put_memories(ANN, told)
        store.put_vectors("m", [(each, unit(1, number)) for number, each in enumerate(ids)])
        for among, expected in (
            (Filter(), "dcba"),
            (Filter(kinds=("fact",)), "ca"),
            (Filter(kinds=("fact", "pitfall")), "dca"),
            (Filter(keys=("k1",)), "da"),
            (Filter(keys=("",)), "c"),
            (Filter(keys=("k1", "")), "dca"),
            (Filter(tasks=("t1",)), "ba"),
            (Filter(sources=("s1",)), "ca"),
            (Filter(sessions=("n1",)), "ba"),
            (Filter(sessions=("",)), "d"),
            (Filter(since=DAY.format(2)), "dcb"),
            (Filter(until=DAY.format(2)), "a"),
            (Filter(since=DAY.format(2), until=DAY.format(4)), "cb"),
            (Filter(current_only=True), "dcb"),
            (Filter(kinds=("fact",), tasks=("t1",), sources=("s1",), sessions=("n1",), keys=("k1",)), "a"),
            (Filter(kinds=("fact",), tasks=("t1",), sources=("s2",)), ""),
            (Filter(kinds=("%", "' OR 1=1 --")), ""),
            (Filter(pools=()), ""),
            (Filter(pools=("team",)), ""),
        ):
            wanted = [ids["abcd".index(letter)] for letter in expected]
            assert [memory.id for memory in store.find_memories(ANN, among)] == wanted, among
            assert {found for found, _ in store.by_words(ANN, among, "crane", 9)} == set(wanted), among
            assert {found for found, _ in store.by_vector(ANN, among, "m", unit(1, 0), 9)} == set(wanted), among
        assert "ISO 8601" in refusal(lambda: store.find_memories(ANN, Filter(since="soon")))

    def test_the_newest_come_first_and_as_many_as_asked_for(self, tmp_path: Path) -> None:
        store, _ = self.store(tmp_path)
        store.put_memories(ANN, [Memory(text=str(day), at=DAY.format(day)) for day in (3, 1, 9, 7)])
        tied = sorted(store.put_memories(ANN, [Memory(text=name, at=DAY.format(8)) for name in "pqr"]))
        assert texts(store.find_memories(ANN, OWN, limit=1)) == ["9"]
        found = store.find_memories(ANN, OWN)
        assert [memory.id for memory in found[1:4]] == tied
        assert texts(found[4:]) == ["7", "3", "1"]
        assert store.find_memories(ANN, OWN, limit=0) == store.find_memories(ANN, OWN, limit=-1) == []

    # Superseding, contradicting, expiring

    def test_the_newer_of_a_subject_supersedes_the_older_ones(self, tmp_path: Path) -> None:
        store, _ = self.store(tmp_path)
        (old,) = store.put_memories(ANN, [Memory(text="gate 4", key="gate", at=DAY.format(2))])
        new, tie = store.put_memories(ANN, [Memory(text=f"gate {n}", key="gate", at=DAY.format(5)) for n in (8, 9)])
        (late,) = store.put_memories(ANN, [Memory(text="gate 1", key="gate", at=DAY.format(1))])
        elsewhere = [Memory(text="gate 7", key="gate", pool="team"), Memory(text="x"), Memory(text="y")]
        store.put_memories(ANN, elsewhere)
        store.put_memories(BOB, [Memory(text="gate 6", key="gate")])
        by = {memory.id: memory.superseded_by for memory in store.memories(ANN, [old, new, tie, late])}
        assert by == {old: tie, new: tie, tie: "", late: tie}
        assert texts(store.find_memories(ANN, Filter(keys=("gate",), current_only=True))) == ["gate 9"]
        assert texts(store.find_memories(BOB, Filter(keys=("gate",), current_only=True))) == ["gate 6"]
        # Told again with a later time, an older one is the current one again.
        store.put_memories(ANN, [Memory(text="gate 4", key="gate", at=DAY.format(6))])
        by = {memory.id: memory.superseded_by for memory in store.memories(ANN, [old, new, tie, late])}
        assert by == {old: "", new: old, tie: old, late: old}
        assert store.forget_memories(ANN, [old]) == 1
        by = {memory.id: memory.superseded_by for memory in store.memories(ANN, [old, new, tie, late])}
        assert by == {new: tie, tie: "", late: tie}

    def test_what_has_expired_is_found_no_more_and_what_it_superseded_holds_again(self, tmp_path: Path) -> None:
        store, clock = self.store(tmp_path)
        ids = store.put_memories(
            ANN,
            [
                Memory(text="crane at gate 4", key="gate", at=DAY.format(1)),
                Memory(text="crane at gate 9", key="gate", at=DAY.format(2), expires_at=DAY.format(3)),
            ],
        )
        store.put_vectors("m", [(each, unit(1, 0)) for each in ids])
        assert [len(found) for found in self.all_of(store, ANN, OWN, ids)] == [2, 2, 2, 2]
        clock.now += timedelta(days=2)
        assert list(self.all_of(store, ANN, OWN, ids)) == [{ids[0]}] * 4
        assert store.memories(ANN, ids)[0].superseded_by == ""
        store.put_memories(BOB, [Memory(text="of another", expires_at=DAY.format(20)), Memory(text="for good")])
        assert store.expire_memories(DAY.format(19)) == 0
        assert store.expire_memories(DAY.format(20)) == 1
        assert texts(store.find_memories(BOB, OWN)) == ["for good"]

    def test_contradictions_are_marked_on_both_and_go_with_either(self, tmp_path: Path) -> None:
        store, _ = self.store(tmp_path)
        own, second = store.put_memories(ANN, [Memory(text="blue"), Memory(text="red")])
        (public,) = store.put_memories(BOB, [Memory(text="green", pool="team", access="public")])
        (hidden,) = store.put_memories(BOB, [Memory(text="black")])
        for one, other in ((own, second), (public, own), (own, public)):
            store.mark_contradiction(ANN, one, other)
        against = {memory.id: memory.contradicts for memory in store.memories(ANN, [own, second, public])}
        assert against == {own: tuple(sorted([second, public])), second: (own,), public: (own,)}
        # Bob may not see what is Ann's: not even that it is there.
        assert store.memories(BOB, [public])[0].contradicts == ()
        for reader, one, other in (
            (ANN, own, hidden),
            (ANN, own, own),
            (ANN, own, "m:"),
            (EVE, own, public),
            (BOB, public, own),
        ):
            assert "contradiction" in refusal(lambda r=reader, a=one, b=other: store.mark_contradiction(r, a, b))  # type: ignore[misc]
        (eves,) = store.put_memories(EVE, [Memory(text="white", pool="team", access="public")])
        assert "own" in refusal(lambda: store.mark_contradiction(ANN, public, eves))
        store.forget_memories(ANN, [second])
        assert store.memories(ANN, [own])[0].contradicts == (public,)

    # Words and vectors

    def test_words_signs_and_cjk_are_found_best_first(self, tmp_path: Path) -> None:
        store, _ = self.store(tmp_path)
        told = [
            "The file crate-lift_v2.py drives the lift.",
            "The lift board is written in C++ and NOT in Rust.",
            "The lift answers at 10.0.0.7:8080 by day.",
            "港口的起重机停在五号泊位。",
        ]
        ids = store.put_memories(ANN, [Memory(text=text) for text in told])
        (keyed,) = store.put_memories(ANN, [Memory(text="It is green.", key="dock-plan.md")])
        for query, best in {
            "crate-lift_v2.py": ids[0],
            "V2": ids[0],
            "C++": ids[1],
            "10.0.0.7": ids[2],
            "起重机": ids[3],
            "位": ids[3],
            "dock-plan.md": keyed,
        }.items():
            found = store.by_words(ANN, OWN, query, 3)
            assert found[0][0] == best, query
            assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        for query in ("", "  ", "-", '"', "*", "\0", "\ud83d", "(", "NOT", "lift NEAR/2 file", "{a}:b"):
            store.by_words(ANN, OWN, query, 3)
        assert store.by_words(ANN, OWN, "-", 3) == store.by_words(ANN, OWN, "lift", 0) == []
        assert len(store.by_words(ANN, OWN, "lift", 2)) == 2

    def test_vectors_are_found_by_cosine_within_their_model(self, tmp_path: Path) -> None:
        store, _ = self.store(tmp_path)
        ids = store.put_memories(ANN, [Memory(text=f"crane {number}") for number in range(5)])
        assert store.by_vector(ANN, OWN, "m", unit(1, 0), 3) == []
        assert [found for found, _ in store.without_vector("m", 9)] == ids
        assert store.without_vector("m", 2) == [(ids[0], "crane 0"), (ids[1], "crane 1")]
        store.put_vectors("m", [(each, unit(1, number)) for number, each in enumerate(ids[:4])])
        store.put_vectors("other", [(ids[4], unit(1, 0, 0))])
        assert [found for found, _ in store.without_vector("m", 9)] == [ids[4]]
        assert [found for found, _ in store.without_vector("other", 9)] == ids[:4]
        found = store.by_vector(ANN, OWN, "m", unit(1, 0), 3)
        assert [each for each, _ in found] == ids[:3]
        for (_, cosine), expected in zip(found, (1, 1 / math.sqrt(2), 1 / math.sqrt(5)), strict=True):
            assert abs(cosine - expected) < 1e-3
        assert [each for each, _ in store.by_vector(ANN, OWN, "other", unit(1, 0, 0), 9)] == [ids[4]]
        store.put_vectors("m", [(ids[4], unit(9, 1)), (ids[0], unit(-1, 0)), ("m:" + "0" * 32, unit(1, 0))])
        assert [each for each, _ in store.by_vector(ANN, OWN, "m", unit(1, 0), 9)] == [ids[4], *ids[1:4], ids[0]]
        assert store.without_vector("m", 9) == store.without_vector("m", 0) == []
        (late,) = store.put_memories(BOB, [Memory(text="late")])
        assert store.without_vector("m", 9) == [(late, "late")]
        for call in (
            lambda: store.put_vectors("m", [(late, unit(1, 0)), (late, unit(1, 0, 0))]),
            lambda: store.by_vector(ANN, OWN, "m", unit(1, 0, 0), 3),
        ):
            assert "numbers" in refusal(call)
        assert store.without_vector("m", 9) == [(late, "late")]
        assert store.by_vector(ANN, OWN, "m", unit(1, 0), 0) == []

    # Copies

    def test_exported_memories_are_the_same_in_another_store(self, tmp_path: Path) -> None:
        (tmp_path / "one").mkdir()
        (tmp_path / "two").mkdir()
        store, clock = self.store(tmp_path / "one")
        ids = store.put_memories(
            ANN,
            [
                Memory(text="gate 4", key="gate", at=DAY.format(1), task="t", session="s", item=4),
                Memory(text="gate 9", key="gate", at=DAY.format(1), expires_at=DAY.format(20)),
                Memory(text="for the team", pool="team", access="group:writers"),
            ],
        )
        store.mark_contradiction(ANN, ids[0], ids[2])
        store.put_memories(BOB, [Memory(text="of another", pool="team", access="public")])
        exported = store.export_memories(ANN)
        assert [memory.id for memory in exported] == ids
        assert store.export_memories(ANN, limit=2) == exported[:2]
        assert store.export_memories(ANN, after=ids[1]) == exported[2:]
        assert store.export_memories(ANN, after=ids[2]) == store.export_memories(ANN, after="m:") == []
        other = self.other(tmp_path / "two", clock)
        assert "pool 'team'" in refusal(lambda: other.import_memories(ANN, exported))
        other.import_pools(store.export_pools(ANN))
        assert other.pool_members(ANN, "team") == store.pool_members(ANN, "team")
        assert other.import_memories(ANN, exported[:2]) == ids[:2]
        assert other.import_memories(ANN, exported[2:]) == ids[2:]
        assert other.export_memories(ANN) == exported
        assert other.import_memories(ANN, exported) == ids
        # Whoever hands in an id that is another's gets one of their own, and what is told is no import.
        (eves,) = other.import_memories(EVE, [replace(exported[0], text="mine")])
        assert eves not in ids
        (told,) = other.put_memories(ANN, [replace(exported[0], text="changed", key="")])
        assert told not in ids
        assert other.put_memories(ANN, [Memory(text="for the team", pool="team", access="group:writers")]) == ids[2:]

    # Isolation

    def test_no_verb_shows_what_a_reader_may_not_see(self, tmp_path: Path) -> None:
        store, _ = self.store(tmp_path)
        (own,) = store.put_memories(ANN, [Memory(text="crane of ann", access="public")])
        access = ("owner", "public", "group:writers", "group:readers")
        pooled = store.put_memories(ANN, [Memory(text=f"crane for {who}", pool="team", access=who) for who in access])
        (bobs,) = store.put_memories(BOB, [Memory(text="crane of bob")])
        ids = [own, *pooled, bobs]
        store.put_vectors("m", [(each, unit(1, 0)) for each in ids])
        both, other = Filter(pools=("", "team")), Filter(pools=("tea", "team2", "TEAM"))
        for reader, among, expected in (
            (ANN, OWN, {own}),
            (ANN, TEAM, set(pooled)),
            (ANN, both, {own, *pooled}),
            (BOB, OWN, {bobs}),
            (BOB, TEAM, set(pooled[1:3])),
            (EVE, both, {pooled[1]}),
            (EVE, OWN, set()),
            (Reader(owner="eve", groups=("readers", "x")), TEAM, {pooled[1], pooled[3]}),
            (Reader(owner="eve", groups=("",)), TEAM, {pooled[1]}),
            (Reader(owner="eve", groups=("writers' OR 1=1 --", "owner")), TEAM, {pooled[1]}),
            (Reader(owner="zoe", groups=("writers",)), TEAM, {pooled[1], pooled[2]}),
            (Reader(owner="ANN", groups=("writers", "readers", "@ann")), both, set()),
            (Reader(owner="ann "), both, set()),
            (ANN, other, set()),
        ):
            by_id, *found = self.all_of(store, reader, among, ids)
            assert found == [expected] * 3, (reader, among)
            everything = {memory.id for memory in store.find_memories(reader, both)}
            assert by_id == everything, reader
        assert "owner" in refusal(lambda: store.find_memories(Reader(owner=""), both))

    def test_only_the_owner_forgets_and_then_no_verb_finds_it(self, tmp_path: Path) -> None:
        store, _ = self.store(tmp_path)
        public, own, kept = store.put_memories(
            ANN,
            [
                Memory(text="crane one", pool="team", access="public"),
                Memory(text="crane two"),
                Memory(text="crane three"),
            ],
        )
        ids = [public, own, kept]
        store.put_vectors("m", [(each, unit(1, 0)) for each in ids])
        both = Filter(pools=("", "team"))
        assert list(self.all_of(store, ANN, both, ids)) == [set(ids)] * 4
        assert store.forget_memories(BOB, ids) == 0
        assert store.forget_memories(ANN, [public, own, own, "m:"]) == 2
        assert list(self.all_of(store, ANN, both, ids)) == [{kept}] * 4
        assert list(self.all_of(store, BOB, both, ids)) == [set()] * 4
        store.put_vectors("m", [(own, unit(1, 0))])
        assert store.by_vector(ANN, both, "m", unit(1, 0), 9) == [(kept, 1.0)]
        (again,) = store.put_memories(ANN, [Memory(text="crane two")])
        assert store.without_vector("m", 9) == [(again, "crane two")]
        assert store.memories(ANN, [again])[0].text == "crane two"

    def test_memories_and_sessions_outlive_each_other(self, tmp_path: Path) -> None:
        store, _ = self.store(tmp_path)
        session = store.open(SessionKey(user="ann", name="main"))
        store.append(session, 0, 0, ["crane"])
        (told,) = store.put_memories(ANN, [Memory(text="crane", session="main", item=1)])
        store.delete(session)
        assert texts(store.memories(ANN, [told])) == ["crane"]
        session = store.open(SessionKey(user="ann", name="main"))
        store.append(session, 0, 0, ["crane"])
        store.forget_memories(ANN, [told])
        assert store.read(session, 0) == ["crane"]

    def test_memories_are_there_after_opening_again(self, tmp_path: Path) -> None:
        if not self.lasting:
            return
        store, clock = self.store(tmp_path)
        ids = store.put_memories(ANN, [Memory(text=f"crane {number}", key="k") for number in range(3)])
        store.put_vectors("m", [(each, unit(1, number)) for number, each in enumerate(ids)])
        store.mark_contradiction(ANN, ids[0], ids[1])
        before = [store.memories(ANN, ids), store.by_words(ANN, OWN, "crane", 9)]
        near = store.by_vector(ANN, OWN, "m", unit(1, 0), 9)
        store.close()
        store = self.make(tmp_path, clock)
        assert [store.memories(ANN, ids), store.by_words(ANN, OWN, "crane", 9)] == before
        assert store.by_vector(ANN, OWN, "m", unit(1, 0), 9) == near
        assert store.put_memories(ANN, [Memory(text="crane 1", key="k")]) == [ids[1]]
        store.close()
