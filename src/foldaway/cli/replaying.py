"""`foldaway replay`: recorded sessions under policies and budgets, as rows and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from foldaway.cli.output import clipped, warn
from foldaway.errors import SettingsError
from foldaway.lab import FULL, ReplayResult, ReplaySession, Run, Tally, pool, replay, replay_all, row
from foldaway.lab.replay import make_ruler
from foldaway.lab.results import percentile
from foldaway.lab.ruler import Ruler
from foldaway.lab.runner import Progress
from foldaway.lab.table import aligned
from foldaway.model.plan import Prices
from foldaway.model.recorded import Recorded
from foldaway.session import Session
from foldaway.settings.parts import make_policy, policy_names

COLUMNS = (
    *("session", "policy", "budget", "calls", "peak", "mean", "seen%", "strict%", "values%"),
    *("reach%", "bill%", "extra", "commits", "breaks", "ms"),
)
LEGEND = (
    "peak, mean: prompt tokens. seen%: steps of which every need stood in the view; strict%: by rare literals only;\n"
    "values%: without passages (whole lines of edits, quoted strings). reach%: in the view, or a stub led to it.\n"
    "bill%: of full history's, extra calls for missing needs included.\n"
    "A need is a value that the recorded next step used again: a proxy, with the recording as witness, not a new run."
)
SEEN_RULES = ("loose", "strict", "values")
"""The rules of lab.results.RULES that stand in the table, in the order of their columns."""
NAME_WIDTH = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """Makes the session of a run. A value, so that it can be sent to another process."""

    model: str = ""
    low_share: float | None = None
    high_share: float | None = None
    prices: Prices = field(default_factory=Prices)

    def check(self) -> None:
        """Raises SettingsError where these settings cannot go together."""
        Session(budget=1, model=self.model, low_share=self.low_share, high_share=self.high_share)

    def __call__(self, recorded: Recorded, policy: str, budget: int) -> ReplaySession:
        return Session(
            format=recorded.format,
            budget=budget,
            policy=policy,
            model=self.model or recorded.model,
            fixed_over_budget="send",
            system=recorded.system,
            tools=recorded.tools,
            low_share=self.low_share,
            high_share=self.high_share,
            prices=self.prices,
        )


def parse_budgets(text: str) -> list[int]:
    """`16000,32k` -> tokens. Raises SettingsError."""
    budgets = []
    for part in text.split(","):
        digits = part.strip().lower()
        thousands = digits.endswith("k")
        digits = digits.removesuffix("k").replace("_", "")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 12 and int(digits) > 0):
            raise SettingsError(f"budget {part.strip()!r}: expected tokens above 0, such as 16000 or 16k")
        budgets.append(int(digits) * (1000 if thousands else 1))
    return list(dict.fromkeys(budgets))


def parse_policies(text: str) -> list[str]:
    """`auto,window,full`, or `all`. Raises SettingsError naming the known ones."""
    known = [FULL, *policy_names()]
    names = [name.strip() for name in text.split(",")]
    names = known if names == ["all"] else list(dict.fromkeys(names))
    for name in names:
        if name not in known:
            raise SettingsError(f"no policy {name!r}; known: {', '.join(known)}, or all")
        if name != FULL:
            make_policy(name)
    return names


def parse_prices(read: float, write: float) -> Prices:
    return Prices(read=read, write=write, name=f"cache {read:g}/{write:g}")


def plan_runs(sessions: Sequence[Recorded], policies: Sequence[str], budgets: Sequence[int]) -> list[Run]:
    """Session by session, policy by policy. Full history knows no budget: it runs once."""
    return [
        Run(recorded, policy, budget)
        for recorded in sessions
        for policy in policies
        for budget in (budgets[:1] if policy == FULL else budgets)
    ]


def replay_runs(
    runs: Sequence[Run], maker: Maker, *, jobs: int = 1, views: Path | None = None, progress: Progress | None = None
) -> list[ReplayResult]:
    """Replay all, in order. Raises SettingsError when `views` is given for more than one run."""
    if views is not None and len(runs) != 1:
        raise SettingsError(
            f"--views writes the views of one run, and these are {len(runs)}; name one session, policy and budget"
        )
    if views is None and not maker.model:
        return replay_all(runs, jobs=jobs, make=maker, progress=progress)
    if jobs > 1:
        warn("--jobs has no effect together with --model or --views")
    return _one_by_one(runs, maker, views, progress)


def _one_by_one(runs: Sequence[Run], maker: Maker, views: Path | None, progress: Progress | None) -> list[ReplayResult]:
    """In this process, measured in the tokens of the maker's model."""
    results: list[ReplayResult] = []
    ruler: Ruler | None = None
    with ExitStack() as stack:
        stream: IO[str] | None = None if views is None else stack.enter_context(views.open("w", encoding="utf-8"))
        for number, run in enumerate(runs, 1):
            if ruler is None or ruler.recorded is not run.recorded:
                ruler = make_ruler(run.recorded, model=maker.model)
            results.append(replay(run.recorded, run.policy, run.budget, ruler=ruler, make=maker, views=stream))
            if progress:
                progress(number, len(runs), f"{run.policy} {run.recorded.name}")
    return results


