"""The step: messages in, a valid view out. One branch of one session, no I/O.

append ─▶ link ─▶ value ─▶ propose ─▶ rehearse ─▶ commit ─▶ render
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from foldaway.engine import ledger, links, memories, pending, preparing, triggers
from foldaway.engine.benefit import benefit, foreseen, moment
from foldaway.engine.constraints import HARD, SOFT, Scene, protected
from foldaway.engine.draft import Draft
from foldaway.engine.ladder import Descent, descend
from foldaway.engine.log import OWN, Log
from foldaway.engine.memories import Arrived
from foldaway.engine.pending import Pending, Vetted
from foldaway.engine.planner import POLICY_TRIGGER, Planned, Planner
from foldaway.engine.recall import LEAST_WORD_CHARS, WORD_CHARS, Recalled, as_data, recall
from foldaway.engine.snapshot import Snapshot
from foldaway.engine.stubs import Stubs
from foldaway.engine.triggers import Triggers
from foldaway.engine.watch import Watch, untimed
from foldaway.engine.window import Shown, View, folded
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Budget, Change, Commit, PlanVerdict, ProposedPlan, Refusal, Section
from foldaway.model.wire import Message, PartType, TurnKind

PINNED = "pinned"
"""Trigger of the commit that shows a pinned item whole again."""
CHARS_AT_LEAST = 2
"""Characters that a token of a recall stands for at the least, so that what comes along keeps the ceiling."""
FRAME_TOKENS = 300
"""Room left for the frame of a proactive recall and for what it rests on."""
STRONG_LINK = 0.5
"""From this weight on a recall brings along what the recalled item depends on."""
SMALL_TOKENS = 150
"""Dependencies up to this size come along whole, larger ones as their stub line."""
RESERVE_OF_FREE = 0.4
"""Of the room above the pinned floor a reserve takes at most this share."""
TAKEN_OVER = frozenset(
    "pin unpin fault refetch commit undo digest section plan plan-end plan-refused usage cold-cache fall".split()
)
"""Decisions of another process that a running engine takes over as they are; links it is handed besides."""
GUARD_STEPS = 6
"""Steps for which a recalled item stays protected; doubled with each further fault of the same item (I7)."""
THRASH_FAULTS = 3
"""Faults of one item from which on it counts as thrashing."""


@dataclass(slots=True, kw_only=True)
class Engine:
    log: Log
    planner: Planner
    stubs: Stubs
    budget: Budget
    fixed_tokens: int
    """System prompt and tools."""
    shown: Shown = field(default_factory=Shown)
    view_cache: View = field(default_factory=View)
    entries: list[dict[str, Any]] = field(default_factory=list)
    """The ledger of this branch."""
    unsaved: int = 0
    """Entries before this index are in the store."""
    pins: set[int] = field(default_factory=set)
    guards: dict[int, int] = field(default_factory=dict)
    """Item -> step up to which it is protected after a recall or an undo."""
    injections: list[tuple[int, int]] = field(default_factory=list)
    """(position among the log's messages, how many) of recalls put in by us, in order."""
    faults: dict[int, int] = field(default_factory=dict)
    commits: int = 0
    restoring: bool = False
    """The log is being rebuilt from the store: what happened is in the ledger already."""
    failures: list[str] = field(default_factory=list)
    """What went wrong inside and was worked around; the session reports each."""
    spent: Callable[[], float] = untimed
    """Share of the time limit of the present call that is spent; the ladder asks it (`engine.ladder`)."""
    factor: float = 1.0
    """Provider's count / own count, from reported usage."""
    arrived: list[Arrived] = field(default_factory=list)
    """What memories outside the session answered, for the next view."""
    reserve_share: float = 0.0
    """Of the budget kept free: commits keep the view below the rest, where pins and the last turn allow."""
    triggers: Triggers = field(default_factory=Triggers)
    """What asks for a commit before the ceiling does."""
    waiting: Pending | None = None
    """A plan from beside the loop that waits for its moment."""
    _cold: bool = False
    """The caller says that the provider's cache is gone."""
    _decided: int = -1
    """Turns of the log at the newest commit: nobody commits twice for the same history, but when forced."""
    _dirty: bool = False

    # -- one way in

    def append(self, messages: Sequence[Message], origins: Sequence[str] = ()) -> None:
        """Take in messages (this engine's own copies). Cost: what is new."""
        settled = self.log.settled
        self.view_cache.drop_provisional(self.log)
        while self.shown.turns and self.shown.turns[-1] >= settled:
            self.shown.turns.pop()
        self.shown.upto = min(self.shown.upto, settled)
        self.log.append(messages, origins)
        self._notice_refetches(settled)
        if not self.restoring:
            self._make_small_digests(settled)

    def _make_small_digests(self, since: int) -> None:
        try:
            preparing.on_entry(self.log, self.planner.digests, since)
        except Exception as error:  # compressors are other people's code
            self.failures.append(f"digests not made ahead ({type(error).__name__}: {error})")

    def _notice_refetches(self, since: int) -> None:
        """The agent made a folded call again: a fault that it repaired at its own price."""
        for turn in range(since, self.log.settled):
            for item in self.log.turn_items[turn]:
                earlier = self.log.repeats.get(item)
                if earlier is not None and self.shown.level(earlier) <= Level.STUB and not self.restoring:
                    self._count(self._record({"type": "refetch", "item": item, "earlier": earlier}))

    def _count(self, entry: Mapping[str, Any]) -> None:
        """Take in a fault or refetch, live or from the ledger: each further one of an item doubles its protection."""
        if entry["type"] == "fault":
            for item in entry["items"]:
                self.faults[item] = self.faults.get(item, 0) + (item in entry["below"])
            guarded = entry["items"]
        else:
            self.faults[entry["item"]] = self.faults.get(entry["earlier"], 0) + 1
            # The agent helped itself; only when it has to again and again is its answer worth protecting.
            guarded = [entry["item"]] if self.faults[entry["item"]] > 1 else []
        for item in guarded:
            self._guard([item], entry["step"] + GUARD_STEPS * (1 << min(4, max(0, self.faults[item] - 1))))

    # -- one way out

    def view(self, *, force: str = "", cold: bool = False) -> tuple[list[Message], int, Commit | None]:
        """(messages, tokens with system and tools, commit made now or None); before a model call.

        `cold`: the provider's prompt cache is known to be gone.
        """
        self._refresh()
        self._cold = cold
        if cold:
            self._record({"type": "cold-cache"})
        commit = self._maybe_commit(force)
        self._bring_back()
        self._bring_in()
        messages = self.log.wire.finish(self.view_cache.messages, self.log.quirks)
        return list(messages), self.tokens(), commit

    def tokens(self) -> int:
        return self.fixed_tokens + self.view_cache.tokens

    def effective_budget(self) -> Budget:
        """The budget in own tokens, less the reserve: smaller when the provider counts more than we do."""
        if self.factor == 1.0 and not self.reserve_share:
            return self.budget
        window, whole = self.budget.window_tokens, int(self.budget.tokens / self.factor)
        # Where pins leave little room the reserve takes its part of that, or each call would be a commit.
        free = whole - self.planner.floor(self.shown, self.fixed_tokens, frozenset(self.pins))
        reserve = max(0, min(int(whole * self.reserve_share), int(free * RESERVE_OF_FREE)))
        return Budget(
            tokens=whole - reserve, reserve_tokens=reserve,
            window_tokens=None if window is None else int(window / self.factor),
            low_share=self.budget.low_share, high_share=self.budget.high_share,
        )  # fmt: skip

    def snapshot(self) -> Snapshot:
        """What a policy would see now; changes nothing that is remembered."""
        self._refresh()
        budget = self.effective_budget()
        floor, low, _ = self.planner.watermarks(self.shown, self.fixed_tokens, budget, frozenset(self.pins))
        scene = self.scene()
        kept = {**protected(scene, SOFT), **protected(scene, HARD)}
        # Only looked at, never changed: no copy, so that asking costs what is visible.
        glance = Draft(
            log=self.log, stubs=self.stubs, digests=self.planner.digests, shown=self.shown,
            fixed_tokens=self.fixed_tokens, per_turn=self.view_cache.per_turn,
        )  # fmt: skip
        return self.planner.snapshot(glance, self.tokens(), floor, low, budget, kept)

    def preview(self) -> Planned | None:
        """The commit that would be made now; nothing changes."""
        self._refresh()
        vetted = self._vetted()
        plan = partial(self._plan, "preview", vetted.changes)
        planned = descend(self.planner, plan, self.spent, needed=True).planned
        return None if planned is None else self._priced(planned, self._plan_cost(vetted), refused=vetted.refused)

    def undo(self) -> bool:
        """Take the last commit back; its items stay raw for some steps unless the ceiling demands them."""
        commits = [n for n, e in enumerate(self.entries) if e["type"] == "commit"]
        undone = {e["commit"] for e in self.entries if e["type"] == "undo"}
        live = [n for n in commits if self.entries[n]["number"] not in undone and self.entries[n]["trigger"] != PINNED]
        if not live:
            return False
        entry = self.entries[live[-1]]
        items = [change[0] for change in entry["changes"]]
        self._record({"type": "undo", "commit": entry["number"], "items": items})
        self._guard(items, self.log.step + GUARD_STEPS)
        self._restore_shown()
        return True

    def pin(self, item: int, on: bool) -> None:
        self._record({"type": "pin" if on else "unpin", "item": item})
        (self.pins.add if on else self.pins.discard)(item)
        if on and self.shown.level(item) < Level.RAW:
            self.raise_to_raw([item], PINNED)

    def set_digest(self, item: Item, text: str, made_by: str) -> None:
        """Show an item by this text, where it is shown by a digest, from the next commit on."""
        # It speaks of its item alone: a branch that holds the item keeps it, whenever it came in.
        upto = max(self.log.turns[item.turn].sources) + 1
        self._record({"type": "digest", "item": item.id, "text": text, "source": made_by, "raws": upto})
        self.planner.digests.replace(item, text, made_by)

    def set_section(self, section: Section, made_by: str) -> None:
        """Open the fold note with this passage from the next commit on; "" takes it out."""
        self._record(
            {
                "type": "section", "title": section.title, "text": section.text, "sources": list(section.sources),
                "source": made_by,
            }
        )  # fmt: skip
        self._take_section(section)

    def _take_section(self, section: Section) -> None:
        # One without text stays known as taken out.
        self.planner.sections.pop(section.title, None)
        self.planner.sections[section.title] = section

    def fault(self, items: Sequence[int]) -> list[int]:
        """Items below raw were needed: protect them, count, and say which of them thrash."""
        below = [i for i in items if self.shown.level(i) < Level.RAW]
        self._count(self._record({"type": "fault", "items": list(items), "below": below}))
        return [i for i in below if self.faults[i] >= THRASH_FAULTS]

    def raise_to_raw(self, items: Sequence[int], reason: str) -> None:
        """Show items whole again from the next call on: one commit of its own."""
        draft = self._draft()
        for number in items:
            item = self.log.item_at(number)
            if item is not None:
                for other in self.log.items_of_turn(item.turn):
                    draft.set(other, Level.RAW, reason)
        draft.keep_told(self.planner.sections)
        for section in self.planner.sections.values():
            draft.section(section)
        before = self.tokens()
        tokens = draft.finish()
        self._adopt(self.planner.closed(draft, self.commits, reason, before, tokens))

    # -- from the store

    def restore(self, entries: Sequence[dict[str, Any]]) -> None:
        """Bring the decision state to where these ledger entries left it. The log must be there already."""
        self.entries = list(entries)
        self.unsaved = len(self.entries)
        for entry in self.entries:
            self._restore(entry)
        self._restore_shown()

    def take_over(self, entries: Sequence[dict[str, Any]]) -> bool:
        """Decisions that another process wrote to this ledger; False, and nothing done, where all must be built anew.

        They come before our own that are not stored yet. O(what is new), and all commits where one is among them.
        """
        if not all(entry["type"] in TAKEN_OVER | links.KEPT for entry in entries):
            return False
        self.entries[self.unsaved : self.unsaved] = entries
        self.unsaved += len(entries)
        for entry in entries:
            self._restore(entry)
        links.restore(self.log, entries)
        if any(entry["type"] in ("commit", "undo") for entry in entries):
            self._restore_shown()
        return True

    def _restore(self, entry: dict[str, Any]) -> None:
        self.planner.outcomes.take(entry)
        match entry["type"]:
            case "pin":
                self.pins.add(entry["item"])
            case "unpin":
                self.pins.discard(entry["item"])
            case "fault" | "refetch":
                self._count(entry)
            case "commit":
                self.commits = max(self.commits, entry["number"] + 1)
                self._decided = entry["turns"]
            case "digest":
                item = self.log.item_at(entry["item"])
                if item is not None:
                    self.planner.digests.replace(item, entry["text"], entry["source"])
            case "section":
                sources = tuple(entry["sources"])
                self._take_section(Section(title=entry["title"], text=entry["text"], sources=sources))
            case "plan":
                self.waiting = pending.read_plan(entry)
            case "plan-end":
                self.waiting = None
            case "usage":
                self.factor = entry["factor"]
            case "undo":
                self._guard(entry["items"], entry["step"] + GUARD_STEPS)

    # -- inside

    def _refresh(self) -> None:
        fresh = self.shown.extend(self.log)
        if self._dirty:
            self.view_cache.rebuild(self.log, self.shown, self.stubs)
            self._dirty = False
        elif fresh:
            self.view_cache.add(self.log, self.shown, self.stubs, fresh)

    def _maybe_commit(self, force: str) -> Commit | None:
        budget = self.effective_budget()
        floor, low, high = self.planner.watermarks(self.shown, self.fixed_tokens, budget, frozenset(self.pins))
        trigger = force or ("high-watermark" if self.tokens() > min(high, budget.tokens) else "")
        if not trigger and self._policy_asks("due"):
            trigger = POLICY_TRIGGER
        forced = bool(force) or self.tokens() > budget.tokens or trigger == POLICY_TRIGGER
        if not forced and self._decided == len(self.log.turns):
            return None
        trigger = trigger or triggers.fired(
            self.triggers, self.log, tokens=self.tokens(), low_tokens=low, budget_tokens=budget.tokens
        )
        self._drop_outdated()
        if trigger and not forced and self.waiting is None and self._cannot_pay(floor, low):
            return None
        if trigger:
            return self._commit_when_due(trigger, forced)
        return self._commit_plan_when_due() if self.waiting is not None else None

    def _cannot_pay(self, floor: int, low: int) -> bool:
        """Whether a commit need not even be rehearsed: the policy shares all room out anew, and that costs too much."""
        if not getattr(self.planner.policy, "rewrites_all", False):
            return False
        earned = foreseen(
            log=self.log, tokens=self.tokens(), low_tokens=low, floor_tokens=floor, prices=self.planner.prices,
            cold=self._cold,
        )  # fmt: skip
        return earned <= 0

    def _commit_when_due(self, trigger: str, forced: bool) -> Commit | None:
        """What the policy proposes, behind the pending plan if there is one: when forced, or when it pays now."""
        vetted = self._vetted()
        if self.waiting is not None and not self.log.open and not vetted.changes:
            self.drop_plan("nothing of it is left")
        planned = self._safely_planned(trigger, vetted.changes)
        return self._adopt_when_due(planned, vetted, forced, triggers.boundary_of(trigger))

    def _commit_plan_when_due(self) -> Commit | None:
        """The pending plan alone. Rehearsed only at a moment at which it may be committed at all."""
        assert self.waiting is not None
        large = self.waiting.freed_share > self.triggers.at_once_share
        if self.log.open or not (large or self._cold or triggers.boundary(self.log)):
            return None
        vetted = self._vetted()
        if not vetted.changes:
            self.drop_plan("nothing of it is left")
            return None
        planned = self._rehearsed(self.waiting.plan, vetted.changes)
        return self._adopt_when_due(planned, vetted, forced=False, boundary="")

    def _adopt_when_due(self, planned: Planned | None, vetted: Vetted, forced: bool, boundary: str) -> Commit | None:
        if planned is None:
            return None
        planned = self._priced(planned, self._plan_cost(vetted), refused=vetted.refused)
        worth = planned.commit.benefit
        assert worth is not None
        boundary = boundary or triggers.boundary(self.log)
        why = moment(worth, boundary=boundary, at_once_share=self.triggers.at_once_share)
        if not forced and not why:
            return None
        commit = replace(planned.commit, benefit=replace(worth, why="forced" if forced else why))
        self._adopt(replace(planned, commit=commit))
        if vetted.changes:
            self.drop_plan(f"committed as commit {commit.number}")
        return commit

    # -- plans from beside the loop

    def propose_plan(self, plan: ProposedPlan) -> PlanVerdict:
        """Vet and rehearse a plan and keep its legal part pending, instead of the one that waited; or refuse it."""
        self._refresh()
        planner, rehearse = self.planner, partial(self._rehearsed, plan)
        verdict, waiting = pending.judge(plan, self.scene(), planner.digests, planner.obsolete, rehearse)
        if waiting is None:
            self._record(pending.refused_entry(plan, verdict))
        else:
            self._record(pending.plan_entry(waiting, verdict.refused))
            self.waiting = waiting
        return verdict

    def drop_plan(self, why: str) -> bool:
        """Forget the pending plan; False when there was none."""
        if self.waiting is None:
            return False
        self._record({"type": "plan-end", "why": why})
        self.waiting = None
        return True

    def _drop_outdated(self) -> None:
        if self.waiting is not None:
            late = pending.too_late(self.waiting.plan, self.log.step)
            if late:
                self.drop_plan(late)

    def _vetted(self) -> Vetted:
        """What may still be done of the pending plan; nothing while calls wait for results."""
        if self.waiting is None or self.log.open:
            return Vetted((), ())
        planner = self.planner
        return pending.vet(
            self.waiting.plan.entries, self.scene(), planner.digests, planner.obsolete, self.waiting.levels,
            raises=self.waiting.plan.raises,
        )  # fmt: skip

    def _plan_cost(self, vetted: Vetted) -> float:
        return self.waiting.plan.cost if self.waiting is not None and vetted.changes else 0.0

    def _rehearsed(self, plan: ProposedPlan, changes: Sequence[Change]) -> Planned | None:
        """The commit that these changes of a plan alone would lead to, with its price."""
        made_by = pending.one_line(plan.made_by, pending.REASON_CHARS)
        planned = self._plan(f"plan of {made_by}", changes, self.planner, "", alone=True)
        if planned is None:
            return None
        return self._priced(replace(planned, commit=replace(planned.commit, policy=made_by)), plan.cost)

    def _priced(self, planned: Planned, cost: float, refused: Sequence[Refusal] = ()) -> Planned:
        worth = benefit(
            log=self.log, shown=self.shown, view=self.view_cache, fixed_tokens=self.fixed_tokens,
            commit=planned.commit, after=planned.shown, prices=self.planner.prices, cold=self._cold, gc=cost,
        )  # fmt: skip
        refusals = (*refused, *planned.commit.refused)
        return replace(planned, commit=replace(planned.commit, benefit=worth, refused=refusals))

    def inject(self, references: Sequence[str], along_chars: int | None = None) -> Recalled:
        """Put a recall at the tail, as data; at most so many characters of what it rests on come along.

        The ledger keeps what was asked, what came along and the room there was: the text follows from the log.
        """
        chars, words = max(1_000, self.budget.tokens), self.word_chars()
        most = chars // 3 if along_chars is None else min(chars // 3, along_chars)
        along = self._rests_on(recall(self.log, references, for_view=True, word_chars=words), most)
        asked = {"references": list(references), "along": along, "chars": chars, "words": words}
        self._record({"type": "inject", **asked})
        return self.replay_injection(asked)

    def word_chars(self) -> int:
        """What a search by words may bring: passages in the room that is free, so that asking leads to no commit."""
        free = self.effective_budget().tokens - self.tokens()
        return max(LEAST_WORD_CHARS, min(WORD_CHARS, free * CHARS_AT_LEAST))

    def replay_injection(self, asked: Mapping[str, Any]) -> Recalled:
        """Put in what an `inject` entry of the ledger says."""
        if "memory" in asked:
            self._put_in({"find": asked["query"]}, asked["memory"])
            return Recalled(text=asked["memory"], items=(), found=True)
        references = asked["references"]
        found = recall(self.log, references, for_view=True, word_chars=asked.get("words"))
        rests_on = [self._along(i) for i in asked["along"]]
        text = as_data(found, asked["chars"], rests_on=rests_on, stale=self.outdated(found))
        self._put_in({"ids": ", ".join(references)}, text)
        return found

    def _put_in(self, arguments: Mapping[str, str], text: str) -> None:
        """A recall and its answer at the tail, protected for some steps."""
        if self._calls_fit_in():
            messages = self.log.wire.exchange(
                f"recall_{-self.log.next_own}_{self.log.next_id}", "recall", arguments, text
            )
        else:
            messages = [self.log.wire.user_message(text)]
        self.injections.append((len(self.log.raws), len(messages)))
        before = self.log.next_own
        self.append(messages, [OWN] * len(messages))
        self._guard(range(self.log.next_own + 1, before + 1), self.log.step + GUARD_STEPS)

    def _calls_fit_in(self) -> bool:
        """Whether a call of our own may stand at the tail: the agent makes calls, and none has to open with thinking.

        With thinking on, Anthropic refuses a last assistant message that calls without a thinking block of its own.
        """
        last = next((t for t in reversed(self.log.turns[-200:]) if t.kind is TurnKind.EXCHANGE), None)
        if last is None or self.log.quirks.thinking:
            return False
        thinks = any(p.type is PartType.REASONING for p in last.parts)
        return not (thinks and self.log.wire.name == "anthropic_messages")

    def _rests_on(self, found: Recalled, chars: int) -> list[int]:
        """Items that recalled ones depend on and that are out of sight too, as far as there is room."""
        along: list[int] = []
        for number in found.items:
            for link in self.log.graph.needs(number)[:3]:
                in_view = link.target in found.items or self.shown.level(link.target) > Level.STUB
                if link.weight < STRONG_LINK or in_view:
                    continue
                size = len(self._along(link.target))
                if link.target not in along and size <= chars:
                    chars -= size
                    along.append(link.target)
        return along

    def outdated(self, found: Recalled) -> list[str]:
        """A line for each recalled read of a file that was edited since."""
        return [line for i in found.items if (line := self._edited_since(i))]

    def _edited_since(self, number: int) -> str:
        """Says that a file was edited after this read of it; "" when it was not."""
        read = self.log.items[number]
        if read.kind is not Kind.READ:
            return ""
        edits = sorted({e for target in read.targets for e in self.log.edits_of(target) if e > number})
        named = ", ".join(f"#{e}" for e in edits[-6:])
        return f"#{number} is the file as it was read then; edited since by {named}" if edits else ""

    def _along(self, number: int) -> str:
        """How a dependency comes along: its stub line, and its text where that is short."""
        item = self.log.items[number]
        # A picture of few tokens is a long text all the same.
        plain = item.tokens <= SMALL_TOKENS and item.kind is not Kind.ATTACHMENT and not self.log.media(item)
        short = self.log.result_text(item) if plain else ""
        return self.stubs.line(item, ()) + (f"\n{short}" if short else "")

    def _guard(self, items: Iterable[int], until: int) -> None:
        for item in items:
            self.guards[item] = max(until, self.guards.get(item, 0))

    def _bring_back(self) -> None:
        """Proactive recall (S1.8): what the next step is about to need comes back before the call, if there is room."""
        if self.log.open or self.shown.note is None:
            return
        asked = self._policy_asks("bring_back")
        cost = sum(w.tokens for w in asked or ()) + FRAME_TOKENS
        spare = self.effective_budget().tokens - self.tokens() - cost
        if asked and spare >= 0:
            self.inject([w.reference for w in asked], along_chars=FRAME_TOKENS + spare * CHARS_AT_LEAST)
            self._refresh()

    def _bring_in(self) -> None:
        """What a memory outside the session answered comes in at the tail, if there is room.

        The ledger keeps the text itself: it does not follow from the log.
        """
        if self.log.open or not self.arrived:
            return
        budget = self.effective_budget()
        floor = self.planner.floor(self.shown, self.fixed_tokens, frozenset(self.pins))
        for one in self.arrived:
            room = min(int((budget.tokens - floor) * memories.SHARE), budget.tokens - self.tokens()) - FRAME_TOKENS // 3
            text, taken = memories.framed(one, room, self.log.counter.counter.count)
            if text:
                asked = {"event": one.event, "query": one.query, "memory": text}
                sources = [[p.source, p.ref] for p in taken]
                self._record({"type": "inject", "references": [], "along": [], **asked, "sources": sources})
                self.replay_injection(asked)
                self._refresh()
        self.arrived.clear()

    def _policy_asks(self, question: str) -> Any:
        """An optional question to the policy (`due`, `bring_back`); None when it has no answer or fails."""
        answer = getattr(self.planner.policy, question, None)
        if answer is None:
            return None
        try:
            return answer(replace(self.snapshot(), _check=Watch(self.spent).check))
        except Exception as error:  # policies are other people's code
            failed = f"policy {self.planner.policy_name}.{question} failed"
            self.failures.append(f"{failed} ({type(error).__name__}: {error})")
            return None

    def _safely_planned(self, trigger: str, first: Sequence[Change]) -> Planned | None:
        """A policy that fails, or takes too long, does not stop the call: something simpler stands in, visibly (I9)."""
        needed = trigger == "call" or self.tokens() > self.effective_budget().tokens
        descent = descend(self.planner, partial(self._plan, trigger, first), self.spent, needed=needed)
        self.failures.extend(descent.falls)
        if descent.falls and descent.planned is None:
            self._note_fall(descent)
        return descent.planned

    def _note_fall(self, descent: Descent) -> None:
        """A fall that led to no commit is a record of its own: once a step."""
        fall = {"type": "fall", "rung": descent.rung, "why": list(descent.falls)}
        last = next((e for e in reversed(self.entries) if e["type"] == "fall"), None)
        if last is None or {**fall, "step": self.log.step} != {key: last[key] for key in (*fall, "step")}:
            self._record(fall)

    def _plan(
        self, trigger: str, first: Sequence[Change], planner: Planner, remark: str, alone: bool = False
    ) -> Planned | None:
        fell = f", fell to {planner.policy_name}" if remark else ""
        told = f", with the plan of {self.waiting.plan.made_by}" if first and not alone and self.waiting else ""
        return planner.plan(
            shown=self.shown, view=self.view_cache, fixed_tokens=self.fixed_tokens, budget=self.effective_budget(),
            pins=frozenset(self.pins), guarded=self._guarded(), trigger=trigger + told + fell, number=self.commits,
            remark=remark, first=first, alone=alone,
        )  # fmt: skip

    def _adopt(self, planned: Planned) -> None:
        self.shown = planned.shown
        self.commits += 1
        self._decided = planned.commit.turns
        self._record(ledger.commit_entry(planned.commit, planned.shown))
        self.view_cache.rebuild(self.log, self.shown, self.stubs)

    def _record(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Add an entry to the ledger, with how much of the log there was and the step it was made in."""
        kept = {"raws": len(self.log.raws), "step": self.log.step, **entry}
        self.entries.append(kept)
        self.planner.outcomes.take(kept)
        return kept

    def _restore_shown(self) -> None:
        undone = {e["commit"] for e in self.entries if e["type"] == "undo"}
        shown = Shown()
        for entry in self.entries:
            if entry["type"] == "commit" and entry["number"] not in undone:
                ledger.apply_commit(shown, entry)
        shown.turns = [t for t in range(len(self.log.turns)) if not folded(self.log, shown, t)]
        shown.upto = len(self.log.turns)
        self.shown = shown
        self._dirty = True

    def _guarded(self) -> frozenset[int]:
        return frozenset(i for i, until in self.guards.items() if until >= self.log.step)

    def scene(self) -> Scene:
        """What the rules of `constraints` look at, as it stands."""
        return Scene(log=self.log, shown=self.shown, pins=frozenset(self.pins), guarded=self._guarded())

    def _draft(self) -> Draft:
        self._refresh()
        return Draft.of(self.planner.digests, self.shown, self.fixed_tokens, self.view_cache.per_turn)

    def item(self, number: int) -> Item | None:
        return self.log.item_at(number)
