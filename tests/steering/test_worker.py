"""In every bad case the window is decided as it would have been, and the failure is there to be seen."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway import Session, SettingsError
from foldaway.asking import ChatClient, MessagesClient, Retry
from foldaway.steering import PlanWorker
from foldaway.testing.endpoint import Endpoint, completion, message
from foldaway.testing.histories import Writer, working_session

KEY = "sk-test-4f1c2b3a9d8e7f60"


def session(**fields: Any) -> Session:
    made = Session(**{"budget": 9_000, "policy": "window", "prices": "no-cache", **fields})
    made.append(working_session(made.format, 31, words=150))
    made.view()
    return made


def large(made: Session) -> list[int]:
    return [i.id for i in made.engine.snapshot().foldable if i.tokens > 80]


def answer(targets: Sequence[Any], action: str = "fold") -> str:
    entry = {"action": action, "targets": list(targets), "reason": "done with"}
    return json.dumps({"summary": "Berths are planned.", "plan": [entry]})


def saying(text: str, **fields: Any) -> PlanWorker:
    return PlanWorker(lambda messages, tokens, beside=None: text, name="scripted", **fields)


def asking(endpoint: Endpoint, *, timeout_seconds: float = 10.0, **fields: Any) -> PlanWorker:
    client = ChatClient(
        url=endpoint.url, model="small", key=KEY, retry=Retry(attempts=1), timeout_seconds=timeout_seconds
    )
    return PlanWorker(client, **fields)


def kinds(made: PlanWorker) -> list[str]:
    return [failure.kind for failure in made.failures]


def test_a_good_plan_is_handed_in_and_committed_and_nothing_changes_before(endpoint: Endpoint) -> None:
    made, twin = session(), session()
    endpoint.says(answer(large(made)))
    with asking(endpoint) as worker:
        assert worker.attend(made) is None
        assert made.view().messages == twin.view().messages
        assert worker.wait(10)
        assert made.view().messages == twin.view().messages
        verdict = worker.attend(made)
        assert verdict is not None
        assert verdict.accepted
        assert made.pending_plan is not None
        assert (made.pending_plan.made_by, made.pending_plan.summary) == ("small", "Berths are planned.")
        assert made.pending_plan.cost > 0
        view = made.view()
        assert view.commit is not None
        assert view.commit.trigger == "plan of small"
        assert view.tokens < twin.view().tokens
        assert (worker.made, worker.failures) == (1, ())
    assert len(endpoint.requests) == 1


def test_the_question_is_the_last_view_and_one_message_more_so_that_the_cache_is_hit(endpoint: Endpoint) -> None:
    tools = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}]
    made = session(tools=tools)
    endpoint.says(answer([]))
    with asking(endpoint) as worker:
        worker.attend(made)
        worker.wait(10)
    asked = endpoint.requests[0]
    *prefix, task = asked["messages"]
    assert prefix == made.view().messages
    assert asked["tools"] == tools
    assert task["role"] == "user"
    assert f"\n{large(made)[0]} | " in task["content"]
    assert "user words and instructions: 1" in task["content"]
    assert "def load_part_0" not in task["content"]


def test_an_anthropic_session_is_asked_with_its_system_tools_and_a_cache_mark(endpoint: Endpoint) -> None:
    tools = [{"name": "read_file", "input_schema": {"type": "object"}}]
    made = session(format="anthropic_messages", system="Be careful.", tools=tools)
    endpoint.answers = [(200, message(answer(large(made))), {})]
    client = MessagesClient(url=endpoint.url, model="small", key=KEY, retry=Retry(attempts=1), timeout_seconds=5)
    with PlanWorker(client) as worker:
        worker.attend(made)
        worker.wait(10)
        verdict = worker.attend(made)
        assert verdict is not None
        assert verdict.accepted
    asked = endpoint.requests[0]
    assert (asked["system"], asked["tools"]) == ("Be careful.", tools)
    *prefix, last, task = asked["messages"]
    sent = made.last_view
    assert prefix == sent[:-1]
    assert last["content"][-1].pop("cache_control") == {"type": "ephemeral"}
    assert last == sent[-1]
    assert task["content"].startswith("[context management]")
    assert "cache_control" not in json.dumps(sent)


@pytest.mark.parametrize("format", ["anthropic_messages", "openai_responses"])
def test_a_planner_of_another_protocol_reads_the_view_as_text(endpoint: Endpoint, format: str) -> None:
    made = session(format=format)
    endpoint.says(answer(large(made)))
    with asking(endpoint, ask_from_share=0.1) as worker:
        worker.attend(made)
        worker.wait(10)
        verdict = worker.attend(made)
        assert verdict is not None
        assert verdict.accepted
    (asked,) = endpoint.requests[0]["messages"]
    assert "Repair the berth planner" in asked["content"]
    assert "tools" not in endpoint.requests[0]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ((200, completion("Fold items 3 and 4."), {}), "malformed"),
        ((200, completion(answer([3])[:-4]), {}), "malformed"),
        ((200, completion("I'm sorry, I can't do that."), {}), "refusal"),
        ((200, completion(None, message={"refusal": "No."}), {}), "refusal"),
        ((200, completion(answer([3]), finish_reason="length"), {}), "cut"),
        ((200, completion("x" * 900_000), {}), "too-large"),
        ((200, b"x" * 1_100_000, {}), "protocol"),
        ((200, completion(answer([9_999])), {}), "nothing-legal"),
        ((200, completion(answer([1])), {}), "nothing-legal"),
        ((200, completion(answer([])), {}), "nothing-legal"),
        ((200, completion(""), {}), "empty"),
        ((200, b"<html>", {}), "protocol"),
        ((500, b"broken", {}), "status"),
        ((401, f"key {KEY}".encode(), {}), "status"),
    ],
)
def test_whatever_goes_wrong_changes_nothing_and_is_told(endpoint: Endpoint, reply: Any, kind: str) -> None:
    made, twin = session(), session()
    endpoint.answers = [reply]
    with asking(endpoint) as worker:
        worker.attend(made)
        assert worker.wait(10)
        verdict = worker.attend(made)
        assert verdict is None or not verdict.accepted
        assert worker.counts[kind] == 1
        assert KEY not in repr(worker.failures)
    made.append([{"role": "user", "content": "Go on."}])
    twin.append([{"role": "user", "content": "Go on."}])
    assert made.pending_plan is None
    assert made.view().messages == twin.view().messages


def test_an_endpoint_that_is_down_or_silent_is_told_and_the_loop_does_not_wait(endpoint: Endpoint) -> None:
    made = session()
    endpoint.answers = [lambda handler: endpoint.release.wait(10)]
    with asking(endpoint, timeout_seconds=0.2) as worker:
        worker.attend(made)
        worker.attend(made)
        assert worker.wait(10)
        worker.attend(made)
        assert kinds(worker) == ["timeout"]
    down = PlanWorker(ChatClient(url="http://127.0.0.1:9/v1", model="small", retry=Retry(attempts=1)))
    with down as worker:
        worker.attend(made)
        assert worker.wait(10)
        worker.attend(made)
        assert kinds(worker) == ["unreachable"]


def test_an_answer_after_the_deadline_is_not_taken() -> None:
    made, now = session(), [0.0]
    release = threading.Event()

    def slow(messages: Sequence[Mapping[str, Any]], tokens: int, beside: Any = None) -> str:
        release.wait(10)
        return answer(large(made))

    with PlanWorker(slow, deadline_seconds=30, clock=lambda: now[0]) as worker:
        worker.attend(made)
        now[0] = 31.0
        assert worker.attend(made) is None
        assert kinds(worker) == ["deadline"]
        release.set()
        assert worker.wait(10)
        assert worker.attend(made) is None
        assert made.pending_plan is None
    with PlanWorker(slow, deadline_seconds=30, clock=lambda: now[0]) as worker:
        worker.attend(made)
        assert worker.wait(10)
        now[0] = 99.0
        assert worker.attend(made) is None
        assert kinds(worker) == ["deadline"]


def test_illegal_targets_are_told_and_the_legal_ones_are_taken() -> None:
    made = session()
    last = made.items()[-1].id
    with saying(answer([1, last, 9_999, *large(made)])) as worker:
        worker.attend(made)
        worker.wait(10)
        verdict = worker.attend(made)
        assert verdict is not None
        assert verdict.accepted
        assert [(f.kind, f.why) for f in worker.failures] == [
            ("illegal-targets", "last-turn 1, pinned 1, unknown-item 1")
        ]


def test_a_history_that_the_client_rewrote_meanwhile_gets_no_plan() -> None:
    history = working_session("openai_chat", 31, words=150)
    made = Session(budget=9_000, policy="window")
    made.sync(history)
    made.view()
    with saying(answer(large(made))) as worker:
        worker.attend(made)
        worker.wait(10)
        writer = Writer("openai_chat")
        writer.user("Another task.")
        for n in range(40):
            writer.call("bash", f"{n} done", command=f"make part-{n}")
        made.sync(writer.messages)
        verdict = worker.attend(made)
        assert verdict is not None
        assert verdict.code == "changed"
        assert "changed" in kinds(worker)


def test_a_session_is_asked_about_seldom_and_only_when_it_is_worth_it() -> None:
    asked: list[int] = []

    def ask(messages: Sequence[Mapping[str, Any]], tokens: int, beside: Any = None) -> str:
        asked.append(len(messages))
        return "no"

    with PlanWorker(ask, every_steps=3) as worker:
        small = Session(budget=1_000_000)
        small.append(working_session("openai_chat", 5))
        small.view()
        worker.attend(small)
        assert worker.wait(10)
        assert asked == []
        made, writer = session(), Writer("openai_chat")
        for n in range(6):
            worker.attend(made)
            worker.wait(10)
            made.append(writer.call("bash", "ok", command=f"make {n}"))
            made.view()
        assert len(asked) == 2


def test_while_a_plan_waits_nothing_is_asked() -> None:
    made = session(budget=100_000)
    with saying(answer(large(made)[:4]), ask_from_share=0.0, every_steps=1) as worker:
        worker.attend(made)
        worker.wait(10)
        verdict = worker.attend(made)
        assert verdict is not None
        assert verdict.accepted
        assert made.pending_plan is not None
        assert not worker.due(made)
        made.drop_plan()
        made.append(Writer("openai_chat").call("bash", "ok", command="make"))
        assert worker.due(made)


def test_nothing_is_asked_before_the_first_view_and_after_close() -> None:
    made = Session(budget=9_000)
    made.append(working_session("openai_chat", 31, words=150))
    with saying("") as worker:
        assert not worker.submit(made)
    seen = session()
    assert not worker.submit(seen)
    worker.close(5)
    assert "foldaway-plans" not in {thread.name for thread in threading.enumerate()}


def test_one_worker_serves_several_sessions() -> None:
    lives = [session(name=f"s{n}") for n in range(3)]
    with saying(answer(large(lives[0]))) as worker:
        for live in lives:
            worker.attend(live)
        assert worker.wait(10)
        verdicts = [worker.attend(live) for live in lives]
        assert all(verdict is not None and verdict.accepted for verdict in verdicts)
        assert worker.made == 3


def test_settings_out_of_range_are_refused() -> None:
    for wrong in ({"every_steps": 0}, {"ask_from_share": 2.0}, {"deadline_seconds": 0}, {"most_answer_tokens": 0}):
        with pytest.raises(SettingsError):
            saying("", **wrong)


_live: list[Session] = []
NOISE = st.text(max_size=200) | st.lists(st.integers(-5, 99), max_size=20).map(answer)


@settings(max_examples=40, deadline=None)
@given(NOISE)
def test_no_answer_of_a_planner_raises_or_changes_the_view(said: str) -> None:
    if not _live:
        _live.append(session(budget=30_000, prices="anthropic"))
    made = _live[0]
    before = made.view().messages
    with saying(said, ask_from_share=0.0) as worker:
        worker.attend(made)
        assert worker.wait(10)
        verdict = worker.attend(made)
        assert bool(worker.failures) or (verdict is not None and verdict.accepted)
    made.drop_plan()
    assert made.view().messages == before
