from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from foldaway.lab.as_chat import as_chat
from foldaway.lab.bench import synthetic
from foldaway.lab.equivalence import equivalence
from foldaway.lab.long_run import LongResult, run_long
from foldaway.lab.long_session import LongSession, join_tasks
from foldaway.lab.long_table import long_row, long_series, long_table
from foldaway.lab.needs import label
from foldaway.lab.replay import make_ruler, replay
from foldaway.lab.ruler import Ruler
from foldaway.lab.timeline import steps_of, timeline
from foldaway.model.recorded import Recorded
from foldaway.testing.histories import FORMATS, Call, Writer
from foldaway.wire import problems


def written(format: str) -> Recorded:
    """Two parallel calls, an answer in words, a call that uses what the first had returned."""
    writer = Writer(format)
    writer.user("Look at the rates.")
    writer.calls(
        Call(name="read_file", arguments={"path": "src/rates.py"}, result="tide_gauge = 8812"),
        Call(name="list_files", arguments={"path": "src"}, result="rates.py\nquay_plan.py", failed=True),
    )
    writer.say("Two files.")
    writer.user("Go on.")
    writer.call("read_file", "berth = 4", path="src/quay_plan.py")
    writer.call("search", "none", pattern="tide_gauge")
    return Recorded(name=f"made-{format}", source_format=format, format=format, messages=writer.messages)


@pytest.fixture(scope="module")
def long() -> LongSession:
    return join_tasks([synthetic(9), synthetic(12, lines=20), *map(written, FORMATS)])


@pytest.fixture(scope="module")
def result(long: LongSession) -> LongResult:
    return run_long(long, "auto", 6_000, apart=False)


def test_one_history_in_three_formats_becomes_the_same_chat() -> None:
    chats = [as_chat(written(format)) for format in FORMATS]
    assert all(chat.format == "openai_chat" for chat in chats)
    assert all(problems("openai_chat", chat.messages) == [] for chat in chats)
    texts = [[(said.type, said.text) for said in timeline(chat)] for chat in chats]
    assert texts[0] == texts[1] == texts[2]
    assert [len(step) for step in label(chats[1]).needs] == [len(step) for step in label(chats[0]).needs]
    assert [need.literal for need in label(chats[2]).needs[-1]] != []


def test_what_the_environment_says_in_a_message_of_its_own_stays_an_observation() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "I wait."},
        {"role": "user", "content": "task quay_plan_7 has finished"},
        {"role": "assistant", "content": "Good."},
    ]
    origins = ("", "", "environment", "")
    chat = as_chat(
        Recorded(name="a", source_format="test", format="anthropic_messages", messages=messages, origins=origins)
    )
    assert list(chat.messages) == messages
    assert chat.origins == origins


def test_words_and_calls_of_one_answer_are_one_message_and_one_call() -> None:
    def text(words: str) -> dict[str, Any]:
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}

    items: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        text("I look first."),
        {"type": "function_call", "call_id": "a", "name": "run", "arguments": '{"command": "ls"}'},
        {"type": "function_call_output", "call_id": "a", "output": "a.py"},
        text("Done."),
    ]
    given = Recorded(name="a", source_format="test", format="openai_responses", messages=items)
    chat = as_chat(given)
    assert len(steps_of(chat)) == len(steps_of(given)) == 2
    assert chat.messages[1]["content"] == "I look first."
    assert chat.messages[1]["tool_calls"][0]["id"] == "a"


def test_chat_stays_as_it_is_but_for_the_model() -> None:
    session = replace(written("openai_chat"), model="gpt-5")
    assert as_chat(session).messages is session.messages
    assert as_chat(session).model == ""


def test_a_prompt_beside_the_messages_becomes_the_first_and_reasoning_is_left_out() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "Go."}, {"type": "image", "source": {"type": "base64"}}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "secret_plan", "signature": "x"},
                {"type": "tool_use", "id": "t1", "name": "run", "input": {"command": "ls"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "a.py"},
                {"type": "text", "text": "And hurry."},
            ],
        },
        {"role": "assistant", "content": "Done."},
    ]
    given = Recorded(
        name="a", source_format="test", format="anthropic_messages", messages=messages, system="You are careful."
    )
    chat = as_chat(given)
    assert [message["role"] for message in chat.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]
    assert chat.messages[1]["content"] == "Go.\n\n[image]"
    assert chat.messages[2]["tool_calls"][0]["function"] == {"name": "run", "arguments": '{"command": "ls"}'}
    assert "secret_plan" not in json.dumps(list(chat.messages))


