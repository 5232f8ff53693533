"""Ways of getting over a recorded compaction, judged on the same needs: the agent's own, and policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from foldaway.errors import FoldawayError, OverBudget
from foldaway.lab.bill import Bill, call_bill
from foldaway.lab.finder import message_text
from foldaway.lab.needs import Labels, Need
from foldaway.lab.replay import VERBATIM, ReplaySession, ReplayView, SessionMaker
from foldaway.lab.rereads import Look
from foldaway.lab.results import RULES, Tally, counts
from foldaway.lab.ruler import Meter, Reading, Ruler
from foldaway.lab.timeline import Step
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message

RECORDED = "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way of getting over a compaction: the agent's own, or a policy at its number of tokens."""

    name: str
    budget_tokens: int
    tokens: int = 0
    """Of the view at the first call behind the compaction."""
    mean_tokens: float = 0.0
    """Of the views over the window."""
    held: Mapping[str, Tally] = field(default_factory=dict)
    """Rule -> needs with no supplier but in front of the compaction: in that first view, or led to by it."""
    again: Mapping[str, Tally] = field(default_factory=dict)
    """Rule -> needs that were supplied again before their first use: whether that first view had them anyway."""
    steps: Mapping[str, Tally] = field(default_factory=dict)
    """Rule -> steps that use a `held` need for the first time: all of these in that first view, or led to by it."""
    walked: Mapping[str, Tally] = field(default_factory=dict)
    """Rule -> the `held` needs again, judged by the view of the step that uses them. The recorded view has grown by
    then; a policy's is still within the budget."""
    bill: Bill = field(default_factory=Bill)
    """Prompts of the window, with the summary call of the recorded agent or the simulated recalls of a policy."""
    over_tokens: int = 0
    """By how much the first view is over the budget, because what may not be evicted takes more."""
    error: str = ""

    def kept(self, rule: str) -> Tally:
        """Of all needs from in front of the compaction, supplied again or not, those in that first view."""
        return self.held.get(rule, Tally()) + self.again.get(rule, Tally())


@dataclass(slots=True)
class Case:
    """One recorded session, ready to be measured."""

    recorded: Recorded
    ruler: Ruler
    steps: tuple[Step, ...]
    looks: list[Look]

    def window(self, at: int, most: int) -> list[Step]:
        """The steps behind a compaction, up to the next one."""
        end = min((other for other in self.recorded.compactions if other > at), default=len(self.recorded.messages))
        return [step for step in self.steps if at <= step.start < end][:most]

    def previous(self, at: int) -> int:
        return max((other for other in self.recorded.compactions if other < at), default=0)

    def view(self, since: int, upto: int) -> list[Message]:
        """What the recorded agent had before position `upto`, when its newest compaction was at `since`."""
        if since in self.recorded.summaries:
            return [*self.recorded.summaries[since], *self.recorded.messages[since:upto]]
        return list(self.recorded.messages[:upto])

    def fresh(self, at: int) -> list[Message]:
        """The messages of a summary that are nowhere in front of it, standing ones that are merely told anew aside."""
        texts = {message_text(message) for message in self.recorded.messages[:at]}
        kept = (m for m in self.recorded.summaries[at] if m.get("role") not in ("system", "developer"))
        return [message for message in kept if message_text(message) not in texts]


@dataclass(frozen=True, slots=True)
class Needs:
    """What the steps of a window need from in front of a compaction; each literal once, where it is first used."""

    direct: Mapping[int, tuple[Need, ...]]
    """Step number -> needs that nothing behind the compaction had supplied."""
    again: tuple[Need, ...]

    @staticmethod
    def of(labels: Labels, at: int, window: Sequence[Step]) -> Needs:
        used: set[int] = set()
        direct: dict[int, tuple[Need, ...]] = {}
        again: list[Need] = []
        for step in window:
            first = [n for n in labels.needs[step.number] if n.first < at and n.literal not in used]
            used.update(n.literal for n in first)
            direct[step.number] = tuple(n for n in first if n.newest < at)
            again += [n for n in first if n.newest >= at]
        return Needs(direct, tuple(again))

    def all_direct(self) -> list[Need]:
        return [need for needs in self.direct.values() for need in needs]


Shows = Callable[[Need], tuple[bool, bool]]
"""(in view, in view or led to)"""


def _tallies(needs: Sequence[Need], shows: Shows) -> dict[str, Tally]:
    return {rule: _tally([shows(need) for need in needs if _counts(rule, need)]) for rule in RULES}


def _step_tallies(needs: Needs, shows: Shows) -> dict[str, Tally]:
    found: dict[str, Tally] = {}
    for rule in RULES:
        counted = [[shows(n) for n in step if _counts(rule, n)] for step in needs.direct.values()]
        found[rule] = _tally([(all(s for s, _ in step), all(r for _, r in step)) for step in counted if step])
    return found


