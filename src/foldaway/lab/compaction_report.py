"""The recorded compactions of many sessions, pooled by agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from foldaway.lab.bill import Bill
from foldaway.lab.compaction_arms import RECORDED, Arm
from foldaway.lab.compactions import WINDOW_STEPS, Compaction, Rereads, measure_compactions
from foldaway.lab.replay import SessionMaker, foldaway_session
from foldaway.lab.results import RULES, Tally
from foldaway.model.recorded import Recorded

READABLE = "all readable"
"""The pool of all compactions whose summary the log shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """The compactions of one agent, summed. Every need weighs the same, so compactions with many weigh more."""

    agent: str
    compactions: int
    sessions: int
    opaque: int
    failed: int
    """Left out, of all arms: a policy could not be measured."""
    steps: int
    tokens_before: float
    """Means, like the others in tokens."""
    tokens_after: float
    summary_tokens: float
    rewritten_tokens: float
    unlogged_tokens: float | None
    """Mean over those whose log has usage."""
    bill: Bill
    """Of the compactions themselves."""
    rereads: Rereads
    control: Rereads
    arms: tuple[Arm, ...]
    """Tokens are means, bills and tallies sums."""
    against: Mapping[str, Mapping[str, tuple[int, int, int]]]
    """Rule -> policy -> compactions where it kept a larger, the same, a smaller share than the recorded agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionReport:
    """What recorded compactions kept and lost, policies beside them."""

    compactions: tuple[Compaction, ...]
    pooled: tuple[Pooled, ...]
    """By agent in the order of first appearance, then all whose summary is readable."""
    budget: str
    window_steps: int


def compaction_report(
    recordings: Iterable[Recorded],
    *,
    policies: Sequence[str] = ("auto", "window"),
    window_steps: int = WINDOW_STEPS,
    budget: str = "logged",
    make: SessionMaker = foldaway_session,
    progress: Callable[[str], None] | None = None,
) -> CompactionReport:
    """Measure the compactions of all sessions; sessions without one are passed over. See `measure_compactions`.

    One session at a time is in use, so a generator of sessions keeps memory small. `progress` is told the name of
    each session that is measured.
    """
    found: list[Compaction] = []
    for recorded in recordings:
        if progress and recorded.compactions:
            progress(recorded.name)
        found += measure_compactions(recorded, policies=policies, window_steps=window_steps, budget=budget, make=make)
    groups: dict[str, list[Compaction]] = {}
    for compaction in found:
        groups.setdefault(compaction.agent, []).append(compaction)
    if readable := [compaction for compaction in found if not compaction.opaque]:
        groups[READABLE] = readable
    pooled = tuple(_pool(agent, group) for agent, group in groups.items())
    return CompactionReport(compactions=tuple(found), pooled=pooled, budget=budget, window_steps=window_steps)


def _pool(agent: str, group: Sequence[Compaction]) -> Pooled:
    good = [c for c in group if not any(arm.error for arm in c.arms)]
    nothing = Rereads(0, 0, 0)
    names = [arm.name for arm in good[0].arms] if good else []
    return Pooled(
        agent=agent,
        compactions=len(good),
        sessions=len({c.session for c in good}),
        opaque=sum(c.opaque for c in good),
        failed=len(group) - len(good),
        steps=sum(c.steps for c in good),
        tokens_before=_mean([c.tokens_before for c in good]) or 0.0,
        tokens_after=_mean([c.tokens_after for c in good]) or 0.0,
        summary_tokens=_mean([c.summary_tokens for c in good]) or 0.0,
        rewritten_tokens=_mean([c.rewritten_tokens for c in good]) or 0.0,
        unlogged_tokens=_mean([c.unlogged_tokens for c in good if c.unlogged_tokens is not None]),
        bill=reduce(Bill.__add__, (c.bill for c in good), Bill()),
        rereads=reduce(Rereads.__add__, (c.rereads for c in good), nothing),
        control=reduce(Rereads.__add__, (c.control for c in good), nothing),
        arms=tuple(_pool_arms([c.arm(name) for c in good]) for name in names),
        against={rule: {name: _against(good, name, rule) for name in names[1:]} for rule in RULES},
    )


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None


def _pool_arms(arms: Sequence[Arm]) -> Arm:
    def merged(pick: Callable[[Arm], Mapping[str, Tally]]) -> dict[str, Tally]:
        return {rule: reduce(Tally.__add__, (pick(arm).get(rule, Tally()) for arm in arms)) for rule in RULES}

    return Arm(
        name=arms[0].name,
        budget_tokens=round(sum(arm.budget_tokens for arm in arms) / len(arms)),
        tokens=round(sum(arm.tokens for arm in arms) / len(arms)),
        mean_tokens=sum(arm.mean_tokens for arm in arms) / len(arms),
        held=merged(lambda arm: arm.held),
        again=merged(lambda arm: arm.again),
        steps=merged(lambda arm: arm.steps),
        walked=merged(lambda arm: arm.walked),
        bill=reduce(Bill.__add__, (arm.bill for arm in arms)),
        over_tokens=round(sum(arm.over_tokens for arm in arms) / len(arms)),
    )


def _against(group: Sequence[Compaction], name: str, rule: str) -> tuple[int, int, int]:
    pairs = [(c.arm(name).kept(rule), c.arm(RECORDED).kept(rule)) for c in group]
    signs = [ours.visible - theirs.visible for ours, theirs in pairs if ours.total]
    return sum(s > 0 for s in signs), sum(s == 0 for s in signs), sum(s < 0 for s in signs)
