"""Results that came again: the newest counts, older ones say so and lose their worth."""

from __future__ import annotations

import pytest

from foldaway import Level, Session
from foldaway.engine.digests import Digests
from foldaway.testing.histories import FORMATS, Writer, prose

TABLE = "\n".join(f"row {n}: the berth of crane {n * 37} is free" for n in range(60))


def session_of(writer: Writer, format: str = "openai_chat", budget: int = 100_000) -> Session:
    session = Session(format=format, budget=budget)
    session.append(writer.messages)
    return session


@pytest.mark.parametrize("format", FORMATS)
def test_a_call_made_again_supersedes_the_first(format: str) -> None:
    writer = Writer(format)
    writer.user("Watch the berths.")
    for turn in range(3):
        writer.call("read_file", f"{TABLE}\nseen {turn}", path="berths.txt")
    writer.call("bash", prose(50, 1), command="date")
    session = session_of(writer, format)
    log = session.engine.log
    first, second, third = [i.id for i in session.items() if i.name == "read_file"]
    assert [log.superseded_by(i) for i in (first, second, third)] == [third, third, 0]


def test_another_call_with_the_very_result_supersedes_it_and_a_short_result_does_not() -> None:
    writer = Writer("openai_chat")
    writer.user("Watch the berths.")
    writer.call("read_file", TABLE, path="berths.txt")
    writer.call("bash", TABLE, command="cat berths.txt")
    writer.call("bash", "ok", command="touch a")
    writer.call("bash", "ok", command="touch b")
    writer.call("bash", prose(50, 1), command="date")
    session = session_of(writer)
    log = session.engine.log
    spans = [i.id for i in session.items() if i.name]
    assert log.superseded_by(spans[0]) == spans[1]
    assert log.superseded_by(spans[2]) == 0


def test_the_stub_of_a_superseded_read_names_the_newer_one_and_its_digest_points_there() -> None:
    writer = Writer("openai_chat")
    writer.user("Watch the berths.")
    writer.call("read_file", TABLE, path="berths.txt")
    writer.call("read_file", TABLE + "\nrow 60: new", path="berths.txt")
    writer.call("bash", prose(50, 1), command="date")
    session = session_of(writer)
    engine = session.engine
    first, second = [i for i in session.items() if i.name == "read_file"]
    assert f"again in #{second.id}" in engine.planner.digests.stubs.line(first, (), newer=second.id)
    digest = engine.planner.digests.of(first, 400)
    assert digest.text.startswith(f"[superseded by #{second.id}")
    assert len(digest.text) < 100


def test_what_came_again_folds_before_what_did_not() -> None:
    def level_of_the_first_read(again: bool) -> Level:
        writer = Writer("openai_chat")
        writer.user("Watch the berths.")
        writer.call("read_file", TABLE, path="berths.txt")
        for n in range(12):
            writer.call("bash", prose(160, n), command=f"make step{n}")
        writer.call("read_file", TABLE if again else prose(700, 9), path="berths.txt" if again else "other.txt")
        for n in range(3):
            writer.call("bash", prose(160, 20 + n), command=f"make late{n}")
        session = session_of(writer, budget=5_500)
        session.view()
        return session.level(next(i.id for i in session.items() if i.name == "read_file"))

    assert level_of_the_first_read(again=False) is Level.RAW
    assert level_of_the_first_read(again=True) <= Level.STUB


def test_looking_up_a_call_made_a_thousand_times_walks_the_chain_once() -> None:
    writer = Writer("openai_chat")
    writer.user("Watch the berths.")
    for turn in range(1_000):
        writer.call("bash", f"tick {turn}", command="date")
    log = session_of(writer, budget=10**7).engine.log
    first = min(log.newer)
    newest = log.superseded_by(first)
    assert newest == max(log.newer.values())
    assert set(log.newer.values()) == {newest}


def test_a_digest_made_before_the_newer_read_came_is_made_anew() -> None:
    writer = Writer("openai_chat")
    writer.user("Watch the berths.")
    writer.call("read_file", TABLE, path="berths.txt")
    writer.call("bash", "ok", command="date")
    session = session_of(writer)
    digests: Digests = session.engine.planner.digests
    read = next(i for i in session.items() if i.name == "read_file")
    assert "superseded" not in digests.text(read)
    later = Writer("openai_chat")
    later.call("read_file", TABLE + "\nrow 60", path="berths.txt")
    later.call("bash", "fine", command="date")
    session.append(later.messages)
    session.view()
    assert "superseded by" in digests.text(read)
