"""What a program may tell a session: pins, plans, digests, sections, links, declarations; and what it would do next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from foldaway.engine import links, preparing
from foldaway.engine.digests import Costs
from foldaway.engine.looking import explanation
from foldaway.engine.reflecting import MADE_BY as REFLECTION
from foldaway.engine.reflecting import ROOM_TOKENS, Reflection, reflect
from foldaway.errors import SettingsError
from foldaway.linking.declared import Declaration, declaration_of
from foldaway.model.plan import Commit, PlanVerdict, ProposedPlan, Section
from foldaway.model.view import Explanation
from foldaway.session.core import Core

PREPARE_CHARS = 100_000
"""Of text that one call of `prepare` reads: some ten milliseconds."""


class Steering(Core):
    """The part of a session that takes advice."""

    def pin(self, item: int) -> None:
        """No policy may fold this item from now on; folded, it is shown whole again."""
        self._known(item)
        self._engine.pin(item, True)
        self._save()

    def unpin(self, item: int) -> None:
        self._known(item)
        self._engine.pin(item, False)
        self._save()

    def propose_plan(self, plan: ProposedPlan) -> PlanVerdict:
        """Take a plan from beside the loop: its legal part waits for its moment, or all of it is refused with a code.

        Nothing is shown otherwise until it is committed: at a safe boundary, when it pays (`foldaway.engine.benefit`),
        together with what the policy proposes if that is due as well. A later plan takes the place of one that waits.
        Never raises for what a plan says; SettingsError for what is no plan.
        """
        if not isinstance(plan, ProposedPlan):
            raise SettingsError(f"a {type(plan).__name__} is no plan; expected a foldaway.ProposedPlan")
        self._resolve_budget()
        verdict = self._engine.propose_plan(plan)
        self._save()
        return verdict

    @property
    def pending_plan(self) -> ProposedPlan | None:
        """The plan that waits for its moment."""
        waiting = self._engine.waiting
        return None if waiting is None else waiting.plan

    def drop_plan(self, why: str = "dropped by the caller") -> bool:
        """Forget the plan that waits; False when there is none."""
        done = self._engine.drop_plan(why)
        self._save()
        return done

    def preview(self) -> Commit | None:
        """The commit that would be made now; nothing changes."""
        self._start_timer()
        self._resolve_budget()
        planned = self._engine.preview()
        return None if planned is None else planned.commit

    def undo(self) -> bool:
        """Take the last commit back. Its items are protected for some steps, unless the ceiling demands them."""
        done = self._engine.undo()
        self._save()
        return done

    def explain(self, item: int) -> Explanation:
        """Why an item is gone or still here, and who depends on it."""
        return explanation(self._engine, self._known(item))

    def digest(self, item: int) -> str:
        """What stands for an item where it is shown by a digest; "" for items that are shown whole or not at all."""
        known = self._known(item)
        digests = self._engine.planner.digests
        return digests.text(known) if digests.shown_for(known) else ""

    def costs(self, item: int) -> Costs:
        """What an item costs at each level, in the target model's tokens. Makes its digest if nobody has yet."""
        return self._engine.planner.digests.costs(self._known(item))

    def prepare(self, most_chars: int = PREPARE_CHARS) -> int:
        """Make digests ahead, say while a tool runs, so that the commit that needs them only looks them up.

        Takes texts of about `most_chars` characters in all, and one item at least; returns how many items still wait.
        Views are the same with it and without. `AsyncSession` does it by itself.
        """
        engine = self._engine
        return preparing.prepare(engine.log, engine.shown, engine.planner.digests, most_chars)

    def set_digest(self, item: int, text: str, made_by: str = "caller") -> None:
        """Use a text of your own instead, say a model's, from the next commit on; it is kept in the ledger.

        Raises ValueError when it states numbers, names or ids that the item lacks, when it is empty or longer than half
        of the item, or when the item is of a kind or size that is never shown by a digest.
        """
        known = self._known(item)
        objection = self._engine.planner.digests.objection(known, text)
        if objection:
            raise ValueError(f"no digest for #{known.id}: {objection}")
        self._engine.set_digest(known, text, made_by)
        self._save()

    def set_section(self, title: str, text: str, sources: Sequence[int] = (), made_by: str = "caller") -> None:
        """Open the fold note with a passage of your own from the next commit on, say a running digest; "" takes it out.

        It is kept in the ledger. Its room is taken from what else the note tells; it gives way last.
        Raises SettingsError for an empty title, RecallError for unknown sources.
        """
        if not title.strip():
            raise SettingsError("a section needs a title of its own")
        known = sorted({self._known(source).id for source in sources})
        self._engine.set_section(Section(title=title, text=text, sources=tuple(known)), made_by)
        self._save()

    def infer_link(self, item: int, needs: int, confidence: float, why: str = "", *, made_by: str = "caller") -> bool:
        """Say that an item probably depends on an earlier one, as a model may find out beside the loop.

        The link counts from a confidence of `infer_from` on (True), as if it had been observed; below it is kept and
        told by `explain`, but never asked. What was declared or observed has the better word. Kept in the ledger.

        Raises RecallError for unknown items, ValueError for a confidence outside 0 to 1 or an item that is not earlier.
        """
        log = self._engine.log
        source, target = self._known(item).id, self._known(needs).id
        if wrong := links.objection(log, source, target, confidence):
            raise ValueError(wrong)
        made = links.inferred(source, target, confidence, why[: links.WHY_CHARS])
        if not links.says_already(log, made):
            log.link(made)
            self._engine._record(links.infer_entry(made, made_by))
            self._save()
        return confidence >= log.graph.inferred_from

    def reflect(self, room_tokens: int | None = None) -> Reflection:
        """Look through what is folded away: tell of finished work, merge what says the same, find new links.

        What it finds is in the ledger and takes effect from the next commit on; `room_tokens` is what lines about
        finished work may take of the fold note (0: none; without it, a tenth of the budget, 400 at most). Nothing else
        changes, and a second look finds nothing more. By rules, no model; it reads the newest few thousand items, so
        call it between tasks, not on every step.
        """
        engine = self._engine
        room = min(ROOM_TOKENS, self._resolve_budget() // 10) if room_tokens is None else room_tokens
        found = reflect(engine.log, engine.shown, engine.planner.digests, room)
        entries = [engine._record(entry) for entry in found.entries()]
        links.restore(engine.log, entries)
        told = engine.planner.sections.get(found.section.title)
        if found.section.text != ("" if told is None else told.text):
            engine.set_section(found.section, REFLECTION)
        self._save()
        return found

    def declare(self, tool: str, *, reads: Sequence[str] = (), produces: Sequence[str] = ()) -> None:
        """Say what calls of a tool take in and give out (see `foldaway.tool`); links its past calls as well.

        Kept in the ledger: a session that is opened again knows it.
        """
        made = Declaration(tool=tool, reads=tuple(reads), produces=tuple(produces))
        if self._declared.declare(made):
            self._engine._record(
                {"type": "declare", "tool": tool, "reads": list(made.reads), "produces": list(made.produces)}
            )
            self._link_declared()
            self._save()

    def use_tools(self, *functions: Callable[..., Any]) -> None:
        """Take over what `@foldaway.tool` declared. Raises TypeError for a function without a declaration."""
        for made in [declaration_of(f) for f in functions]:
            self.declare(made.tool, reads=made.reads, produces=made.produces)
