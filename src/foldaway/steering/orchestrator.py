"""A model that orchestrates elastic context: it reads what each step was and says raw, abstract or drop for each.

After the Adaptive Context Elasticizer (arXiv 2606.31564): all abstractions of past steps go in, never their originals,
so that asking costs a fraction of the view; the newest step is not asked about, it stays raw. What comes out is a plan
like any other (`ProposedPlan`): vetted, rehearsed, kept pending and committed by the session, upwards as well as down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldaway.engine.snapshot import Snapshot
from foldaway.errors import AskError
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Action, PlanEntry
from foldaway.session import Session
from foldaway.steering.prompt import Question
from foldaway.steering.reading import MOST_TARGETS, read_object
from foldaway.steering.worker import PlanWorker
from foldaway.stores.redaction import redact

MOST_STEPS = 120
"""Steps that a question tells of: visible ones, the largest first, then the newest folded ones."""
MOST_FOLDED = 40
DIGEST_CHARS = 360
"""Of a step's abstraction."""
GOAL_CHARS = 1_500
SMALLEST_TOKENS = 40
SHOWN = {"raw": Action.KEEP, "abstract": Action.MASK, "drop": Action.ARCHIVE}
"""What the model may say of a step, and the action it amounts to."""

_TASK = """\
You decide what an agent gets to see of its own past. Below are its task and one entry for each past step: id, how it \
is shown now, its tokens, what it was, and an abstraction of what came back. For each step choose:
- raw: the next decisions need its exact text (code being edited, values to copy, an error being worked on).
- abstract: the abstraction is enough.
- drop: not needed now. Nothing is lost: a later decision may show it raw again.
Choose again for every step, whatever it is shown as now. Prefer drop for finished work, raw for few.

Task of the agent:
{goal}

What it is at now:
{now}

Steps, oldest first:
{rows}

The view has {tokens} tokens; at most {target} are to be left.
Answer with one JSON object and nothing else:
{{"raw": [<ids>], "abstract": [<ids>], "drop": [<ids>], "why": "<a few words>"}}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One past step as a model is told of it. Its id is that of its first item."""

    items: tuple[Item, ...]
    level: Level
    """The highest of its items."""
    abstraction: str

    @property
    def id(self) -> int:
        return self.items[0].id

    def text(self) -> str:
        tokens = sum(item.tokens for item in self.items)
        titles = "; ".join(" ".join(i.title.split()) for i in self.items if i.kind is not Kind.REASONING)
        shown = {Level.RAW: "raw", Level.MASKED: "abstract", Level.ABSTRACT: "abstract"}.get(self.level, "dropped")
        return f"{self.id} | {shown} | {tokens} | {titles[:160]} | {self.abstraction}"


class Orchestrator(PlanWorker):
    """A `PlanWorker` that asks about steps by their abstractions. Same failures, same way in."""

    raises = True

    def _question(self, session: Session) -> Question | None:
        return question_of_steps(session)

    def _read(self, answer: str, question: Question) -> tuple[str, tuple[PlanEntry, ...]]:
        return read_assignment(answer, question.listed)


def question_of_steps(session: Session) -> Question | None:
    """What to ask about a session's past steps; None when it has none that may change. O(visible items)."""
    engine = session.engine
    snapshot = engine.snapshot()
    rows = step_rows(snapshot)
    if not rows:
        return None
    goal = next((i for i in session.items() if i.kind is Kind.GOAL), None)
    task = _TASK.format(
        goal=_clipped(snapshot.text(goal), GOAL_CHARS) if goal is not None else "(not said)",
        now=_clipped(snapshot.query(), GOAL_CHARS) or "(nothing yet)",
        rows="\n".join(row.text() for row in rows), tokens=snapshot.tokens, target=snapshot.target_tokens,
    )  # fmt: skip
    # What is asked may be another provider, who has not seen what the main one has.
    task = redact(task)
    return Question(
        messages=({"role": "user", "content": task},), beside={},
        listed={item.id: item for row in rows for item in row.items},
        seen_step=engine.log.step, tokens=snapshot.count(task), cached=False,
    )  # fmt: skip


def step_rows(snapshot: Snapshot) -> list[StepRow]:
    """Past steps that may change, the oldest first: what is visible and free, and the newest folded ones."""
    by_turn: dict[int, list[Item]] = {}
    for item in snapshot.foldable:
        by_turn.setdefault(item.turn, []).append(item)
    visible = [tuple(items) for items in by_turn.values() if sum(i.tokens for i in items) >= SMALLEST_TOKENS]
    visible.sort(key=lambda items: (-sum(i.tokens for i in items), items[0].turn))
    folded = [snapshot.turn_items(turn) for turn in snapshot.folded_turns(MOST_FOLDED)]
    back = [items for items in folded if items and all(_may_come_back(snapshot, i) for i in items)]
    chosen = [*visible, *back][:MOST_STEPS]
    return [_row(snapshot, items) for items in sorted(chosen, key=lambda items: items[0].turn)]


def read_assignment(text: str, listed: Mapping[int, Item]) -> tuple[str, tuple[PlanEntry, ...]]:
    """(summary, entries) of an answer; a step stands for all its items, an id that is no step for itself alone.

    What the model says nothing of stays as it is; which ids are legal the session says. Linear in the answer.

    Raises:
        AskError: as `reading.read_answer`.
    """
    found = read_object(text)
    if not isinstance(found, dict) or not found or not set(found) <= {*SHOWN, "why"}:
        raise AskError("malformed", f"expected an object with {', '.join(SHOWN)} and why, and no more")
    why = found.get("why", "")
    if not isinstance(why, str):
        raise AskError("malformed", "expected why as text")
    by_turn: dict[int, list[int]] = {}
    for item in listed.values():
        by_turn.setdefault(item.turn, []).append(item.id)
    entries: list[PlanEntry] = []
    for shown, action in SHOWN.items():
        steps = found.get(shown, [])
        # JSON's true is no number, whatever Python says.
        if not isinstance(steps, list) or not all(type(step) is int for step in steps):
            raise AskError("malformed", f"expected {shown} as a list of whole numbers")
        targets = tuple(t for step in steps for t in (by_turn[listed[step].turn] if step in listed else (step,)))
        if len(targets) > MOST_TARGETS:
            raise AskError("too-large", f"{len(targets)} targets; at most {MOST_TARGETS}")
        if targets:
            entries.append(PlanEntry(action=action, targets=targets, reason=f"{shown}: {why}" if why else shown))
    return why, tuple(entries)


def _row(snapshot: Snapshot, items: Sequence[Item]) -> StepRow:
    told = [_abstraction(snapshot, item) for item in items]
    level = max(snapshot.level(item.id) for item in items)
    return StepRow(items=tuple(items), level=level, abstraction=_clipped(" ".join(filter(None, told)), DIGEST_CHARS))


def _abstraction(snapshot: Snapshot, item: Item) -> str:
    """What an item came to: its digest without the mark; small ones and words as they are."""
    if item.kind in (Kind.REASONING, Kind.ATTACHMENT):
        return ""
    if snapshot.digest_tokens(item) is None:
        return snapshot.result(item)
    return snapshot.digest(item).split("\n", 1)[-1]


def _may_come_back(snapshot: Snapshot, item: Item) -> bool:
    return item.id > 0 and not item.pinned and item.id not in snapshot.protected and item.kind is not Kind.ATTACHMENT


def _clipped(text: Any, chars: int) -> str:
    flat = " ".join(str(text).split())
    return flat if len(flat) <= chars else flat[: chars - 1] + "…"