def test_tasks_follow_one_another_by_source_in_turn_and_cover_the_session(long: LongSession) -> None:
    sources = [span.source_format for span in long.spans]
    assert sources == ["anthropic_messages", "openai_chat", "openai_responses", "synthetic", "synthetic"]
    assert long.spans[0].start == 0
    assert long.spans[-1].end == len(long.recorded.messages)
    assert all(a.end == b.start and a.calls[1] == b.calls[0] for a, b in zip(long.spans, long.spans[1:], strict=False))
    assert len(steps_of(long.recorded)) == long.spans[-1].calls[1] == len(long.labels.needs)


def test_the_order_of_the_recordings_does_not_matter(long: LongSession) -> None:
    again = join_tasks([*map(written, reversed(FORMATS)), synthetic(12, lines=20), synthetic(9)])
    assert again.spans == long.spans
    assert again.recorded.messages == long.recorded.messages


def test_inside_the_long_session_the_same_needs_are_judged_at_shifted_positions(long: LongSession) -> None:
    said = timeline(long.recorded)
    for (task, labels), span in zip(long.tasks, long.spans, strict=True):
        alone = timeline(task)
        inside = long.labels.needs[slice(*span.calls)]
        for mine, theirs in zip(inside, labels.needs, strict=True):
            assert [long.labels.literals[n.literal] for n in mine] == [labels.literals[n.literal] for n in theirs]
            assert [n.newest - span.start for n in mine] == [n.newest for n in theirs]
            assert [said[n.supplier].text for n in mine] == [alone[n.supplier].text for n in theirs]


def test_a_system_prompt_comes_as_a_users_message_and_call_ids_stay_unique(long: LongSession) -> None:
    assert {message["role"] for message in long.recorded.messages} == {"user", "assistant", "tool"}
    assert sum("careful build engineer" in str(message["content"]) for message in long.recorded.messages) == 2
    calls = [call["id"] for message in long.recorded.messages for call in message.get("tool_calls", ())]
    assert len(calls) == len(set(calls)) > 20
    assert problems("openai_chat", long.recorded.messages) == []


def test_prompts_come_from_the_environment_or_else_from_a_person_and_the_needs_stay_the_same(long: LongSession) -> None:
    prompts = [at for at, m in enumerate(long.recorded.messages) if "careful build engineer" in str(m["content"])]
    assert [long.recorded.origins[at] for at in prompts] == ["environment", "environment"]
    assert sum(map(bool, long.recorded.origins)) == 2
    other = join_tasks([synthetic(9), synthetic(12, lines=20), *map(written, FORMATS)], prompts_from="")
    assert not other.recorded.origins
    assert other.labels == long.labels


def test_tasks_that_are_too_short_too_long_or_need_nothing_are_left_out() -> None:
    idle = Recorded(
        name="idle",
        source_format="idle",
        format="openai_chat",
        messages=[{"role": "user", "content": "Hi."}, *[{"role": "assistant", "content": "Yes."}] * 5],
    )
    with pytest.raises(ValueError, match="no task of 3 to 80 calls"):
        join_tasks([idle, synthetic(2)])
    assert [span.name for span in join_tasks([idle, synthetic(9), synthetic(12)], max_calls=10).spans] == [
        "synthetic-9"
    ]
    assert len(join_tasks([synthetic(9), synthetic(12)], tasks=1).spans) == 1


def test_the_long_session_scores_what_the_ordinary_replay_scores(long: LongSession, result: LongResult) -> None:
    ruler = make_ruler(long.recorded, long.labels)
    assert isinstance(ruler, Ruler)
    whole = replay(long.recorded, "auto", 6_000, ruler=ruler)
    for rule in ("loose", "strict", "values"):
        assert result.pooled(rule)[1] == whole.steps[rule]
    assert result.full_tokens == whole.full_tokens
    assert result.total_tokens == whole.total_tokens
    assert result.peak_tokens == whole.peak_tokens <= 6_000
    assert (result.over_silent, result.invalid_views) == (0, 0)


