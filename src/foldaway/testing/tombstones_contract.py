"""What every store must keep about what was forgotten; part of `MemoriesContract`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from foldaway.protocols import Filter, Memory, Reader, SessionKey, Store
from foldaway.testing.store_basics import FixedClock, refusal

ANN, BOB = Reader(owner="ann"), Reader(owner="bob")
FACT = Memory(text="staging is 10.0.0.7", kind="fact", key="staging", session="one", item=4)
WISH = Memory(text="prefers tabs", kind="preference", session="one", item=1)


class TombstonesContract:
    """Conformance of the verbs about tombstones."""

    make: Callable[..., Store]
    other: Callable[..., Store]

    def test_what_was_forgotten_is_known_by_text_and_by_place_and_by_its_owner_alone(self, tmp_path: Path) -> None:
        store = self.make(tmp_path, clock := FixedClock())
        ids = store.put_memories(ANN, [FACT, WISH])
        assert store.buried(ANN, [FACT, WISH]) == [None, None]
        assert store.forget_memories(ANN, ids, tombstones=True) == 2
        fact, wish = store.buried(ANN, [FACT, WISH])
        assert fact is not None
        assert wish is not None
        assert fact.at == wish.at == "2031-03-01T09:00:00Z"
        asked = [
            replace(FACT, session="two", item=9, task="t", source="s", at="2031-01-01"),  # the text
            replace(FACT, text="staging is 10.0.0.9"),  # the place
            replace(FACT, text="staging is 10.0.0.9", item=5),
            replace(FACT, text="staging is 10.0.0.9", session="two"),
            replace(FACT, key="production"),
            replace(FACT, kind="decision"),
            replace(WISH, text="prefers spaces"),  # without a subject, an item may say many things
            Memory(text="prefers", kind="preferencetabs"),
        ]
        assert store.buried(ANN, asked) == [fact, fact, *[None] * 6]
        assert store.buried(BOB, [FACT, WISH]) == [None, None]
        assert store.tombstones(BOB) == []
        assert {each.id for each in store.tombstones(ANN)} == {fact.id, wish.id}
        # Nothing refuses what is told on purpose, and forgetting without a tombstone leaves none.
        clock.now += timedelta(days=1)
        (again,) = store.put_memories(ANN, [FACT])
        assert store.lift_tombstones(ANN, [fact.id]) == 1
        store.forget_memories(ANN, [again])
        assert store.buried(ANN, [FACT, WISH]) == [None, wish]

    def test_only_the_owner_lifts_and_its_name_goes_with_the_last_one(self, tmp_path: Path) -> None:
        store = self.make(tmp_path, FixedClock())
        store.forget_memories(ANN, store.put_memories(ANN, [FACT]), tombstones=True)
        (one,) = store.tombstones(ANN)
        assert store.forget_memories(BOB, [one.id], tombstones=True) == 0
        for ids in ([one.id], ["t:", "", one.id[2:], "m:" + one.id[2:], one.id + "0", "t:" + "0" * 32]):
            assert store.lift_tombstones(BOB, ids) == 0
        assert store.lift_tombstones(ANN, ["t:", one.id[2:], one.id.upper(), "t:" + "0" * 32]) == 0
        assert store.users() == ["ann"]
        assert store.lift_tombstones(ANN, [one.id, one.id]) == 1
        assert store.users() == []
        assert store.buried(ANN, [FACT]) == [None]

    def test_what_expired_and_came_from_a_session_is_known_as_well(self, tmp_path: Path) -> None:
        store = self.make(tmp_path, clock := FixedClock())
        end = "2031-03-02T00:00:00Z"
        store.put_memories(ANN, [replace(FACT, expires_at=end), Memory(text="told by hand", expires_at=end)])
        clock.now += timedelta(days=2)
        assert store.find_memories(ANN, Filter()) == []
        assert [each is None for each in store.buried(ANN, [FACT, Memory(text="told by hand")])] == [False, True]

    def test_tombstones_mean_the_same_in_another_store(self, tmp_path: Path) -> None:
        (tmp_path / "one").mkdir()
        (tmp_path / "two").mkdir()
        store, clock = self.make(tmp_path / "one", clock := FixedClock()), clock
        other = self.other(tmp_path / "two", clock)
        store.forget_memories(ANN, store.put_memories(ANN, [FACT, WISH]), tombstones=True)
        third = Memory(text="of the other store")
        other.forget_memories(ANN, other.put_memories(ANN, [third]), tombstones=True)
        other.put_tombstones(ANN, store.tombstones(ANN))
        other.put_tombstones(ANN, store.tombstones(ANN))
        assert None not in other.buried(ANN, [FACT, WISH, third, replace(FACT, text="x")])
        assert len(other.tombstones(ANN)) == 3
        assert other.lift_tombstones(ANN, [each.id for each in store.tombstones(ANN)]) == 2
        assert other.buried(ANN, [FACT, WISH]) == [None, None]
        (one, _) = store.tombstones(ANN)
        for wrong in (replace(one, id="t:xy"), replace(one, salt=""), replace(one, place="00")):
            assert "tombstone" in refusal(lambda w=wrong: other.put_tombstones(BOB, [w]))  # type: ignore[misc]
        assert other.tombstones(BOB) == []

    def test_tombstones_outlive_sessions_and_memories(self, tmp_path: Path) -> None:
        store = self.make(tmp_path, FixedClock())
        session = store.open(SessionKey(user="ann", name="one"))
        store.forget_memories(ANN, store.put_memories(ANN, [FACT]), tombstones=True)
        store.delete(session)
        assert [each is None for each in store.buried(ANN, [FACT])] == [False]
