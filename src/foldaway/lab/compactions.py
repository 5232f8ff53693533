"""Recorded compactions as a peer: what an agent's own summary kept of what the next steps needed.

A compaction left the recorded agent with a summary and, some agents, a tail of messages. What the steps behind it
needed from in front of it either still stood there, or was supplied again by a re-read before its first use, or is
nowhere in the log. A Foldaway session is walked to the very same model call with the same number of tokens and judged
on the same needs.

Two biases, of opposite sign. The recorded action is the witness, so what a summary lost and the agent never fetched
again leaves no trace: that flatters the recorded agent. And logs leave out part of what the model had (encrypted
summaries, files attached anew, system prompts): that wrongs it. `Compaction.unlogged_tokens` and `opaque` say how much
may be hidden. What the agent read again stands in the messages that all arms see, so every arm pays for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldaway.lab.bill import Bill
from foldaway.lab.compaction_arms import Arm, Case, Needs, policy_arm, recorded_arm
from foldaway.lab.finder import message_text
from foldaway.lab.replay import SessionMaker, foldaway_session, make_ruler
from foldaway.lab.rereads import Reread, looks_of, rereads
from foldaway.lab.ruler import Meter, Ruler
from foldaway.lab.timeline import Step, steps_of
from foldaway.model.recorded import Recorded
from foldaway.tokens.calibration import reported_tokens

WINDOW_STEPS = 50
BUDGETS = ("logged", "reported")
"""`logged`: Foldaway gets as many tokens as the log shows the agent to have had; `reported`: with what the provider
counted and the log does not show on top."""


@dataclass(frozen=True, slots=True)
class Rereads:
    """Looks at what had been seen before, over a number of steps: faults that the agent repaired at a price."""

    calls: int
    tokens: int
    """Of the lines that came again."""
    steps: int

    def __add__(self, other: Rereads) -> Rereads:
        return Rereads(self.calls + other.calls, self.tokens + other.tokens, self.steps + other.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """One recorded compaction and the steps behind it."""

    session: str
    agent: str
    """`Recorded.source_format`."""
    position: int
    step: int
    """First model call behind it."""
    steps: int
    """Model calls looked at: `WINDOW_STEPS`, or up to the next compaction or the end."""
    opaque: bool
    """The log does not show the summary: what the recorded arm has lost is an upper bound, and means little."""
    tokens_before: int
    """Of the view just before, as far as logged."""
    tokens_after: int
    """Of what was left: summary and kept messages, as far as logged."""
    rewritten_tokens: int
    """Of the first call behind it, all that did not stand at the front of the call before."""
    summary_tokens: int
    """Of the summary, which a model had to write. What that model was sent is `tokens_before`."""
    unlogged_tokens: int | None
    """What the provider counted right after beyond what the log shows and beyond what it counted so at the session's
    start (system prompt, tools); None where the log has no usage."""
    rereads: Rereads
    """Of what stood in front and was no longer in view."""
    control: Rereads
    """The same in steps in front of the compaction, of what stood in view all the time: how much an agent reads again
    anyway."""
    arms: tuple[Arm, ...]
    """The recorded one first."""

    @property
    def bill(self) -> Bill:
        """The price of compacting: the summary call's prompt, cached, and the rewritten prefix."""
        return Bill(read_tokens=self.tokens_before, written_tokens=self.rewritten_tokens, extra_calls=1)

    def arm(self, name: str) -> Arm:
        return next(arm for arm in self.arms if arm.name == name)


