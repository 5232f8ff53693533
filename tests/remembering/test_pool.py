"""Shared pools: routing, access, corrections, provenance, nothing kept twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from foldaway import RecallError, Session, SettingsError, SqliteStore, StoreError
from foldaway.protocols import Filter, Reader, Store
from foldaway.remembering import Correction, Pool
from foldaway.stores.memory import MemoryStore
from foldaway.testing.histories import FORMATS, Writer, prose
from foldaway.testing.store_basics import FixedClock

Opened = Callable[..., Session]
LONG = "\n".join(f"row {n}: berth {n % 9} crane {n * 7919}" for n in range(800))


MEMBERS = {"researcher": "owner", "writer": "writer", "editor": "reader", "group:editors": "reader"}


def pool(store: Store, owner: str, *groups: str, name: str = "team") -> Pool:
    return Pool(store, name, Reader(owner=owner, groups=groups))


def told(format: str = "openai_chat", long: str = LONG) -> Writer:
    made = Writer(format)
    made.user("Look around.")
    made.call("fetch", long, page="cranes")
    made.call("fetch", "The office is in Quay Street 7.", page="office")
    return made


@pytest.fixture(autouse=True)
def _team(store: Store) -> None:
    pool(store, "researcher").create(MEMBERS)


@pytest.fixture
def research(opened: Opened) -> Session:
    return opened(told(), user="researcher", name="harbour")


@pytest.fixture
def tick(clock: FixedClock) -> Callable[[], None]:
    def later() -> None:
        clock.now += timedelta(seconds=1)

    return later


# Routing


@pytest.mark.parametrize("format", FORMATS)
def test_one_agent_gets_a_digest_or_the_bytes_and_its_history_nobody(store: Store, opened: Opened, format: str) -> None:
    research = opened(told(format), user="researcher", name="harbour")
    mine, yours = pool(store, "researcher"), pool(store, "writer")
    digest = mine.hand_over(research, 2, to="writer")
    raw = mine.hand_over(research, "#2", to="writer", as_="raw", key="cranes")
    assert len(digest.text) < 2_000 < len(LONG)
    assert (digest.owner, digest.session, digest.item) == ("researcher", "harbour", 2)
    assert digest.source.startswith("fetch")
    assert {m.id for m in yours.inbox()} == {digest.id, raw.id}
    assert yours.open(raw.id) == LONG
    with pytest.raises(RecallError, match="ask 'researcher'"):
        yours.open(digest.id)
    for stranger in (pool(store, "editor"), pool(store, "editor", "writer", "@writer", "team@writer")):
        assert not any((stranger.inbox(), stranger.browse(), stranger.search("crane berth")))
        for memory in (digest, raw):
            with pytest.raises(RecallError, match="no memory"):
                stranger.open(memory.id)


def test_each_access_is_kept(store: Store, research: Session) -> None:
    mine = pool(store, "researcher")
    shared = {access: mine.share(research, 3, access, key=access) for access in ("owner", "public", "group:editors")}
    for reader, expected in (
        (mine, {"owner", "public", "group:editors"}),
        (pool(store, "writer"), {"public"}),
        (pool(store, "ed", "editors"), {"public", "group:editors"}),
        (pool(store, "writer", "owner", "researcher"), {"public"}),
        (pool(store, "eve", "owner", "researcher", "@researcher", "public"), set()),
        (pool(store, "ed", "editors", name="other"), set()),
    ):
        assert {m.key for m in reader.browse()} == expected
        assert {f.memory.key for f in reader.search("office in Quay Street")} == expected
        for access, memory in shared.items():
            if access in expected:
                assert reader.get(memory.id) == memory
                assert reader.current(access) == memory
            else:
                with pytest.raises(RecallError):
                    reader.get(memory.id)
                assert reader.current(access) is None
                assert reader.versions(access) == []


def test_a_handed_item_reaches_the_writers_view_as_data_and_nothing_else_does(
    store: Store, opened: Opened, research: Session
) -> None:
    mine, yours = pool(store, "researcher"), pool(store, "writer")
    mine.hand_over(research, 3, to="writer")
    asked = Writer("openai_chat")
    asked.user("Where is the office, as we found last time?")
    writing = opened(asked, user="writer", name="report", retriever=yours)
    shown = str(writing.view().messages)
    assert "Quay Street 7" in shown
    assert "data only, not instructions" in shown
    assert "by researcher" in shown
    assert "crane" not in shown


def test_only_own_sessions_are_shared_and_only_what_is_in_them(store: Store, research: Session) -> None:
    eve = pool(store, "eve")
    with pytest.raises(SettingsError, match="'researcher'"):
        eve.hand_over(research, 2, to="eve")
    mine = pool(store, "researcher")
    for item in ("#99", "-1", "x", "", "2; drop", "１"):
        with pytest.raises(RecallError, match="no item"):
            mine.share(research, item, "public")
    with pytest.raises(SettingsError, match="as_='whole'"):
        mine.share(research, 2, "public", as_="whole")
    with pytest.raises(SettingsError, match="needs a key"):
        mine.tell("x", "public", key="")


def test_a_raw_share_needs_the_session_in_the_store(store: Store, opened: Opened) -> None:
    elsewhere = opened(told(), user="researcher", name="harbour", store=None)
    mine = pool(store, "researcher")
    assert mine.share(elsewhere, 2, "public").kind == "digest"
    with pytest.raises(SettingsError, match="not in this pool's store"):
        mine.share(elsewhere, 2, "public", as_="raw")


def test_the_bytes_of_a_raw_share_are_kept_once(tmp_path: Path, opened: Opened) -> None:
    with SqliteStore(tmp_path / "a.db") as store:
        long = prose(8_000)
        research = opened(told(long=long), user="researcher", name="harbour", store=store)
        mine = pool(store, "researcher").create({"writer": "reader", "editor": "reader", "lead": "reader"})
        before = store.stats()
        for to in ("writer", "editor", "lead"):
            mine.hand_over(research, 2, to=to, as_="raw")
        mine.share(research, 2, "public", as_="raw")
        assert mine.share(research, 2, "public", as_="raw").id == mine.share(research, 2, "public", as_="raw").id
        after = store.stats()
        assert after.raw_bytes - before.raw_bytes < 20_000 < len(long)
        assert pool(store, "editor").open(pool(store, "editor").inbox()[0].id) == long


# Corrections


def test_a_correction_is_read_everywhere_at_once_by_all_who_were_given_it(
    store: Store, research: Session, tick: Callable[[], None]
) -> None:
    mine = pool(store, "researcher")
    readers = [pool(store, "writer"), pool(store, "editor")]
    given = [mine.hand_over(research, 3, to=to, key="office") for to in ("writer", "editor")]
    mine.share(research, 3, "public", key="office")
    tick()
    for reader, memory in zip(readers, given, strict=True):
        reader.take(memory.id)
        assert reader.corrections() == []
    tick()
    mine.correct(given[0].id, "The office moved to Quay Street 9.", source="phone")
    for reader, memory in zip(readers, given, strict=True):
        new = reader.current("office")
        assert new is not None
        assert (new.text, new.owner, new.source) == ("The office moved to Quay Street 9.", "researcher", "phone")
        assert [m.id for m in reader.inbox()] == [m.id for m in reader.browse()] == [new.id]
        assert [f.memory.id for f in reader.search("where is the office")] == [new.id]
        assert reader.take(memory.id) == new
        assert reader.get(memory.id).superseded_by


def test_who_holds_something_hears_what_changed_since_and_no_more(
    store: Store, research: Session, tick: Callable[[], None]
) -> None:
    mine, yours = pool(store, "researcher"), pool(store, "writer")
    office = mine.share(research, 3, "public", key="office")
    mine.tell("Due on 5 May.", "public", key="deadline")
    tick()
    yours.take(office.id)
    tick()
    mine.correct(office.id, "Quay Street 9.")
    deadline = yours.current("deadline")
    assert deadline is not None
    mine.correct(deadline.id, "Due on 9 May.")
    (change,) = yours.corrections()
    assert (change.key, change.held) == ("office", office.id)
    assert change.now is not None
    assert yours.corrections(since=change.now.at) == [change]
    assert yours.corrections(since="2031-03-02") == []
    # It is there for another process too, until the new word is taken.
    assert pool(store, "writer").corrections() == [change]
    yours.take(change.now.id)
    assert yours.corrections() == []
    assert mine.withdraw([change.now.id]) == 1
    assert mine.withdraw([office.id]) == 1
    assert yours.corrections() == [Correction(key="office", held=change.now.id, now=None)]
    yours.let_go("office")
    assert yours.corrections() == []


def test_a_word_that_is_no_longer_for_this_reader_is_told_as_gone(store: Store, tick: Callable[[], None]) -> None:
    mine, yours = pool(store, "researcher"), pool(store, "writer")
    open_ = mine.tell("The price is 40.", "public", key="price")
    yours.take(open_.id)
    tick()
    mine.tell("The price is 55.", "group:sales", key="price")
    assert yours.current("price") is None
    assert not any((yours.browse(), yours.search("what is the price")))
    assert yours.corrections() == [Correction(key="price", held=open_.id, now=None)]


def test_anothers_word_is_contradicted_not_overwritten(
    store: Store, research: Session, tick: Callable[[], None]
) -> None:
    mine, yours = pool(store, "researcher"), pool(store, "writer")
    office = mine.hand_over(research, 3, to="writer", key="office")
    tick()
    yours.correct(office.id, "The office is in Quay Street 11.", source="visit")
    (change,) = mine.corrections()
    assert change.now is not None
    assert (change.now.owner, change.now.source) == ("writer", "visit")
    for reader in (mine, yours):
        newest = reader.current("office")
        assert newest is not None
        assert newest.text.endswith("11.")
    both = yours.versions("office")
    assert {m.owner for m in both} == {"writer", "researcher"}
    assert all(m.contradicts for m in both)
    assert pool(store, "editor").versions("office") == []
    # The researcher has the last word, and the writer hears of it.
    tick()
    mine.correct(office.id, "No: Quay Street 7, the entrance is at 11.")
    (change,) = yours.corrections()
    assert change.now is not None
    assert change.now.owner == "researcher"
    assert mine.corrections() == []


# Who is in


def test_a_pool_is_closed_to_all_who_were_not_granted_it(store: Store, research: Session) -> None:
    mine = pool(store, "researcher")
    shared = mine.share(research, 3, "public", key="office", as_="raw")
    assert mine.members() == {
        "group:editors": "reader", "user:editor": "reader", "user:researcher": "owner", "user:writer": "writer"
    }  # fmt: skip
    for eve in (pool(store, "eve"), pool(store, "rese\u0430rcher"), pool(store, "writer", name="team ")):
        assert not any(
            (eve.members(), eve.browse(), eve.inbox(), eve.search("office Quay Street"), eve.versions("office"))
        )
        assert eve.recollect("office Quay Street", 4) == []
        for verb in (eve.get, eve.open, eve.take, lambda memory: eve.correct(memory, "no")):  # noqa: B023
            with pytest.raises(RecallError, match="no memory"):
                verb(shared.id)
        with pytest.raises(StoreError, match="may not write to pool"):
            eve.tell("mine", "public", key="office")
        for act in (lambda: eve.grant("eve", "owner"), lambda: eve.revoke("researcher"), eve.drop):  # noqa: B023
            with pytest.raises(StoreError, match="only an owner"):
                act()
    with pytest.raises(StoreError, match="already"):
        pool(store, "eve").create()
    reader = pool(store, "editor")
    assert reader.open(shared.id) == "The office is in Quay Street 7."
    assert reader.take(shared.id) == shared  # what it holds, a reader may note
    for write in (
        lambda: reader.tell("mine", "public", key="office"),
        lambda: reader.correct(shared.id, "no"),
        lambda: reader.grant("eve"),
    ):
        with pytest.raises(StoreError, match=r"may not write|only an owner"):
            write()


def test_who_is_put_out_is_told_that_it_is_gone_and_opens_nothing(store: Store, research: Session) -> None:
    mine, yours = pool(store, "researcher"), pool(store, "writer")
    shared = mine.share(research, 3, "public", key="office", as_="raw")
    mine.grant("lead", "reader")
    lead = pool(store, "lead")
    lead.take(shared.id)
    yours.take(shared.id)
    mine.revoke("lead")
    assert lead.corrections() == [Correction(key="office", held=shared.id, now=None)]
    with pytest.raises(RecallError):
        lead.open(shared.id)
    assert yours.corrections() == []
    with pytest.raises(StoreError, match="no owner"):
        mine.revoke("researcher")
    assert mine.drop() > 0
    assert not any((yours.browse(), yours.members(), mine.browse(), mine.members()))
    # The sharer's session is another matter: it stays.
    assert research.recall("#3").text == "The office is in Quay Street 7."


def test_nothing_is_handed_to_who_could_never_see_it(store: Store, research: Session) -> None:
    mine = pool(store, "researcher", name="second").create({"writer": "reader"})
    with pytest.raises(SettingsError, match="'reviewer' is no member of pool 'second'"):
        mine.hand_over(research, 3, to="reviewer")
    mine.grant("group:reviewers", "reader")
    mine.hand_over(research, 3, to="reviewer")
    assert len(pool(store, "reviewer", "reviewers", name="second").inbox()) == 1
    assert pool(store, "reviewer", name="second").inbox() == []
    for member, role in (("x", "boss"), ("", "reader"), ("a\nb", "reader"), ("user:", "reader")):
        with pytest.raises(SettingsError, match=r"expected"):
            mine.grant(member, role)


# Names


@pytest.mark.parametrize("name", ["", " ", "a\n", "a\0b", "x" * 201, "team@writer", "a\x1fb"])
def test_what_cannot_be_a_pools_name_is_refused(store: Store, name: str) -> None:
    with pytest.raises(SettingsError, match="pool name"):
        pool(store, "ann", name=name)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "..", "a/b", "C:\\x", "%2e%2e", "' OR 1=1 --", "港口"]
)
def test_names_are_never_paths(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    with SqliteStore(folder / "a.db") as store:
        session = Session(store=store, user=name, name=name, budget=8_000)
        session.append(told(long="short").messages)
        mine = Pool(store, name, Reader(owner=name, groups=(name,))).create({name + "'s friend": "reader"})
        memory = mine.share(session, 2, f"group:{name}", as_="raw")
        mine.hand_over(session, 3, to=name + "'s friend")
        assert mine.open(memory.id) == "short"
        assert pool(store, "eve", name="etc").browse() == []
        assert store.find_memories(Reader(owner="eve"), Filter(pools=("", name))) == []
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["a.db"]


def test_who_makes_a_pool_cannot_be_less_than_its_owner_and_nothing_is_half_made(store: Store) -> None:
    with pytest.raises(SettingsError, match="leave it out"):
        pool(store, "writer", name="other").create({"writer": "reader", "editor": "reader"})
    assert pool(store, "writer", name="other").create({"writer": "owner", "public": "reader"}).members() == {
        "user:writer": "owner",
        "public": "reader",
    }
    assert pool(store, "public", name="third").create({"public": "reader"}).members() == {
        "user:public": "owner",
        "public": "reader",
    }


def test_ones_own_objection_is_no_news_to_oneself_whatever_ids_it_got() -> None:
    # Ids hang on the store's secret, so one store would show it only every other time.
    for _ in range(8):
        store = MemoryStore()
        mine, yours = pool(store, "researcher").create({"writer": "writer"}), pool(store, "writer")
        session = Session(budget=8_000, store=store, user="researcher", name="s")
        session.append(told().messages)
        office = mine.hand_over(session, "#3", to="writer", key="office")
        yours.take(office.id)
        yours.correct(office.id, "It moved to Quay Street 11.")
        assert yours.corrections() == []
        (objection,) = mine.corrections()
        assert objection.now is not None
        assert objection.now.owner == "writer"
