"""Recorded compactions: what was kept, what was lost, what it cost, and a session beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import foldaway
from foldaway.errors import OverBudget
from foldaway.lab.compaction_arms import RECORDED
from foldaway.lab.compaction_report import READABLE, compaction_report
from foldaway.lab.compaction_table import compaction_rows, compaction_table
from foldaway.lab.compactions import Compaction, measure_compactions, prompt_tokens
from foldaway.lab.replay import foldaway_session
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.readers import read_sessions

Build = Callable[..., Recorded]
Tool = tuple[Callable[..., Message], Callable[[int, str], Message]]
BODY = "\n".join(f"row {n} of the listing, quite long enough to tell" for n in range(8))
SUMMARY = {"role": "user", "content": "Earlier: src/tool_box.py was found to be broken."}
"""Keeps one of the two names that the steps behind it need."""


def session(build: Build, tool: Tool, *, kept: tuple[Message, ...] = (SUMMARY,), **fields: Any) -> Recorded:
    """Two calls in front of the compaction at 6; behind it one need the summary kept, one it lost, one read again."""
    call, result = tool
    fields = {"compactions": (6,), "summaries": {6: kept}} | fields
    return build(
        {"role": "system", "content": "You fix_things."},
        {"role": "user", "content": "Look at main_entry."},
        call(0, command="ls src"),
        result(0, "src/tool_box.py\nsrc/other_file.py\n" + BODY),
        call(1, command="git log"),
        result(1, "9f2ac6f3aa first commit"),
        call(2, command="cat src/tool_box.py"),
        result(2, "def open_box(): pass"),
        call(3, command="git show 9f2ac6f3aa"),
        result(3, "diff"),
        call(4, command="ls src"),
        result(4, "src/tool_box.py\nsrc/other_file.py\n" + BODY),
        call(5, command="cat src/other_file.py"),
        **fields,
    )


@pytest.fixture
def measured(build: Build, tool: Tool) -> Compaction:
    (found,) = measure_compactions(session(build, tool))
    return found


def test_needs_are_held_lost_or_supplied_again_before_their_first_use(measured: Compaction) -> None:
    own = measured.arm(RECORDED)
    held, again = own.held["loose"], own.again["loose"]
    assert (measured.step, measured.steps) == (2, 4)
    assert (held.total, held.visible) == (2, 1)
    assert (again.total, again.visible) == (1, 0)
    assert (own.kept("loose").total, own.steps["loose"].total, own.steps["loose"].visible) == (3, 2, 1)


def test_what_was_read_again_is_told_with_its_tokens_and_the_steps_it_took(measured: Compaction) -> None:
    assert measured.rereads.calls == 1
    assert measured.rereads.tokens > 50
    assert (measured.rereads.steps, measured.control.calls, measured.control.steps) == (4, 0, 1)


def test_the_price_is_the_rewritten_prefix_and_the_view_that_the_summary_call_was_sent(measured: Compaction) -> None:
    own = measured.arm(RECORDED)
    assert measured.tokens_before > measured.tokens_after == measured.rewritten_tokens == own.tokens
    assert 0 < measured.summary_tokens <= measured.tokens_after
    assert measured.bill.cost() == 0.1 * measured.tokens_before + 1.25 * measured.rewritten_tokens
    assert own.bill.written_tokens > measured.rewritten_tokens
    # The summary call reads the view before, each of the three later calls the one in front of it.
    assert own.bill.read_tokens > measured.tokens_before + 3 * measured.tokens_after


def test_policies_get_the_same_number_of_tokens_and_are_judged_on_the_same_needs(build: Build, tool: Tool) -> None:
    budgets: list[int] = []

    def make(recorded: Recorded, policy: str, budget: int) -> Any:
        budgets.append(budget)
        return foldaway_session(recorded, policy, budget)

    (found,) = measure_compactions(session(build, tool), policies=("auto", "lru"), make=make)
    own = found.arm(RECORDED)
    assert budgets == [own.tokens, own.tokens]
    for name in ("auto", "lru"):
        arm = found.arm(name)
        assert (arm.held["loose"].total, arm.again["loose"].total, arm.error) == (2, 1, "")
        assert arm.tokens - arm.over_tokens <= own.tokens


def test_a_session_that_shows_everything_holds_every_need_and_one_that_shows_the_newest_loses_them(
    build: Build, tool: Tool, newest: Callable[..., Any]
) -> None:
    (all_kept,) = measure_compactions(session(build, tool), policies=("x",), make=lambda r, p, b: newest(100))
    (few,) = measure_compactions(session(build, tool), policies=("x",), make=lambda r, p, b: newest(1))
    (led,) = measure_compactions(session(build, tool), policies=("x",), make=lambda r, p, b: newest(1, stubs=True))
    assert all_kept.arm("x").kept("loose").visible_rate == 1.0
    assert all_kept.arm("x").bill.extra_calls == 0
    # The newest message in front of the compaction is the log with the commit.
    assert (few.arm("x").held["loose"].visible, few.arm("x").walked["loose"].visible) == (1, 0)
    assert few.arm("x").held["loose"].reachable == 1
    assert led.arm("x").held["loose"].reachable == 2
    assert few.arm("x").bill.extra_calls > 0


def test_the_window_ends_at_the_next_compaction_or_after_its_steps(build: Build, tool: Tool) -> None:
    twice = session(build, tool, compactions=(6, 10), summaries={6: (SUMMARY,), 10: (SUMMARY,)})
    assert [(c.position, c.step, c.steps) for c in measure_compactions(twice)] == [(6, 2, 2), (10, 4, 2)]
    assert [c.steps for c in measure_compactions(session(build, tool), window_steps=3)] == [3]


def test_the_view_before_a_later_compaction_is_the_earlier_summary_and_what_came_since(
    build: Build, tool: Tool
) -> None:
    twice = session(build, tool, compactions=(6, 10), summaries={6: (SUMMARY,), 10: (SUMMARY,)})
    first, second = measure_compactions(twice)
    assert second.tokens_before < first.tokens_before


def test_kept_messages_at_the_front_are_no_rewritten_prefix(build: Build, tool: Tool) -> None:
    whole = session(build, tool)
    (found,) = measure_compactions(session(build, tool, kept=(*whole.messages[:2], SUMMARY)))
    assert 0 < found.rewritten_tokens < found.tokens_after


def test_a_summary_that_the_log_does_not_show_is_opaque_and_out_of_the_readable_pool(build: Build, tool: Tool) -> None:
    hidden = session(build, tool, kept=({"role": "user", "content": "Look at main_entry."}, {"type": "compaction"}))
    report = compaction_report([hidden])
    assert (report.compactions[0].opaque, report.compactions[0].summary_tokens) == (True, 0)
    assert [pool.agent for pool in report.pooled] == ["test"]


def test_what_the_provider_counted_beyond_the_log_is_told_and_can_be_given_to_policies(
    build: Build, tool: Tool
) -> None:
    plain = session(build, tool)
    assert [c.unlogged_tokens for c in measure_compactions(plain)] == [None]
    (bare,) = measure_compactions(plain)
    # 500 more than logged at the start (tools, say), 700 more behind the compaction.
    opening = next(measure_compactions(session(build, tool, compactions=(2,), summaries={2: ()})))
    usage = {2: {"prompt_tokens": opening.tokens_before + 500}, 6: {"prompt_tokens": bare.tokens_after + 700}}
    told = session(build, tool, usage=usage)
    (found,) = measure_compactions(told, budget="reported")
    assert found.unlogged_tokens == 200
    assert found.arm("auto").budget_tokens == bare.tokens_after + 200
    with pytest.raises(ValueError, match="logged or reported"):
        list(measure_compactions(told, budget="guessed"))


def test_the_prompt_is_told_from_each_providers_usage() -> None:
    assert prompt_tokens({"input": 3, "cacheRead": 10, "cacheWrite": 2, "output": 9}) == 15
    assert prompt_tokens({"input_tokens": 3, "cache_read_input_tokens": 10}) == 13
    assert prompt_tokens(None) is None


def test_a_session_that_can_send_nothing_is_told_and_left_out_of_the_pool(
    build: Build, tool: Tool, newest: Callable[..., Any]
) -> None:
    class Refusing(newest):  # type: ignore[misc, valid-type]
        def view(self) -> Any:
            raise OverBudget("too small", missing_tokens=1, largest=())

    report = compaction_report([session(build, tool)], policies=("x",), make=lambda r, p, b: Refusing(1))
    assert (report.pooled[0].compactions, report.pooled[0].failed, report.pooled[0].arms) == (0, 1, ())
    assert "too small" in compaction_table(report)
    assert compaction_rows(report)["compactions"][0]["arms"][1]["error"].startswith("OverBudget")


def test_pools_sum_needs_and_count_who_kept_more(build: Build, tool: Tool, newest: Callable[..., Any]) -> None:
    one = session(build, tool)
    report = compaction_report([one, one], policies=("all",), make=lambda r, p, b: newest(100))
    by_agent, readable = report.pooled
    assert (by_agent.agent, by_agent.compactions, by_agent.sessions, readable.agent) == ("test", 2, 1, READABLE)
    assert [arm.kept("loose").total for arm in by_agent.arms] == [6, 6]
    assert by_agent.against["loose"] == {"all": (2, 0, 0)}


def test_the_table_and_the_rows_tell_the_same_and_can_be_written_as_json(build: Build, tool: Tool) -> None:
    report = compaction_report([session(build, tool)])
    text, rows = compaction_table(report), json.loads(json.dumps(compaction_rows(report)))
    assert (
        rows["pooled"][0]["arms"][0]["kept"]["loose"] | {"total": 3, "visible": 1}
        == (rows["pooled"][0]["arms"][0]["kept"]["loose"])
    )
    assert "33.3" in text
    assert rows["compactions"][0]["rereads"]["calls"] == 1
    assert compaction_rows(compaction_report([session(build, tool)])) == compaction_rows(report)


def test_sessions_without_a_compaction_give_an_empty_report(small: Recorded) -> None:
    report = compaction_report([small])
    assert (report.compactions, report.pooled) == ((), ())
    assert compaction_table(report).startswith("No recorded compactions")


def bundled() -> Iterator[Recorded]:
    folder = Path(foldaway.__file__).parent / "data" / "sessions"
    yield from read_sessions(folder / "openhands-6e5782946284.jsonl.gz")


def test_a_real_condensation_is_measured_beside_auto_at_the_same_tokens() -> None:
    (found,) = compaction_report(bundled(), policies=("auto",)).compactions
    own, auto = found.arms
    assert (found.agent, found.position, found.steps, found.opaque) == ("openhands", 82, 19, False)
    assert found.tokens_before > 2 * found.tokens_after > 0
    assert found.rewritten_tokens < found.tokens_after
    assert auto.tokens <= auto.budget_tokens == own.tokens
    assert own.kept("loose").total == auto.kept("loose").total >= 8
    assert own.kept("loose").visible < own.kept("loose").total
