"""How far from the optimum a policy stayed, on the same session and budget.

Regret in steps and in bill is counted against the bounds, so it is an upper limit of the true one; the oracle policy
beside it tells how much of it can be closed at all: true regret lies between the distance to the witness and the
distance to the bound. The two bounds are of two games, one for each objective: no policy need reach both at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from foldaway.lab.bill import CACHE
from foldaway.lab.oracle.bound import Bounds
from foldaway.lab.results import ReplayResult, Tally
from foldaway.lab.table import aligned
from foldaway.model.plan import Prices


@dataclass(frozen=True, slots=True, kw_only=True)
class Regret:
    """One policy between `window` and the bounds."""

    session: str
    policy: str
    budget_tokens: int
    total: int
    """Steps with needs."""
    visible: int
    window_visible: int
    oracle_visible: int
    bound_visible: int
    bill: float
    """Tokens at base input price, as are the next three."""
    window_bill: float
    oracle_bill: float
    bound_bill: float
    full_bill: float
    refused_calls: int = 0
    """Calls of this run that were not sent, so not billed: above 0, its bill cannot be held against the bound."""

    @property
    def steps(self) -> int:
        """Steps that the bound has and the policy has not."""
        return self.bound_visible - self.visible

    @property
    def bill_regret(self) -> float:
        """What the policy paid above the bound."""
        return self.bill - self.bound_bill

    @property
    def steps_closed(self) -> float | None:
        """Share of the distance from `window` to the bound that is closed; None where there is none."""
        return _share(self.visible - self.window_visible, self.bound_visible - self.window_visible)

    @property
    def bill_closed(self) -> float | None:
        return _share(self.window_bill - self.bill, self.window_bill - self.bound_bill)

    @property
    def gap(self) -> int:
        """Steps between the oracle policy and the bound: what is not known of the optimum."""
        return self.bound_visible - self.oracle_visible


def regret_of(
    result: ReplayResult, *, window: ReplayResult, oracle: ReplayResult, bounds: Bounds, rule: str = "loose",
    prices: Prices = CACHE,
) -> Regret:  # fmt: skip
    """Raises ValueError where the runs are not of one session and budget, or one of them failed."""
    for other in (result, window, oracle):
        if other.error or (other.session, other.budget_tokens) != (result.session, bounds.budget_tokens):
            raise ValueError(f"{other.session}, {other.policy}, {other.budget_tokens}: {other.error or 'another run'}")
    steps = {run.policy: run.steps.get(rule, Tally()) for run in (window, oracle, result)}
    return Regret(
        session=result.session,
        policy=result.policy,
        budget_tokens=bounds.budget_tokens,
        total=steps[result.policy].total,
        visible=steps[result.policy].visible,
        window_visible=steps[window.policy].visible,
        oracle_visible=steps[oracle.policy].visible,
        bound_visible=bounds.visible.visible,
        bill=result.bill.cost(prices),
        window_bill=window.bill.cost(prices),
        oracle_bill=oracle.bill.cost(prices),
        bound_bill=bounds.bill,
        full_bill=result.full_bill.cost(prices),
        refused_calls=result.refused_calls,
    )


def pool_regrets(regrets: Iterable[Regret], name: str = "all sessions") -> list[Regret]:
    """One row for each policy: sums over sessions and budgets, budgets left out (0). Every step weighs the same."""
    groups: dict[str, list[Regret]] = {}
    for regret in regrets:
        groups.setdefault(regret.policy, []).append(regret)
    return [_pooled(group, name) for group in groups.values()]


def _pooled(group: list[Regret], name: str) -> Regret:
    return Regret(
        session=name,
        policy=group[0].policy,
        budget_tokens=0,
        total=sum(r.total for r in group),
        visible=sum(r.visible for r in group),
        window_visible=sum(r.window_visible for r in group),
        oracle_visible=sum(r.oracle_visible for r in group),
        bound_visible=sum(r.bound_visible for r in group),
        bill=sum(r.bill for r in group),
        window_bill=sum(r.window_bill for r in group),
        oracle_bill=sum(r.oracle_bill for r in group),
        bound_bill=sum(r.bound_bill for r in group),
        full_bill=sum(r.full_bill for r in group),
        refused_calls=sum(r.refused_calls for r in group),
    )


def _share(done: float, whole: float) -> float | None:
    return done / whole if whole > 0 else None


COLUMNS = ("session", "policy", "budget", "steps", "seen%", "bound%", "regret", "closed%", "gap",
           "bill%", "least%", "closed%")  # fmt: skip

LEGEND = (
    "steps: those with needs. seen%: all needs in view; bound%: no policy can have more; regret: steps between them.\n"
    "closed%: share of the way from window to the bound. gap: steps between the oracle policy and the bound.\n"
    "bill%, least%: the policy's bill and the least possible one, of the full history's."
)


def regret_table(regrets: Iterable[Regret]) -> str:
    """Regrets as aligned text with a legend."""
    return "\n".join([aligned([list(COLUMNS), *map(_cells, regrets)], left=2), "", LEGEND])


def _cells(regret: Regret) -> list[str]:
    return [
        regret.session,
        regret.policy,
        str(regret.budget_tokens),
        str(regret.total),
        _percent(_share(regret.visible, regret.total)),
        _percent(_share(regret.bound_visible, regret.total)),
        str(regret.steps),
        _percent(regret.steps_closed),
        str(regret.gap),
        _percent(_share(regret.bill, regret.full_bill)),
        _percent(_share(regret.bound_bill, regret.full_bill)),
        _percent(regret.bill_closed),
    ]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
