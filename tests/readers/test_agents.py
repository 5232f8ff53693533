"""Coding agents' own logs: the messages as the provider saw them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from foldaway.model.recorded import Recorded

FromLines = Callable[..., Recorded]
FromDocument = Callable[[Any], list[Recorded]]


def said(uuid: str, content: Any, **extra: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": uuid, "message": {"role": "user", "content": content}, **extra}


def block(uuid: str, ident: str, content: dict[str, Any], **extra: Any) -> dict[str, Any]:
    message = {"role": "assistant", "id": ident, "model": "claude-x", "content": [content], **extra}
    return {"type": "assistant", "uuid": uuid, "sessionId": "s", "message": message}


def call(ident: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": ident, "name": "Bash", "input": {"command": "ls"}}


def result(ident: str, text: str = "ok") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": ident, "content": text}


class TestClaudeCode:
    def test_the_lines_of_one_answer_and_its_results_are_gathered(self, from_lines: FromLines) -> None:
        session = from_lines(
            {"type": "file-history-snapshot", "snapshot": {}},
            said("1", "go"),
            block("2", "m1", {"type": "text", "text": "two things"}),
            block("3", "m1", call("a"), usage={"output_tokens": 5}),
            said("4", [result("a")]),
            block("5", "m1", call("b"), usage={"output_tokens": 9}),
            said("6", [result("b")]),
        )
        assert (session.source_format, session.format, session.model) == (
            "claude-code",
            "anthropic_messages",
            "claude-x",
        )
        assert session.messages == [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [{"type": "text", "text": "two things"}, call("a"), call("b")]},
            {"role": "user", "content": [result("a"), result("b")]},
        ]
        assert session.usage == {1: {"output_tokens": 9}}

    def test_side_chains_meta_lines_and_what_the_client_itself_said_are_left_out(self, from_lines: FromLines) -> None:
        session = from_lines(
            said("1", "go"),
            said("2", "for the helper", isSidechain=True),
            said("3", "caveat", isMeta=True),
            block("4", "m0", {"type": "text", "text": "No response requested."}, model="<synthetic>"),
            block("5", "m1", {"type": "text", "text": "done"}),
        )
        assert [m["content"] for m in session.messages] == ["go", [{"type": "text", "text": "done"}]]

    def test_a_compaction_is_a_position_and_what_it_logs_again_appears_once(self, from_lines: FromLines) -> None:
        before = [said("1", "go"), block("2", "m1", call("a")), said("3", [result("a")])]
        session = from_lines(
            *before,
            {"type": "system", "subtype": "compact_boundary", "uuid": "4"},
            said("5", "This session is being continued ...", isCompactSummary=True),
            *before,
            block("2b", "m1", call("a")),
            said("3b", [result("a")]),
            block("6", "m2", {"type": "text", "text": "on we go"}),
        )
        assert len(session.messages) == 4
        assert session.compactions == (3,)
        assert session.messages[3]["content"][0]["text"] == "on we go"

    def test_what_is_typed_while_a_call_runs_follows_its_result(self, from_lines: FromLines) -> None:
        queued = {"type": "queued_command", "prompt": "also the tests", "commandMode": "prompt"}
        told = {"type": "queued_command", "prompt": "<task-notification>x", "commandMode": "task-notification"}
        session = from_lines(
            said("1", "go"),
            block("2", "m1", call("a")),
            {"type": "attachment", "attachment": queued},
            said("3", [result("a")]),
            {"type": "attachment", "attachment": told},
            block("4", "m2", {"type": "text", "text": "yes"}),
        )
        assert [m["content"] for m in session.messages[2:5]] == [
            [result("a")],
            "also the tests",
            "<task-notification>x",
        ]
        assert session.origins == ("", "", "", "", "environment", "")

    def test_the_same_words_said_again_stay_but_the_same_line_logged_again_does_not(
        self, from_lines: FromLines
    ) -> None:
        stamp = {"timestamp": "2026-01-01T00:00:00.000Z"}
        session = from_lines(said("1", "go"), said("2", "go"), said("3", "on", **stamp), said("4", "on", **stamp))
        assert [m["content"] for m in session.messages] == ["go", "go", "on"]

    def test_a_line_of_another_shape_is_reported_and_skipped(self, from_lines: FromLines) -> None:
        session = from_lines(said("1", "go"), {"type": "user", "uuid": "2", "message": 7}, said("3", "on"))
        assert [m["content"] for m in session.messages] == ["go", "on"]
        assert [(p.line, "expected" in p.what) for p in session.problems] == [(2, True)]


class TestCodex:
    def item(self, **payload: Any) -> dict[str, Any]:
        return {"type": "response_item", "payload": payload}

    def count(self, total: int, used: int) -> dict[str, Any]:
        info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": {"input_tokens": used}}
        return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}

    def test_items_system_usage_and_compactions_are_taken_and_events_are_not(self, from_lines: FromLines) -> None:
        standing = self.item(type="message", role="developer", content=[{"type": "input_text", "text": "rules"}])
        session = from_lines(
            {"type": "session_meta", "payload": {"base_instructions": {"text": "You are Codex"}}},
            {"type": "turn_context", "payload": {"model": "gpt-x"}},
            standing,
            self.item(type="function_call", name="sh", arguments="{}", call_id="c1", metadata={"turn": 1}),
            self.item(type="function_call_output", call_id="c1", output="ok"),
            self.count(10, 7),
            {"type": "event_msg", "payload": {"type": "agent_message", "message": "hi"}},
            {"type": "compacted", "payload": {"message": "", "replacement_history": []}},
            self.count(10, 0),
            standing,
            self.item(type="reasoning", summary=[]),
            self.item(type="message", role="assistant", content=[{"type": "output_text", "text": "done"}]),
            self.count(30, 9),
        )
        assert (session.format, session.system, session.model) == ("openai_responses", "You are Codex", "gpt-x")
        kinds = [item["type"] for item in session.messages]
        assert kinds == ["message", "function_call", "function_call_output", "reasoning", "message"]
        assert session.messages[1] == {"type": "function_call", "name": "sh", "arguments": "{}", "call_id": "c1"}
        assert session.compactions == (3,)
        assert session.usage == {1: {"input_tokens": 7}, 4: {"input_tokens": 9}}


class TestPi:
    def test_calls_results_and_thinking_become_anthropic_blocks(self, from_lines: FromLines) -> None:
        thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
        cut = {"type": "thinking", "thinking": "cut off", "thinkingSignature": ""}
        calls = [{"type": "toolCall", "id": i, "name": "read", "arguments": {"path": i}} for i in "ab"]
        text = [{"type": "text", "text": "x"}]
        results: list[dict[str, Any]] = [
            {"role": "toolResult", "toolCallId": i, "content": text, "isError": i == "b"} for i in "ab"
        ]
        entries: list[dict[str, Any]] = [
            {"role": "user", "content": text},
            {"role": "assistant", "content": [thought, *calls], "model": "m", "usage": {"input": 3}},
            *results,
            {"role": "assistant", "content": [], "stopReason": "aborted"},
            {"role": "bashExecution", "command": "ls", "output": "a.py"},
            {"role": "assistant", "content": [cut], "stopReason": "aborted"},
        ]
        records: list[dict[str, Any]] = [{"type": "message", "message": entry} for entry in entries]
        records.insert(4, {"type": "compaction", "summary": "..."})
        session = from_lines({"type": "session", "id": "1", "cwd": "/"}, *records)
        user, asked, answered, shell, aborted = session.messages
        assert user == {"role": "user", "content": text}
        assert asked["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "sig"}
        assert [b["type"] for b in asked["content"][1:]] == ["tool_use", "tool_use"]
        assert [(b["tool_use_id"], b.get("is_error")) for b in answered["content"]] == [("a", None), ("b", True)]
        assert "a.py" in shell["content"][0]["text"]
        assert aborted["content"] == [{"type": "text", "text": "cut off"}]
        assert session.origins == ("", "", "", "environment", "")
        assert (session.compactions, session.usage[1]) == ((3,), {"input": 3})

    def test_a_branch_that_was_left_is_not_told(self, from_lines: FromLines) -> None:
        def entry(ident: str, parent: str | None, text: str) -> dict[str, Any]:
            message = {"role": "user", "content": text}
            return {"type": "message", "id": ident, "parentId": parent, "message": message}

        head = {"type": "session", "version": 3, "id": "s", "cwd": "/"}
        session = from_lines(head, entry("1", None, "a"), entry("2", "1", "left"), entry("3", "1", "b"))
        assert [m["content"][0]["text"] for m in session.messages] == ["a", "b"]


class TestOpenHands:
    def action(self, number: int, response: str, thought: str = "") -> dict[str, Any]:
        return {
            "kind": "ActionEvent",
            "id": f"a{number}",
            "source": "agent",
            "thought": [{"type": "text", "text": thought}] if thought else [],
            "tool_name": "sh",
            "tool_call_id": f"c{number}",
            "tool_call": {"index": 1, "id": f"c{number}", "function": {"name": "sh", "arguments": "{}"}},
            "llm_response_id": response,
        }

    def observation(self, number: int, **seen: Any) -> dict[str, Any]:
        tied = {"id": f"o{number}", "source": "environment", "tool_call_id": f"c{number}", "observation": seen}
        return {"kind": "ObservationEvent", **tied}

    def test_actions_observations_and_condensations_are_told_as_chat(self, from_lines: FromLines) -> None:
        message = {"role": "user", "content": [{"type": "text", "text": "fix it", "cache_prompt": False}]}
        session = from_lines(
            {"kind": "SystemPromptEvent", "id": "s", "source": "agent", "system_prompt": {"text": "sys"}, "tools": []},
            {"kind": "MessageEvent", "id": "u", "source": "user", "llm_message": message},
            self.action(1, "r1", "two at once"),
            self.action(2, "r1"),
            self.observation(1, output="one", metadata={"suffix": "\n[exit 0]"}),
            self.observation(2, output="", error="no such file"),
            {
                "kind": "Condensation",
                "id": "k",
                "source": "environment",
                "forgotten_event_ids": ["a1", "a2", "o2", "?"],
            },
            self.action(3, "r2"),
        )
        assert [m["role"] for m in session.messages] == ["system", "user", "assistant", "tool", "tool", "assistant"]
        assert session.messages[1] == {"role": "user", "content": "fix it"}
        assert session.messages[2]["content"] == "two at once"
        assert [c["id"] for c in session.messages[2]["tool_calls"]] == ["c1", "c2"]
        assert [m["content"] for m in session.messages[3:5]] == ["one\n[exit 0]", "no such file"]
        assert (session.compactions, session.forgotten) == ((5,), {5: (2, 4)})


class TestSweAgent:
    def test_the_demonstration_and_the_observations_are_the_environments(self, from_document: FromDocument) -> None:
        step = {"action": "ls", "observation": "a.py", "response": "r", "thought": "t"}
        history = [
            {"role": "system", "content": "sys", "agent": "primary"},
            {"role": "user", "content": "demo", "agent": "primary", "is_demo": True},
            {"role": "user", "content": "the issue", "agent": "primary"},
            {"role": "assistant", "content": "r", "thought": "t", "action": "ls", "agent": "primary"},
            {"role": "user", "content": "a.py", "agent": "primary"},
        ]
        (session,) = from_document({"environment": "swe_main", "trajectory": [step], "history": history, "info": {}})
        assert session.origins == ("", "environment", "", "", "environment")
        assert session.messages[3] == {"role": "assistant", "content": "r"}

    def test_without_a_history_the_steps_tell_the_session(self, from_document: FromDocument) -> None:
        step = {"action": "ls", "observation": "a.py", "response": "let me look", "thought": "t"}
        (session,) = from_document({"trajectory": [step, step]})
        assert [m["content"] for m in session.messages] == ["let me look", "a.py"] * 2

    def test_version_1_has_tool_calls(self, from_document: FromDocument) -> None:
        called = {"index": 1, "id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        step = {"action": "ls", "observation": "a.py", "response": "r", "thought": "t"}
        history = [
            {"role": "user", "content": [{"type": "text", "text": "issue"}], "message_type": "observation"},
            {"role": "assistant", "content": "r", "action": "ls", "thought": "t", "tool_calls": [called]},
            {"role": "tool", "content": [{"type": "text", "text": "a.py"}], "tool_call_ids": ["c1"]},
        ]
        (session,) = from_document({"trajectory": [step], "history": history})
        assert session.messages[1]["tool_calls"] == [{k: v for k, v in called.items() if k != "index"}]
        assert session.messages[2] == {"role": "tool", "tool_call_id": "c1", "content": "a.py"}


def test_mini_swe_agent_keeps_usage_and_drops_what_no_provider_takes(from_document: FromDocument) -> None:
    called = {"index": 0, "id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "the task"},
        {
            "role": "assistant",
            "content": "look",
            "tool_calls": [called],
            "function_call": None,
            "provider_specific_fields": None,
            "extra": {"response": {"usage": {"prompt_cache_hit_tokens": 5}}},
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a.py", "extra": {"raw_output": "a.py"}},
        {"role": "user", "content": "format error, try again", "extra": {}},
        {"role": "exit", "content": "diff", "extra": {}},
    ]
    (session,) = from_document({"info": {"mini_version": "2"}, "messages": messages, "trajectory_format": "mini-swe"})
    assert [sorted(m) for m in session.messages] == [
        ["content", "role"],
        ["content", "role", "tool_calls"],
        ["content", "role", "tool_call_id"],
        ["content", "role"],
    ]
    assert session.usage == {1: {"prompt_cache_hit_tokens": 5}}
    assert session.origins == ("", "", "", "environment")


@pytest.mark.parametrize("heading", [True, False])
def test_aider_tells_user_words_model_text_and_its_own_output_apart(from_lines: FromLines, heading: bool) -> None:
    chat = [
        "> Aider v1  ",
        "",
        "#### do this  ",
        "#### and that  ",
        "",
        "Sure:",
        "",
        "```",
        "```",
        "",
        "> Commit 1  ",
    ]
    session = from_lines(*(["# aider chat started at 2024-01-01 10:00:00", ""] if heading else []), *chat)
    assert session.name == ("some/2024-01-01T10:00:00" if heading else "some/start")
    assert session.messages[0] == {"role": "user", "content": "Aider v1"}
    assert session.messages[1] == {"role": "user", "content": "do this\nand that"}
    assert session.messages[2]["role"] == "assistant"
    assert session.messages[2]["content"].startswith("Sure:\n\n```")
    assert session.origins[:3] == ("environment", "", "")
