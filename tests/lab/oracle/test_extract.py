from __future__ import annotations

from collections.abc import Callable

from foldaway.lab.oracle.bound import forced_tokens, visible_bound
from foldaway.lab.oracle.extract import problem_of
from foldaway.lab.replay import make_ruler
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.testing.histories import prose

Maker = tuple[Callable[..., Message], Callable[[int, str], Message]]


def test_needs_lead_to_the_items_that_hold_them(small: Recorded) -> None:
    ruler = make_ruler(small)
    problem = problem_of(small, 10_000, ruler=ruler)
    assert [call.counts for call in problem.calls] == [False, False, True, True, False]
    third, fourth = problem.calls[2].needs[0], problem.calls[3].needs[0]
    names = {ruler.labels.literals[n]: literal for n, literal in enumerate(problem.literals)}
    assert problem.literals[third.literal] == names["src/tool_box.py"]
    assert problem.literals[fourth.literal] == names["9f2ac6f3aa"]
    # The path stands in the first result and, later, in the agent's own call.
    assert [problem.items[holder].enters for holder in names["src/tool_box.py"].holders] == [1, 3]
    assert third.recall_tokens == ruler.supplier_tokens(ruler.labels.needs[2][0])


def test_system_prompt_and_task_are_pinned_and_the_newest_exchange_is_the_last_turn(small: Recorded) -> None:
    problem = problem_of(small, 10_000)
    assert [item.pinned for item in problem.items[:2]] == [True, True]
    assert not any(item.pinned for item in problem.items[2:])
    assert [sorted(problem.items[n].enters for n in call.protected) for call in problem.calls[1:]] == [
        [1],
        [2],
        [3],
        [4],
    ]
    assert forced_tokens(problem)[0] > 0


def test_a_last_turn_that_pins_leave_no_room_for_is_not_forced(tool: Maker, build: Callable[..., Recorded]) -> None:
    call, result = tool
    giant = f"berth_plan_17 {prose(3_000)}"
    task: Message = {"role": "user", "content": "Look."}
    recorded = build(task, call(0, command="cat"), result(0, giant), call(1, command="berth_plan_17"))
    wide, tight = problem_of(recorded, 20_000), problem_of(recorded, 2_000)
    assert (len(wide.calls[1].protected), len(wide.calls[1].needs)) == (1, 1)
    assert (tight.calls[1].protected, tight.calls[1].needs) == (frozenset(), ())
    assert tight.calls[1].counts
    assert visible_bound(tight).total == 1


def test_user_words_past_their_share_of_the_room_are_no_longer_pinned(
    tool: Maker, build: Callable[..., Recorded]
) -> None:
    call, result = tool
    messages: list[Message] = [{"role": "user", "content": "Look at the rates."}]
    for number in range(5):
        messages += [call(number, command="ls"), result(number, "ok"), {"role": "user", "content": prose(300, number)}]
    messages.append(call(5, command="ls"))
    wide, tight = problem_of(build(*messages), 50_000), problem_of(build(*messages), 2_000)
    assert {item.unpinned_from for item in wide.items} == {None}
    free_from = {item.unpinned_from for item in tight.items if item.pinned}
    assert None in free_from, "the task itself stays"
    assert len(free_from) == 2
    assert forced_tokens(tight)[-1] < forced_tokens(wide)[-1]


def test_a_rule_of_counting_leaves_needs_out_but_no_call(small: Recorded) -> None:
    loose, values = problem_of(small, 10_000), problem_of(small, 10_000, rule="strict-values")
    assert len(loose.calls) == len(values.calls)
    assert sum(len(c.needs) for c in values.calls) <= sum(len(c.needs) for c in loose.calls)
