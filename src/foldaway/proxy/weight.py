"""Requests that are too large in bytes: providers refuse them whatever their tokens. Attachments fold first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Action, Commit, PlanEntry, ProposedPlan
from foldaway.session import Session

DOWN_TO = 0.75
"""Share of the limit that is freed down to, so that not every call from then on breaks the provider's cache."""


def shed(session: Session, body_bytes: int, most_bytes: int) -> Commit | None:
    """Fold the oldest pictures, documents and sound until a body of this size is under the limit; None: there are none.

    What folds comes back by recall as ever. The last turn stays whole. O(items).
    """
    over = body_bytes - int(most_bytes * DOWN_TO)
    chosen: list[int] = []
    for item, size in _heavy(session):
        if over <= 0:
            break
        chosen.append(item.id)
        over -= size
    if not chosen:
        return None
    entry = PlanEntry(action=Action.FOLD, targets=tuple(chosen), reason="the request is too large in bytes")
    plan = ProposedPlan(
        summary="too many bytes", entries=(entry,), made_by="byte limit", seen_step=session.engine.log.step
    )
    if not session.propose_plan(plan).accepted:
        return None
    commit = session.view().commit
    # Where it waits for a better moment, there is none.
    return session.compact() if session.pending_plan is not None else commit


def _heavy(session: Session) -> Iterable[tuple[Item, int]]:
    """Items with media that are shown whole, oldest first, each with its bytes."""
    log = session.engine.log
    last = len(log.turns) - 1
    for item in session.items():
        if item.turn >= last or session.level(item.id) < Level.RAW:
            continue
        blocks = [log.block(item)] if item.kind is Kind.ATTACHMENT else log.media(item)
        if blocks:
            yield item, sum(size_of(block) for block in blocks)


def size_of(value: Any) -> int:
    """About the bytes of a block as JSON: its texts are nearly all of it."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(size_of(v) for v in value.values())
    return sum(size_of(v) for v in value) if isinstance(value, list) else 0
