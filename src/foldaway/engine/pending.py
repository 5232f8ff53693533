"""A plan from beside the loop: vetted, rehearsed, kept pending, and committed when the moment has come (S2.3).

Whoever makes plans, a model or a rule, sees the window of some call ago and may err. So each target is checked against
the rules that bind every policy, when the plan comes in and again when it is committed: what changed meanwhile, or is
protected by then, drops out. A plan that is refused changes nothing but the ledger, which says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foldaway.engine.constraints import SOFT, Scene, last_turn, open_calls, pins, protected
from foldaway.engine.digests import Digests
from foldaway.engine.planner import Planned
from foldaway.engine.window import Shown
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Action, Change, PlanEntry, PlanVerdict, ProposedPlan, Refusal

MOST_TARGETS = 5_000
"""Plans that name more are refused unread."""
SMALLEST_FREED_SHARE = 0.02
"""Plans that free less of the view are not worth a commit at any price."""
MOST_STEPS_LATE = 30
"""A plan made for a view so many model calls ago speaks of another window; a pending one is dropped then."""
REASON_CHARS = 200
SUMMARY_CHARS = 500
MOST_REFUSALS = 100
"""Refused targets that the ledger keeps one by one."""
_CODES = ((pins.protect, "pinned"), (open_calls.protect, "open-call"), (last_turn.protect, "last-turn"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A plan that waits for its moment."""

    plan: ProposedPlan
    levels: Mapping[int, Level]
    """Target -> its level when the plan came in."""
    step: int
    freed_share: float
    """Of the view, as rehearsed when it came in."""


@dataclass(frozen=True, slots=True)
class Vetted:
    """What may be done of a plan, and what may not."""

    changes: tuple[Change, ...]
    refused: tuple[Refusal, ...]


def vet(
    entries: Iterable[PlanEntry], scene: Scene, digests: Digests, obsolete: Callable[[Item], bool],
    levels: Mapping[int, Level] | None = None, *, raises: bool = False,
) -> Vetted:  # fmt: skip
    """Check each target. `obsolete`: whether something newer proves that an item may be pruned; `levels`: those of the
    targets when the plan came in, None when it comes in now; `raises`: what is kept and not shown whole comes back.
    O(targets and visible items)."""
    kept = _kept(scene)
    changes: list[Change] = []
    refused: list[Refusal] = []
    seen: set[int] = set()
    for entry in entries:
        for target in entry.targets:
            item = scene.log.item_at(target) if type(target) is int else None
            code, why = _objection(entry.action, item, scene.shown, kept, obsolete)
            if item is not None and target in seen:
                code, why = "duplicate", "named before in the same plan"
            elif (
                item is not None and not code and levels is not None and levels.get(target) != scene.shown.level(target)
            ):
                code, why = "changed-since", "shown otherwise by now"
            if item is not None:
                seen.add(target)
            level = _level(entry.action, item, digests) if item is not None else Level.HIDDEN
            if code:
                refused.append(Refusal(item=target if type(target) is int else 0, level=level, code=code, why=why))
            elif entry.action is not Action.KEEP or (raises and _comes_back(target, scene, kept)):
                reason = one_line(entry.reason, REASON_CHARS) or "planned"
                changes.append(Change(item=target, level=level, reason=reason, action=entry.action))
    return Vetted(tuple(changes), tuple(refused))


def judge(
    plan: ProposedPlan, scene: Scene, digests: Digests, obsolete: Callable[[Item], bool],
    rehearse: Callable[[Sequence[Change]], Planned | None],
) -> tuple[PlanVerdict, Pending | None]:  # fmt: skip
    """Vet a plan that comes in now and rehearse what is legal of it; what is to be kept pending, None when refused.

    `rehearse` gives the commit that the changes alone would lead to. Changes nothing.
    """
    late = too_late(plan, scene.log.step)
    if late:
        return PlanVerdict(accepted=False, code="late", why=late), None
    named = sum(len(entry.targets) for entry in plan.entries)
    if named > MOST_TARGETS:
        return PlanVerdict(accepted=False, code="too-large", why=f"{named} targets; at most {MOST_TARGETS}"), None
    vetted = vet(plan.entries, scene, digests, obsolete, raises=plan.raises)
    planned = rehearse(vetted.changes) if vetted.changes else None
    refused = (*vetted.refused, *(planned.commit.refused if planned else ()))
    if planned is None:
        why = f"none of {named} targets may be taken" if named else "it names nothing"
        return PlanVerdict(accepted=False, code="nothing-legal", why=why, refused=refused), None
    freed = planned.commit.tokens_before - planned.tokens
    share = freed / planned.commit.tokens_before
    if share < SMALLEST_FREED_SHARE:
        why = f"it frees {freed} of {planned.commit.tokens_before} tokens"
        verdict = PlanVerdict(accepted=False, code="frees-too-little", why=why, refused=refused, commit=planned.commit)
        return verdict, None
    legal = legal_part(plan, refused)
    levels = {target: scene.shown.level(target) for target in targets_of(legal)}
    pending = Pending(plan=legal, levels=levels, step=scene.log.step, freed_share=round(share, 4))
    return PlanVerdict(accepted=True, plan=legal, refused=refused, commit=planned.commit), pending


def _kept(scene: Scene) -> dict[int, tuple[str, str]]:
    """Item -> (code, why) it must stay as it is."""
    found: dict[int, tuple[str, str]] = {}
    for rule, code in _CODES:
        for item, why in rule(scene):
            found.setdefault(item, (code, why))
    for item, why in protected(scene, SOFT).items():
        found.setdefault(item, ("protected", why))
    return found


