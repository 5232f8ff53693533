"""Which steps are scored: by a fixed rule, from every source alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from foldaway.errors import OverBudget
from foldaway.lab.finder import Finder, message_text, strings_of
from foldaway.lab.likelihood.scorer import Scorer
from foldaway.lab.likelihood.text import action_text, beside_text, messages_text, view_text
from foldaway.lab.needs import Labels, Need
from foldaway.lab.replay import ReplayView, SessionMaker
from foldaway.lab.timeline import Step, steps_of
from foldaway.model.recorded import Recorded

OLD, RECENT = "old", "recent"
MIN_BYTES = 3
"""A needed literal shorter than this tells nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How steps are drawn. Nothing is random.

    A step qualifies when its full history with the action fits `full_tokens`, the reference policy's view is smaller
    than `shrunk` of that history (so something was evicted), and the scored text of its action holds a need. It is
    `old` when the reference's view lacks such a need, else `recent`. Of each recording up to `per_recording` steps are
    taken, half of each kind where there are enough, spread evenly over the recording; then recordings take turns,
    source by source, until there are `steps`. A recording whose prologue fills the budget is passed over: no policy
    has a choice there.
    """

    steps: int = 48
    per_recording: int = 4
    full_tokens: int = 12_000
    """Of the scorer's own tokens; never more than its window."""
    shrunk: float = 0.75
    """Size of the reference's view against the full history, both as characters of text."""
    action_chars: int = 300
    """The action is scored up to here; needs behind it do not count."""
    prologue_share: float = 0.7
    """The prologue's tokens against the budget: above this the recording is passed over."""
    reference: str = "window"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A need that stands in the scored text."""

    need: Need
    start: int
    """First byte of its first occurrence in the text's UTF-8."""
    end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A step that may be scored."""

    recorded: Recorded
    step: Step
    full: str
    action: str
    wanted: tuple[Wanted, ...]
    group: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one policy shows before one step."""

    text: str
    visible: frozenset[int]
    """Literals that stand in it."""


@dataclass(slots=True)
class Views:
    """The views of one recording, walked once a policy."""

    recorded: Recorded
    labels: Labels
    budget: int
    make: SessionMaker
    _finder: Finder = field(init=False)

    def __post_init__(self) -> None:
        self._finder = Finder(self.labels.literals)

    def walk(self, policy: str, steps: Iterable[int]) -> dict[int, Seen]:
        """The views at some steps; those that could not be sent are left out. Goes no further than the last step."""
        wanted = set(steps)
        session = self.make(self.recorded, policy, self.budget)
        seen: dict[int, Seen] = {}
        done = 0
        for step in steps_of(self.recorded)[: max(wanted, default=-1) + 1]:
            new = slice(done, step.start)
            done = step.start
            try:
                session.append(self.recorded.messages[new], origins=self.recorded.origins[new])
                view = session.view()
            except OverBudget:
                continue
            if step.number in wanted:
                seen[step.number] = self._seen(view)
        return seen

    def find(self, text: str) -> frozenset[int]:
        return self._finder.find(text)

    def _seen(self, view: ReplayView) -> Seen:
        texts = [*strings_of(view.system), *map(message_text, view.messages)]
        visible = frozenset[int]().union(*map(self._finder.find, texts))
        return Seen(view_text(self.recorded.format, view.messages, view.system, view.tools), visible)


def prologue_text(recorded: Recorded) -> str:
    """System, tools and all up to the first user message or, if that comes later, the first call."""
    steps = steps_of(recorded)
    first_call = steps[0].start if steps else len(recorded.messages)
    user = next((i for i, message in enumerate(recorded.messages) if message.get("role") == "user"), -1)
    head = recorded.messages[: max(first_call, user + 1)]
    return view_text(recorded.format, head, recorded.system, recorded.tools)


def candidates(views: Views, scorer: Scorer, sample: Sample) -> list[Candidate]:
    """The steps of one recording that qualify, oldest first, each with its group."""
    if scorer.count(prologue_text(views.recorded)) > sample.prologue_share * views.budget:
        return []
    found = {c.step.number: c for c in _fitting(views, scorer, sample)}
    seen = views.walk(sample.reference, found)
    kept = []
    for number, candidate in found.items():
        view = seen.get(number)
        if view is None or len(view.text) > sample.shrunk * len(candidate.full):
            continue
        whole = all(w.need.literal in view.visible for w in candidate.wanted)
        kept.append(replace(candidate, group=RECENT if whole else OLD))
    return kept


def _fitting(views: Views, scorer: Scorer, sample: Sample) -> Iterable[Candidate]:
    recorded = views.recorded
    limit = min(sample.full_tokens, scorer.window_tokens)
    tokens, done = scorer.count(beside_text(recorded.system, recorded.tools)), 0
    for step in steps_of(recorded):
        tokens += scorer.count(messages_text(recorded.format, recorded.messages[done : step.start]))
        done = step.start
        action = action_text(recorded, step.start, step.end)[: sample.action_chars]
        # Counted piece by piece, so that a long session costs no more than its text; histories only grow.
        if tokens + scorer.count(action) > limit:
            return
        wanted = _wanted(views.labels, views.labels.needs[step.number], action)
        if wanted:
            full = view_text(recorded.format, recorded.messages[: step.start], recorded.system, recorded.tools)
            yield Candidate(recorded, step, full, action, wanted)


def _wanted(labels: Labels, needs: Sequence[Need], action: str) -> tuple[Wanted, ...]:
    found = []
    for need in needs:
        literal = labels.literals[need.literal]
        at = re.search(rf"(?<![A-Za-z0-9_]){re.escape(literal)}(?![A-Za-z0-9_])", action)
        if at and len(literal.encode("utf-8", "replace")) >= MIN_BYTES:
            start, end = (len(action[:i].encode("utf-8", "replace")) for i in at.span())
            found.append(Wanted(need, start, end))
    return tuple(found)


def draw(found: Sequence[Sequence[Candidate]], sample: Sample) -> list[Candidate]:
    """The steps to score, out of each recording's candidates; in the order of the recordings, then of the steps."""
    picked = [_of_recording(of_one, sample.per_recording) for of_one in found]
    order = _turns(found, lambda of_one: of_one[0].recorded.source_format if of_one else "")
    left, taken = sample.steps, set[int]()
    for index in order:
        if picked[index] and left >= len(picked[index]):
            taken.add(index)
            left -= len(picked[index])
    return [candidate for index in sorted(taken) for candidate in picked[index]]


def _of_recording(found: Sequence[Candidate], most: int) -> list[Candidate]:
    old = [c for c in found if c.group == OLD]
    recent = [c for c in found if c.group == RECENT]
    of_old = min(len(old), max(most - most // 2, most - len(recent)))
    taken = spread(old, of_old) + spread(recent, most - of_old)
    return sorted(taken, key=lambda c: c.step.number)


def spread(values: Sequence[Any], most: int) -> list[Any]:
    """At most so many of the values, evenly apart."""
    if most >= len(values):
        return list(values)
    return [values[(2 * i + 1) * len(values) // (2 * most)] for i in range(most)]


def _turns(found: Sequence[Any], source: Callable[[Any], str]) -> list[int]:
    """Indexes such that sources take turns; sources and what is in them keep their order."""
    places: dict[str, int] = {}
    ranked = []
    for index, one in enumerate(found):
        name = source(one)
        place = places[name] = places.get(name, -1) + 1
        ranked.append((place, index))
    return [index for _, index in sorted(ranked)]
