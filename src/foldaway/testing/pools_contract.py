"""What every store must keep about pools: who is in, who is not, on every verb; part of `MemoriesContract`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from foldaway.protocols import Filter, Memory, Reader, Store
from foldaway.testing.store_basics import Clock, FixedClock, refusal

OLGA = Reader(owner="olga")
"""Who made the pool."""
WILL, RUTH = Reader(owner="will"), Reader(owner="ruth")
"""A writer, a reader."""
GUS = Reader(owner="gus", groups=("crew",))
"""In by a group alone."""
STRANGERS = (
    Reader(owner="mallory"),
    Reader(
        owner="mallory", groups=("olga", "@olga", "@will", "public", "owner", "group:crew", "user:will", "CREW", "")
    ),
    Reader(owner="OLGA"),
    Reader(owner="olga "),
    Reader(owner="user:will"),
    Reader(owner="olga\u200b"),
    Reader(owner="\u043elga"),
)
POOL = "quay"
PARTS = (POOL, f"{POOL}@", f"{POOL}@will", f"{POOL}@mallory", f"{POOL} ", "QUAY", "%", "quay' OR 1=1 --", "")
WORD = "hawser"


class PoolsContract:
    """Conformance of the verbs about pools, and of all others where a pool is concerned."""

    make: Callable[..., Store]
    other: Callable[..., Store]

    def pool(self, folder: Path) -> tuple[Store, dict[str, str]]:
        """A store with a pool, and the ids of what is in it, by access."""
        store = self.make(folder, FixedClock())
        store.make_pool(OLGA, POOL)
        store.grant_pool(OLGA, POOL, {"user:will": "writer", "user:ruth": "reader", "group:crew": "reader"})
        told = [
            Memory(text=f"{WORD} for {access}", pool=part, access=access, key=f"key {access}")
            for part, access in (
                (POOL, "owner"),
                (POOL, "public"),
                (POOL, "group:crew"),
                (f"{POOL}@will", "group:@will"),
                (f"{POOL}@ruth", "group:@ruth"),
            )
        ]
        ids = store.put_memories(OLGA, told)
        store.put_vectors("m", [(each, [1.0, 0.0]) for each in ids])
        return store, {memory.access: each for memory, each in zip(told, ids, strict=True)}

    def seen(self, store: Store, who: Reader, ids: dict[str, str]) -> list[set[str]]:
        """What each reading verb shows, by access, asked in every part of the pool and with all ids."""
        names = {each: access for access, each in ids.items()}
        among = Filter(pools=(*PARTS, f"{POOL}@ruth"))
        found = [
            [memory.id for memory in store.memories(who, list(names))],
            [memory.id for memory in store.find_memories(who, among)],
            [each for each, _ in store.by_words(who, among, WORD, 99)],
            [each for each, _ in store.by_vector(who, among, "m", [1.0, 0.0], 99)],
        ]
        return [{names[each] for each in part if each in names} for part in found]

    def test_members_see_what_is_for_them_and_strangers_nothing_by_any_verb(self, tmp_path: Path) -> None:
        store, ids = self.pool(tmp_path)
        for who, expected in (
            (OLGA, set(ids)),
            (WILL, {"public", "group:@will"}),
            (RUTH, {"public", "group:@ruth"}),
            (Reader(owner="ruth", groups=("crew", "@will")), {"public", "group:@ruth", "group:crew"}),
            (GUS, {"public", "group:crew"}),
            *((stranger, set()) for stranger in STRANGERS),
        ):
            assert self.seen(store, who, ids) == [expected] * 4, who
        for stranger in STRANGERS:
            assert store.export_memories(stranger) == []
            assert store.pools(stranger) == []
            assert store.pool_members(stranger, POOL) == {}
        (own,) = store.put_memories(OLGA, [Memory(text="out of any pool", access="public")])
        assert store.memories(WILL, [own]) == []

    def test_only_writers_write_and_only_owners_decide_who_is_in(self, tmp_path: Path) -> None:
        store, ids = self.pool(tmp_path)
        before = store.export_memories(OLGA), store.pool_members(OLGA, POOL)
        for part in (POOL, f"{POOL}@", f"{POOL}@will", f"{POOL}@mallory"):
            for access in ("public", "group:crew", "owner"):
                told = Memory(text="mine", pool=part, access=access, key="key public", id=ids["public"])
                for who in (*STRANGERS, RUTH, GUS):
                    if part == f"{POOL}@" and access == "owner" and who not in STRANGERS:
                        store.put_memories(who, [told])  # what a reader holds, for its own eyes
                        continue
                    for verb in (store.put_memories, store.import_memories):
                        assert "may not write to pool 'quay'" in refusal(lambda v=verb, w=who, t=told: v(w, [t]))  # type: ignore[misc]
        for who in (*STRANGERS, RUTH, GUS, WILL):
            for roles in ({f"user:{who.owner}": "owner"}, {"public": "reader"}, {"user:olga": ""}, {}):
                assert "only an owner" in refusal(lambda w=who, r=roles: store.grant_pool(w, POOL, r))  # type: ignore[misc]
            assert "only an owner" in refusal(lambda w=who: store.drop_pool(w, POOL))  # type: ignore[misc]
            assert "already" in refusal(lambda w=who: store.make_pool(w, POOL))  # type: ignore[misc]
            assert store.forget_memories(who, list(ids.values())) == 0
            assert "contradiction" in refusal(lambda w=who: store.mark_contradiction(w, ids["owner"], ids["public"]))  # type: ignore[misc]
        assert (store.export_memories(OLGA), store.pool_members(OLGA, POOL)) == before
        # All or none: what goes elsewhere is not kept either.
        mixed = [Memory(text="kept?"), Memory(text="no", pool=POOL, access="public")]
        refusal(lambda: store.put_memories(STRANGERS[0], mixed))
        assert store.find_memories(STRANGERS[0], Filter()) == []
        assert len(store.put_memories(WILL, mixed)) == 2
        # Who owns the pool does not own what others keep in it.
        (hidden,) = store.put_memories(WILL, [Memory(text="of will alone", pool=POOL, access="owner")])
        assert store.memories(OLGA, [hidden]) == []
        assert store.forget_memories(OLGA, [hidden]) == 0

    def test_who_is_let_in_sees_and_who_is_put_out_sees_its_own_words_alone(self, tmp_path: Path) -> None:
        store, ids = self.pool(tmp_path)
        mallory = STRANGERS[0]
        store.grant_pool(OLGA, POOL, {"user:mallory": "writer"})
        assert self.seen(store, mallory, ids) == [{"public"}] * 4
        (word,) = store.put_memories(mallory, [Memory(text=f"{WORD} of mallory", pool=POOL, access="public")])
        assert [memory.id for memory in store.memories(WILL, [word])] == [word]
        store.grant_pool(OLGA, POOL, {"user:mallory": "", "user:will": ""})
        assert self.seen(store, mallory, ids) == self.seen(store, WILL, ids) == [set()] * 4
        assert [memory.id for memory in store.find_memories(mallory, Filter(pools=(POOL,)))] == [word]
        assert store.pools(mallory) == []
        assert "may not write" in refusal(lambda: store.put_memories(mallory, [Memory(text="x", pool=POOL)]))
        assert store.forget_memories(mallory, [word]) == 1
        store.grant_pool(OLGA, POOL, {"public": "reader"})
        assert self.seen(store, Reader(owner="anybody"), ids) == [{"public"}] * 4
        store.grant_pool(OLGA, POOL, {"user:will": "owner", "user:olga": ""})
        assert store.pool_members(WILL, POOL)["user:will"] == "owner"
        assert "no owner" in refusal(lambda: store.grant_pool(WILL, POOL, {"user:will": "reader"}))
        assert store.pools(WILL) == [POOL]

    def test_what_is_no_member_no_role_and_no_name_is_refused(self, tmp_path: Path) -> None:
        store, _ = self.pool(tmp_path)
        for member in ("", "will", "user:", "user: ", "group:@will", "owner", "everybody:x"):
            assert "expected user:NAME" in refusal(lambda m=member: store.grant_pool(OLGA, POOL, {m: "reader"}))  # type: ignore[misc]
        assert "role 'boss'" in refusal(lambda: store.grant_pool(OLGA, POOL, {"user:will": "boss"}))
        assert "cannot be an owner" in refusal(lambda: store.grant_pool(OLGA, POOL, {"group:crew": "owner"}))
        for name in ("", " ", "a@b", f"{POOL}@will"):
            assert "pool name" in refusal(lambda n=name: store.make_pool(OLGA, n))  # type: ignore[misc]
        for name in ("../../etc", "nul\0", "港口", "x" * 2_000, "' OR 1=1 --", "qu\u0430y"):
            store.make_pool(OLGA, name)
            store.put_memories(OLGA, [Memory(text=f"in {name[:9]}", pool=name, access="public")])
        assert len(store.pools(OLGA)) == 7

    def test_a_dropped_pool_is_gone_with_what_anybody_had_in_it(self, tmp_path: Path) -> None:
        store, ids = self.pool(tmp_path)
        kept = store.put_memories(
            WILL, [Memory(text=f"{WORD} of will"), Memory(text="in it", pool=POOL, access="public")]
        )
        store.make_pool(OLGA, "other")
        (elsewhere,) = store.put_memories(OLGA, [Memory(text=WORD, pool="other", access="public")])
        assert store.drop_pool(OLGA, POOL) == len(ids) + 1
        for who in (OLGA, WILL, RUTH, *STRANGERS):
            assert self.seen(store, who, ids) == [set()] * 4
        assert [memory.id for memory in store.export_memories(WILL)] == kept[:1]
        assert [memory.id for memory in store.memories(OLGA, [elsewhere])] == [elsewhere]
        # Who makes one of the same name gets an empty one.
        store.make_pool(STRANGERS[0], POOL)
        assert store.find_memories(STRANGERS[0], Filter(pools=PARTS)) == []
        assert store.pool_members(STRANGERS[0], POOL) == {"user:mallory": "owner"}

    def test_pools_move_with_their_members_and_nobody_takes_one_over(self, tmp_path: Path) -> None:
        (tmp_path / "one").mkdir()
        (tmp_path / "two").mkdir()
        store, ids = self.pool(tmp_path / "one")
        other = self.other(tmp_path / "two", _clock())
        copies = store.export_pools(WILL)
        assert [copy.name for copy in copies] == [POOL]
        other.import_pools(copies)
        other.import_pools(copies)
        assert other.pool_members(OLGA, POOL) == store.pool_members(OLGA, POOL)
        assert store.export_pools(STRANGERS[0]) == []
        assert store.export_pools(STRANGERS[0], (f"{POOL}@mallory", "none")) == copies
        other.import_memories(OLGA, store.export_memories(OLGA))
        assert self.seen(other, WILL, ids)[:3] == [{"public", "group:@will"}] * 3
        other.make_pool(STRANGERS[0], "taken")
        store.make_pool(OLGA, "taken")
        assert "another owner's" in refusal(lambda: other.import_pools(store.export_pools(OLGA)))


def _clock() -> Clock:
    return FixedClock()
