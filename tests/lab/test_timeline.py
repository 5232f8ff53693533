from __future__ import annotations

from collections.abc import Callable
from typing import Any

from foldaway.lab.timeline import MIN_PASTE_CHARS, Voice, steps_of, timeline
from foldaway.model.recorded import Recorded


def test_each_assistant_message_of_a_chat_is_a_step(small: Recorded) -> None:
    assert [(s.number, s.start, s.end) for s in steps_of(small)] == [
        (0, 2, 3),
        (1, 4, 5),
        (2, 6, 7),
        (3, 8, 9),
        (4, 10, 11),
    ]


def test_a_run_of_the_models_items_is_one_step_in_responses() -> None:
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ]
    recorded = Recorded(name="r", source_format="test", format="openai_responses", messages=items)
    assert [(s.start, s.end) for s in steps_of(recorded)] == [(1, 4), (6, 7)]


def test_voices_tell_prompt_observation_agent_and_user_apart(build: Callable[..., Recorded]) -> None:
    recorded = build(
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "task"},
        {"role": "user", "content": "more task"},
        {"role": "assistant", "content": "I look"},
        {"role": "user", "content": "output of it"},
        {"role": "assistant", "content": "and now"},
        {"role": "user", "content": "no, please stop"},
        {"role": "user", "content": "x" * MIN_PASTE_CHARS},
        {"role": "system", "content": "new rules"},
        origins=("", "", "", "", "environment", "", "", "", ""),
    )
    assert [s.voice for s in timeline(recorded)] == [
        *[Voice.STANDING] * 3,
        Voice.AGENT,
        Voice.OBSERVED,
        Voice.AGENT,
        Voice.USER,
        Voice.OBSERVED,
        Voice.USER,
    ]


def test_the_first_user_message_is_standing_even_behind_a_greeting(build: Callable[..., Recorded]) -> None:
    recorded = build(
        {"role": "system", "content": "rules"},
        {"role": "assistant", "content": "How can I help?"},
        {"role": "user", "content": "task"},
    )
    assert [s.voice for s in timeline(recorded)] == [Voice.STANDING, Voice.AGENT, Voice.STANDING]


def test_results_in_anthropic_messages_are_observations_and_the_text_beside_them_is_not() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"p": "a/b/c.py"}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": "seen"},
                {"type": "text", "text": "go on"},
            ],
        },
    ]
    recorded = Recorded(name="a", source_format="test", format="anthropic_messages", messages=messages)
    said = timeline(recorded)
    assert [(s.position, s.voice) for s in said] == [
        (0, Voice.STANDING),
        (1, Voice.AGENT),
        (2, Voice.OBSERVED),
        (2, Voice.USER),
    ]
    assert said[1].arguments == {"p": "a/b/c.py"}
