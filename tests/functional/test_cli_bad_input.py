"""Files no reader can use: one clear line, never a traceback; what can be used is used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldaway.wire import problems

Put = Callable[[str, Any], Path]
Chat = Callable[[int], list[dict[str, Any]]]
COMMANDS = [("fit", "--budget", "900"), ("replay", "--policy", "auto"), ("show",)]
DEEP = "[" * 10_000 + "]" * 10_000
BAD = {
    "empty": (b"", "empty"),
    "blank": (b" \n\n", "blank"),
    "half a line": (b'{"messages": [{"role": "user", "con', "not JSON"),
    "UTF-16": ("[]".encode("utf-16"), "UTF-16"),
    "Latin-1": (b'[{"role": "user", "content": "caf\xe9"}]', "not UTF-8"),
    "10,000 brackets": (DEEP.encode(), "nested too deeply"),
    "brackets in a message": (b'[{"role": "user", "content": "a", "x": %s}]' % DEEP.encode(), "nested too deeply"),
    "no messages": (b'{"messages": []}', "no known shape"),
    "cut gzip": (b"\x1f\x8b\x08\x00", "gzip"),
    "zip": (b"PK\x03\x04", "zip"),
}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: str(c[0]))
@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_used_is_refused_by_name(foldaway: Any, put: Put, command: list[str], name: str) -> None:
    data, word = BAD[name]
    assert foldaway(command[0], put("input.json", data), *command[1:]).refused("input.json", word)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: str(c[0]))
def test_a_file_that_is_not_there_is_refused_by_name(foldaway: Any, command: list[str]) -> None:
    assert foldaway(command[0], "no/such/file.json", *command[1:]).refused("no/such/file.json")


@pytest.mark.parametrize("depth", [150, 600, 900])
def test_json_nested_less_deeply_is_sent_or_refused(foldaway: Any, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    data = f'[{{"role": "user", "content": "a", "x": {nested}}}]'.encode()
    ran = foldaway("fit", "-", "--budget", 9_000, stdin=data)
    assert ran.refused("nested") or ran.json == json.loads(data)


def test_brackets_in_arguments_and_results_are_text(foldaway: Any, put: Put, chat: Chat) -> None:
    messages = chat(1)
    messages[1]["tool_calls"][0]["function"]["arguments"] = f'{{"x": {DEEP}}}'
    messages[2]["content"] = DEEP
    ran = foldaway("fit", put("deep.json", messages), "--budget", 90_000)
    assert ran.json == messages


def test_ids_that_repeat_give_a_sound_view(foldaway: Any, put: Put, chat: Chat) -> None:
    messages = chat(30)
    for message in messages:
        if message["role"] == "tool":
            message["tool_call_id"] = "same"
        for call in message.get("tool_calls", ()):
            call["id"] = "same"
    path = put("same.json", messages)
    fitted = foldaway("fit", path, "--budget", 6_000, "--json").json
    row = foldaway("replay", path, "--policy", "auto", "--budget", 6_000, "--json").json["results"][0]
    assert fitted["tokens"] <= 6_000
    assert problems("openai_chat", fitted["request"]) == []
    assert (row["invalid_views"], row["over_silent"]) == (0, 0)


def test_elements_that_are_no_messages_are_refused_not_dropped(foldaway: Any, put: Put) -> None:
    path = put("mixed.json", [{"role": "user", "content": "x"}, 7])
    assert foldaway("fit", path, "--budget", 900).refused("message 1", "int")


def test_tools_that_are_no_list_are_refused(foldaway: Any, put: Put) -> None:
    body = {"messages": [{"role": "user", "content": "x"}], "tools": {"a": 1}}
    assert foldaway("fit", put("tools.json", body), "--budget", 900).refused("tools", "list")


@pytest.mark.slow
def test_a_tool_result_of_50_mb_is_masked_and_comes_back_whole(foldaway: Any, put: Put, chat: Chat) -> None:
    messages = chat(1)
    messages[2]["content"] = "some words of one line 1234\n" * 1_800_000
    path = put("big.json", messages)
    fitted = foldaway("fit", path, "--budget", 8_000, "--json").json
    item = fitted["folded"][0]["item"]
    assert fitted["tokens"] <= 8_000
    assert foldaway("recall", path, item, "--budget", 8_000).text == messages[2]["content"]


def test_folders_without_sessions_are_refused(foldaway: Any, put: Put, tmp_path: Path) -> None:
    assert foldaway("replay", tmp_path).refused(str(tmp_path), "no recorded session")
    put("notes.txt", "nothing to see")
    assert foldaway("replay", tmp_path).refused(str(tmp_path), "no recorded session", "1 file")
    assert foldaway("show", tmp_path).refused("folder")


def test_a_session_without_a_model_call_is_refused(foldaway: Any, put: Put) -> None:
    assert foldaway("replay", put("u.json", [{"role": "user", "content": "x"}])).refused("no session with a message")
