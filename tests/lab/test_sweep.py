"""S3.6, S3.9: sweeps go parameter by parameter; efficiency is needs seen per token, part by part."""

from __future__ import annotations

import pytest

from foldaway.errors import SettingsError
from foldaway.lab.efficiency import Part, efficiency, efficiency_rows, efficiency_table, whole
from foldaway.lab.replay import CallFigures, replay
from foldaway.lab.results import ReplayResult, Tally
from foldaway.lab.sweep import Axis, Point, best_of, parse_axes, sweep, sweep_rows, sweep_table
from foldaway.model.recorded import Recorded
from foldaway.testing.histories import working_session


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    messages = working_session("openai_chat", 40, words=50)
    return Recorded(name="made up", source_format="plain", format="openai_chat", messages=messages)


def point(value: int, seen: int, tokens: int) -> Point:
    result = ReplayResult(
        session="s", policy="p", budget_tokens=100, calls=1, total_tokens=tokens,
        steps={"loose": Tally(1000, seen, seen)},
    )  # fmt: skip
    return Point(axis="window", value=value, settings={"window": value}, result=result)


def test_the_best_value_serves_most_and_among_equals_sends_least() -> None:
    assert best_of([point(1, 900, 50), point(2, 950, 90), point(3, 949, 80)]).value == 3
    assert best_of([point(1, 900, 50), point(2, 950, 90), point(3, 940, 80)]).value == 2
    assert best_of([point(1, 900, 50), point(2, 900, 50)]).value == 1


def test_each_parameter_is_swept_at_the_best_of_those_before_it(recorded: Recorded) -> None:
    axes = (Axis(name="keep", values=(2, 12)), Axis(name="low_share", values=(0.4, 0.6)))
    points = sweep([recorded], "mask-old", 2_500, axes)
    assert [(p.axis, p.value) for p in points] == [("keep", 2), ("keep", 12), ("low_share", 0.4), ("low_share", 0.6)]
    best = next(p for p in points if p.axis == "keep" and p.best)
    assert all(p.settings["keep"] == best.value for p in points[2:])
    assert sum(p.best for p in points) == 2
    table, rows = sweep_table(points), sweep_rows(points)
    assert table.count("best") == 3
    assert [row["value"] for row in rows] == [2, 12, 0.4, 0.6]
    assert all(row["steps"] > 0 for row in rows)


def test_a_parameter_that_a_policy_does_not_have_is_refused(recorded: Recorded) -> None:
    with pytest.raises(SettingsError, match="windov"):
        sweep([recorded], "layered", 2_500, [Axis(name="windov", values=(1,))])


def test_axes_are_read_from_text() -> None:
    assert parse_axes(["window=2,3", "reserve_share=0.1", "plan=true"]) == (
        Axis(name="window", values=(2, 3)),
        Axis(name="reserve_share", values=(0.1,)),
        Axis(name="plan", values=(True,)),
    )
    for wrong in ("window", "window=", "=3"):
        with pytest.raises(SettingsError, match="NAME=VALUE"):
            parse_axes([wrong])


def test_efficiency_adds_up_to_what_the_replay_counted(recorded: Recorded) -> None:
    result = replay(recorded, "window", 2_500)
    measured = efficiency([recorded], "window", 2_500, parts=5)
    every = whole(measured)
    assert every.calls == result.calls
    assert every.tokens == result.total_tokens
    assert every.seen == sum(t.visible for t in result.needs_by_kind["loose"].values())
    assert every.needs == sum(t.total for t in result.needs_by_kind["loose"].values())
    assert len(measured.parts) == 5
    assert all(part.calls for part in measured.parts)
    table = efficiency_table([measured])
    assert table.splitlines()[2].startswith("window")
    assert efficiency_rows([measured])[0]["parts"][-1]["per_1000"] == round(1000 * every.seen / every.tokens, 6)


def test_a_part_without_calls_has_no_efficiency() -> None:
    assert Part().per_1000 is None
    assert Part().plus(CallFigures(0, 4, 3, 500)).per_1000 == 6.0
