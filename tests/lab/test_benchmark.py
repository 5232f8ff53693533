"""The public benchmark: budgets, pooling, and on the published recordings what `auto` has to reach."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from foldaway.lab.benchmark import (
    BUDGET_TOKENS,
    LARGE_BUDGET_TOKENS,
    POLICIES,
    Case,
    Scored,
    ahead_of,
    make_case,
    plan_benchmark,
    pool_benchmark,
    prologue_tokens,
)
from foldaway.lab.results import ReplayResult, Tally
from foldaway.lab.runner import replay_all
from foldaway.model.recorded import Recorded
from foldaway.readers.benchmark import ENTRIES, benchmark_entry
from foldaway.settings.parts import policy_names


def result(policy: str, visible: int, *, budget: int = 16_000, session: str = "s") -> ReplayResult:
    steps = {"loose": Tally(10, visible, 10), "strict": Tally(10, 10 - visible, 10)}
    return ReplayResult(session=session, policy=policy, budget_tokens=budget, calls=20, steps=steps)


def test_a_small_prologue_takes_the_small_budget(small: Recorded) -> None:
    assert prologue_tokens(small) < 40
    assert make_case(3, small).budget_tokens == BUDGET_TOKENS


def test_the_longest_entries_take_the_large_budget_however_short_their_prologue(small: Recorded) -> None:
    assert [n for n in ENTRIES if make_case(n, small).budget_tokens == LARGE_BUDGET_TOKENS] == [1, 2, 12]


@pytest.mark.parametrize("where", ["system", "tools", "first user message"])
def test_a_large_prologue_takes_the_large_budget_wherever_it_stands(small: Recorded, where: str) -> None:
    text = "many words " * 5_000
    large = {
        "system": replace(small, system=text, format="anthropic_messages", messages=small.messages[1:2]),
        "tools": replace(small, tools=[{"type": "function", "function": {"name": "run", "description": text}}]),
        "first user message": replace(small, messages=[{"role": "user", "content": text}, *small.messages[2:]]),
    }[where]
    assert make_case(3, large).budget_tokens == LARGE_BUDGET_TOKENS


def test_what_follows_the_first_user_message_is_no_prologue(small: Recorded) -> None:
    longer = replace(small, messages=[*small.messages, {"role": "user", "content": "many words " * 5_000}])
    assert prologue_tokens(longer) == prologue_tokens(small)


def test_every_policy_is_compared() -> None:
    assert set(POLICIES) == set(policy_names())


def test_sources_of_fitted_constants_are_not_held_out(small: Recorded) -> None:
    assert not Case(7, small, 1).held_out
    assert not Case(11, replace(small, source_format="da-code"), 1).held_out
    assert Case(11, replace(small, source_format="miroflow"), 1).held_out


def test_a_run_is_planned_for_every_case_and_policy(small: Recorded) -> None:
    cases = [Case(1, small, 5), Case(2, small, 7)]
    planned = plan_benchmark(cases, ["lru", "auto"])
    assert [(case.entry, run.policy, run.budget) for case, run in planned] == [
        *((1, "lru", 5), (1, "auto", 5)),
        *((2, "lru", 7), (2, "auto", 7)),
    ]


def test_recordings_of_different_budgets_are_pooled_by_policy(small: Recorded) -> None:
    fitted, other = Case(7, small, 16_000), Case(1, small, 32_000)
    rows = pool_benchmark(
        [
            *(Scored(fitted, result("lru", 4)), Scored(fitted, result("auto", 8))),
            *(Scored(other, result("lru", 5, budget=32_000)), Scored(other, result("auto", 9, budget=32_000))),
        ]
    )
    told = [(row.session, row.policy, row.steps["loose"].visible, row.budget_tokens) for row in rows]
    assert told == [
        *(("all recordings: 2", "lru", 9, 0), ("all recordings: 2", "auto", 17, 0)),
        *(("held out: 1", "lru", 5, 0), ("held out: 1", "auto", 9, 0)),
    ]


def test_it_is_told_where_and_by_which_rule_another_policy_is_ahead(small: Recorded) -> None:
    case = Case(1, small, 1)
    scored = [Scored(case, result(policy, seen)) for policy, seen in (("lru", 7), ("window", 2), ("auto", 8))]
    [found] = ahead_of("auto", scored, ["loose", "strict"])
    assert (found.rule, found.best, found.best_rate, found.rate) == ("strict", "window", 0.8, 0.2)


@pytest.mark.slow
@pytest.mark.skipif("FOLDAWAY_SHARED" not in os.environ, reason="FOLDAWAY_SHARED is not set")
def test_auto_sees_at_least_what_every_other_policy_sees_pooled() -> None:
    data = Path(os.environ["FOLDAWAY_SHARED"]) / "data"
    cases = [make_case(number, recorded) for number in ENTRIES for recorded in benchmark_entry(number, data)]
    planned = plan_benchmark(cases, POLICIES)
    results = replay_all([run for _, run in planned], jobs=2)
    assert [r.error for r in results if r.error] == []
    assert sum(r.over_silent + r.invalid_views for r in results) == 0
    rows = pool_benchmark([Scored(case, r) for (case, _), r in zip(planned, results, strict=True)])
    for name in dict.fromkeys(row.session for row in rows):
        for rule in ("loose", "values"):
            rates = {row.policy: row.steps[rule].visible_rate or 0.0 for row in rows if row.session == name}
            assert max(rates.values()) == rates["auto"], f"{name}, {rule}: {rates}"
