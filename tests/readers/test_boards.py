"""Benchmark results and tracing logs: one file, many runs."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.readers import read_sessions, recognise

FromLines = Callable[..., Recorded]
FromDocument = Callable[[Any], list[Recorded]]
USER = {"role": "user", "content": "hi"}


def test_tau_bench_runs_are_sessions_with_their_messages_as_they_are(from_document: FromDocument) -> None:
    runs = [{"task_id": n, "reward": 1.0, "traj": [USER], "trial": n} for n in (0, 1)]
    first, second = from_document([*runs, {"task_id": 2}])
    assert (first.name, second.name) == ("some/task-0", "some/task-1-trial-1")
    assert first.messages == [USER]
    assert first.meta["reward"] == 1.0
    assert "element 2" in second.problems[0].what


def test_tau2_leaves_out_what_the_customer_did_on_the_own_device(from_document: FromDocument) -> None:
    called = {"id": "c1", "name": "find", "arguments": {"q": "é"}, "requestor": "assistant"}
    messages = [
        {"role": "assistant", "content": "Hi!", "tool_calls": None, "usage": None},
        {"role": "user", "content": None, "tool_calls": [{"id": "u1", "name": "toggle", "arguments": {}}]},
        {"role": "tool", "id": "u1", "content": "on", "requestor": "user"},
        {"role": "user", "content": "it is on now", "tool_calls": None},
        {"role": "assistant", "content": None, "tool_calls": [called], "usage": {"prompt_tokens": 3}},
        {"role": "tool", "id": "c1", "content": "found", "requestor": "assistant"},
    ]
    info = {"environment_info": {"policy": "the policy"}, "agent_info": {"llm": "gpt-x"}}
    run = {"id": "x", "task_id": "7", "messages": messages, "reward_info": {"reward": 0.5}}
    (session,) = from_document({"info": info, "tasks": [], "simulations": [run]})
    assert [m["role"] for m in session.messages] == ["system", "assistant", "user", "assistant", "tool"]
    assert session.messages[0]["content"] == "the policy"
    (made,) = session.messages[3]["tool_calls"]
    assert made["function"] == {"name": "find", "arguments": '{"q": "é"}'}
    assert session.messages[4] == {"role": "tool", "tool_call_id": "c1", "content": "found"}
    assert (session.usage, session.model, session.meta["reward"]) == ({3: {"prompt_tokens": 3}}, "gpt-x", 0.5)


def test_livemcpbench_tasks_are_sessions(from_document: FromDocument) -> None:
    (session,) = from_document([{"task_id": "t-1", "Question": "q", "category": "work", "messages": [USER]}])
    assert (session.name, session.source_format, session.messages) == ("some/t-1", "livemcpbench", [USER])


def test_who_and_when_tells_the_team_from_the_orchestrators_side(from_document: FromDocument) -> None:
    history = [
        {"role": "human", "content": "how much?"},
        {"role": "Orchestrator (thought)", "content": "plan"},
        {"role": "Orchestrator (-> WebSurfer)", "content": "search"},
        {"role": "WebSurfer", "content": "a page"},
        {"role": "Computer terminal", "content": "exit 0"},
    ]
    (session,) = from_document({"history": history, "question": "how much?", "mistake_step": "3"})
    assert [m["role"] for m in session.messages] == ["user", "assistant", "assistant", "user", "user"]
    assert [m.get("name") for m in session.messages] == [None, None, None, "WebSurfer", "Computer_terminal"]
    assert session.origins == ("", "", "", "environment", "environment")
    assert session.meta["mistake_step"] == "3"


def test_da_code_steps_are_an_observation_and_a_text(from_document: FromDocument) -> None:
    steps = [
        {"observation": "you are in the folder", "thought": "Thought: look", "action": "Bash(ls)"},
        {"observation": "a.csv", "thought": "t", "action": "a", "response": "Thought: t\n\nAction: a"},
    ]
    (session,) = from_document({"system_message": "sys", "Task": "predict", "trajectory": steps})
    texts = [m["content"] for m in session.messages]
    assert texts == [
        "sys",
        "predict",
        "you are in the folder",
        "Thought: look\n\nAction: Bash(ls)",
        "a.csv",
        "Thought: t\n\nAction: a",
    ]
    assert session.origins == ("", "", "environment", "", "environment", "")


def test_miroflow_results_are_the_environments(from_document: FromDocument) -> None:
    history = [USER, {"role": "assistant", "content": "<use_mcp_tool>"}, {"role": "user", "content": [{"text": "r"}]}]
    (session,) = from_document({"message_history": history, "final_boxed_answer": "Yes"})
    assert session.messages == history
    assert session.origins == ("", "", "environment")


def lc(name: str, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", name], "kwargs": kwargs}


def test_langchain_constructors_become_chat_messages(from_document: FromDocument) -> None:
    blocks = [{"type": "text", "text": "look"}, {"type": "tool_use", "id": "c1", "name": "ls", "input": "{}"}]
    called = [{"name": "ls", "args": {"p": 1}, "id": "c1", "type": "tool_call"}]
    messages = [
        lc("AIMessage", content="Initialize sandbox", additional_kwargs={"hidden": True}),
        lc("HumanMessage", content="go"),
        lc("AIMessageChunk", content=blocks, tool_calls=called, usage_metadata={"input_tokens": 3}),
        lc("ToolMessage", content="a.py", tool_call_id="c1"),
    ]
    (session,) = from_document({"internalMessages": messages, "branchName": "x"})
    assert [m["role"] for m in session.messages] == ["user", "assistant", "tool"]
    assert session.messages[1]["content"] == "look"
    assert json.loads(session.messages[1]["tool_calls"][0]["function"]["arguments"]) == {"p": 1}
    assert session.usage == {1: {"input_tokens": 3}}


def test_langgraph_threads_keep_visible_reasoning(from_document: FromDocument) -> None:
    messages = [
        {"type": "human", "content": [{"type": "text", "text": "go"}]},
        {"type": "ai", "content": "done", "additional_kwargs": {"reasoning_content": "hm"}, "tool_calls": []},
        {"type": "system", "content": "title it"},
    ]
    (session,) = from_document({"values": {"messages": messages, "title": "T"}, "next": []})
    assert session.source_format == "langgraph"
    assert session.messages[1] == {"role": "assistant", "content": "done", "reasoning_content": "hm"}
    assert session.messages[2]["role"] == "system"


def span(start: str, prompt: list[dict[str, Any]], answer: dict[str, Any]) -> dict[str, Any]:
    events = [
        {"name": "data.input", "attributes": {"input": [json.dumps(m) for m in prompt]}},
        {"name": "data.output", "attributes": {"response": json.dumps(answer)}},
        {"name": "metadata", "attributes": {"prompt_tokens": 9, "finish_reason": "stop"}},
    ]
    return {
        "context": {"trace_id": "t"},
        "start_time": start,
        "attributes": {"span.type": "inference"},
        "events": events,
    }


def test_spans_give_the_longest_prompt_and_its_answer(from_document: FromDocument) -> None:
    items = [{"type": "function_call", "call_id": i, "name": "ls", "arguments": "{}"} for i in "ab"]
    start: list[dict[str, Any]] = [{"system": "sys"}, {"human": "go"}]
    grown = [*start, {"ai": items}, {"tool": "one"}, {"tool": "two"}]
    value = [
        span("1", start, {"ai": items}),
        span("2", grown, {"ai": [{"type": "text", "text": "done"}]}),
        span("3", [{"user": "another agent"}], {"ai": "x"}),
    ]
    (session,) = from_document(value)
    assert (session.format, session.system) == ("openai_responses", "sys")
    outputs = [(m["call_id"], m["output"]) for m in session.messages if m["type"] == "function_call_output"]
    assert outputs == [("a", "one"), ("b", "two")]
    assert session.messages[-1]["content"] == [{"type": "output_text", "text": "done"}]
    assert session.usage == {5: {"prompt_tokens": 9}}
    assert session.problems[0].what.startswith("1 model calls with prompts of their own")


def test_letta_runs_gather_the_parts_of_one_answer(from_lines: FromLines) -> None:
    trajectory = [
        {"message_type": "user_message", "id": "1", "content": "who?"},
        {"message_type": "assistant_message", "id": "2", "content": "let me look"},
        {
            "message_type": "tool_call_message",
            "id": "2",
            "tool_call": {"name": "grep", "arguments": "{}", "tool_call_id": "c1"},
        },
        {"message_type": "tool_return_message", "id": "3", "tool_return": "found", "tool_call_id": "c1"},
        {"message_type": "assistant_message", "id": "4", "content": "Ann"},
    ]
    sample = {"id": 7, "ground_truth": "Ann"}
    session = from_lines(
        {"type": "result", "result": {"sample": sample, "agent_id": "a", "trajectory": [trajectory], "grade": {}}}
    )
    assert session.name == "some/sample-7"
    assert [m["role"] for m in session.messages] == ["user", "assistant", "tool", "assistant"]
    assert session.messages[1]["content"] == "let me look"
    assert session.messages[2]["tool_call_id"] == "c1"


def test_bfcl_entries_are_the_users_turns(from_lines: FromLines) -> None:
    session = from_lines({"id": "memory_0", "question": [[USER], [USER]], "scenario": "customer"})
    assert (session.name, session.source_format, len(session.messages)) == ("some/memory_0", "bfcl", 2)


def test_an_inspect_zip_is_a_session_a_sample_and_a_broken_sample_is_reported(tmp_path: Path) -> None:
    called = {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}
    sample = {
        "id": 15,
        "epoch": 1,
        "messages": [
            {"role": "user", "content": "attachment://h", "source": "input"},
            {"role": "assistant", "content": "", "source": "generate", "tool_calls": [called]},
            {"role": "tool", "content": "", "tool_call_id": "c1", "error": {"message": "bad bytes"}},
            {"role": "user", "content": "wrong, go on"},
        ],
        "attachments": {"h": "find the flag"},
        "events": [{"event": "model", "output": {"usage": {"input_tokens": 4}}, "tools": [{"name": "bash"}]}],
        "scores": {"includes": {"value": "I"}},
    }
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/15_epoch_1.json", json.dumps(sample))
        archive.writestr("samples/16_epoch_1.json", '{"half": ')
    (session,) = read_sessions(path)
    assert recognise(path) == "inspect-eval"
    assert session.name == "log/15-epoch-1"
    assert session.messages[0]["content"] == "find the flag"
    assert session.messages[2] == {"role": "tool", "tool_call_id": "c1", "content": "bad bytes"}
    assert session.origins == ("", "", "", "environment")
    assert session.usage == {1: {"input_tokens": 4}}
    assert session.tools == [{"type": "function", "function": {"name": "bash"}}]
    assert "16_epoch_1" in session.problems[0].what
