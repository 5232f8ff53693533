"""Perception (S4.2): what a window holds now, as one value that rules, policies and people can read.

Tokens are told apart by part and by level, and always sum up to the view. Beside them stand what each visible item is
worth, how much of the window came twice, how old it is, and what room is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from foldaway.engine.snapshot import Snapshot
from foldaway.engine.window import cost_of, render_turn
from foldaway.linking.subgoals import Source, State
from foldaway.model.items import Item, Kind, Level
from foldaway.scoring.value import Weights

LARGEST = 3
"""So many of the largest results are what `largest_share` tells of."""


class Part(StrEnum):
    """What a view is made of."""

    SYSTEM = "system"
    TOOLS = "tools"
    HISTORY = "history"
    """Words of the user and of the agent, its reasoning and its plans."""
    DOCUMENTS = "documents"
    """Attachments and long pastes."""
    RESULTS = "tool results"
    """Calls and what came back, and what the environment wrote."""
    NOTE = "fold note"
    RECALLED = "recalled"


_PARTS = {
    Kind.INSTRUCTION: Part.SYSTEM,
    Kind.ATTACHMENT: Part.DOCUMENTS,
    Kind.PASTE: Part.DOCUMENTS,
    Kind.RECALLED: Part.RECALLED,
    **dict.fromkeys((Kind.GOAL, Kind.USER, Kind.THOUGHT, Kind.REASONING, Kind.PLAN, Kind.NOTE), Part.HISTORY),
    Kind.ANNOTATION: Part.HISTORY,
}
WEIGHTS = Weights()
WORDS = frozenset({Kind.GOAL, Kind.USER, Kind.INSTRUCTION})


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLevel:
    """All items at one level."""

    items: int
    tokens: int
    """What they take in the view; lines of a fold note count there, not here."""
    raw_tokens: int
    """What they would take at raw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Valued:
    """One visible item and what it is worth."""

    item: int
    kind: Kind
    title: str
    level: Level
    tokens: int
    """In the view."""
    value: float
    """0..1."""
    age_steps: int

    @property
    def density(self) -> float:
        """Value per thousand tokens."""
        return round(1000 * self.value / max(1, self.tokens), 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Perception:
    """One window, measured. All tokens are the target model's."""

    step: int
    """Number of the model call that would come next."""
    tokens: int
    budget_tokens: int
    target_tokens: int
    """The low watermark."""
    floor_tokens: int
    """What no policy can free."""
    parts: Mapping[Part, int]
    """Tokens by part; they sum up to `tokens`."""
    levels: Mapping[Level, AtLevel]
    values: tuple[Valued, ...]
    """Visible items, the oldest first."""
    redundant_tokens: int
    """Of visible items that a later one made again or brought again."""
    ages: tuple[int, int, int]
    """Age in steps of the view's tokens: median, 90 % at most, oldest. Words that are pinned do not count."""
    largest_tokens: int
    """Of the three largest items that are no words."""
    user_turns: int
    """Turns of the user's that are visible."""
    phase: str
    """What the agent is at: explore, act, verify, converse, plan; "" when nothing tells."""
    progress: float
    """Share of the agent's plan that is finished, 0..1; -1 where it has none."""

    @property
    def room_left(self) -> int:
        """Tokens up to the budget; below 0 when the view is over it."""
        return self.budget_tokens - self.tokens

    def share(self, part: Part) -> float:
        """Of the view's tokens, 0..1."""
        return self.parts[part] / max(1, self.tokens)

    @property
    def metrics(self) -> Mapping[str, float]:
        """All that a rule may ask for, by name; shares are 0..1 of the view but for `room_left_share` (budget)."""
        total = max(1, self.tokens)
        named = {f"{part.name.lower()}_share": round(self.share(part), 4) for part in Part}
        return {
            **named,
            "largest_share": round(self.largest_tokens / total, 4),
            "redundant_share": round(self.redundant_tokens / total, 4),
            "room_left_share": round(self.room_left / max(1, self.budget_tokens), 4),
            "floor_share": round(self.floor_tokens / max(1, self.budget_tokens), 4),
            "age_median": self.ages[0], "age_90": self.ages[1], "age_oldest": self.ages[2],
            "steps": self.step, "user_turns": self.user_turns, "progress": self.progress,
        }  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """Plain data with the same names, for scripts and dashboards."""
        return {
            "step": self.step, "tokens": self.tokens, "budget_tokens": self.budget_tokens,
            "target_tokens": self.target_tokens, "floor_tokens": self.floor_tokens, "room_left": self.room_left,
            "phase": self.phase, "metrics": dict(self.metrics),
            "parts": {part.value: tokens for part, tokens in self.parts.items()},
            "levels": {
                level.name.lower(): {"items": at.items, "tokens": at.tokens, "raw_tokens": at.raw_tokens}
                for level, at in self.levels.items()
            },
            "ages": dict(zip(("median", "p90", "oldest"), self.ages, strict=True)),
            "redundant_tokens": self.redundant_tokens, "largest_tokens": self.largest_tokens,
            "values": [
                {
                    "item": v.item, "kind": v.kind.value, "title": v.title, "level": v.level.name.lower(),
                    "tokens": v.tokens, "value": v.value, "density": v.density, "age_steps": v.age_steps,
                }
                for v in self.values
            ],
        }  # fmt: skip


METRICS = (
    *(f"{part.name.lower()}_share" for part in Part), "largest_share", "redundant_share", "room_left_share",
    "floor_share", "age_median", "age_90", "age_oldest", "steps", "user_turns", "progress",
)  # fmt: skip
"""Names of `Perception.metrics`."""


def perceive(snapshot: Snapshot, *, system_tokens: int | None = None, tools_tokens: int = 0) -> Perception:
    """Measure the window of a snapshot. O(visible items), with a glance at the level of each folded one.

    Where nobody says how system prompt and tools part their tokens, all of them count as system.
    """
    parts = dict.fromkeys(Part, 0)
    parts[Part.SYSTEM] = snapshot.fixed_tokens - tools_tokens if system_tokens is None else system_tokens
    parts[Part.TOOLS] = tools_tokens
    seen = [valued for turn in snapshot._shown.turns for valued in _of_turn(snapshot, turn, parts)]
    # While a commit is planned the note is taken apart already; it is what the view held besides the turns.
    parts[Part.NOTE] += max(0, snapshot.tokens - sum(parts.values()))
    old = [v for v in seen if v.kind not in WORDS]
    return Perception(
        step=snapshot.step, tokens=sum(parts.values()),
        budget_tokens=snapshot.budget_tokens + snapshot.reserve_tokens, target_tokens=snapshot.target_tokens,
        floor_tokens=snapshot.floor_tokens, parts=parts, levels=_levels(snapshot, seen), values=tuple(seen),
        redundant_tokens=sum(v.tokens for v in old if snapshot.superseded(snapshot.item(v.item))),
        ages=_ages(old), largest_tokens=sum(sorted((v.tokens for v in old), reverse=True)[:LARGEST]),
        user_turns=sum(1 for v in seen if v.kind in (Kind.GOAL, Kind.USER)),
        phase="" if snapshot.phase is None else snapshot.phase.value, progress=progress_of(snapshot),
    )  # fmt: skip


def worth(snapshot: Snapshot, item: Item) -> float:
    """0..1: what keeping an item in sight is worth now, by the plain weights of `scoring.value`."""
    return snapshot.value(item, WEIGHTS)


def progress_of(snapshot: Snapshot) -> float:
    """Share of the plan's sub-goals that are finished; -1 where the agent keeps no plan."""
    planned = [goal for goal in snapshot.subgoals.all if goal.source is Source.PLAN and goal.state is not State.DROPPED]
    if not planned:
        return -1.0
    return round(sum(1 for goal in planned if goal.state is State.FINISHED) / len(planned), 4)


def _of_turn(snapshot: Snapshot, turn: int, parts: dict[Part, int]) -> list[Valued]:
    """The items of a turn; adds to `parts` what each takes, the turn's frame with its first item."""
    log, shown = snapshot._log, snapshot._shown
    items = log.items_of_turn(turn)
    note = shown.note if shown.note is not None and shown.note.turn == turn else None
    raw = note is None and all(shown.level(i.id) is Level.RAW for i in items)
    left = log.turn_tokens[turn] if raw else cost_of(render_turn(log, shown, turn, snapshot._digests.stubs), log)
    if note is not None:
        told = min(left, snapshot.count(note.text))
        parts[Part.NOTE] += told
        left -= told
    found: list[Valued] = []
    for item in items:
        tokens = min(left, _takes(snapshot, item))
        left -= tokens
        parts[part_of(item)] += tokens
        if tokens:
            age = max(0, snapshot.step - item.created_step)
            found.append(
                Valued(
                    item=item.id, kind=item.kind, title=item.title, level=shown.level(item.id), tokens=tokens,
                    value=worth(snapshot, item), age_steps=age,
                )
            )  # fmt: skip
    if items:
        parts[Part.NOTE if note is not None else part_of(items[0])] += left
    return found


def _takes(snapshot: Snapshot, item: Item) -> int:
    """Tokens of an item in the view, without the frame of its message."""
    level = snapshot.level(item.id)
    if level is Level.RAW:
        return item.tokens
    text = snapshot._shown.texts.get(item.id)
    if text is None or level <= Level.STUB:
        return 0 if text is None else snapshot.count(text)
    return snapshot.count(text) + snapshot.count(snapshot.action(item))


def part_of(item: Item) -> Part:
    """Which part of a view an item belongs to."""
    return _PARTS.get(item.kind, Part.RESULTS)


def _levels(snapshot: Snapshot, seen: Iterable[Valued]) -> dict[Level, AtLevel]:
    """By level, raw first. Hidden and stub items are counted from the decision state, not by a walk over the log."""
    count = dict.fromkeys(reversed(Level), 0)
    tokens, raw = dict(count), dict(count)
    for valued in seen:
        if valued.level >= Level.ABSTRACT:
            count[valued.level] += 1
            tokens[valued.level] += valued.tokens
            raw[valued.level] += snapshot.item(valued.item).tokens
    for number, level in snapshot._shown.levels.items():
        if level <= Level.STUB and (item := snapshot._log.item_at(number)) is not None:
            count[level] += 1
            raw[level] += item.tokens
    return {level: AtLevel(items=count[level], tokens=tokens[level], raw_tokens=raw[level]) for level in count}


def _ages(seen: Iterable[Valued]) -> tuple[int, int, int]:
    ranked = sorted((v.age_steps, v.tokens) for v in seen)
    total = sum(tokens for _, tokens in ranked)
    if not ranked:
        return 0, 0, 0
    return _at(ranked, total * 0.5), _at(ranked, total * 0.9), ranked[-1][0]


def _at(ranked: list[tuple[int, int]], tokens: float) -> int:
    passed = 0
    for age, cost in ranked:
        passed += cost
        if passed >= tokens:
            return age
    return ranked[-1][0]
