"""`foldaway fit`: a request in, the managed one out."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldaway.wire import problems

Put = Callable[[str, Any], Path]
Chat = Callable[[int], list[dict[str, Any]]]


def test_a_list_that_fits_comes_out_as_it_went_in(foldaway: Any, put: Put, chat: Chat) -> None:
    ran = foldaway("fit", put("list.json", chat(2)), "--budget", 16_000)
    assert (ran.code, ran.json) == (0, chat(2))
    assert "items folded: none" in ran.talk


def test_a_long_request_comes_out_under_the_budget_with_its_other_fields(foldaway: Any, put: Put, chat: Chat) -> None:
    body = {"model": "gpt-4o", "temperature": 0.25, "messages": chat(30), "x_unknown": {"a": [1, None]}}
    ran = foldaway("fit", put("body.json", body), "--budget", 6_000, "--json")
    request = ran.json["request"]
    assert ran.code == 0
    assert ran.json["tokens"] <= ran.json["budget"] == 6_000
    assert ran.json["missing_tokens"] == 0
    assert {k: v for k, v in request.items() if k != "messages"} == {k: v for k, v in body.items() if k != "messages"}
    assert problems("openai_chat", request["messages"]) == []
    assert request["messages"][0] == body["messages"][0]  # type: ignore[index]
    assert request["messages"][-1] == body["messages"][-1]  # type: ignore[index]


def test_json_lists_each_folded_item_with_its_reason(foldaway: Any, put: Put, chat: Chat) -> None:
    folded = foldaway("fit", put("list.json", chat(30)), "--budget", 6_000, "--json").json["folded"]
    assert len(folded) > 10
    assert all(item["reason"] and item["level"] != "raw" and item["tokens"] > 0 for item in folded)
    assert "src/rates_0.py" in folded[0]["title"]


def test_stdin_and_gzip_are_read_like_a_file(foldaway: Any, put: Put, chat: Chat) -> None:
    data = json.dumps(chat(3)).encode()
    packed = put("list.json.gz", gzip.compress(data))
    assert foldaway("fit", "-", "--budget", 9_000, stdin=data).json == chat(3)
    assert foldaway("fit", packed, "--budget", 9_000).json == chat(3)


def test_one_message_a_line_is_a_list_and_a_broken_line_is_told(foldaway: Any) -> None:
    lines = b'{"role":"user","content":"a"}\n{"role":"assis\n{"role":"assistant","content":"b"}\n'
    ran = foldaway("fit", "-", "--budget", 9_000, stdin=lines)
    assert [m["content"] for m in ran.json] == ["a", "b"]
    assert "warning: stdin:2: not JSON" in ran.talk


def test_anthropic_and_responses_bodies_keep_their_shape(foldaway: Any, put: Put) -> None:
    anthropic = {"model": "c", "system": "Be brief.", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
    responses = {"model": "g", "instructions": "Be brief.", "input": "hi", "store": False}
    assert foldaway("fit", put("a.json", anthropic), "--budget", 900).json == anthropic
    assert foldaway("fit", put("r.json", responses), "--budget", 900).json == responses


def test_a_recorded_session_becomes_a_request(foldaway: Any, coding: Path) -> None:
    ran = foldaway("fit", coding, "--budget", 16_000)
    assert list(ran.json) == ["messages"]
    assert problems("openai_chat", ran.json["messages"]) == []
    assert len(ran.json["messages"]) < 277


def test_a_system_file_goes_where_the_format_keeps_it(foldaway: Any, put: Put) -> None:
    system = put("system.txt", "Be brief.")
    talk = [{"role": "user", "content": "hi"}]
    tool = [{"name": "t", "input_schema": {"type": "object"}}]
    chat = foldaway("fit", put("c.json", talk), "--system-file", system, "--budget", 900).json
    anthropic = {"messages": talk, "tools": tool}
    framed = foldaway("fit", put("a.json", anthropic), "--system-file", system, "--budget", 900).json
    assert chat[0] == {"role": "system", "content": "Be brief."}
    assert framed == {"system": "Be brief.", **anthropic}
    assert foldaway("fit", put("t.json", framed), "--system-file", system, "--budget", 900).refused("already")


def test_with_recall_by_tool_the_tool_is_offered(foldaway: Any, put: Put, chat: Chat) -> None:
    ran = foldaway("fit", put("b.json", {"messages": chat(2)}), "--budget", 9_000, "--recall", "tool")
    assert [tool["function"]["name"] for tool in ran.json["tools"]] == ["recall"]


def test_what_is_over_the_budget_says_so(foldaway: Any, put: Put) -> None:
    pinned = [{"role": "user", "content": "remember " + "apples and pears, " * 150}]
    ran = foldaway("fit", put("p.json", pinned), "--budget", 100, "--json")
    assert ran.json["missing_tokens"] > 0
    assert "over the budget of 100 tokens" in ran.talk
    assert ran.json["request"] == pinned


def test_what_does_not_fit_the_window_is_not_sent(foldaway: Any, put: Put) -> None:
    pinned = [{"role": "user", "content": "remember " + "apples and pears, " * 150}]
    ran = foldaway("fit", put("p.json", pinned), "--window", 100)
    assert (ran.code, ran.data) == (1, b"")
    assert ran.talk.startswith("error: over the budget")


def test_half_a_surrogate_pair_is_sent_as_a_replacement_character(foldaway: Any) -> None:
    data = b'[{"role": "user", "content": "a \\ud83d b"}]'
    assert foldaway("fit", "-", "--budget", 900, stdin=data).json == [{"role": "user", "content": "a \ufffd b"}]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), ["--budget"]),
        (("--model", "no-such-model"), ["no-such-model", "--budget"]),
        (("--budget", "-5"), ["--budget"]),
        (("--budget", "many"), ["--budget"]),
        (("--budget", "900", "--policy", "nix"), ["no policy 'nix'", "auto"]),
        (("--budget", "900", "--format", "nix"), ["unknown format 'nix'", "openai_chat"]),
        (("--budget", "900", "--recall", "nix"), ["directive"]),
        (("--budget", "900", "--low-share", "0.9", "--high-share", "0.5"), ["low_share 0.9"]),
        (("--budget", "900", "--nix"), ["--nix"]),
    ],
)
def test_settings_that_cannot_be_used_are_named(
    foldaway: Any, put: Put, chat: Chat, options: tuple[str, ...], words: list[str]
) -> None:
    assert foldaway("fit", put("list.json", chat(1)), *options).refused(*words)
