from __future__ import annotations

import json
from collections.abc import Callable

from foldaway.lab.needs import label
from foldaway.lab.oracle.policy import Future, oracle_session
from foldaway.lab.replay import replay
from foldaway.lab.timeline import steps_of
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.testing.histories import prose

Maker = tuple[Callable[..., Message], Callable[[int, str], Message]]


def recorded_with(tool: Maker, build: Callable[..., Recorded], passage: str, needed: object) -> Recorded:
    """A large result that holds `passage`, six results of no use, then a call whose argument is `needed`."""
    call, result = tool
    messages: list[Message] = [{"role": "user", "content": "Look."}, call(0, command="cat rates")]
    messages.append(result(0, f"{prose(700)}\n{passage}\n{prose(700, 3)}"))
    for number in range(1, 7):
        messages += [call(number, command="ls"), result(number, prose(600, number))]
    messages += [call(7, old_string=needed), result(7, "done"), call(8, command="echo")]
    return build(*messages)


def test_the_future_is_what_is_needed_from_now_on_and_known_already(small: Recorded) -> None:
    future = Future.of(small, label(small))
    starts = [step.start for step in steps_of(small)]
    named = [[(step, future.literals[n]) for step, n in future.wanted(start)] for start in starts]
    assert named[0] == []
    assert named[1] == [(2, "src/tool_box.py")]
    assert named[2] == [(2, "src/tool_box.py"), (3, "9f2ac6f3aa")]
    assert named[3] == [(3, "9f2ac6f3aa")]
    assert named[4] == []
    assert future.calls_left(starts[3]) == 2


def test_what_a_late_step_needs_stays_named_when_its_item_is_folded(
    tool: Maker, build: Callable[..., Recorded]
) -> None:
    recorded = recorded_with(tool, build, "berth_plan_17", "berth_plan_17")
    window = replay(recorded, "window", 4_000, make=oracle_session)
    oracle = replay(recorded, "oracle", 4_000, make=oracle_session)
    assert (window.steps["loose"].visible, oracle.steps["loose"].visible) == (0, 1)
    assert oracle.commits > 0


def test_a_line_that_no_note_can_name_keeps_its_lines_of_the_result(
    tool: Maker, build: Callable[..., Recorded]
) -> None:
    line = "rate  =  " + " + ".join(f"part_{n}" for n in range(60))
    recorded = recorded_with(tool, build, line, line)
    oracle = replay(recorded, "oracle", 4_000, make=oracle_session)
    assert oracle.steps["loose"].visible == oracle.steps["loose"].total == 1
    session = oracle_session(recorded, "oracle", 4_000)
    session.append(recorded.messages[: steps_of(recorded)[-2].start])
    text = json.dumps(session.view().messages)
    assert "part_59" in text
    assert text.count("harbour") < json.dumps(recorded.messages).count("harbour") / 3


def test_two_replays_of_the_oracle_are_the_same(tool: Maker, build: Callable[..., Recorded]) -> None:
    recorded = recorded_with(tool, build, "berth_plan_17", "berth_plan_17")
    first, again = (replay(recorded, "oracle", 4_000, make=oracle_session) for _ in range(2))
    assert (first.bill, first.steps, first.commits) == (again.bill, again.steps, again.commits)
