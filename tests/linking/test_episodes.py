from __future__ import annotations

import pytest

from foldaway import Session
from foldaway.linking.episodes import LONGEST, Episode, EpisodeType
from foldaway.testing.histories import FORMATS, Call, Writer


def episodes(writer: Writer) -> list[Episode]:
    session = Session(format=writer.format, budget=1_000_000, policy="window")
    session.append(writer.messages)
    return session.engine.log.episodes.all


@pytest.mark.parametrize("format", FORMATS)
def test_exploring_then_acting_then_exploring_makes_two_episodes(format: str) -> None:
    writer = Writer(format)
    writer.user("Mend it.")
    for name in ("read_file", "edit_file", "edit_file", "read_file"):
        writer.call(name, "ok", path="a.py")
    found = episodes(writer)
    assert [(e.type, e.first_turn, e.last_turn, e.open) for e in found] == [
        (EpisodeType.ACT, 1, 3, False),
        (EpisodeType.EXPLORE, 4, 4, True),
    ]
    assert not any(e.declared for e in found)


def test_a_users_words_close_what_was_open() -> None:
    writer = Writer("openai_chat")
    writer.user("One.")
    writer.call("read_file", "x", path="a")
    writer.user("Two.")
    writer.call("read_file", "x", path="b")
    assert [(e.first_turn, e.open) for e in episodes(writer)] == [(1, False), (3, True)]


def test_an_unannotated_episode_does_not_grow_without_bound() -> None:
    writer = Writer("openai_chat")
    writer.user("Go.")
    for n in range(3 * LONGEST):
        writer.call("read_file", "x", path=f"{n}")
    found = episodes(writer)
    assert len(found) >= 3
    assert all(e.last_turn - e.first_turn <= LONGEST for e in found)


@pytest.mark.parametrize("format", FORMATS)
def test_the_agents_own_episodes_keep_names_descriptions_and_dependencies(format: str) -> None:
    writer = Writer(format)
    writer.user("Mend it.")
    writer.call("delimiter", "ok", action="start", name="scout", type="explore")
    writer.call("edit_file", "ok", path="a.py")
    writer.call("delimiter", "ok", action="end", description="crane_limit is 12")
    writer.call("delimiter", "ok", action="start", name="mend", type="act", dependencies=["scout"])
    first, second = episodes(writer)
    assert (first.name, first.type, first.declared, first.open) == ("scout", EpisodeType.EXPLORE, True, False)
    assert first.description == "crane_limit is 12"
    assert (second.depends_on, second.open) == ((first.number,), True)


@pytest.mark.parametrize(
    "call",
    [
        {"action": "start"},
        {"action": "start", "name": "x", "type": "dance"},
        {"action": "end"},
        {"action": "jump"},
        {"action": 7},
        {},
    ],
)
def test_a_wrong_annotation_is_noted_and_not_followed(call: dict[str, object]) -> None:
    writer = Writer("openai_chat")
    writer.user("Go.")
    writer.calls(Call(name="delimiter", arguments=call, result="?"))
    session = Session(budget=1_000_000, policy="window")
    session.append(writer.messages)
    assert len(session.engine.log.episodes.refusals) == 1
    assert not any(e.declared for e in session.engine.log.episodes.all)


def test_an_unknown_dependency_is_named_and_the_episode_still_opens() -> None:
    writer = Writer("openai_chat")
    writer.user("Go.")
    writer.call("delimiter", "ok", action="start", name="mend", type="act", dependencies=["ghost"])
    session = Session(budget=1_000_000, policy="window")
    session.append(writer.messages)
    assert "ghost" in session.engine.log.episodes.refusals[0]
    assert session.engine.log.episodes.all[0].depends_on == ()