def test_each_task_alone_is_the_ordinary_replay_of_that_task(long: LongSession, result: LongResult) -> None:
    task, labels = long.tasks[-1]
    alone = replay(task, "auto", 6_000, ruler=make_ruler(task, labels))
    assert result.pairs[-1].alone == alone.steps
    assert result.alone_full_tokens < result.full_tokens
    tests = result.tests["loose"]
    differences = [pair.difference() for pair in result.pairs]
    assert tests.difference == pytest.approx(sum(d for d in differences if d is not None) / tests.tasks)


def test_tenths_cover_all_calls_and_the_series_has_a_value_a_call(result: LongResult) -> None:
    tenths = result.tenths
    assert [tenth.calls[0] for tenth in tenths] == [0, *(tenth.calls[1] for tenth in tenths[:-1])]
    assert tenths[-1].calls[1] == result.calls
    assert tenths[-1].full_tokens == max(result.series.full_tokens)
    assert {len(values) for values in long_series(result).values()} == {result.calls}


def test_the_table_and_the_rows_say_the_same(result: LongResult) -> None:
    row = json.loads(json.dumps(long_row(result)))
    assert row["tests"]["loose"]["pooled_inside"]["total"] == result.pooled()[1].total
    table = long_table([result])
    assert f"{result.peak_tokens}" in table
    assert row["worst"] in table
    assert table.count("auto ") == 1 + 4 + len(result.tenths)


def test_a_policy_that_sees_only_the_newest_loses_inside_and_is_named(
    long: LongSession, newest: Callable[..., Any]
) -> None:
    found = run_long(long, "newest", 6_000, make=lambda *_: newest(keep=2), apart=False)
    assert found.worst is not None
    inside, alone = found.pooled()[1], found.pooled()[0]
    assert inside.visible <= alone.visible < alone.total
    assert not found.tests["loose"].equivalent or found.worst.difference() == 0.0


def test_time_and_memory_come_from_a_process_of_their_own() -> None:
    found = run_long(join_tasks([synthetic(8)]), "window", 4_000)
    assert len(found.series.ms) == found.calls == 8
    assert all(5 < mb < 10_000 for mb in found.series.rss_mb)


def test_equal_rates_are_equivalent_and_a_loss_of_five_points_is_not() -> None:
    rates = [0.5 + n / 400 for n in range(100)]
    same = equivalence(rates, rates)
    assert same.equivalent
    assert (same.low, same.difference, same.high) == (0.0, 0.0, 0.0)
    worse = equivalence(rates, [rate - 0.05 for rate in rates])
    assert not worse.non_inferior
    assert worse.p_worse == 1.0
    better = equivalence(rates, [rate + 0.05 for rate in rates])
    assert better.non_inferior
    assert not better.equivalent


def test_a_small_mean_loss_that_varies_much_is_not_shown_to_be_none() -> None:
    first = [0.5] * 20
    second = [0.5 + (0.3 if n % 2 else -0.32) for n in range(20)]
    found = equivalence(first, second)
    assert found.difference == pytest.approx(-0.01)
    assert found.low < -0.02 < found.difference
    assert not found.non_inferior
    assert found == equivalence(first, second)


def test_the_interval_agrees_with_the_normal_one_where_that_holds() -> None:
    second = [0.5 + (n % 11 - 5) / 100 for n in range(110)]
    found = equivalence([0.5] * 110, second)
    half = 1.645 * (0.001 / 110) ** 0.5  # variance of -0.05 .. 0.05 in steps of 0.01
    assert found.low == pytest.approx(-half, abs=0.0006)
    assert found.high == pytest.approx(half, abs=0.0006)


def test_rates_that_do_not_pair_and_a_margin_of_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="one pair a task"):
        equivalence([0.5], [])
    with pytest.raises(ValueError, match="above 0"):
        equivalence([0.5], [0.5], margin=0.0)
    assert not equivalence([], []).non_inferior
