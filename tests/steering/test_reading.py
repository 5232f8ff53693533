from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.errors import AskError
from foldaway.model.plan import Action, PlanEntry
from foldaway.steering import read_answer

ENTRY = {"action": "fold", "targets": [3, 4], "reason": "done with"}
GOOD = {"summary": "Berths.", "plan": [ENTRY, {"action": "prune", "targets": [], "reason": ""}]}
READ = (
    "Berths.",
    (
        PlanEntry(action=Action.FOLD, targets=(3, 4), reason="done with"),
        PlanEntry(action=Action.PRUNE, targets=(), reason=""),
    ),
)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        json.dumps(GOOD, indent=2),
        f"```json\n{json.dumps(GOOD)}\n```",
        f"Here is the plan:\n```\n{json.dumps(GOOD, indent=1)}\n```\nThat frees most.",
        f"<think>What {{is}} old?</think>\n{json.dumps(GOOD)}",
    ],
)
def test_one_json_object_is_read_bare_or_in_a_fence(text: str) -> None:
    assert read_answer(text) == READ


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ("<think>only thoughts</think>", "empty"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        ("抱歉，我无法完成这个请求。", "refusal"),
        ("Let us fold items 3 and 4.", "malformed"),
        (f"Sure: {json.dumps(GOOD)}", "malformed"),
        (f"{json.dumps(GOOD)}\n{json.dumps(GOOD)}", "malformed"),
        (f"```\n{json.dumps(GOOD)}\n```\n```\n{json.dumps(GOOD)}\n```", "malformed"),
        (json.dumps(GOOD)[:-3], "malformed"),
        ("[" * 100_000, "malformed"),
        ("x" * 200_001, "too-large"),
        (json.dumps({"summary": "", "plan": [ENTRY] * 1_001}), "too-large"),
        (json.dumps({"summary": "", "plan": [{**ENTRY, "targets": list(range(5_001))}]}), "too-large"),
    ],
)
def test_anything_else_is_an_error_of_its_kind(text: str, kind: str) -> None:
    with pytest.raises(AskError) as caught:
        read_answer(text)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ([], "the answer: expected an object"),
        ({**GOOD, "note": ""}, "plan, summary and no more"),
        ({"plan": []}, "plan, summary"),
        ({**GOOD, "plan": {}}, "plan as a list"),
        ({**GOOD, "summary": 3}, "summary as text"),
        ({**GOOD, "plan": [3]}, "entry 0: expected an object"),
        ({**GOOD, "plan": [ENTRY, {"action": "fold", "targets": []}]}, "entry 1: expected"),
        ({**GOOD, "plan": [{**ENTRY, "action": "delete"}]}, "action of keep, mask"),
        ({**GOOD, "plan": [{**ENTRY, "action": ["fold"]}]}, "action of keep, mask"),
        ({**GOOD, "plan": [{**ENTRY, "targets": 3}]}, "whole numbers"),
        ({**GOOD, "plan": [{**ENTRY, "targets": ["3"]}]}, "whole numbers"),
        ({**GOOD, "plan": [{**ENTRY, "targets": [True]}]}, "whole numbers"),
        ({**GOOD, "plan": [{**ENTRY, "targets": [1.5]}]}, "whole numbers"),
        ({**GOOD, "plan": [{**ENTRY, "reason": None}]}, "reason as text"),
    ],
)
def test_what_is_not_of_the_schema_is_told_with_its_place(found: Any, why: str) -> None:
    with pytest.raises(AskError, match=why) as caught:
        read_answer(json.dumps(found))
    assert caught.value.kind == "malformed"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["summary", "plan", "action", "targets", "reason", "x"]), inner, max_size=4
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON | st.text(max_size=60), st.booleans())
def test_no_answer_raises_anything_else(found: Any, fenced: bool) -> None:
    text = found if isinstance(found, str) else json.dumps(found)
    kind = ""
    try:
        summary, entries = read_answer(f"```json\n{text}\n```" if fenced else text)
    except AskError as error:
        kind = error.kind
    if not kind:
        assert isinstance(summary, str)
        assert all(isinstance(entry.action, Action) for entry in entries)
    assert kind in ("", "empty", "refusal", "malformed")


def test_reading_takes_linear_time_on_hostile_text() -> None:
    for hostile in ("<think>" * 20_000, "```\n" * 40_000, "{" * 150_000, "<think>" + "a" * 190_000):
        with pytest.raises(AskError):
            read_answer(hostile)
