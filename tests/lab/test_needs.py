from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from foldaway.lab import needs as needs_module
from foldaway.lab.literals import LiteralKind
from foldaway.lab.needs import RARE_SOURCES, LabelCache, Labels, age_bucket, content_hash, label
from foldaway.model.recorded import Recorded

Build = Callable[..., Recorded]
Tool = tuple[Callable[..., dict[str, Any]], Callable[[int, str], dict[str, Any]]]
PROMPT = ({"role": "system", "content": "s"}, {"role": "user", "content": "task about known_name"})


def needed(labels: Labels) -> list[list[str]]:
    return [[labels.literals[n.literal] for n in step] for step in labels.needs]


def test_a_literal_an_observation_supplied_is_needed(small: Recorded) -> None:
    labels = label(small)
    assert needed(labels) == [[], [], ["src/tool_box.py"], ["9f2ac6f3aa"], []]
    (path,), (commit,) = labels.needs[2:4]
    assert (path.kind, path.first, path.newest, path.age) == (LiteralKind.PATH, 3, 3, 1)
    assert (commit.kind, commit.newest, commit.age) == (LiteralKind.HASH, 5, 1)


def test_what_the_standing_prompt_names_is_no_need(build: Build, tool: Tool) -> None:
    call, result = tool
    tools = [{"type": "function", "function": {"name": "f", "description": "reads file_of_tools"}}]
    again = call(1, a="known_name", b="file_of_tools")
    recorded = build(*PROMPT, call(0, c="ls"), result(0, "known_name file_of_tools"), again, tools=tools)
    assert needed(label(recorded)) == [[], []]


def test_what_the_agent_made_up_is_no_need_though_a_result_echoes_it(build: Build, tool: Tool) -> None:
    call, result = tool
    recorded = build(*PROMPT, call(0, c="touch new_file_1"), result(0, "made new_file_1"), call(1, c="rm new_file_1"))
    assert needed(label(recorded)) == [[], []]


def test_a_pattern_the_agent_escaped_itself_is_no_need_when_it_is_echoed(build: Build, tool: Tool) -> None:
    call, result = tool
    pattern = "grep 'first thing\\|second thing'"
    recorded = build(*PROMPT, call(0, c=pattern), result(0, f"no match: {pattern}"), call(1, c=pattern))
    assert needed(label(recorded)) == [[], []]


def test_what_a_user_said_is_no_need_and_what_a_user_pasted_is(build: Build, tool: Tool) -> None:
    call, _ = tool
    paste = "log line\n" * 200 + "at frame_77"
    recorded = build(
        *PROMPT,
        {"role": "assistant", "content": "yes?"},
        {"role": "user", "content": "use order_12"},
        {"role": "user", "content": paste},
        call(0, c="find order_12 frame_77"),
    )
    assert needed(label(recorded)) == [[], ["frame_77"]]


def test_the_agents_talk_is_no_action_where_it_has_tools(build: Build, tool: Tool) -> None:
    call, result = tool
    recorded = build(
        *PROMPT, call(0, c="ls"), result(0, "src/a_b.py"), {"role": "assistant", "content": "see src/a_b.py"}
    )
    assert needed(label(recorded)) == [[], []]


def test_code_in_the_text_is_the_action_of_an_agent_without_tools(build: Build) -> None:
    recorded = build(
        *PROMPT,
        {"role": "assistant", "content": "```\nls\n```"},
        {"role": "user", "content": "src/a_b.py src/c_d.py"},
        {"role": "assistant", "content": "Not src/c_d.py but\n```\ncat src/a_b.py\n```"},
        origins=("", "", "", "environment", ""),
    )
    assert needed(label(recorded)) == [[], ["src/a_b.py"]]


def test_a_path_is_supplied_by_its_longest_tail_that_was_seen(build: Build, tool: Tool) -> None:
    call, result = tool
    recorded = build(*PROMPT, call(0, c="ls"), result(0, "./pkg/mod.py"), call(1, c="cat /testbed/pkg/mod.py"))
    assert needed(label(recorded)) == [[], ["pkg/mod.py"]]


def test_lines_of_an_edit_are_needed_through_line_numbers_and_escapes(build: Build, tool: Tool) -> None:
    call, result = tool
    old = '    print("one value\\n")\n    return the_value'
    recorded = build(
        *PROMPT,
        call(0, c="cat"),
        result(0, '   7\tdef f():\n   8\t    print("one value\\n")\n   9\t    return the_value'),
        call(1, old_string=old, new_string="pass"),
    )
    assert needed(label(recorded)) == [[], ['print("one value\\n")', "return the_value"]]


def test_age_counts_from_the_newest_supplier_and_the_first_is_kept(build: Build, tool: Tool) -> None:
    call, result = tool
    recorded = build(
        *PROMPT,
        call(0, c="a"),
        result(0, "id_4711"),
        call(1, c="b"),
        result(1, "id_4711 again"),
        call(2, c="c"),
        result(2, "nothing"),
        call(3, c="use id_4711"),
    )
    (need,) = label(recorded).needs[3]
    assert (need.first, need.newest, need.age) == (3, 5, 1)


@pytest.mark.parametrize(("times", "strict"), [(RARE_SOURCES, True), (RARE_SOURCES + 1, False)])
def test_a_literal_seen_often_is_a_loose_need_only(build: Build, tool: Tool, times: int, strict: bool) -> None:
    call, result = tool
    seen = [m for i in range(times) for m in (call(i, c="x"), result(i, "id_4711"))]
    (need,) = label(build(*PROMPT, *seen, call(9, c="use id_4711"))).needs[-1]
    assert need.strict is strict


@pytest.mark.parametrize(
    ("age", "bucket"), [(0, "<=3"), (3, "<=3"), (4, "4-10"), (10, "4-10"), (25, "11-25"), (26, ">25")]
)
def test_ages_fall_into_the_buckets_of_the_spec(age: int, bucket: str) -> None:
    assert age_bucket(age) == bucket


def test_a_session_without_steps_has_no_needs(build: Build) -> None:
    assert label(build(*PROMPT)) == Labels((), ())


def test_labels_come_back_from_disk_as_they_went(small: Recorded, tmp_path: Path, monkeypatch: Any) -> None:
    made = LabelCache(tmp_path).get(small)
    monkeypatch.setattr(needs_module, "label", lambda _: pytest.fail("labelled again"))
    assert LabelCache(tmp_path).get(small) == made
    assert made == label(small)


def test_a_broken_cache_file_is_made_again(small: Recorded, tmp_path: Path) -> None:
    made = LabelCache(tmp_path).get(small)
    (file,) = tmp_path.iterdir()
    file.write_text('{"literals": [', "utf-8")
    assert LabelCache(tmp_path).get(small) == made


def test_the_hash_depends_on_content_and_not_on_the_name(small: Recorded) -> None:
    assert content_hash(replace(small, name="other")) == content_hash(small)
    assert content_hash(replace(small, messages=small.messages[:-1])) != content_hash(small)
    assert content_hash(replace(small, origins=("environment",) * 11)) != content_hash(small)
