"""From proposals to one commit: validate, rehearse, then commit or refuse with a reason.

A policy proposes, best first; the planner takes proposals until the view is down to the low watermark, refuses what a
constraint protects, and keeps the ceiling even when the policy has nothing left to offer: then it works down a fixed
ladder, which always ends. A plan is a value: making one changes nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from foldaway.compressors.attachment import is_plain
from foldaway.engine.constraints import HARD, SOFT, Scene, protected
from foldaway.engine.digests import NO_DIGEST, Digests
from foldaway.engine.draft import Draft
from foldaway.engine.floor import Floor
from foldaway.engine.log import Log
from foldaway.engine.past import Past
from foldaway.engine.snapshot import Snapshot
from foldaway.engine.stubs import Stubs
from foldaway.engine.watch import Watch
from foldaway.engine.window import Shown, View
from foldaway.engine.words import PASTED, SMALLEST_GAIN, WORDS_REASON, WORDS_SHARE, Words
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import (
    Action,
    Budget,
    Change,
    Commit,
    LevelChange,
    Mention,
    Refusal,
    Remark,
    Section,
    Stage,
    action_of,
)
from foldaway.model.prices import PLAIN, PriceList
from foldaway.model.wire import PartType
from foldaway.scoring.learning import Outcomes

POLICY_TRIGGER = "policy"
"""Trigger of a commit that the policy itself asked for: all that it proposes is taken."""
NOTE_SHARE = 0.35
"""Share of the room up to the low watermark that the lines of a fold note may take where the policy sets none."""
SMALLEST_MASK_CHARS = 400


Proposal = Change | Mention | Stage | Section | Remark
"""What a policy may propose: levels of items, what the fold note tells, and why all of it."""


class Policy(Protocol):
    """Proposes level changes, best first; pure and deterministic. The planner cuts.

    A class attribute `shows_digests = False` says that it never asks for `abstract`: no digest is then made ahead.
    """

    def propose(self, snapshot: Snapshot) -> Iterable[Proposal]: ...


class NoPolicy:
    """Proposes nothing."""

    def propose(self, snapshot: Snapshot) -> Iterable[Proposal]:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a commit would lead to."""

    shown: Shown
    commit: Commit
    tokens: int