def _comes_back(target: int, scene: Scene, kept: Mapping[int, tuple[str, str]]) -> bool:
    """Whether an item to be kept is below raw and free to come back; a picture is asked for by a recall."""
    item = scene.log.items[target]
    free = not item.pinned and item.id not in kept and item.kind is not Kind.ATTACHMENT
    return free and scene.shown.level(target) < Level.RAW


def _objection(
    action: Any, item: Item | None, shown: Shown, kept: Mapping[int, tuple[str, str]], obsolete: Callable[[Item], bool]
) -> tuple[str, str]:
    """(code, why) a target may not be taken; ("", "") when it may."""
    if item is None:
        return "unknown-item", "no such item"
    if not isinstance(action, Action):
        return "unknown-action", f"expected one of {', '.join(a.value for a in Action)}"
    if action is Action.KEEP:
        return "", ""
    if item.pinned:
        return "pinned", f"{item.kind.value} is never evicted"
    if item.id in kept:
        return kept[item.id]
    if action is Action.PRUNE and not obsolete(item):
        return "not-obsolete", "nothing newer proves it obsolete; fold or archive it"
    now, wanted = shown.level(item.id), _LEVELS[action]
    if now < wanted:
        return "raises-cost", f"it is shown at {now.name.lower()} already"
    # A mask of what is masked or shown by its digest asks for what there is.
    if now == wanted or (action is Action.MASK and now < Level.RAW):
        return "no-change", f"it is shown at {now.name.lower()} already"
    return "", ""


_LEVELS = {
    Action.KEEP: Level.RAW, Action.MASK: Level.ABSTRACT, Action.FOLD: Level.STUB, Action.ARCHIVE: Level.HIDDEN,
    Action.PRUNE: Level.HIDDEN,
}  # fmt: skip


def _level(action: Any, item: Item, digests: Digests) -> Level:
    """The level an action amounts to for an item: what has no digest is masked by head and tail."""
    level = _LEVELS.get(action, Level.HIDDEN) if isinstance(action, Action) else Level.HIDDEN
    return Level.MASKED if level is Level.ABSTRACT and not digests.worthwhile(item) else level


def targets_of(plan: ProposedPlan) -> Iterator[Any]:
    for entry in plan.entries:
        yield from entry.targets


def too_late(plan: ProposedPlan, step: int) -> str:
    """Why a plan cannot speak of this window; "" when it can."""
    if type(plan.seen_step) is not int or not 0 <= plan.seen_step <= step:
        return f"it was made for model call {plan.seen_step}; this session is at {step}"
    late = step - plan.seen_step
    return f"it was made {late} model calls ago" if late > MOST_STEPS_LATE else ""


def legal_part(plan: ProposedPlan, refused: Iterable[Refusal]) -> ProposedPlan:
    """The plan without the targets that were refused, its words on one line each."""
    left = {r.item for r in refused if r.code != "duplicate"}
    taken: set[int] = set()
    entries: list[PlanEntry] = []
    for entry in plan.entries:
        # The first entry that names an item counts.
        targets = tuple(dict.fromkeys(t for t in entry.targets if type(t) is int and t not in left | taken))
        taken.update(targets)
        if targets:
            entries.append(replace(entry, targets=targets, reason=one_line(entry.reason, REASON_CHARS)))
    summary, made_by = one_line(plan.summary, SUMMARY_CHARS), one_line(plan.made_by, REASON_CHARS)
    return replace(plan, entries=tuple(entries), summary=summary, made_by=made_by)


def one_line(text: str, chars: int) -> str:
    return " ".join(str(text).split())[:chars]


# -- as JSON, for the ledger


def plan_entry(pending: Pending, refused: Iterable[Refusal]) -> dict[str, Any]:
    """A pending plan as the ledger keeps it."""
    plan = pending.plan
    return {
        "type": "plan", "summary": plan.summary, "made_by": plan.made_by, "seen_step": plan.seen_step,
        "cost": plan.cost, "raises": plan.raises, "freed_share": pending.freed_share,
        "entries": [[e.action.value, list(e.targets), e.reason] for e in plan.entries],
        "levels": {str(i): int(level) for i, level in sorted(pending.levels.items())},
        "refused": refusals(refused),
    }  # fmt: skip


def refused_entry(plan: ProposedPlan, verdict: PlanVerdict) -> dict[str, Any]:
    """A plan that was not taken."""
    return {
        "type": "plan-refused", "made_by": one_line(plan.made_by, REASON_CHARS), "seen_step": plan.seen_step,
        "code": verdict.code, "why": verdict.why, "refused": refusals(verdict.refused),
    }  # fmt: skip


def refusals(refused: Iterable[Refusal]) -> list[list[Any]]:
    return [[r.item, int(r.level), r.code, r.why] for r in list(refused)[:MOST_REFUSALS]]


def read_plan(entry: Mapping[str, Any]) -> Pending:
    """The pending plan that a ledger entry holds."""
    entries = tuple(
        PlanEntry(action=Action(action), targets=tuple(targets), reason=reason)
        for action, targets, reason in entry["entries"]
    )
    plan = ProposedPlan(
        summary=entry["summary"], entries=entries, made_by=entry["made_by"], seen_step=entry["seen_step"],
        cost=entry["cost"], raises=entry["raises"],
    )  # fmt: skip
    levels = {int(item): Level(level) for item, level in entry["levels"].items()}
    return Pending(plan=plan, levels=levels, step=entry["step"], freed_share=entry["freed_share"])
