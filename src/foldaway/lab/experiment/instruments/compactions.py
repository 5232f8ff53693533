"""Recorded compactions beside policies, as a section."""

from __future__ import annotations

from collections.abc import Sequence

from foldaway.lab.compaction_arms import RECORDED, Arm
from foldaway.lab.compaction_report import CompactionReport, Pooled
from foldaway.lab.compaction_table import MIN_NEEDS
from foldaway.lab.compactions import WINDOW_STEPS, Compaction, Rereads
from foldaway.lab.experiment.instruments.cells import number, share, with_interval
from foldaway.lab.experiment.report.findings import percent
from foldaway.lab.experiment.report.section import Cell, DotPlot, Dots, Mark, Part, Section, Table, Unit

RULES_SHOWN = ("loose", "values")

LIMITS = (
    "Two biases of opposite sign. What a summary lost and the agent never fetched again leaves no trace in the log and "
    "is no need here, which flatters the recorded agent. And logs leave out part of what the model had (encrypted "
    "summaries, files attached anew), which wrongs it: see unlogged and opaque. What the agent read again stands in "
    "what all sides see from then on."
)


def compactions_section(report: CompactionReport) -> Section:
    """What agents' own compactions kept of what came to be needed, policies beside them at the same tokens."""
    about = (
        f"Where a recorded agent compacted its own context, the next {report.window_steps} steps tell what of the "
        "text in front of it was still needed. Shown is the share of it that the agent's summary kept, and what a "
        f"policy keeps that is walked to the same call with the same number of tokens (budget as {report.budget})."
    )
    parts: list[Part] = [about]
    if not report.compactions:
        return _section([about, "No recorded compaction whose replacement is in the log."])
    pools = [pool for pool in report.pooled if pool.compactions]
    parts += [_plot(pools), *(_needs_table(pools, rule) for rule in RULES_SHOWN), _price_table(pools)]
    if told := _worst(report.compactions):
        parts.append(told)
    return _section([*parts, LIMITS])


def _section(parts: Sequence[Part]) -> Section:
    return Section(title="Recorded compactions", key="compactions", parts=parts)


def _plot(pools: Sequence[Pooled]) -> DotPlot:
    rows = [
        Dots(
            label=f"{pool.agent} ({pool.compactions})",
            values=[(arm.name, arm.kept("loose").visible_rate or 0.0) for arm in pool.arms],
        )
        for pool in pools
    ]
    title = "Kept in the first view behind a compaction, of all that came to be needed"
    strong = [arm.name for arm in pools[0].arms[:2]] if pools else []
    return DotPlot(title=title, x_label="share of needs kept", rows=rows, strong=strong, x_unit=Unit.SHARE)


def _needs_table(pools: Sequence[Pooled], rule: str) -> Table:
    return Table(
        title=f"What was kept, needs by the rule {rule}",
        columns=[
            *("agent (compactions)", "", "budget", "first view", "needs", "kept % (95 %)", "direct", "held % (95 %)"),
            *("led to %", "steps %", "later %", "bill, k", "better / same / worse"),
        ],
        rows=[_arm_cells(pool, arm, rule) for pool in pools for arm in pool.arms],
        left=2,
        groups=True,
        note="kept: needs in the view of the first call behind the compaction, with Wilson's interval. direct: those "
        "that nothing had supplied again before their use; held: of these; led to: in that view, or a stub leads "
        "there; steps: with all of theirs; later: by the view of the step that uses them (the recorded one has grown "
        "by then). bill: prompts of these steps in thousands of tokens at base price, with the summary call, or a "
        "recall for each need out of view. better / same / worse: compactions, against the recorded agent.",
    )


def _arm_cells(pool: Pooled, arm: Arm, rule: str) -> list[Cell]:
    kept, held, steps, later = arm.kept(rule), arm.held[rule], arm.steps[rule], arm.walked[rule]
    opaque = f", {pool.opaque} opaque" if pool.opaque else ""
    return [
        f"{pool.agent} ({pool.compactions}{opaque})",
        Mark(text=arm.name, strong=arm.name == RECORDED),
        number(arm.budget_tokens),
        number(arm.tokens),
        number(kept.total),
        with_interval(kept),
        number(held.total),
        with_interval(held),
        share(held.reachable, held.total),
        percent(steps.visible_rate),
        percent(later.visible_rate),
        number(arm.bill.cost() / 1000),
        "" if arm.name == RECORDED else " / ".join(map(str, pool.against[rule][arm.name])),
    ]


def _price_table(pools: Sequence[Pooled]) -> Table:
    rows = [
        [
            pool.agent,
            f"{pool.compactions}",
            *(number(t) for t in (pool.tokens_before, pool.tokens_after, pool.summary_tokens, pool.rewritten_tokens)),
            number(pool.unlogged_tokens),
            number(pool.bill.cost() / pool.compactions),
            *_per(pool.rereads),
            *_per(pool.control),
        ]
        for pool in pools
    ]
    return Table(
        title="What a compaction cost",
        columns=[
            *("agent", "compactions", "before", "after", "summary", "rewritten", "unlogged", "price"),
            *("re-read calls", "tokens", "control calls", "tokens"),
        ],
        rows=rows,
        note="Means, in tokens. price: the view before read by the summary call and the prefix rewritten, at base "
        f"price. re-read: calls in {WINDOW_STEPS} steps that bring back lines seen before and no longer in view; "
        "control: the same in front of the compaction, of lines still in view. unlogged: counted by the provider "
        "and not in the log.",
    )


def _per(found: Rereads) -> tuple[str, str]:
    """Calls and tokens for each `WINDOW_STEPS` steps."""
    if not found.steps:
        return "-", "-"
    return number(WINDOW_STEPS * found.calls / found.steps, 1), number(WINDOW_STEPS * found.tokens / found.steps)


def _worst(compactions: Sequence[Compaction]) -> str:
    told = []
    for name in [arm.name for arm in compactions[0].arms]:
        found = [(c, c.arm(name).kept("loose")) for c in compactions if not c.opaque and not c.arm(name).error]
        found = [(c, tally) for c, tally in found if tally.total >= MIN_NEEDS]
        if found:
            c, tally = min(found, key=lambda pair: pair[1].visible / pair[1].total)
            told.append(
                f"`{name}`: {c.session} at message {c.position}, {percent(tally.visible_rate)} % of {tally.total}"
            )
    return f"Least kept by {'; '.join(told)}." if told else ""
