"""Memories against the simplest thing that could be right: a list of what was told."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from foldaway.errors import StoreError
from foldaway.protocols import Filter, Memory, Reader
from foldaway.stores.memory import MemoryStore
from foldaway.testing.store_contract import FixedClock

owners = st.sampled_from(["ann", "bob"])
keys = st.sampled_from(["", "gate", "Gate"])
pools = st.sampled_from(["", "team", "crew"])
access = st.sampled_from(["owner", "public", "group:writers"])
hours = st.integers(0, 8)
READERS = (Reader(owner="ann"), Reader(owner="bob", groups=("writers",)), Reader(owner="eve"))


def at(hour: int) -> str:
    return f"2031-01-01T{hour:02}:00:00Z"


@dataclass
class Told:
    id: str
    owner: str
    pool: str
    key: str
    access: str
    text: str
    hour: int
    ends: int | None

    def shown_to(self, reader: Reader, members: dict[str, set[str]]) -> bool:
        groups = {f"group:{group}" for group in reader.groups} | {"public"}
        is_member = bool(members.get(self.pool, set()) & ({f"user:{reader.owner}"} | groups))
        return self.owner == reader.owner or (is_member and self.access in groups)


class MemoriesMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore(clock=FixedClock())
        self.told: list[Told] = []
        self.members: dict[str, set[str]] = {"team": {"user:ann", "user:bob"}, "crew": {"user:bob", "user:ann"}}
        for pool, owner, other in (("team", "ann", "bob"), ("crew", "bob", "ann")):
            self.store.make_pool(Reader(owner=owner), pool)
            self.store.grant_pool(Reader(owner=owner), pool, {f"user:{other}": "writer"})

    @rule(
        pool=st.sampled_from(["team", "crew"]), owner=owners, on=st.booleans(),
        member=st.sampled_from(["user:eve", "group:writers", "public"]),
    )  # fmt: skip
    def let_in_or_put_out(self, pool: str, owner: str, member: str, on: bool) -> None:
        may = owner == {"team": "ann", "crew": "bob"}[pool]
        try:
            self.store.grant_pool(Reader(owner=owner), pool, {member: "reader" if on else ""})
        except StoreError:
            assert not may
        else:
            assert may
            (self.members[pool].add if on else self.members[pool].discard)(member)

    @rule(
        owner=owners, pool=pools, key=keys, access=access, word=st.sampled_from("abc"), hour=hours,
        ends=st.none() | st.integers(5, 9),
    )  # fmt: skip
    def tell(self, owner: str, pool: str, key: str, access: str, word: str, hour: int, ends: int | None) -> None:
        # The store's clock stands behind all of these: nothing expires by itself.
        self.store._clock = FixedClock(FixedClock().now.replace(year=2030))
        memory = Memory(
            text=f"crane {word}",
            pool=pool,
            key=key,
            access=access,
            at=at(hour),
            expires_at="" if ends is None else at(ends),
        )
        (found,) = self.store.put_memories(Reader(owner=owner), [memory])
        same = [one for one in self.told if one.id == found]
        for one in same:
            assert (one.owner, one.pool, one.key, one.access, one.text) == (owner, pool, key, access, memory.text)
            if hour > one.hour:
                one.hour, one.ends = hour, ends
                # The order of telling settles ties: its newest telling counts.
                self.told.remove(one)
                self.told.append(one)
        if not same:
            self.told.append(Told(found, owner, pool, key, access, memory.text, hour, ends))

    @rule(owner=owners, pick=st.integers(0, 20))
    def forget(self, owner: str, pick: int) -> None:
        if self.told:
            one = self.told[pick % len(self.told)]
            gone = self.store.forget_memories(Reader(owner=owner), [one.id])
            assert gone == (one.owner == owner)
            if gone:
                self.told.remove(one)

    @rule(hour=hours)
    def expire(self, hour: int) -> None:
        gone = [one for one in self.told if one.ends is not None and one.ends <= hour]
        assert self.store.expire_memories(at(hour)) == len(gone)
        self.told = [one for one in self.told if one not in gone]

    @invariant()
    def every_reader_sees_what_the_model_says(self) -> None:
        subjects: dict[tuple[str, str, str], Told] = {}
        for one in self.told:
            subject = one.owner, one.pool, one.key
            if one.key and (subject not in subjects or one.hour >= subjects[subject].hour):
                subjects[subject] = one
        for reader in READERS:
            for pool in ("", "team", "crew"):
                shown = [one for one in self.told if one.pool == pool and one.shown_to(reader, self.members)]
                found = self.store.find_memories(reader, Filter(pools=(pool,)))
                assert [memory.id for memory in found] == [
                    one.id for one in sorted(shown, key=lambda one: (-one.hour, one.id))
                ]
                words = self.store.by_words(reader, Filter(pools=(pool,)), "crane", 99)
                assert {each for each, _ in words} == {one.id for one in shown}
                for memory in found:
                    (one,) = (one for one in shown if one.id == memory.id)
                    current = subjects.get((one.owner, one.pool, one.key), one)
                    # Of those told at the same time, more than one may have been told last.
                    if [each.hour for each in self.told if self.same(each, one)].count(current.hour) == 1:
                        assert memory.superseded_by == ("" if current is one else current.id)
                    assert memory.owner == one.owner

    @staticmethod
    def same(one: Told, other: Told) -> bool:
        return (one.owner, one.pool, one.key) == (other.owner, other.pool, other.key)

    def teardown(self) -> None:
        self.store.close()


TestMemories = MemoriesMachine.TestCase
TestMemories.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
