"""Questions of what recorded agents needed later, and the rates of a session's own recall."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import foldaway
from foldaway.lab.needs import LabelCache, label
from foldaway.lab.recall_questions import KINDS, questions
from foldaway.lab.recall_rates import rates, rates_rows, rates_table
from foldaway.model.recorded import Recorded
from foldaway.readers import read_sessions
from foldaway.testing.histories import Writer, prose


@pytest.fixture
def recorded() -> Recorded:
    """A value of the fifth file is used twelve steps later, and nowhere in between."""
    writer = Writer("openai_chat")
    writer.user("Set the gauges.")
    for n in range(18):
        told = f"{prose(80, n)}\ntide gauge offset of quay {n} is GX-{7000 + n}\n{prose(80, n)}"
        writer.call("read_file", told, path=f"q{n}.md")
    writer.call("set_gauge", "ok", serial="GX-7004")
    writer.say("Set.")
    return Recorded(name="made-up", source_format="plain", format="openai_chat", messages=writer.messages)


def test_questions_ask_for_old_needs_and_never_name_what_they_ask_for(recorded: Recorded) -> None:
    made = questions(recorded, label(recorded), 5)
    assert {q.kind for q in made} >= {"line", "place", "name"}
    assert {q.literal for q in made} == {"GX-7004"}
    for question in made:
        assert (question.literal in question.query) == (question.kind == "name")
        assert recorded.messages[question.position]["role"] == "assistant"


def test_at_most_so_many_of_a_kind_spread_over_the_session(recorded: Recorded) -> None:
    made = questions(recorded, label(recorded), 1)
    assert all(sum(q.kind == kind for q in made) <= 1 for kind in KINDS)


def test_rates_count_what_a_recall_brings_and_how_much(recorded: Recorded) -> None:
    heard: list[tuple[int, int, str]] = []
    found = rates([recorded], LabelCache(), 5, lambda *told: heard.append(told))
    name = found["name"]
    assert (name.asked, name.first, name.recalled) == (1, 1, 1)
    assert 0 < name.chars[0] < 3_000
    assert heard == [(1, 1, "made-up")]
    rows: Sequence[dict[str, object]] = rates_rows(found)
    assert all(row["asked"] for row in rows)
    assert rates_table(found).splitlines()[0].split()[:3] == ["words", "asked", "@1"]


def test_a_bundled_session_finds_most_of_what_is_asked_for_by_name() -> None:
    path = Path(foldaway.__file__).parent / "data" / "sessions" / "mini-swe-agent-django-11910.json.gz"
    found = rates(list(read_sessions(path)), LabelCache(), 6)
    assert found["name"].asked >= 4
    assert found["name"].recalled / found["name"].asked >= 0.8
    assert max(found["name"].chars) < 3_500
