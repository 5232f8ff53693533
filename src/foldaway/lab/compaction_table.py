"""A report on recorded compactions as a table to read and as JSON rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldaway.lab.compaction_arms import Arm
from foldaway.lab.compaction_report import CompactionReport, Pooled
from foldaway.lab.compactions import WINDOW_STEPS, Compaction, Rereads
from foldaway.lab.results import RULES, Tally, wilson
from foldaway.lab.table import aligned

MIN_NEEDS = 5
"""A compaction with fewer needs is not named as the worst."""

LEGEND = (
    "A need is a literal that the steps behind a compaction used and an observation in front of it had shown, at its\n"
    "first use. kept: it stood in the view of the first call behind the compaction: the agent's own, or a policy's at\n"
    "the budget of that row. direct: of the needs that nothing had supplied again before their use (the others were:\n"
    "the agent had read them again, or met them). led to: in that view, or a stub in it leads there. later: direct\n"
    "needs in the view of the step that used them; the recorded view has grown by then (mean), a policy's has not.\n"
    "price: of a compaction itself in tokens at base price: the view before read by the summary call, the prefix\n"
    "rewritten. re-read: calls that repeat an earlier one and bring lines back that were seen before and no longer in\n"
    "view; control: the same in front of the compaction, of lines still in view; both for 50 steps.\n"
    "bill: prompts of these steps in thousands of tokens at base price, cache read 0.1, write 1.25, the recorded arm\n"
    "with its summary call (without what that wrote), a policy with a recall call for each need out of view.\n"
    "What a summary lost and nobody missed in the log is no need, which flatters the recorded agent. opaque: the log\n"
    "does not show the summary; unlogged: tokens the provider counted and the log does not show. Both wrong it."
)


def compaction_table(report: CompactionReport, *, rule: str = "loose") -> str:
    """The pooled figures, the compactions one by one, and the worst of each arm, as aligned text."""
    if not report.compactions:
        return "No recorded compactions whose replacement is in the log."
    parts = [
        f"Recorded compactions, the next {report.window_steps} steps, needs by the rule {rule}, "
        f"budget as {report.budget}",
        aligned([_POOLED, *(line for pool in report.pooled for line in _pooled_lines(pool, rule))], left=2),
        aligned([_PRICE, *(_price_line(pool) for pool in report.pooled if pool.compactions)], left=1),
        aligned(_each(report.compactions, rule), left=2),
        "\n".join(_worst(report.compactions, rule)),
        LEGEND,
    ]
    return "\n\n".join(part for part in parts if part)


_POOLED = [
    *("agent", "arm", "n", "budget", "first", "mean", "needs", "kept % (95 %)", "direct", "held % (95 %)"),
    *("led to %", "steps %", "later %", "bill k", "better/same/worse"),
]


def _pooled_lines(pool: Pooled, rule: str) -> list[list[str]]:
    lines: list[list[str]] = []
    for number, arm in enumerate(pool.arms):
        kept, held, steps, later = arm.kept(rule), arm.held[rule], arm.steps[rule], arm.walked[rule]
        own = number == 0
        lines.append(
            [
                pool.agent if own else "",
                arm.name,
                str(pool.compactions) + (" opaque" if own and pool.opaque == pool.compactions else ""),
                str(arm.budget_tokens),
                str(arm.tokens),
                f"{arm.mean_tokens:.0f}",
                str(kept.total),
                _interval(kept),
                str(held.total),
                _interval(held),
                _share(held.reachable, held.total),
                _share(steps.visible, steps.total),
                _share(later.visible, later.total),
                f"{arm.bill.cost() / 1000:.0f}",
                "" if own else "/".join(map(str, pool.against[rule][arm.name])),
            ]
        )
    return lines


_PRICE = [
    *("agent", "n", "before", "after", "summary", "rewritten", "unlogged", "price", "re-read calls", "tokens"),
    *("control calls", "tokens"),
]


def _price_line(pool: Pooled) -> list[str]:
    means = (pool.tokens_before, pool.tokens_after, pool.summary_tokens, pool.rewritten_tokens, pool.unlogged_tokens)
    return [
        pool.agent,
        str(pool.compactions),
        *("-" if tokens is None else f"{tokens:.0f}" for tokens in means),
        f"{pool.bill.cost() / pool.compactions:.0f}",
        *_per(pool.rereads),
        *_per(pool.control),
    ]


def _each(compactions: Sequence[Compaction], rule: str) -> list[list[str]]:
    names = [arm.name for arm in compactions[0].arms]
    head = ["agent", "session", "at", "steps", "before", "after", "summary", "unlogged", "re-read", "tokens", "needs"]
    lines = [[*head, *(f"{name} %" for name in names)]]
    for c in compactions:
        lines.append(
            [
                c.agent,
                c.session,
                str(c.position),
                str(c.steps),
                str(c.tokens_before),
                str(c.tokens_after),
                "opaque" if c.opaque else str(c.summary_tokens),
                "-" if c.unlogged_tokens is None else str(c.unlogged_tokens),
                str(c.rereads.calls),
                str(c.rereads.tokens),
                str(c.arms[0].kept(rule).total),
                *("failed" if arm.error else _share(*_visible(arm.kept(rule))) for arm in c.arms),
            ]
        )
    return lines


def _worst(compactions: Sequence[Compaction], rule: str) -> list[str]:
    lines: list[str] = []
    for name in [arm.name for arm in compactions[0].arms]:
        told = [(c, c.arm(name).kept(rule)) for c in compactions if not c.opaque and not c.arm(name).error]
        told = [(c, tally) for c, tally in told if tally.total >= MIN_NEEDS]
        if told:
            c, tally = min(told, key=lambda pair: pair[1].visible / pair[1].total)
            share = _share(*_visible(tally))
            lines.append(f"Worst of {name}: {c.session} at {c.position}, kept {share} % of {tally.total}.")
    failed = [
        f"{c.session} at {c.position}, {arm.name}: {arm.error}" for c in compactions for arm in c.arms if arm.error
    ]
    return lines + failed


def _visible(tally: Tally) -> tuple[int, int]:
    return tally.visible, tally.total


def _share(hits: int, total: int) -> str:
    return f"{100 * hits / total:.1f}" if total else "-"


def _interval(tally: Tally) -> str:
    if not tally.total:
        return "-"
    low, high = wilson(tally.visible, tally.total)
    return f"{100 * tally.visible / tally.total:.1f} ({100 * low:.1f}-{100 * high:.1f})"


def _per(found: Rereads) -> tuple[str, str]:
    """Calls and tokens for each `WINDOW_STEPS` steps."""
    if not found.steps:
        return "-", "-"
    return f"{WINDOW_STEPS * found.calls / found.steps:.1f}", f"{WINDOW_STEPS * found.tokens / found.steps:.0f}"


def compaction_rows(report: CompactionReport) -> dict[str, Any]:
    """The report as JSON data: shares are 0 to 1, null where there was no need."""
    return {
        "budget": report.budget,
        "window_steps": report.window_steps,
        "pooled": [_pooled_row(pool) for pool in report.pooled],
        "compactions": [_row(compaction) for compaction in report.compactions],
    }


def _row(c: Compaction) -> dict[str, Any]:
    return {
        "session": c.session,
        "agent": c.agent,
        "position": c.position,
        "step": c.step,
        "steps": c.steps,
        "opaque": c.opaque,
        "tokens_before": c.tokens_before,
        "tokens_after": c.tokens_after,
        "rewritten_tokens": c.rewritten_tokens,
        "summary_tokens": c.summary_tokens,
        "price_tokens_at_base_price": round(c.bill.cost(), 1),
        "unlogged_tokens": c.unlogged_tokens,
        "rereads": _rereads_row(c.rereads),
        "control": _rereads_row(c.control),
        "arms": [_arm_row(arm) for arm in c.arms],
    }


def _pooled_row(pool: Pooled) -> dict[str, Any]:
    return {
        "agent": pool.agent,
        "compactions": pool.compactions,
        "sessions": pool.sessions,
        "opaque": pool.opaque,
        "failed": pool.failed,
        "steps": pool.steps,
        "mean_tokens_before": round(pool.tokens_before, 1),
        "mean_tokens_after": round(pool.tokens_after, 1),
        "mean_summary_tokens": round(pool.summary_tokens, 1),
        "mean_rewritten_tokens": round(pool.rewritten_tokens, 1),
        "price_tokens_at_base_price": round(pool.bill.cost(), 1),
        "mean_unlogged_tokens": None if pool.unlogged_tokens is None else round(pool.unlogged_tokens, 1),
        "rereads": _rereads_row(pool.rereads),
        "control": _rereads_row(pool.control),
        "arms": [_arm_row(arm) for arm in pool.arms],
        "better_same_worse": {
            rule: {name: list(counted) for name, counted in names.items()} for rule, names in pool.against.items()
        },
    }


def _rereads_row(found: Rereads) -> dict[str, int]:
    return {"calls": found.calls, "tokens": found.tokens, "steps": found.steps}


def _arm_row(arm: Arm) -> dict[str, Any]:
    if arm.error:
        return {"name": arm.name, "budget_tokens": arm.budget_tokens, "error": arm.error}
    return {
        "name": arm.name,
        "budget_tokens": arm.budget_tokens,
        "first_tokens": arm.tokens,
        "mean_tokens": round(arm.mean_tokens, 1),
        "over_tokens": arm.over_tokens,
        "kept": {rule: _tally_row(arm.kept(rule)) for rule in RULES},
        "held": {rule: _tally_row(tally) for rule, tally in arm.held.items()},
        "again": {rule: _tally_row(tally) for rule, tally in arm.again.items()},
        "steps": {rule: _tally_row(tally) for rule, tally in arm.steps.items()},
        "later": {rule: _tally_row(tally) for rule, tally in arm.walked.items()},
        "bill_tokens_at_base_price": round(arm.bill.cost(), 1),
        "extra_calls": arm.bill.extra_calls,
    }


def _tally_row(tally: Tally) -> dict[str, Any]:
    return {
        "total": tally.total,
        "visible": tally.visible,
        "reachable": tally.reachable,
        "visible_rate": tally.visible_rate,
        "visible_95": list(wilson(tally.visible, tally.total)),
        "reachable_rate": tally.reachable_rate,
    }
