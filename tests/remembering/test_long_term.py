"""Long-term memory: learned at the end, found later, corrected, expired, deleted; the original one hop away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from foldaway import RecallError, Session, SettingsError
from foldaway.protocols import Filter, Memory, Reader, SessionKey, Store
from foldaway.remembering import LongTermMemory
from foldaway.remembering.conflicts import contradict
from foldaway.stores.memory import MemoryStore
from foldaway.stores.moving import move_memories, move_session
from foldaway.testing.histories import FORMATS, Writer
from foldaway.testing.store_basics import FixedClock

ANN = Reader(owner="ann")
Made = Callable[..., Writer]
Opened = Callable[..., Session]
EVERYTHING = Filter()


@pytest.fixture
def mine(store: Store) -> LongTermMemory:
    return LongTermMemory(store, ANN)


def texts(memories: list[Memory]) -> list[str]:
    return [m.text for m in memories]


def wish(opened: Opened, name: str, words: str) -> Session:
    told = Writer("openai_chat")
    told.user(words)
    return opened(told, name=name)


# Learning and asking


def test_a_later_session_is_told_what_an_earlier_one_learned(
    mine: LongTermMemory, working: Made, opened: Opened
) -> None:
    assert mine.learn(opened(working())).fresh
    later = Writer("openai_chat")
    later.user("What was my staging port again, as last time?")
    session = opened(later, name="two", retriever=mine)
    shown = str(session.view().messages)
    assert "staging port: 8081" in shown
    assert "session one #1" in shown
    other = opened(later, user="bob", name="two", retriever=LongTermMemory(mine.store, Reader(owner="bob")))
    assert "8081" not in str(other.view().messages)


def test_learning_again_tells_what_is_new_and_no_more(
    mine: LongTermMemory, working: Made, opened: Opened, clock: FixedClock
) -> None:
    session = opened(working())
    first = mine.learn(session)
    before = mine.find()
    clock.now += timedelta(days=1)
    again = mine.learn(session)
    assert (set(again.ids), again.fresh) == (set(first.ids), ())
    assert mine.find() == before
    more = working()
    more.user("From now on call me Captain.")
    session.sync(more.messages)
    (new,) = [m for m in map(mine.get, mine.learn(session).fresh) if m.kind == "preference"]
    assert new.text == "From now on call me Captain."


def test_only_sessions_of_the_same_owner_are_learned_from(mine: LongTermMemory, working: Made, opened: Opened) -> None:
    with pytest.raises(SettingsError, match="'bob'"):
        mine.learn(opened(working(), user="bob"))
    assert mine.find() == []


def test_a_newer_session_supersedes_and_an_older_one_learned_late_does_not(
    mine: LongTermMemory, working: Made, opened: Opened
) -> None:
    mine.learn(opened(working(port=9090), name="new"), at="2031-02-02T00:00:00Z")
    mine.learn(opened(working(port=8081), name="old"), at="2031-01-01T00:00:00Z")
    key = "user · staging port"
    assert texts(mine.find(Filter(keys=(key,), current_only=True))) == ["The user's staging port: 9090"]
    old, new = sorted(mine.find(Filter(keys=(key,))), key=lambda m: m.at)
    assert old.superseded_by == new.id
    assert mine.search("staging port")[0].memory.id == new.id


@pytest.mark.parametrize("format", FORMATS)
def test_the_original_is_one_hop_away_byte_for_byte(
    mine: LongTermMemory, working: Made, opened: Opened, format: str
) -> None:
    session = opened(working(format))
    mine.learn(session)
    for memory in mine.find():
        assert mine.original(memory) == session.recall(f"#{memory.item}").text
    (pitfall,) = mine.find(Filter(kinds=("pitfall",)))
    assert mine.original(pitfall.id) == "1 failed, 3 passed\nE  KeyError: 'berth'\nexit code: 1"


def test_an_edited_history_does_not_bend_the_way_back(mine: LongTermMemory, working: Made, opened: Opened) -> None:
    session = opened(working())
    mine.learn(session, at="2031-01-01T00:00:00Z")
    session.sync(working(port=9090).messages)
    mine.learn(session, at="2031-01-02T00:00:00Z")
    new, old = mine.find(Filter(keys=("user · staging port",)))
    assert "8081" in mine.original(old)
    assert "9090" in mine.original(new)


def test_what_has_no_original_says_so(mine: LongTermMemory, working: Made, opened: Opened, store: Store) -> None:
    (told,) = mine.tell([Memory(text="By hand.")])
    with pytest.raises(RecallError, match="names no item"):
        mine.original(told)
    mine.learn(opened(working()))
    (fact,) = mine.find(Filter(keys=("user · staging port",)))
    store.delete(store.open(SessionKey(user="ann", name="one")))
    with pytest.raises(RecallError, match="not in this store"):
        mine.original(fact)
    assert store.sessions("ann") == []


# Looking after


def test_a_correction_supersedes_and_stays_when_the_session_is_learned_again(
    mine: LongTermMemory, working: Made, opened: Opened, clock: FixedClock
) -> None:
    session = opened(working())
    mine.learn(session)
    (old,) = mine.find(Filter(keys=("user · staging port",)))
    new = mine.correct(old.id, "The user's staging port: 7000", source="ann herself")
    assert mine.get(old.id).superseded_by == new
    assert (mine.get(new).source, mine.get(new).item) == ("correction: ann herself", old.item)
    clock.now += timedelta(days=1)
    assert texts(list(mine.learn(session).skipped)) == ["The user's staging port: 8081"]
    # Nor does another session that was told the same.
    mine.learn(opened(working(), name="two"))
    assert texts(mine.find(Filter(keys=("user · staging port",), current_only=True))) == [
        "The user's staging port: 7000"
    ]


def test_what_has_no_key_and_what_lies_ahead_can_be_corrected(mine: LongTermMemory, opened: Opened) -> None:
    session = wish(opened, "one", "I prefer tabs over spaces.")
    mine.learn(session, at="2040-01-01T00:00:00Z")
    (old,) = mine.find()
    new = mine.correct(old.id, "Prefers two spaces.")
    assert texts(mine.find()) == ["Prefers two spaces."]
    assert mine.get(new).superseded_by == ""
    assert "tabs" in mine.original(new)
    assert texts(list(mine.learn(session).skipped)) == ["I prefer tabs over spaces."]
    assert texts(mine.find()) == ["Prefers two spaces."]


def test_an_expired_memory_is_found_no_more(mine: LongTermMemory, clock: FixedClock) -> None:
    (one,) = mine.tell([Memory(text="The gate code of today is on the board.", key="gate")])
    mine.expire(one, "2031-03-02T00:00:00Z")
    assert mine.get(one).expires_at == "2031-03-02T00:00:00Z"
    clock.now += timedelta(days=2)
    assert mine.find(EVERYTHING) == []
    assert mine.search("gate code") == []


def test_contradicting_wishes_are_both_marked_and_not_mixed(mine: LongTermMemory, opened: Opened) -> None:
    mine.learn(wish(opened, "one", "I prefer tabs over spaces. Never push to the release branch."))
    learned = mine.learn(wish(opened, "two", "I prefer spaces over tabs. Always push to the release branch."))
    assert len(learned.contradictions) == 2
    for memory in mine.find():
        (against,) = memory.contradicts
        assert contradict(memory.text, mine.get(against).text)
    (cited, *_) = [found.cited() for found in mine.search("tabs or spaces")]
    assert "contradicted by another memory" in cited


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Never push to main.", "Always push to main.", True),
        ("Don't use tabs.", "Use tabs.", True),
        ("I prefer Rust over Go", "I prefer Go over Rust", True),
        ("不要改测试文件", "请改测试文件", True),
        ("Never push to main.", "Never push to main without asking.", False),
        ("Never push to main.", "Always write tests first.", False),
        ("I prefer tabs over spaces", "I prefer Rust over Go", False),
        ("Always use tabs.", "Always use tabs.", False),
        ("", "", False),
    ],
)
def test_opposites_are_told_from_what_only_looks_alike(one: str, other: str, expected: bool) -> None:
    assert contradict(one, other) is contradict(other, one) is expected


def test_nobody_looks_after_what_is_anothers(mine: LongTermMemory, working: Made, opened: Opened, store: Store) -> None:
    mine.learn(opened(working()))
    eve = LongTermMemory(store, Reader(owner="eve", groups=("ann", "owner", "public", "group:ann")))
    before = mine.find(EVERYTHING)
    for memory in before:
        for attempt in (
            lambda m=memory: eve.get(m.id),
            lambda m=memory: eve.original(m.id),
            lambda m=memory: eve.original(m),
            lambda m=memory: eve.correct(m.id, "x"),
            lambda m=memory: eve.expire(m.id, "2031-01-01T00:00:00Z"),
        ):
            with pytest.raises(RecallError, match="no memory"):
                attempt()
        assert eve.forget([memory.id]) == 0
    assert eve.find(EVERYTHING) == []
    assert eve.search("staging port tabs production") == []
    assert mine.find(EVERYTHING) == before


# Forgetting


def test_what_was_forgotten_stays_out_whatever_session_says_it(
    mine: LongTermMemory, working: Made, opened: Opened, store: Store
) -> None:
    session = opened(working())
    learned = mine.learn(session)
    port = next(m for m in mine.find() if "8081" in m.text and m.kind == "fact")
    wish = next(m for m in mine.find() if m.kind == "preference")
    known = {m.id for m in mine.find()}
    assert mine.forget([port.id, wish.id]) == 2
    again = mine.learn(session)
    assert again.fresh == ()
    assert {one.memory.text for one in again.forgotten} == {port.text, wish.text}
    assert {m.id for m in mine.find()} == known - {port.id, wish.id}
    assert len(again.ids) == len(learned.ids) - 2
    # Another session that says the very same does not bring it back either; what is new in it comes in.
    other = opened(working(), name="two")
    assert {one.memory.text for one in mine.learn(other).forgotten} >= {port.text, wish.text}
    fresh = mine.learn(opened(working(port=9090), name="three"))
    assert any("9090" in mine.get(one).text for one in fresh.fresh)
    assert not [m for m in mine.find(Filter()) if "8081" in m.text and m.kind == "fact"]
    # Nothing of it is told by what stays; what else was made from the same words is named.
    assert "8081" not in str(mine.tombstones())


def test_what_else_was_made_from_the_same_item_is_named(mine: LongTermMemory, working: Made, opened: Opened) -> None:
    mine.learn(opened(working()))
    mine.learn(opened(working(), name="two"))
    port = next(m for m in mine.find() if m.kind == "fact" and "8081" in m.text)
    beside = mine.beside(port.id)
    assert {m.kind for m in beside} == {"preference", "constraint", "digest"}
    assert all((m.session, m.item) == (port.session, port.item) for m in beside)
    assert mine.beside(mine.tell([Memory(text="told by hand")])[0]) == []


def test_a_tombstone_is_lifted_on_purpose_by_telling_or_by_a_session_of_a_later_time(
    mine: LongTermMemory, working: Made, opened: Opened, clock: FixedClock
) -> None:
    session = opened(working())
    mine.learn(session)
    for lift in ("lift", "tell", "later"):
        wish = next(m for m in mine.find() if m.kind == "preference")
        mine.forget([wish.id])
        ((one,), tombstones) = mine.learn(session).forgotten, mine.tombstones()
        assert [each.id for each in tombstones] == [one.tombstone]
        earlier = (clock.now - timedelta(days=1)).isoformat()
        assert len(mine.learn(session, at=earlier).forgotten) == 1
        if lift == "lift":
            assert mine.lift([one.tombstone]) == 1
            assert len(mine.learn(session).fresh) == 1
        elif lift == "tell":
            mine.tell([replace(one.memory, id="")])
        else:
            assert len(mine.learn(session, at=(clock.now + timedelta(days=1)).isoformat()).fresh) >= 1
        assert mine.tombstones() == []
        assert mine.learn(session).forgotten == ()


def test_what_has_expired_is_not_learned_again(
    mine: LongTermMemory, working: Made, opened: Opened, clock: FixedClock
) -> None:
    session = opened(working())
    mine.learn(session)
    wish = next(m for m in mine.find() if m.kind == "preference")
    mine.expire(wish.id, (clock.now + timedelta(days=1)).isoformat())
    clock.now += timedelta(days=2)
    assert not [m for m in mine.find() if m.kind == "preference"]
    assert [one.memory.text for one in mine.learn(session).forgotten] == [wish.text]


def test_tombstones_go_with_the_memories_to_another_store(
    mine: LongTermMemory, working: Made, opened: Opened, store: Store
) -> None:
    session = opened(working())
    mine.learn(session)
    wish = next(m for m in mine.find() if m.kind == "preference")
    mine.forget([wish.id])
    target = MemoryStore()
    move_session(store, target, SessionKey(user="ann", name="one"))
    move_memories(store, target, "ann", delete=True)
    assert mine.tombstones() == []
    there = LongTermMemory(target, Reader(owner="ann"))
    with Session(store=target, user="ann", name="one", budget=8_000) as moved:
        learned = there.learn(moved)
    assert learned.fresh == ()
    assert [one.memory.text for one in learned.forgotten] == [wish.text]


def test_a_correction_leaves_no_tombstone(mine: LongTermMemory, opened: Opened, working: Made) -> None:
    mine.learn(opened(working()))
    wish = next(m for m in mine.find() if m.kind == "preference")
    mine.correct(wish.id, "I prefer spaces.")
    assert mine.tombstones() == []


@pytest.mark.parametrize("end", ["forget", "expire"])
def test_what_was_corrected_does_not_hold_again_when_the_correction_goes(
    mine: LongTermMemory, working: Made, opened: Opened, clock: FixedClock, end: str
) -> None:
    session = opened(working())
    mine.learn(session)
    port = next(m for m in mine.find() if m.kind == "fact" and "8081" in m.text)
    clock.now += timedelta(days=1)
    made = mine.correct(port.id, "The user's staging port: 9090")
    clock.now += timedelta(days=1)
    if end == "forget":
        mine.forget([made])
    else:
        mine.expire(made, (clock.now + timedelta(days=1)).isoformat())
        assert [m.text for m in mine.find(Filter(keys=(port.key,), current_only=True))] == [
            "The user's staging port: 9090"
        ]
        clock.now += timedelta(days=2)
    assert mine.find(Filter(keys=(port.key,))) == []
    assert not [m for m in mine.search("staging port") if m.memory.kind == "fact"]
    # Nor is it learned again.
    assert port.text in {one.memory.text for one in mine.learn(session).forgotten}
    assert mine.find(Filter(keys=(port.key,))) == []


def test_forgetting_what_was_told_last_brings_back_what_was_told_before_it(
    mine: LongTermMemory, working: Made, opened: Opened, clock: FixedClock
) -> None:
    mine.learn(opened(working()))
    clock.now += timedelta(days=1)
    mine.learn(opened(working(port=9090), name="two"))
    (newest,) = [m for m in mine.find() if m.kind == "fact" and "port" in m.text]
    mine.forget([newest.id])
    assert [m.text for m in mine.find() if m.kind == "fact" and "port" in m.text] == ["The user's staging port: 8081"]


def test_a_memory_that_learns_does_so_when_its_session_is_closed(
    mine: LongTermMemory, working: Made, opened: Opened, store: Store
) -> None:
    opened(working(), retriever=mine).close()
    assert mine.find() == []
    learning = LongTermMemory(store, ANN, learns=True)
    session = opened(working(), retriever=learning)
    session.close()
    known = {m.id for m in mine.find()}
    assert known
    session.close()
    assert {m.id for m in mine.find()} == known
    # One that cannot learn is told of, and the session is closed.
    other = opened(working(), user="bob", retriever=learning)
    other.close()
    assert any("learned nothing" in text for text in other.warnings)
    assert mine.find(Filter(sessions=("two",))) == []
