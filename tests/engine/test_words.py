from __future__ import annotations

import pytest

from foldaway import Kind, Level, Session
from foldaway.engine.words import STUBS_REASON, WORDS_CEILING
from foldaway.model.items import Item
from foldaway.testing.histories import FORMATS, Writer, prose
from foldaway.wire import problems

HELLO = "Hello there. Please look up my booking under the id mia_li_3668 and never change the seat of it. Thank you."


def texts(session: Session) -> str:
    return str(session.view().messages)


def talk(session: Session, words: str, answer: str = "Noted.") -> None:
    session.append([{"role": "user", "content": words}, {"role": "assistant", "content": answer}])


def of_kind(session: Session, kind: Kind) -> list[Item]:
    return [i for i in session.items() if i.kind is kind]


def pasting(budget: int, pastes: int, **fields: object) -> Session:
    """Words up to about half of the room, then pastes whose stubs alone would fill the rest."""
    session = Session(budget=budget, policy="window", **fields)  # type: ignore[arg-type]
    session.engine.log.paste_tokens = 60
    talk(session, "Start with the tide tables.")
    for n in range(pastes):
        talk(session, f"log {n}: {prose(90, n)}")
        session.view()
    for n in range(12):
        talk(session, f"Never alter rate_{n}_limit, whatever the quay says about its berth today.")
    return session


def test_a_text_said_again_word_for_word_is_shown_once_when_words_need_the_room() -> None:
    session = Session(budget=640, policy="window")
    talk(session, "We start with bookings.")
    for n in range(40):
        talk(session, HELLO if n % 4 == 0 else f"Never change rate_{n}_limit, please.")
    shown = texts(session)
    assert shown.count("look up my booking") == 1
    copies = [i for i in of_kind(session, Kind.USER) if i.title.startswith("Hello there")]
    assert [session.level(i.id) <= Level.STUB for i in copies] == [True] * 9 + [False]
    commit = next(e for e in session.ledger if e["type"] == "commit")
    reasons = {change[0]: change[3] for change in commit["changes"]}
    assert reasons[copies[0].id] == f"said again in #{copies[-1].id}"
    assert session.recall(f"#{copies[0].id}").text.count("mia_li_3668") == 1


def test_a_text_said_again_stays_while_words_have_their_share() -> None:
    session = Session(budget=6000, policy="window")
    talk(session, "We start with bookings.")
    for _ in range(5):
        talk(session, HELLO, prose(700))
    assert texts(session).count("look up my booking") == 5


def test_the_task_itself_is_never_folded_for_being_said_again() -> None:
    session = Session(budget=900, policy="window")
    for n in range(40):
        talk(session, HELLO if n % 4 == 0 else f"Never change rate_{n}_limit, please.")
    texts(session)
    assert session.level(of_kind(session, Kind.GOAL)[0].id) is Level.RAW


def test_stubs_of_pastes_count_against_the_ceiling_and_go_into_the_note_oldest_first() -> None:
    session = pasting(1600, 24)
    view = session.view()
    assert view.missing_tokens == 0
    levels = [session.level(i.id) for i in of_kind(session, Kind.PASTE)]
    assert levels[0] is Level.HIDDEN
    assert Level.STUB in levels
    assert levels == sorted(levels)
    reasons = {c[3] for e in session.ledger if e["type"] == "commit" for c in e["changes"]}
    assert STUBS_REASON in reasons
    assert view.tokens <= WORDS_CEILING * 1600 + 300
    assert all(f"Never alter rate_{n}_limit" in str(view.messages) for n in range(12))


def test_a_paste_in_the_note_is_covered_and_comes_back_byte_for_byte() -> None:
    session = pasting(1600, 24)
    view = session.view()
    first = of_kind(session, Kind.PASTE)[0]
    assert "log 0:" not in str(view.messages)
    assert view.covers(first.id)
    assert session.recall(f"#{first.id}").text.endswith(f"log 0: {prose(90, 0)}")


def test_strict_leaves_words_and_stubs_of_pastes_where_they_are_and_says_what_is_missing() -> None:
    session = pasting(1200, 24, strict=True)
    view = session.view()
    assert view.missing_tokens > 0
    assert Level.HIDDEN not in {session.level(i.id) for i in of_kind(session, Kind.PASTE)}


def test_words_over_their_share_give_way_to_a_last_turn_that_does_not_fit_beside_them() -> None:
    session = Session(budget=1500, policy="window")
    for n in range(32):
        talk(session, f"We keep to rate_{n}_limit today; the pier plan_{n} wants a second look before noon, please.")
    before = session.view()
    session.append([{"role": "user", "content": "Now write the plan."}, {"role": "assistant", "content": prose(400)}])
    session.append([{"role": "user", "content": "Go on."}])
    after = session.view()
    assert before.missing_tokens == after.missing_tokens == 0
    assert after.tokens <= 1500
    assert "user words passed their share" in str(after.warnings)
    assert prose(400) in [m["content"] for m in after.messages]


@pytest.mark.parametrize("format", FORMATS)
def test_hidden_words_beside_visible_results_do_not_come_back_raw(format: str) -> None:
    writer = Writer(format)
    writer.user("Read on.")
    writer.call("read_file", "berth = 4", path="a.py")
    writer.user("A remark about the weather at the quay, of no use to anyone.")
    writer.call("read_file", "berth = 5", path="b.py")
    session = Session(format=format, budget=5000, policy="window")
    session.append(writer.messages)
    words = of_kind(session, Kind.USER)[-1]
    draft = session.engine._draft()
    draft.set(words, Level.HIDDEN, "test")
    draft.finish()
    engine = session.engine
    engine._adopt(engine.planner.closed(draft, engine.commits, "test", 0, 0))
    view = session.view()
    assert "weather at the quay" not in str(view.messages)
    assert "berth = 4" in str(view.messages)
    assert problems(format, view.messages) == []
