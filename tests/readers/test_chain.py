"""Several sessions as one working day."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from foldaway.model.recorded import Problem, Recorded
from foldaway.readers import chain, read_sessions


def chat(name: str, system: str, ident: str, **extra: Any) -> Recorded:
    called = {"id": ident, "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": system},
        {"role": "user", "content": name},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": ident, "content": "a.py"},
    ]
    return Recorded(name=name, source_format="plain", format="openai_chat", messages=messages, **extra)


def test_a_repeated_system_prompt_goes_once_and_another_one_stays_in_place() -> None:
    day = chain([chat("a", "s1", "1"), chat("b", "s1", "2"), chat("c", "s2", "3")], "day")
    assert [m["content"] for m in day.messages if m["role"] == "system"] == ["s1", "s2"]
    assert [part["start"] for part in day.meta["parts"]] == [0, 4, 7]
    assert len(day.messages) == 11


def test_call_ids_are_unique_and_results_follow_their_calls() -> None:
    parts = [chat("a", "s", "x"), chat("b", "s", "x"), chat("c", "s", "x-2")]
    before = copy.deepcopy(parts)
    day = chain(parts, "day")
    calls = [call["id"] for m in day.messages for call in m.get("tool_calls", ())]
    assert calls == [m["tool_call_id"] for m in day.messages if m["role"] == "tool"]
    assert len(set(calls)) == 3
    assert parts == before


def test_ids_that_one_session_used_twice_are_told_apart_too() -> None:
    one = chat("a", "s", "x")
    twice = Recorded(name="t", source_format="plain", format="openai_chat", messages=[*one.messages, *one.messages[2:]])
    day = chain([twice], "day")
    assert [m["tool_call_id"] for m in day.messages if m["role"] == "tool"] == ["x", "x-2"]


def test_positions_of_usage_compactions_origins_and_problems_move_along() -> None:
    problem = Problem(file="f", line=3, what="w")
    second = chat(
        "b",
        "s",
        "2",
        usage={2: {"n": 1}},
        compactions=(3,),
        forgotten={3: (0, 1)},
        origins=("", "environment", "", ""),
        problems=(problem,),
    )
    day = chain([chat("a", "s", "1"), second], "day")
    assert (day.usage, day.compactions, day.forgotten) == ({5: {"n": 1}}, (6,), {6: (4,)})
    assert day.origins.index("environment") == 4
    assert day.problems == (problem,)


def test_anthropic_and_responses_ids_are_made_unique_and_a_later_prompt_is_kept() -> None:
    blocks: list[dict[str, Any]] = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
    ]
    items: list[dict[str, Any]] = [
        {"type": "function_call", "call_id": "t", "name": "ls", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "t", "output": "x"},
    ]
    for format, messages in (("anthropic_messages", blocks), ("openai_responses", items)):
        parts = [Recorded(name=s, source_format="x", format=format, messages=messages, system=s) for s in ("s1", "s2")]
        day = chain(parts, "day")
        assert day.system == "s1"
        assert "s2" in json.dumps(day.messages[2])
        assert json.dumps(day.messages).count('"t-2"') == 2
        assert (day.origins[2:3] == ("environment",)) is (format == "anthropic_messages")


def test_different_formats_and_nothing_at_all_are_refused() -> None:
    other = Recorded(name="o", source_format="x", format="openai_responses", messages=[{"role": "user"}])
    with pytest.raises(ValueError, match="different formats"):
        chain([chat("a", "s", "1"), other], "day")
    with pytest.raises(ValueError, match="nothing to chain"):
        chain([], "day")


def test_joined_reads_a_file_of_many_conversations_as_one(bundled: Path) -> None:
    path = bundled / "tau2-gpt-4.1-retail.json.gz"
    parts = list(read_sessions(path))
    (day,) = read_sessions(path, joined=True)
    assert len(parts) == 12
    assert len(day.messages) == sum(len(part.messages) for part in parts) - 11
    assert [part["reward"] for part in day.meta["parts"]] == [part.meta["reward"] for part in parts]
