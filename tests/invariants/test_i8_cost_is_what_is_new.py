"""I8: the work of a call depends on what is new, not on the length of the session. Counted, not timed."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from foldaway import Session
from foldaway.linking.anchors import AnchorKind, anchors
from foldaway.model.wire import Message
from foldaway.settings.parts import policy_names
from foldaway.testing.histories import FORMATS, working_session
from foldaway.tokens import RequestCounter, get_counter


@dataclass
class Work:
    """Counts what a call makes the session read."""

    messages: int = 0
    anchored: int = 0
    per_call: list[int] = field(default_factory=list)

    def find(self, text: str) -> dict[str, AnchorKind]:
        self.anchored += 1
        return anchors(text)


def work_per_call(policy: str, format: str, steps: int) -> list[int]:
    """Messages counted and texts searched for anchors, for each step of a session."""
    work = Work()

    class Counting(RequestCounter):
        def message(self, message: Message) -> int:
            work.messages += 1
            return super().message(message)

    session = Session(
        format=format, budget=2500, policy=policy, counter=Counting(get_counter("", format), format),
        find_anchors=work.find,
    )  # fmt: skip
    history = working_session(format, steps)
    for at in range(0, len(history), 10):
        before = work.messages + work.anchored
        session.append(history[at : at + 10])
        session.view()
        work.per_call.append(work.messages + work.anchored - before)
    return work.per_call


@pytest.mark.parametrize("policy", policy_names())
def test_late_calls_read_no_more_than_early_ones(policy: str) -> None:
    work = work_per_call(policy, "openai_chat", 240)
    early, late = work[len(work) // 4 : len(work) // 2], work[-len(work) // 4 :]
    assert sum(late) / len(late) < 1.5 * sum(early) / len(early)


@pytest.mark.parametrize("format", FORMATS)
def test_a_call_with_nothing_new_reads_nothing(format: str) -> None:
    work = Work()
    session = Session(format=format, budget=2500, policy="window", find_anchors=work.find)
    session.append(working_session(format, 40))
    session.view()
    before = work.anchored
    for _ in range(5):
        session.view()
    assert work.anchored == before


def test_sending_a_history_again_writes_nothing() -> None:
    session = Session(budget=2500, policy="window")
    history = working_session("openai_chat", 30)
    assert session.sync(history) == len(history)
    assert session.sync(history) == 0
    assert len(session.engine.log.raws) == len(history)
