"""Which session a request is put in."""

from __future__ import annotations

from typing import Any

from foldaway.testing.scripted_http import chat

PATH = "/v1/chat/completions"


def session_of(answer: Any) -> str:
    return str(answer.header("x-foldaway-view")).partition(";")[0]


def test_two_tasks_of_one_program_share_instructions_and_no_session(world: Any) -> None:
    made = world(lambda sent: chat())
    instructions = [{"role": "system", "content": "You are careful."}, {"role": "developer", "content": "Be short."}]
    first, second = (
        made.ask(PATH, {"model": "m", "messages": [*instructions, {"role": "user", "content": text}]})
        for text in ("one task", "another task")
    )
    assert session_of(first) != session_of(second)
    assert "branch=0" in second.header("x-foldaway-view")


def test_a_task_that_was_told_more_goes_on_where_it_stood(world: Any) -> None:
    made = world(lambda sent: chat())
    start = [{"role": "system", "content": "You are careful."}, {"role": "user", "content": "one task"}]
    more = [*start, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "go on"}]
    answers = [made.ask(PATH, {"model": "m", "messages": messages}) for messages in (start, more)]
    assert session_of(answers[0]) == session_of(answers[1])
