from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from foldaway.lab.likelihood.sample import OLD, RECENT, Sample, Views, candidates, draw, prologue_text, spread
from foldaway.lab.needs import label
from foldaway.lab.replay import foldaway_session
from foldaway.model.recorded import Recorded

BUDGET = 700


def _views(recorded: Recorded) -> Views:
    return Views(recorded, label(recorded), BUDGET, foldaway_session)


def test_a_step_is_old_when_the_reference_no_longer_shows_its_need(far: list[Recorded], copier: Any) -> None:
    found = candidates(_views(far[0]), copier, Sample())
    assert [(c.step.number, c.group) for c in found] == [(13, OLD), (14, RECENT)]
    assert found[0].full.count("src/part_00_tool.py") == 1
    assert found[0].action.startswith("[call read_file]\npath: src/part_00_tool.py")


def test_a_needed_literal_is_found_in_the_bytes_of_the_action(far: list[Recorded], copier: Any) -> None:
    (old, _) = candidates(_views(far[0]), copier, Sample())
    data = old.action.encode()
    assert "src/part_00_tool.py" in {data[w.start : w.end].decode() for w in old.wanted}


@pytest.mark.parametrize(
    "change",
    [
        {"full_tokens": 300},
        {"shrunk": 0.1},
        {"action_chars": 20},
        {"prologue_share": 0.001},
    ],
)
def test_a_step_that_breaks_a_rule_does_not_qualify(far: list[Recorded], copier: Any, change: dict[str, float]) -> None:
    assert candidates(_views(far[0]), copier, replace(Sample(), **change)) == []  # type: ignore[arg-type]


def test_the_window_of_the_model_bounds_the_full_history(far: list[Recorded], copier: Any) -> None:
    copier.window_tokens = 300
    assert candidates(_views(far[0]), copier, Sample()) == []


def test_sources_take_turns_until_there_are_enough_steps(far: list[Recorded], copier: Any) -> None:
    recordings = [far[0], far[1], replace(far[2], source_format="other")]
    found = [candidates(_views(recorded), copier, Sample()) for recorded in recordings]
    drawn = draw(found, Sample(steps=4))
    assert [(c.recorded.name, c.group) for c in drawn] == [
        ("far-0", OLD),
        ("far-0", RECENT),
        ("far-2", OLD),
        ("far-2", RECENT),
    ]


def test_half_of_a_recordings_steps_are_old_where_there_are_enough(far: list[Recorded], copier: Any) -> None:
    old, recent = candidates(_views(far[0]), copier, Sample())
    many = [replace(old, step=replace(old.step, number=n)) for n in range(10)]
    some = [replace(recent, step=replace(recent.step, number=n)) for n in range(10, 20)]
    of_both = draw([[*many, *some]], Sample(per_recording=4))
    assert [c.step.number for c in of_both] == [2, 7, 12, 17]
    few_recent = draw([[*many, recent]], Sample(per_recording=4))
    assert [c.group for c in few_recent] == [OLD, OLD, OLD, RECENT]
    assert len(draw([many], Sample(per_recording=4))) == 4


def test_spread_takes_values_evenly_apart() -> None:
    assert spread(list(range(10)), 2) == [2, 7]
    assert spread([1, 2], 5) == [1, 2]
    assert spread([1, 2], 0) == []


def test_the_prologue_ends_with_the_task(far: list[Recorded]) -> None:
    assert prologue_text(far[0]) == "[user]\nFind the defect.\n\n"
    greeting = {"role": "assistant", "content": "Hello, how can I help?"}
    greeted = replace(far[0], messages=[greeting, *far[0].messages])
    assert prologue_text(greeted).endswith("[user]\nFind the defect.\n\n")
