"""What a replay found, and how results are pooled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from foldaway.lab.bill import Bill
from foldaway.lab.faults import thrash_index

RULES = ("strict", "loose", "strict-values", "values")
"""Which needs count. `loose`: all; `strict`: rare ones only. The two `values` rules leave verbatim text (whole lines of
edits, quoted strings) out: paths, identifiers, numbers, hashes and URLs can be named in a stub, a passage cannot."""


def counts(rule: str, *, strict: bool, verbatim: bool) -> bool:
    """Whether a need counts under a rule."""
    return (strict or not rule.startswith("strict")) and not (verbatim and rule.endswith("values"))


@dataclass(frozen=True, slots=True)
class Tally:
    """How many of some steps (or needs) a view served."""

    total: int = 0
    visible: int = 0
    """All needed literals stood in the view."""
    reachable: int = 0
    """All stood in the view, or a stub in the view led to what held them."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.total + other.total, self.visible + other.visible, self.reachable + other.reachable)

    @property
    def visible_rate(self) -> float | None:
        return self.visible / self.total if self.total else None

    @property
    def reachable_rate(self) -> float | None:
        return self.reachable / self.total if self.total else None


Tallies = Mapping[str, Tally]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """One session under one policy and budget (pooled: several sessions)."""

    session: str
    policy: str
    budget_tokens: int
    sessions: int = 1
    calls: int = 0
    refused_calls: int = 0
    """Nothing could be sent: what may not be evicted does not fit. Their needs count as lost."""
    total_tokens: int = 0
    peak_tokens: int = 0
    total_plain_tokens: int = 0
    """The prompts in characters / 4."""
    full_tokens: int = 0
    """What sending everything would have come to."""
    steps: Mapping[str, Tally] = field(default_factory=dict)
    """Rule -> steps with at least one need. Steps without any cannot lose one; `calls` counts them too."""
    needs_by_age: Mapping[str, Tallies] = field(default_factory=dict)
    """Rule -> age -> needs."""
    needs_by_kind: Mapping[str, Tallies] = field(default_factory=dict)
    """Rule -> kind of literal -> needs."""
    bill: Bill = field(default_factory=Bill)
    full_bill: Bill = field(default_factory=Bill)
    bills: Mapping[str, Bill] = field(default_factory=dict)
    """Price list -> the bill with that list's lifetime, smallest cached prompt and block size."""
    full_bills: Mapping[str, Bill] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)
    """Kind of fault (`lab.faults`) -> how many."""
    commits: int = 0
    prefix_breaks: int = 0
    invalid_views: int = 0
    problems: tuple[str, ...] = ()
    """The first few of what was wrong with invalid views."""
    over_flagged: int = 0
    """Views over the budget that said so."""
    over_silent: int = 0
    """Views over the budget that did not: a defect."""
    call_ms: tuple[float, ...] = ()
    """Time of append and view, in order of the calls."""
    error: str = ""
    """Set when the replay broke off; everything else is then empty."""

    @property
    def thrash_index(self) -> float:
        """Faults on what had faulted before, over needs served from the view plus one."""
        served = sum(tally.visible for tally in self.needs_by_kind.get("loose", {}).values())
        return thrash_index(self.faults, served)

    @property
    def mean_tokens(self) -> float:
        sent = self.calls - self.refused_calls
        return self.total_tokens / sent if sent else 0.0


def wilson(hits: int, total: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's 95 % interval of a rate. (0, 1) when there is nothing to go by.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927. It takes
    the steps for independent; within a session they are not quite, so pooled intervals are a little too narrow.
    """
    if total == 0:
        return 0.0, 1.0
    rate = hits / total
    scale = 1 + z * z / total
    middle = (rate + z * z / (2 * total)) / scale
    half = z * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total)) / scale
    return max(0.0, middle - half), min(1.0, middle + half)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed; 0 for none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def pool(results: Iterable[ReplayResult], name: str = "all sessions") -> list[ReplayResult]:
    """One row per policy and budget, in order of first appearance: sums over the sessions that ran through.

    Every step weighs the same, so long sessions weigh more.
    """
    groups: dict[tuple[str, int], list[ReplayResult]] = {}
    for result in results:
        if not result.error:
            groups.setdefault((result.policy, result.budget_tokens), []).append(result)
    return [_sum(group, name) for group in groups.values()]


def _sum(group: Sequence[ReplayResult], name: str) -> ReplayResult:
    return ReplayResult(
        session=name,
        policy=group[0].policy,
        budget_tokens=group[0].budget_tokens,
        sessions=len(group),
        calls=sum(r.calls for r in group),
        refused_calls=sum(r.refused_calls for r in group),
        total_tokens=sum(r.total_tokens for r in group),
        peak_tokens=max(r.peak_tokens for r in group),
        total_plain_tokens=sum(r.total_plain_tokens for r in group),
        full_tokens=sum(r.full_tokens for r in group),
        steps=_merge(r.steps for r in group),
        needs_by_age={rule: _merge(r.needs_by_age.get(rule, {}) for r in group) for rule in RULES},
        needs_by_kind={rule: _merge(r.needs_by_kind.get(rule, {}) for r in group) for rule in RULES},
        bill=reduce(Bill.__add__, (r.bill for r in group)),
        full_bill=reduce(Bill.__add__, (r.full_bill for r in group)),
        bills=_add_bills(r.bills for r in group),
        full_bills=_add_bills(r.full_bills for r in group),
        faults={kind: sum(r.faults.get(kind, 0) for r in group) for kind in group[0].faults},
        commits=sum(r.commits for r in group),
        prefix_breaks=sum(r.prefix_breaks for r in group),
        invalid_views=sum(r.invalid_views for r in group),
        problems=tuple(p for r in group for p in r.problems)[:5],
        over_flagged=sum(r.over_flagged for r in group),
        over_silent=sum(r.over_silent for r in group),
        call_ms=tuple(ms for r in group for ms in r.call_ms),
    )


def _merge(parts: Iterable[Tallies]) -> dict[str, Tally]:
    merged: dict[str, Tally] = {}
    for part in parts:
        for key, tally in part.items():
            merged[key] = merged.get(key, Tally()) + tally
    return merged


def _add_bills(parts: Iterable[Mapping[str, Bill]]) -> dict[str, Bill]:
    added: dict[str, Bill] = {}
    for part in parts:
        for name, bill in part.items():
            added[name] = added.get(name, Bill()) + bill
    return added