@dataclass(slots=True, kw_only=True, weakref_slot=True)
class Planner:
    log: Log
    stubs: Stubs
    policy: Policy
    policy_name: str
    prices: PriceList = PLAIN
    """What prompts cost: a commit that nobody forces has to earn its price (`engine.benefit`)."""
    strict: bool = False
    """Never abstract user words, whatever share of the room they take."""
    words_share: float = WORDS_SHARE
    sections: dict[str, Section] = field(default_factory=dict)
    """Passages handed in from outside (`Session.set_section`); every note opens with them. Taken out: without text."""
    watch: Watch = field(default_factory=Watch)
    """How long the policy may take."""
    digests: Digests = field(init=False)
    past: Past = field(init=False)
    outcomes: Outcomes = field(init=False)
    """What became of what was folded, from the ledger."""
    _floor: Floor = field(init=False)
    _pins: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        self.digests = Digests(self.log, self.stubs, wanted=getattr(self.policy, "shows_digests", True))
        self.past = Past(self.log, self.digests)
        self._floor = Floor(self.log)
        me = weakref.proxy(self)  # no cycle: see `Log`
        self.outcomes = Outcomes(partial(Planner._kind_of, me), partial(Planner._phase_of, me))

    def floor(self, shown: Shown, fixed_tokens: int, pins: frozenset[int]) -> int:
        """Tokens that no policy can free: system prompt, tools and what is pinned."""
        return fixed_tokens + self._floor.tokens(shown, pins)

    def watermarks(self, shown: Shown, fixed_tokens: int, budget: Budget, pins: frozenset[int]) -> tuple[int, int, int]:
        """(floor, low, high) in tokens; the shares count from the pinned floor, so that a long prologue leaves room."""
        floor = self.floor(shown, fixed_tokens, pins)
        room = max(0, budget.tokens - floor)
        return floor, floor + int(room * budget.low_share), floor + int(room * budget.high_share)

    def plan(
        self, *, shown: Shown, view: View, fixed_tokens: int, budget: Budget, pins: frozenset[int],
        guarded: frozenset[int], trigger: str, number: int, remark: str = "", first: Sequence[Change] = (),
        alone: bool = False,
    ) -> Planned | None:  # fmt: skip
        """The commit that frees down to the low watermark, or None when nothing changes.

        `first`: changes of a plan that was made beside the loop. They come first, and the policy is asked only where
        they do not free enough; with `alone` it is not asked at all.
        """
        floor, low, _ = self.watermarks(shown, fixed_tokens, budget, pins)
        self._pins = pins
        scene = Scene(log=self.log, shown=shown, pins=pins, guarded=guarded)
        hard, soft = protected(scene, HARD), protected(scene, SOFT)
        draft = Draft.of(self.digests, shown, fixed_tokens, view.per_turn)
        before = fixed_tokens + view.tokens
        refused: list[Refusal] = []
        if not self.strict and not alone:
            Words(draft, self.log, hard, budget.tokens, self.words_share).make_room()
        for number in self.digests.outdated(shown):
            draft.set(self.log.items[number], Level.ABSTRACT, "a better digest came in")
        for section in self.sections.values():
            draft.section(section)
        for turn in _by_turn(first, self.log):
            self._take_turn(draft, turn, {**soft, **hard}, refused)
        snapshot = self.snapshot(draft, before, floor, low, budget, {**soft, **hard}).looked()
        whole = trigger.partition(",")[0] == POLICY_TRIGGER or getattr(self.policy, "plans_whole", False)
        said = [remark] if remark else []
        enough = alone or (bool(first) and draft.tokens() <= low)
        if enough:
            draft.keep_told(self.sections)
        proposals = () if enough else self.policy.propose(snapshot)
        for change in self.watch.over(proposals, len(self.log.items)):
            if isinstance(change, Remark):
                said.append(change.text)
                continue
            if not isinstance(change, Change):
                _tell(draft, change)
                continue
            if not whole and draft.tokens() <= low and change.level < draft.shown.level(change.item):
                break
            self._take(draft, change, {**soft, **hard}, refused)
        tokens = self._settle(draft, max(0, low - floor), budget, hard, soft)
        if not self._changes_anything(draft, shown):
            return None
        commit = self._commit(draft, number, trigger, before, tokens, refused, max(0, tokens - low))
        commit = replace(commit, remark="; ".join(said))
        return Planned(shown=draft.close(), commit=commit, tokens=tokens)

    # -- inside

    def _kind_of(self, item: int) -> str:
        found = self.log.item_at(item)
        return "" if found is None else found.kind.value

    def _phase_of(self, step: int) -> str:
        phase = self.log.phases.at_step(step)
        return "" if phase is None else phase.value

    def _changes_anything(self, draft: Draft, shown: Shown) -> bool:
        """Whether the view would differ: the same decision made again is no commit (I12)."""
        note, old = draft.shown.note, shown.note
        texts = [None if n is None else n.text for n in (note, old)]
        return any(map(draft.altered, draft.before)) or texts[0] != texts[1]

    def snapshot(
        self, draft: Draft, tokens: int, floor: int, low: int, budget: Budget, kept: dict[int, str]
    ) -> Snapshot:
        return Snapshot(
            step=self.log.step, tokens=tokens, target_tokens=low, budget_tokens=budget.tokens, floor_tokens=floor,
            reserve_tokens=budget.reserve_tokens, protected=frozenset(kept), fixed_tokens=draft.fixed_tokens,
            sections_tokens=draft.sections_cost, _log=self.log, _shown=draft.shown, _line_cost=draft.line_price,
            _digests=self.digests, _past=self.past, _outcomes=self.outcomes, _check=self.watch.check,
        )  # fmt: skip

    def _take(self, draft: Draft, change: Change, kept: dict[int, str], refused: list[Refusal]) -> None:
        item = self.log.item_at(change.item)
        code = why = ""
        if item is None:
            code, why = "unknown-item", "no such item"
        elif item.pinned and draft.shown.level(item.id) > Level.STUB:
            code, why = "pinned", f"{item.kind.value} is never evicted"
        elif item.id in kept:
            code, why = "protected", kept[item.id]
        elif change.action is Action.PRUNE and not self.obsolete(item):
            code, why = "not-obsolete", "nothing newer proves it obsolete; fold or archive it"
        elif change.by and not self.digests.can(change.by):
            code, why = "unknown-compressor", f"no compressor is called {change.by!r}"
        if code or item is None:
            refused.append(Refusal(item=change.item, level=change.level, code=code, why=why))
            return
        # Only words that pass their ceiling take a paste out of sight altogether.
        level = max(change.level, Level.STUB) if item.kind in PASTED else change.level
        if level == draft.shown.level(item.id) and change.anchors is None and change.lines is None:
            return
        text = None
        if change.lines is not None:
            text = self.stubs.part(item, self.log.result_text(item), *change.lines)
        elif change.by and level is Level.MASKED:
            text = self.digests.by(change.by, item)
        reason = f"{WORDS_REASON}; its line made room" if item.pinned else change.reason
        draft.set(item, level, reason, anchors=change.anchors, text=text, action=change.action)

    def _take_turn(self, draft: Draft, changes: Sequence[Change], kept: dict[int, str], refused: list[Refusal]) -> None:
        """Changes of one turn, together, unless the turn would cost no less than before: a stub outweighs a trifle."""
        cost = draft.told_tokens()
        held = [(c, draft.shown.level(c.item), draft.shown.texts.get(c.item)) for c in changes]
        for change in changes:
            self._take(draft, change, kept, refused)
        if draft.told_tokens() < cost:
            return
        for change, level, text in held:
            item = self.log.item_at(change.item)
            if item is None or level <= Level.STUB or draft.shown.level(item.id) is level:
                continue
            draft.set(item, level, "taken back", text=text)
            why = "what stands for it costs as much as it does"
            refused.append(Refusal(item=item.id, level=change.level, code="raises-cost", why=why))

    def obsolete(self, item: Item) -> bool:
        """Whether something newer proves an item obsolete, so that it may be pruned."""
        return item.id in self.log.obsolete.of

    def _settle(self, draft: Draft, note_room: int, budget: Budget, hard: dict[int, str], soft: dict[int, str]) -> int:
        """Compose and count; keep the ceiling by the ladder. Returns the exact tokens."""
        if not getattr(self.policy, "plans_whole", False):
            draft.demote_lines(int(note_room * NOTE_SHARE), "note is full: oldest lines go first")
        tokens = draft.finish()
        by_age = (self._fold_oldest, self._fold_soft)
        ladder = (*by_age, self._drop_lines, self._mask_last, self._drop_all, self._fold_pastes)
        # Twice: what a rung frees is estimated before the note is composed anew, so the first pass may stop short.
        for rung in (*ladder, *ladder):
            if tokens <= budget.tokens:
                return tokens
            rung(draft, tokens - budget.tokens, hard, soft)
            tokens = draft.finish()
        if tokens > budget.tokens and not self.strict:
            Words(draft, self.log, hard, budget.tokens, self.words_share).give_way(tokens - budget.tokens + 64)
            tokens = draft.finish()
        return tokens

    def _fold_oldest(self, draft: Draft, excess: int, hard: dict[int, str], soft: dict[int, str]) -> None:
        self._fold(draft, excess, {**soft, **hard}, "over the ceiling: oldest first")

    def _drop_lines(self, draft: Draft, excess: int, hard: dict[int, str], soft: dict[int, str]) -> None:
        """Stub lines give way; but when even that is not enough, a giant last turn shall not wipe them all out."""
        cost = draft.note_cost()
        keep = cost - excess - 32
        if keep < 0:
            keep = cost // 3
        draft.demote_lines(keep, "over the ceiling: stub lines give way")

    def _drop_all(self, draft: Draft, excess: int, hard: dict[int, str], soft: dict[int, str]) -> None:
        draft.demote_lines(0, "over the ceiling: stub lines give way")

    def _fold_soft(self, draft: Draft, excess: int, hard: dict[int, str], soft: dict[int, str]) -> None:
        self._fold(draft, excess, hard, "over the ceiling: soft protection gives way, oldest first")

    def _fold(self, draft: Draft, excess: int, kept: dict[int, str], reason: str) -> None:
        goal = draft.tokens() - excess - 64
        for turn in list(draft.shown.turns):
            if draft.tokens() <= goal:
                return
            for item in self.log.items_of_turn(turn):
                if item.pinned or item.id in kept or item.kind in (Kind.PASTE, Kind.ATTACHMENT):
                    continue
                if draft.shown.level(item.id) > Level.HIDDEN:
                    draft.set(item, Level.HIDDEN, reason)

    def _mask_last(self, draft: Draft, excess: int, hard: dict[int, str], soft: dict[int, str]) -> None:
        """Results of the last turn too big for the room: head, tail and a handle, the largest first."""
        large = sorted(
            (i for i in self._last_items(draft, hard) if self._maskable(i, self._pins)),
            key=lambda i: (-self._now(draft, i), i.id),
        )
        if not large:
            return
        total = sum(self._now(draft, i) for i in large)
        goal = max(0, total - excess - 64 - 80 * len(large))
        cap = _level_cap([self._now(draft, i) for i in large], goal)
        for item in large:
            if self._now(draft, item) > cap:
                text = self.log.result_text(item)
                per_token = max(0.25, len(text) / max(1, item.tokens))
                keep = max(SMALLEST_MASK_CHARS if excess < total // 2 else 160, int(cap * per_token))
                masked = self._fitting(item, text, keep, cap)
                # A mask that frees nothing more stays as it is: the same decision again is no decision (I12).
                if self.log.counter.counter.count(masked) <= self._now(draft, item) - SMALLEST_GAIN:
                    draft.set(item, Level.MASKED, "last turn over the ceiling", text=masked)

    def _fitting(self, item: Item, text: str, keep: int, cap: int) -> str:
        for _ in range(8):
            masked = self._cut(item, text, keep)
            if self.log.counter.counter.count(masked) <= cap + 90 or keep < 120:
                break
            keep = keep * 3 // 4
        return masked

    def _cut(self, item: Item, text: str, keep: int) -> str:
        """A digest in `keep` characters, or head and tail of what is no tool's result."""
        if item.kind in NO_DIGEST or item.id < 0:
            return self.stubs.mask(item, text, keep)
        return self.digests.within(item, keep)

    def _fold_pastes(self, draft: Draft, excess: int, hard: dict[int, str], soft: dict[int, str]) -> None:
        for item in self._last_items(draft, {}):
            if excess <= 0:
                return
            if item.kind in (Kind.PASTE, Kind.ATTACHMENT) and item.id not in self._pins:
                before = draft.tokens()
                draft.set(item, Level.STUB, "over the ceiling: pasted text and attachments fold")
                excess -= before - draft.tokens()

    def _last_items(self, draft: Draft, kept: dict[int, str]) -> list[Item]:
        return [
            i
            for t in draft.shown.turns
            for i in self.log.items_of_turn(t)
            if not i.pinned and (not kept or i.id in kept) and draft.shown.level(i.id) > Level.STUB
        ]

    def _maskable(self, item: Item, pins: frozenset[int]) -> bool:
        if item.pinned or item.id in pins:
            return False
        if item.kind is Kind.ATTACHMENT and not is_plain(self.log.block(item)):
            # Head and tail of a picture's JSON tell nobody anything: it folds to its line instead.
            return False
        parts = [self.log.turns[item.turn].parts[p] for p in item.parts]
        return (
            any(p.type is PartType.RESULT for p in parts)
            or item.kind in (Kind.PASTE,)
            or (len(parts) == 1 and parts[0].role in ("user", "tool") and not item.pinned)
        )

    def _now(self, draft: Draft, item: Item) -> int:
        text = draft.shown.texts.get(item.id)
        return item.tokens if text is None else self.log.counter.counter.count(text)

    def closed(self, draft: Draft, number: int, trigger: str, before: int, tokens: int) -> Planned:
        """A finished draft as a plan of its own (pins, undone commits)."""
        commit = self._commit(draft, number, trigger, before, tokens, (), 0)
        return Planned(shown=draft.close(), commit=commit, tokens=tokens)

    def standing_in(self, policy: Policy, name: str, watch: Watch, digests: Digests | None = None) -> Planner:
        """The same planner with another policy in its place, and what it remembers of digests kept."""
        made = copy(self)
        made.policy, made.policy_name, made.watch = policy, name, watch
        made.digests = digests or self.digests
        return made

    def _commit(
        self,
        draft: Draft,
        number: int,
        trigger: str,
        before: int,
        tokens: int,
        refused: Sequence[Refusal],
        missing: int,
    ) -> Commit:
        changes = tuple(
            LevelChange(
                item=i,
                before=draft.before[i],
                after=draft.shown.level(i),
                reason=draft.reasons[i],
                tokens_before=self.log.items[i].tokens if draft.before[i] is Level.RAW else 0,
                tokens_after=self._now(draft, self.log.items[i]) if draft.shown.level(i) > Level.STUB else 0,
                action=draft.actions.get(i) or action_of(draft.shown.level(i)),
            )
            for i in sorted(draft.before)
            if draft.altered(i)
        )
        return Commit(
            number=number, step=self.log.step, turns=len(self.log.turns), policy=self.policy_name, trigger=trigger,
            tokens_before=before, tokens_after=tokens, changes=changes, refused=tuple(refused), missing_tokens=missing,
        )  # fmt: skip


def _tell(draft: Draft, passage: Mention | Stage | Section) -> None:
    """Into the fold note."""
    match passage:
        case Mention():
            draft.mention(passage.anchors)
        case Stage():
            draft.stage(passage.items)
        case Section():
            draft.section(passage)


def _by_turn(changes: Sequence[Change], log: Log) -> list[list[Change]]:
    """Changes grouped by the turn of their item, in the order in which the turns come up."""
    groups: dict[int, list[Change]] = {}
    for change in changes:
        item = log.item_at(change.item)
        groups.setdefault(-1 if item is None else item.turn, []).append(change)
    return list(groups.values())


def _level_cap(sizes: Sequence[int], goal: int) -> int:
    """The largest cap so that sizes cut to it sum up to at most `goal` (water-filling)."""
    rest, left = goal, len(sizes)
    for size in sorted(sizes):
        if size * left > rest:
            return max(0, rest // left)
        rest -= size
        left -= 1
    return max(sizes, default=0)
