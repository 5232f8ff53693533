from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from foldaway.errors import OverBudget, StoreError
from foldaway.lab.replay import FULL, replay
from foldaway.lab.results import Tally
from foldaway.model.recorded import Recorded

NewestMaker = Callable[..., Any]


def run(recorded: Recorded, session: Any, budget: int = 10_000, **options: Any) -> Any:
    return replay(recorded, "newest", budget, make=lambda *_: session, **options)


def test_the_full_history_shows_every_need_and_costs_itself(small: Recorded) -> None:
    result = replay(small, FULL, 0)
    assert result.calls == 5
    assert result.steps == {rule: Tally(2, 2, 2) for rule in ("strict", "loose", "strict-values", "values")}
    assert result.bill == result.full_bill
    assert (result.prefix_breaks, result.bill.extra_calls, result.total_tokens) == (0, 0, result.full_tokens)


def test_a_view_that_lost_the_supplier_misses_the_need(small: Recorded, newest: NewestMaker) -> None:
    result = run(small, newest(keep=2))
    assert result.steps["loose"] == Tally(2, 0, 0)
    assert result.needs_by_kind["strict"] == {"hash": Tally(1, 0, 0), "path": Tally(1, 0, 0)}
    assert result.needs_by_age["strict"] == {"<=3": Tally(2, 0, 0)}
    assert result.bill.extra_calls == 2


def test_a_stub_that_leads_to_the_supplier_makes_it_reachable_and_still_costs_a_call(
    small: Recorded, newest: NewestMaker
) -> None:
    result = run(small, newest(keep=2, stubs=True))
    assert result.steps["loose"] == Tally(2, 0, 2)
    assert result.bill.extra_calls == 2


def test_the_policy_sees_only_what_came_before_the_step(small: Recorded, newest: NewestMaker) -> None:
    session = newest(keep=100)
    result = run(small, session)
    assert len(session.seen) == 10
    assert result.steps["loose"] == Tally(2, 2, 2)


def test_breaks_and_commits_are_counted(small: Recorded, newest: NewestMaker) -> None:
    result = run(small, newest(keep=4))
    # Two messages come in before each call: from the fourth call on, two go out.
    assert result.prefix_breaks == 2
    assert result.commits == 2


def test_a_view_over_the_budget_must_say_so(small: Recorded, newest: NewestMaker) -> None:
    silent = run(small, newest(keep=100), budget=20)
    flagged = run(small, newest(keep=100, missing_tokens=5), budget=20)
    assert silent.over_silent > 0
    assert (flagged.over_silent, flagged.over_flagged) == (0, 5)


def test_invalid_views_are_found(small: Recorded, newest: NewestMaker) -> None:
    result = run(small, newest(keep=3))
    # With an odd number the first message shown is a result without its call.
    assert result.invalid_views > 0
    assert result.problems[0].startswith("call ")


def test_a_call_that_cannot_go_out_loses_its_needs(small: Recorded, newest: NewestMaker) -> None:
    class Refusing(newest):  # type: ignore[misc, valid-type]
        def view(self) -> Any:
            raise OverBudget("too large", missing_tokens=7, largest=())

    result = run(small, Refusing(keep=2))
    assert (result.refused_calls, result.total_tokens) == (5, 0)
    assert result.steps["loose"] == Tally(2, 0, 0)
    assert "not sent" in result.problems[0]


def test_an_error_of_the_engine_is_a_field_of_the_result(small: Recorded) -> None:
    def broken(*_: object) -> Any:
        raise StoreError("no store here")

    result = replay(small, "newest", 100, make=broken)
    assert result.error == "StoreError: no store here"


def test_views_are_written_one_line_a_call_with_what_it_had_seen(small: Recorded, newest: NewestMaker) -> None:
    out = io.StringIO()
    run(small, newest(keep=2), views=out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(line["call"], line["seen"]) for line in lines] == [(0, 2), (1, 4), (2, 6), (3, 8), (4, 10)]
    assert lines[2]["messages"] == [*small.messages[:2], *small.messages[4:6]]
    assert "system" not in lines[0]


def test_a_system_prompt_beside_the_messages_is_counted_and_written(small: Recorded) -> None:
    out = io.StringIO()
    plain = replay(small, FULL, 0)
    beside = replay(replace(small, system="be careful " * 30), FULL, 0, views=out)
    assert beside.total_tokens > plain.total_tokens + 5 * 30
    assert json.loads(out.getvalue().splitlines()[0])["system"].startswith("be careful")


def test_the_same_replay_twice_gives_the_same_but_for_times(small: Recorded, newest: NewestMaker) -> None:
    one, two = (replace(run(small, newest(keep=2)), call_ms=()) for _ in range(2))
    assert one == two


@pytest.mark.parametrize("count", [0, 2])
def test_a_session_without_assistant_steps_gives_an_empty_result(small: Recorded, count: int) -> None:
    result = replay(replace(small, messages=small.messages[:count]), FULL, 0)
    assert (result.calls, result.mean_tokens, result.steps) == (0, 0.0, {})
