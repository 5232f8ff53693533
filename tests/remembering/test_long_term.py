"""Long-term memory: learned at the end, found later, corrected, expired, deleted; the original one hop away."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from foldaway import RecallError, Session, SettingsError
from foldaway.protocols import Filter, Memory, Reader, SessionKey, Store
from foldaway.remembering import LongTermMemory
from foldaway.remembering.conflicts import contradict
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
