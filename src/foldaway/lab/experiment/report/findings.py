"""The rows of an experiment, sorted for those who write about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from foldaway.lab.experiment.keep import Row
from foldaway.lab.experiment.stats import Difference, paired_bootstrap
from foldaway.lab.oracle.policy import ORACLE
from foldaway.lab.peers import is_peer
from foldaway.lab.replay import FULL
from foldaway.lab.results import ReplayResult, Tally, pool

LOOKED_AT, COMPARED_WITH = "auto", "window"
USUAL_BUDGET = 16_000
FEW_STEPS = 5
"""Sessions with fewer steps with needs are not named as the worst: one step would decide."""

FAILED_SHARE = 0.05


@dataclass(frozen=True)
class Findings:
    """Rows of one experiment. Sessions of which a run failed are left out of everything that is pooled, for all
    policies, so that all are pooled over the same sessions. Another library that fails on many is left out instead."""

    rows: Sequence[Row]
    seed: int
    resamples: int

    @cached_property
    def failed(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.result.error)

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """Other libraries that failed on more than `FAILED_SHARE` of the sessions; they are in no comparison."""
        failed: dict[str, set[str]] = {}
        for row in self.failed:
            if is_peer(row.result.policy):
                failed.setdefault(row.result.policy, set()).add(row.result.session)
        most = FAILED_SHARE * len({row.result.session for row in self.rows})
        return tuple(policy for policy, sessions in failed.items() if len(sessions) > most)

    @cached_property
    def usable(self) -> tuple[Row, ...]:
        compared = [row for row in self.rows if row.result.policy not in self.left_out]
        broken = {row.result.session for row in compared if row.result.error}
        return tuple(row for row in compared if row.result.session not in broken)

    @cached_property
    def sessions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.result.session for row in self.usable))

    @cached_property
    def policies(self) -> tuple[str, ...]:
        """All but full history, which is the measure, and the oracle, which knows the future: no policies."""
        others = {FULL, ORACLE, *self.left_out}
        return tuple(dict.fromkeys(row.result.policy for row in self.rows if row.result.policy not in others))

    @cached_property
    def witnesses(self) -> tuple[str, ...]:
        """The oracle, where it ran: shown beside the policies, and never compared with them as one of them."""
        return tuple(dict.fromkeys(row.result.policy for row in self.rows if row.result.policy == ORACLE))

    @cached_property
    def budgets(self) -> tuple[int, ...]:
        return tuple(sorted({row.result.budget_tokens for row in self.rows if row.result.policy != FULL}))

    @cached_property
    def looked_at(self) -> str:
        """The policy that the report speaks of first."""
        return LOOKED_AT if LOOKED_AT in self.policies else next(iter(self.policies), "")

    @cached_property
    def compared_with(self) -> str:
        others = [policy for policy in self.policies if policy != self.looked_at]
        return COMPARED_WITH if COMPARED_WITH in others else next(iter(others), "")

    @cached_property
    def usual_budget(self) -> int:
        """The budget of tables that show one only: 16k, or the one next to it."""
        return min(self.budgets, key=lambda b: (abs(b - USUAL_BUDGET), b), default=0)

    @cached_property
    def pools(self) -> tuple[ReplayResult, ...]:
        """One row a policy and budget."""
        return tuple(pool(row.result for row in self.usable if row.result.policy in self.policies))

    @cached_property
    def witness_pools(self) -> tuple[ReplayResult, ...]:
        return tuple(pool(row.result for row in self.usable if row.result.policy in self.witnesses))

    @cached_property
    def by_run(self) -> Mapping[tuple[str, str, int], Row]:
        """(session, policy, budget) -> row."""
        return {(row.result.session, row.result.policy, row.result.budget_tokens): row for row in self.usable}

    def pooled(self, policy: str, budget: int) -> ReplayResult | None:
        both = (*self.pools, *self.witness_pools)
        return next((r for r in both if (r.policy, r.budget_tokens) == (policy, budget)), None)

    def under(self, policy: str, budget: int) -> list[Row]:
        """A policy's rows under a budget, one a session, in order of the sessions."""
        found = (self.by_run.get((session, policy, budget)) for session in self.sessions)
        return [row for row in found if row is not None]

    def evicting(self, budget: int) -> tuple[str, ...]:
        """Sessions of which something had to go under a budget."""
        calm = {r.result.session for r in self.usable if r.never_evicts and r.result.budget_tokens == budget}
        return tuple(session for session in self.sessions if session not in calm)

    def difference(self, policy: str, baseline: str, budget: int, rule: str) -> Difference:
        """Of the no-impact rates of two policies, pooled."""

        def seen(row: Row) -> float:
            return row.result.steps.get(rule, Tally()).visible

        def all_steps(row: Row) -> float:
            return row.result.steps.get(rule, Tally()).total

        return self._bootstrap(policy, baseline, budget, seen, all_steps)

    def bill_difference(self, policy: str, baseline: str, budget: int) -> Difference:
        """Of the bills of two policies, as shares of full history's, pooled."""
        return self._bootstrap(
            policy, baseline, budget, lambda r: r.result.bill.cost(), lambda r: r.result.full_bill.cost()
        )

    def _bootstrap(
        self, policy: str, baseline: str, budget: int, value: Callable[[Row], float], weight: Callable[[Row], float]
    ) -> Difference:
        ours, theirs = self.under(policy, budget), self.under(baseline, budget)
        return paired_bootstrap(
            [value(row) for row in ours],
            [value(row) for row in theirs],
            [weight(row) for row in ours],
            resamples=self.resamples,
            seed=self.seed,
        )

    def worst(self, policy: str, budget: int, rule: str = "loose") -> Row | None:
        """The session with the lowest no-impact rate, among those with some steps with needs."""
        rows = [r for r in self.under(policy, budget) if r.result.steps.get(rule, Tally()).total >= FEW_STEPS]
        return min(rows, key=lambda r: (rate(r.result, rule), r.result.session), default=None)

    def worst_against(self, policy: str, baseline: str, budget: int, rule: str = "loose") -> tuple[str, float] | None:
        """The session on which a policy falls furthest behind another, or leads least: (name, difference of rates)."""
        gaps = []
        for row in self.under(policy, budget):
            other = self.by_run[row.result.session, baseline, budget].result
            if row.result.steps.get(rule, Tally()).total >= FEW_STEPS:
                gaps.append((rate(row.result, rule) - rate(other, rule), row.result.session))
        return (min(gaps)[1], min(gaps)[0]) if gaps else None


def rate(result: ReplayResult, rule: str = "loose") -> float:
    """The no-impact rate; 1 where no step had a need."""
    found = result.steps.get(rule, Tally()).visible_rate
    return 1.0 if found is None else found


def bill(result: ReplayResult) -> float:
    """The bill as a share of full history's."""
    return result.bill.share_of(result.full_bill)


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def points(difference: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    text = f"{100 * difference:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def kilo(tokens: float) -> str:
    return f"{tokens / 1000:g}k" if tokens % 1000 == 0 else f"{tokens:,.0f}"