def _tally(seen: Sequence[tuple[bool, bool]]) -> Tally:
    return Tally(len(seen), sum(shown for shown, _ in seen), sum(reached for _, reached in seen))


def _counts(rule: str, need: Need) -> bool:
    return counts(rule, strict=need.strict, verbatim=need.kind.value in VERBATIM)


@dataclass(slots=True)
class _Walk:
    """The views of one arm over the window, judged as they come."""

    needs: Needs
    first: dict[int, tuple[bool, bool]] = field(default_factory=dict)
    later: dict[int, tuple[bool, bool]] = field(default_factory=dict)
    bill: Bill = field(default_factory=Bill)
    totals: list[int] = field(default_factory=list)

    def take(self, step: Step, literals: frozenset[int] | set[int], leads_to: Callable[[Need], bool]) -> None:
        def shows(need: Need) -> tuple[bool, bool]:
            shown = need.literal in literals
            return shown, shown or leads_to(need)

        if not self.first:
            self.first = {need.literal: shows(need) for need in (*self.needs.all_direct(), *self.needs.again)}
        self.later.update((need.literal, shows(need)) for need in self.needs.direct[step.number])

    def arm(self, name: str, budget: int, over: int = 0) -> Arm:
        nowhere = (False, False)
        direct = self.needs.all_direct()
        return Arm(
            name=name,
            budget_tokens=budget,
            tokens=self.totals[0],
            mean_tokens=sum(self.totals) / len(self.totals),
            held=_tallies(direct, lambda need: self.first[need.literal]),
            again=_tallies(self.needs.again, lambda need: self.first[need.literal]),
            steps=_step_tallies(self.needs, lambda need: self.first[need.literal]),
            walked=_tallies(direct, lambda need: self.later.get(need.literal, nowhere)),
            bill=self.bill,
            over_tokens=over,
        )


def recorded_arm(
    case: Case, at: int, window: Sequence[Step], needs: Needs, meter: Meter, before: int
) -> tuple[Arm, int]:
    """The agent's own views, and how many tokens of the first one were written anew."""
    # The summary call finds the view before in the cache. What it writes is output, which the bill leaves out.
    walk = _Walk(needs, bill=Bill(read_tokens=before, extra_calls=1))
    rewritten = 0
    for step in window:
        reading = meter.read(case.view(at, step.start), case.recorded.system, case.recorded.tools)
        if not walk.totals:
            rewritten = reading.tokens - reading.prefix_tokens
        walk.totals.append(reading.tokens)
        walk.bill += call_bill(reading.prefix_tokens, reading.tokens)
        walk.take(step, reading.literals, lambda need: False)
    return walk.arm(RECORDED, walk.totals[0]), rewritten


def policy_arm(case: Case, window: Sequence[Step], needs: Needs, policy: str, budget: int, make: SessionMaker) -> Arm:
    try:
        return _walk_policy(case, window, needs, policy, budget, make)
    except FoldawayError as error:
        return Arm(name=policy, budget_tokens=budget, error=f"{type(error).__name__}: {error}")


def _walk_policy(case: Case, window: Sequence[Step], needs: Needs, policy: str, budget: int, make: SessionMaker) -> Arm:
    session, meter, walk = make(case.recorded, policy, budget), Meter(case.ruler), _Walk(needs)
    done, first = 0, window[0].number
    for step in case.steps[: window[-1].number + 1]:
        session.append(case.recorded.messages[done : step.start], origins=case.recorded.origins[done : step.start])
        done = step.start
        try:
            view = session.view()
        except OverBudget:
            if step.number < first:
                continue
            raise
        if step.number >= first - 1:
            reading = meter.read(view.messages, view.system, view.tools)
            if step.number >= first:
                _take_view(case, step, session, view, reading, walk)
    return walk.arm(policy, budget, max(0, walk.totals[0] - budget))


def _take_view(case: Case, step: Step, session: ReplaySession, view: ReplayView, reading: Reading, walk: _Walk) -> None:
    def leads_to(need: Need) -> bool:
        places = [at for at in dict.fromkeys((need.newest, need.first)) if at < step.start]
        return any(view.covers(item) for at in places for item in session.items_of(at))

    missing = [need for need in case.ruler.labels.needs[step.number] if need.literal not in reading.literals]
    recalls = [case.ruler.supplier_tokens(need) for need in missing]
    walk.totals.append(reading.tokens)
    walk.bill += call_bill(reading.prefix_tokens, reading.tokens, recalls)
    walk.take(step, reading.literals, leads_to)
