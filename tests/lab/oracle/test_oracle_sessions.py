"""The oracle on the bundled recordings: no policy beats the bounds, the oracle policy comes near them."""

from __future__ import annotations

import io
import json
from functools import cache
from pathlib import Path

import pytest

import foldaway
from foldaway.errors import SettingsError
from foldaway.lab import ReplayResult, make_ruler, replay
from foldaway.lab.bill import PRICES
from foldaway.lab.oracle import Bounds, Problem, bill_bound, bounds_of, oracle_session, problem_of
from foldaway.lab.results import RULES
from foldaway.lab.ruler import Ruler
from foldaway.model.recorded import Recorded
from foldaway.readers import read_sessions
from foldaway.session import Session
from foldaway.settings.parts import BUILT_IN, make_policy, policy_names

BUNDLED = Path(foldaway.__file__).parent / "data" / "sessions"
FILES = tuple(sorted(path.name for path in BUNDLED.glob("*.gz")))
CODING = "mini-swe-agent-django-11910.json.gz"
SMALL = "who-and-when-30.json.gz"
BUDGETS = (1_500, 4_000, 8_000, 16_000)
# What shows an item raw or not at all: no line of it, no anchor.
WHOLE = ("window",)
POLICIES = (*BUILT_IN, "oracle")


@cache
def recording(file: str) -> tuple[Recorded, Ruler]:
    recorded = next(iter(read_sessions(BUNDLED / file)))
    return recorded, make_ruler(recorded)


@cache
def extracted(file: str, budget: int, rule: str = "loose") -> Problem:
    recorded, ruler = recording(file)
    return problem_of(recorded, budget, ruler=ruler, rule=rule)


@cache
def bounds(file: str, budget: int, rule: str = "loose") -> Bounds:
    return bounds_of(extracted(file, budget, rule))


@cache
def run(file: str, policy: str, budget: int) -> ReplayResult:
    recorded, ruler = recording(file)
    result = replay(recorded, policy, budget, ruler=ruler, make=oracle_session)
    assert result.error == ""
    return result


def beats_no_bound(file: str, policy: str, budget: int) -> None:
    result, limit = run(file, policy, budget), bounds(file, budget)
    seen = result.steps["loose"]
    assert seen.total == limit.visible.total
    assert seen.visible <= limit.visible.visible
    if policy in WHOLE:
        assert seen.visible <= limit.whole.visible
    assert result.refused_calls == 0
    for prices in PRICES:
        assert result.bill.cost(prices) >= bill_bound(extracted(file, budget), prices)


@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_beats_the_bounds(policy: str) -> None:
    beats_no_bound(SMALL, policy, 4_000)


@pytest.mark.parametrize("policy", ["window", "auto", "oracle"])
def test_no_policy_beats_the_bounds_of_a_coding_session(policy: str) -> None:
    beats_no_bound(CODING, policy, 8_000)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_beats_the_bounds_on_any_bundled_session(file: str, policy: str) -> None:
    for budget in BUDGETS:
        beats_no_bound(file, policy, budget)


@pytest.mark.parametrize("rule", RULES)
def test_the_bounds_hold_for_every_rule_of_counting(rule: str) -> None:
    for policy in ("auto", "oracle"):
        seen = run(CODING, policy, 8_000).steps[rule]
        limit = bounds(CODING, 8_000, rule).visible
        assert (seen.total, seen.visible <= limit.visible) == (limit.total, True)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_the_oracle_policy_is_at_least_as_good_as_every_other_and_cheaper_than_window(file: str) -> None:
    for budget in (8_000, 16_000):
        oracle = run(file, "oracle", budget)
        for policy in BUILT_IN:
            assert oracle.steps["loose"].visible >= run(file, policy, budget).steps["loose"].visible, policy
        assert oracle.bill.cost() <= run(file, "window", budget).bill.cost()
        assert (oracle.invalid_views, oracle.over_silent) == (0, 0)


def test_the_oracle_policy_sees_more_than_auto_for_less() -> None:
    oracle, auto = run(CODING, "oracle", 8_000), run(CODING, "auto", 8_000)
    assert oracle.steps["loose"].visible > auto.steps["loose"].visible
    assert oracle.bill.cost() < 0.7 * auto.bill.cost()
    assert (oracle.invalid_views, oracle.over_silent) == (0, 0)


def test_the_oracle_is_near_the_bound_on_a_coding_session() -> None:
    seen = run(CODING, "oracle", 8_000).steps["loose"].visible
    assert bounds(CODING, 8_000).visible.visible - seen <= 1


def test_the_oracle_names_nothing_that_the_session_has_not_shown_yet() -> None:
    recorded, ruler = recording(CODING)
    written = io.StringIO()
    replay(recorded, "oracle", 8_000, ruler=ruler, make=oracle_session, views=written)
    compared = 0
    for line in written.getvalue().splitlines():
        view = json.loads(line)
        past = frozenset[int]().union(*(ruler.message(m).literals for m in recorded.messages[: view["seen"]]))
        shown = frozenset[int]().union(*(ruler.message(m).literals for m in view["messages"]))
        assert shown <= past
        compared += len(shown)
    assert compared > 100


def test_a_smaller_budget_never_has_a_higher_bound_on_steps() -> None:
    rising = [bounds(CODING, budget).visible.visible for budget in (1_000, 2_000, 8_000)]
    assert rising == sorted(rising)
    assert rising[0] < rising[-1]


def test_the_problem_of_a_recording_has_its_calls_its_pins_and_its_needs() -> None:
    recorded, ruler = recording("claude-code-context-evaluator.jsonl.gz")
    problem: Problem = problem_of(recorded, 16_000, ruler=ruler)
    assert len(problem.calls) == len(ruler.labels.needs)
    assert sum(call.counts for call in problem.calls) == sum(bool(needs) for needs in ruler.labels.needs)
    assert any(item.pinned for item in problem.items)
    # No item costs more than the session's own messages, and all of them make up most of it.
    whole = sum(measured.tokens for measured in ruler.recorded_messages())
    assert 0.7 * whole < sum(item.tokens for item in problem.items) <= whole


def test_the_oracle_cannot_be_named_where_there_is_no_future() -> None:
    assert "oracle" not in policy_names()
    with pytest.raises(SettingsError, match="know the future"):
        make_policy("oracle")
    with pytest.raises(SettingsError, match="know the future"):
        Session(policy="oracle", budget=1_000)


def test_other_policies_are_made_as_always_by_the_oracles_session_maker() -> None:
    recorded, ruler = recording(CODING)
    assert run(CODING, "window", 8_000).steps == replay(recorded, "window", 8_000, ruler=ruler).steps