def pooled(results: Sequence[ReplayResult]) -> list[ReplayResult]:
    """One row per policy and budget where several sessions ran through; else none."""
    done = {result.session for result in results if not result.error}
    return pool(results, f"all {len(done)} sessions") if len(done) > 1 else []


def as_row(result: ReplayResult, prices: Prices) -> dict[str, Any]:
    """A result as JSON data, with the bill at these prices as `bill`."""
    fields = row(result)
    if result.policy == FULL:
        fields["budget_tokens"] = None
    if not result.error:
        fields["bill"] = {
            "prices": {"read": prices.read, "write": prices.write},
            "tokens_at_base_price": round(result.bill.cost(prices), 1),
            "full_tokens_at_base_price": round(result.full_bill.cost(prices), 1),
            "share_of_full": round(result.bill.share_of(result.full_bill, prices), 4),
        }
    return fields


def table(results: Sequence[ReplayResult], pools: Sequence[ReplayResult], prices: Prices) -> str:
    """The rows, the pooled ones at the end, and below them what the figures mean and what went wrong."""
    lines = [list(COLUMNS), *(cells(result, prices) for result in [*results, *pools])]
    notes = [note for result in results for note in notes_on(result)]
    return "\n".join([aligned(lines, left=2), "", LEGEND, *notes])


def cells(result: ReplayResult, prices: Prices) -> list[str]:
    """The row under `COLUMNS`; no budget where it had none, or several."""
    budget = "-" if result.policy == FULL or not result.budget_tokens else str(result.budget_tokens)
    first = [clipped(result.session, NAME_WIDTH), result.policy, budget]
    if result.error:
        return [*first, "failed"]
    loose = result.steps.get("loose", Tally())
    return [
        *first,
        f"{result.calls}",
        f"{result.peak_tokens}",
        f"{result.mean_tokens:.0f}",
        *(percent(result.steps.get(rule, Tally()).visible_rate) for rule in SEEN_RULES),
        percent(loose.reachable_rate),
        f"{100 * result.bill.share_of(result.full_bill, prices):.1f}",
        f"{result.bill.extra_calls}",
        f"{result.commits}",
        f"{result.prefix_breaks}",
        "-" if result.policy == FULL else f"{percentile(result.call_ms, 0.5):.2f}",
    ]


def percent(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.1f}"


def notes_on(result: ReplayResult) -> list[str]:
    """What a reader of the row must not miss."""
    told = []
    if result.error:
        told.append(f"failed: {result.error}")
    if result.refused_calls:
        told.append(f"{result.refused_calls} calls could not be sent; their needs count as lost")
    if result.over_flagged:
        told.append(f"{result.over_flagged} views over the budget, and saying so")
    if result.over_silent:
        told.append(f"{result.over_silent} views over the budget without saying so")
    if result.invalid_views:
        told.append(f"{result.invalid_views} views that a provider would refuse")
    where = f"{result.session}, {result.policy}, {result.budget_tokens}"
    return [f"{where}: {what}" for what in [*told, *result.problems]]