def measure_compactions(
    recorded: Recorded,
    *,
    policies: Sequence[str] = ("auto", "window"),
    window_steps: int = WINDOW_STEPS,
    budget: str = "logged",
    ruler: Ruler | None = None,
    make: SessionMaker = foldaway_session,
) -> Iterator[Compaction]:
    """The compactions of one session whose replacement is logged and that a model call follows.

    Each policy walks the session from its start for each compaction: steps x compactions x policies views.
    Deterministic. Raises ValueError for an unknown `budget`.
    """
    if budget not in BUDGETS:
        raise ValueError(f"budget {budget!r}: expected {' or '.join(BUDGETS)}")
    if not any(at in recorded.summaries for at in recorded.compactions):
        return
    ruler = ruler or make_ruler(recorded)
    case = Case(recorded, ruler, steps_of(recorded), looks_of(recorded))
    for at in recorded.compactions:
        if at in recorded.summaries and case.window(at, window_steps):
            yield _measure(case, at, window_steps, policies, budget, make)


def _measure(
    case: Case, at: int, window_steps: int, policies: Sequence[str], budget: str, make: SessionMaker
) -> Compaction:
    window = case.window(at, window_steps)
    needs = Needs.of(case.ruler.labels, at, window)
    meter = Meter(case.ruler)
    recorded = case.recorded
    before = meter.read(case.view(case.previous(at), at), recorded.system, recorded.tools).tokens
    own, rewritten = recorded_arm(case, at, window, needs, meter, before)
    unlogged = _unlogged(case, window[0], own.tokens)
    allowed = own.tokens + (unlogged or 0 if budget == "reported" else 0)
    opaque = any(message.get("type") == "compaction" for message in recorded.summaries[at])
    return Compaction(
        session=recorded.name,
        agent=recorded.source_format,
        position=at,
        step=window[0].number,
        steps=len(window),
        opaque=opaque,
        tokens_before=before,
        tokens_after=Meter(case.ruler).read(case.view(at, at), recorded.system, recorded.tools).tokens,
        rewritten_tokens=rewritten,
        summary_tokens=0 if opaque else sum(case.ruler.message(m).tokens for m in case.fresh(at)),
        unlogged_tokens=unlogged,
        rereads=_rereads(case, at, window),
        control=_control(case, at, len(window)),
        arms=(own, *(policy_arm(case, window, needs, policy, allowed, make) for policy in policies)),
    )


def _rereads(case: Case, at: int, window: Sequence[Step]) -> Rereads:
    kept = "\n".join(map(message_text, case.recorded.summaries[at]))
    found = rereads(case.looks, range(at), range(at, window[-1].end), lambda line: line in kept)
    return _sum(case, found, len(window))


def _control(case: Case, at: int, most: int) -> Rereads:
    """The newer half of the steps since the compaction before, as far as `most`, against all since then."""
    steps = [step for step in case.steps if case.previous(at) <= step.start < at]
    steps = steps[len(steps) - min(most, len(steps) // 2) :]
    if not steps:
        return Rereads(0, 0, 0)
    start = steps[0].start
    found = rereads(case.looks, range(case.previous(at), start), range(start, at), lambda line: False)
    return _sum(case, found, len(steps))


def _sum(case: Case, found: Sequence[Reread], steps: int) -> Rereads:
    count = case.ruler.counter.counter.count
    return Rereads(len(found), sum(count(look.text) for look in found), steps)


def prompt_tokens(usage: Mapping[str, Any] | None) -> int | None:
    """Size of the prompt that a reported usage speaks of; pi writes `input`, `cacheRead` and `cacheWrite`."""
    if usage and "cacheRead" in usage:
        return sum(int(usage.get(key) or 0) for key in ("input", "cacheRead", "cacheWrite")) or None
    return reported_tokens(usage)


def _reported(case: Case, step: Step) -> int | None:
    found = (case.recorded.usage.get(at) for at in range(step.start, step.end))
    return next((tokens for usage in found if (tokens := prompt_tokens(usage))), None)


def _unlogged(case: Case, step: Step, logged: int) -> int | None:
    """Beyond the log right after a compaction, less the same of the session's first call."""
    start, after = _reported(case, case.steps[0]), _reported(case, step)
    if start is None or after is None:
        return None
    recorded = case.recorded
    opening = Meter(case.ruler).read(recorded.messages[: case.steps[0].start], recorded.system, recorded.tools).tokens
    return max(0, after - logged - max(0, start - opening))
