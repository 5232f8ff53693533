"""The public benchmark: each recording of the twelve entries under one budget, pooled by policy.

The budgets make eviction necessary without making the task absurd: 16k tokens, and 32k where a fixed part of the
prompt would fill that or the recording is one of the longest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from foldaway.lab.results import ReplayResult, pool
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
POLICIES = ("window", "mask-old", "clear-tools", "lru", "relevance", "near-tail", "cwl", "auto")


@dataclass(frozen=True, slots=True)
class Case:
    """One recording of an entry, under its budget."""

    entry: int
    recorded: Recorded
    budget_tokens: int


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


def plan_benchmark(cases: Iterable[Case], policies: Sequence[str]) -> list[Run]:
    """Case by case, policy by policy."""
    return [Run(case.recorded, policy, case.budget_tokens) for case in cases for policy in policies]


def pool_benchmark(results: Iterable[ReplayResult]) -> list[ReplayResult]:
    """One row per policy over all recordings that ran through, whatever their budgets (0 in the rows)."""
    return pool([replace(result, budget_tokens=0) for result in results], "all recordings")
