"""The rule-based planner: a policy's own proposal in the schema of the side channel, so that both can be compared."""

from __future__ import annotations

from foldaway.model.items import Level
from foldaway.model.plan import Action, Commit, PlanEntry, ProposedPlan
from foldaway.session import Session


def plan_by_rules(session: Session, *, made_by: str = "") -> ProposedPlan | None:
    """What the session's policy would fold now, as a plan; None when nothing. Changes nothing.

    The plan that is pending counts as done. Costs a rehearsal: what is visible.
    """
    commit = session.preview()
    if commit is None:
        return None
    entries = entries_of(commit)
    if not entries:
        return None
    about = next((i.title for i in session.items() if i.kind.value == "goal"), "")
    return ProposedPlan(
        summary=about, entries=entries, made_by=made_by or f"rules: {commit.policy}", seen_step=commit.step
    )


def entries_of(commit: Commit) -> tuple[PlanEntry, ...]:
    """A commit's changes as entries, those of one action and reason together, in order of their first item.

    What it shows more of is left out: a plan only folds.
    """
    groups: dict[tuple[Action, str], list[int]] = {}
    for change in commit.changes:
        if change.after < change.before and change.after is not Level.RAW:
            groups.setdefault((change.action, change.reason), []).append(change.item)
    return tuple(PlanEntry(action=a, targets=tuple(items), reason=why) for (a, why), items in groups.items())
