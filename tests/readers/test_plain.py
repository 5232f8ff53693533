"""Messages as a provider takes them come through untouched, whatever the container."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foldaway.readers import read_sessions, recognise

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "List the files\u2028 😀", "x_vendor": {"kept": [1, 2.50, None]}},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"a":  1}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "ls", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}]},
]
RESPONSES: list[dict[str, Any]] = [
    {"role": "user", "content": "hello"},
    {"type": "function_call", "call_id": "f1", "name": "ls", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "f1", "output": "a.py"},
]


@pytest.mark.parametrize(
    ("format", "messages"),
    [("openai_chat", CHAT), ("anthropic_messages", ANTHROPIC), ("openai_responses", RESPONSES)],
)
@pytest.mark.parametrize("container", ["list", "indented", "lines"])
def test_messages_come_through_json_identical_in_their_own_format(
    tmp_path: Path, format: str, messages: list[dict[str, Any]], container: str
) -> None:
    path = tmp_path / "anything.at.all"
    if container == "lines":
        path.write_text("\n".join(json.dumps(m) for m in messages))
    else:
        path.write_text(json.dumps(messages, indent=2 if container == "indented" else None))
    (session,) = read_sessions(path)
    assert json.dumps(session.messages) == json.dumps(messages)
    assert (session.source_format, session.format, session.problems) == ("plain", format, ())


def test_an_anthropic_body_keeps_system_tools_and_model_beside_the_messages(tmp_path: Path) -> None:
    body = {"model": "m-1", "system": [{"type": "text", "text": "s"}], "tools": [{"name": "ls"}], "messages": CHAT[1:2]}
    path = tmp_path / "body.json"
    path.write_text(json.dumps(body))
    (session,) = read_sessions(path)
    assert (session.format, session.model) == ("anthropic_messages", "m-1")
    assert (session.system, session.tools, session.messages) == (body["system"], body["tools"], CHAT[1:2])


def test_a_responses_body_has_its_instructions_as_system(tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text(json.dumps({"model": "m", "instructions": "be brief", "input": RESPONSES}))
    (session,) = read_sessions(path)
    assert (session.format, session.system, session.messages) == ("openai_responses", "be brief", RESPONSES)


def test_a_responses_input_that_is_a_text_becomes_one_user_item(tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text(json.dumps({"model": "m", "input": "hello"}))
    (session,) = read_sessions(path)
    assert session.messages == [{"role": "user", "content": "hello"}]


def test_a_body_a_line_is_a_session_a_line(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(json.dumps({"messages": CHAT[:n]}) for n in (2, 4)))
    sessions = list(read_sessions(path))
    assert [len(session.messages) for session in sessions] == [2, 4]
    assert len({session.name for session in sessions}) == 2
    assert recognise(path) == "plain"


def test_the_name_is_the_stem_without_the_endings_of_recordings(tmp_path: Path) -> None:
    path = tmp_path / "v1.2-run.traj.jsonl"
    path.write_text(json.dumps(CHAT[1]))
    assert [session.name for session in read_sessions(path)] == ["v1.2-run"]
