"""The public benchmark: each recording of the twelve entries under one budget, pooled by policy.

The budgets make eviction necessary without making the task absurd: 16k tokens, and 32k where a fixed part of the
prompt would fill that or the recording is one of the longest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from foldaway.lab.results import ReplayResult, Tally, pool
from foldaway.lab.runner import Run
from foldaway.model.recorded import Recorded
from foldaway.tokens import RequestCounter, get_counter

BUDGET_TOKENS = 16_000
LARGE_BUDGET_TOKENS = 32_000
LARGE_PROLOGUE_TOKENS = 8_000
"""A prologue above this takes the larger budget."""
LONGEST = frozenset({1, 2, 12})
"""Entries that take it for their length."""
LOW_SHARE = 0.5
"""Watermark: a commit frees down half way from the pinned floor to the budget."""
FITTED_ENTRIES = frozenset({4, 7, 9, 10})
FITTED_FORMATS = frozenset({"da-code"})
"""Entries, and formats within the others, whose sources the constants of `scoring.need` were fitted on."""
POLICIES = (
    "window",
    "mask-old",
    "clear-tools",
    "lru",
    "relevance",
    "near-tail",
    "cwl",
    "self-gc",
    "layered",
    "ace",
    "auto",
)


@dataclass(frozen=True, slots=True)
class Case:
    """One recording of an entry, under its budget."""

    entry: int
    recorded: Recorded
    budget_tokens: int

    @property
    def held_out(self) -> bool:
        """Whether no constant of predicted need was fitted on this recording's source."""
        return self.entry not in FITTED_ENTRIES and self.recorded.source_format not in FITTED_FORMATS


@dataclass(frozen=True, slots=True)
class Scored:
    """What one policy made of one case."""

    case: Case
    result: ReplayResult


def make_case(entry: int, recorded: Recorded) -> Case:
    """The recording with the budget that the rules of the benchmark give it."""
    large = entry in LONGEST or prologue_tokens(recorded) > LARGE_PROLOGUE_TOKENS
    return Case(entry, recorded, LARGE_BUDGET_TOKENS if large else BUDGET_TOKENS)


def prologue_tokens(recorded: Recorded) -> int:
    """System prompt, tools and everything up to the first user message, in tokens of the recorded model.

    A recording that names no model is counted as its format's default. Without a user message: what stands beside
    the messages.
    """
    counter = RequestCounter(get_counter(recorded.model, recorded.format), recorded.format, recorded.model)
    first = next((i for i, message in enumerate(recorded.messages) if message.get("role") == "user"), -1)
    beside = counter.system(recorded.system) + counter.tools(recorded.tools)
    return beside + sum(counter.message(message) for message in recorded.messages[: first + 1])


def plan_benchmark(cases: Iterable[Case], policies: Sequence[str]) -> list[tuple[Case, Run]]:
    """Case by case, policy by policy."""
    return [(case, Run(case.recorded, policy, case.budget_tokens)) for case in cases for policy in policies]


def pool_benchmark(scored: Sequence[Scored]) -> list[ReplayResult]:
    """One row per policy over all recordings that ran through, then one over those held out, budgets left out (0).

    Every step weighs the same, so long recordings weigh more.
    """
    held_out = [one for one in scored if one.case.held_out]
    return [*_pool(scored, "all recordings"), *_pool(held_out, "held out")]


def _pool(scored: Iterable[Scored], name: str) -> list[ReplayResult]:
    pooled = pool((replace(one.result, budget_tokens=0) for one in scored), name)
    return [replace(row, session=f"{name}: {row.sessions}") for row in pooled]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """A recording on which another policy saw more than the one looked at."""

    case: Case
    rule: str
    rate: float
    best: str
    best_rate: float


def ahead_of(policy: str, scored: Sequence[Scored], rules: Sequence[str]) -> list[Ahead]:
    """Where, by which rule, another policy saw more than `policy`: the best of the others, in order of the cases."""
    found = []
    for case in dict.fromkeys(id(one.case) for one in scored):
        rows = [one for one in scored if id(one.case) == case]
        for rule in rules:
            rates = {one.result.policy: _rate(one.result, rule) for one in rows}
            best = max(rates, key=lambda name: rates[name], default="")
            if policy in rates and rates[best] > rates[policy]:
                one, most = rates[policy], rates[best]
                found.append(Ahead(case=rows[0].case, rule=rule, rate=one, best=best, best_rate=most))
    return found


def _rate(result: ReplayResult, rule: str) -> float:
    return result.steps.get(rule, Tally()).visible_rate or 0.0
