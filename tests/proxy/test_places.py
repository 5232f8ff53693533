"""Which session a request is put in."""

from __future__ import annotations

from itertools import pairwise
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


def turns(count: int) -> list[dict[str, str]]:
    return [
        {"role": ("user", "assistant")[n % 2], "content": f"turn {n}: " + f"words about topic {n} " * 30}
        for n in range(2 * count + 1)
    ]


def prompted(text: str, messages: list[dict[str, str]]) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "system", "content": text}, *messages]}


def test_a_prompt_that_is_another_at_each_call_stays_one_session_and_goes_out_as_it_is_now(world: Any) -> None:
    made = world(lambda sent: chat(), budget=3_000)
    told = turns(35)
    views, answers = [], []
    for count in range(1, len(told) + 1, 2):
        prompt = f"You are careful. It is 12:00:{count:02}."
        answers.append(made.ask(PATH, prompted(prompt, told[:count])))
        sent = made.upstream.sent[-1].body["messages"]
        assert sent[0] == {"role": "system", "content": prompt}
        assert not any(m["role"] == "system" for m in sent[1:])
        views.append(sent[1:])
    assert len({session_of(answer) for answer in answers}) == 1
    assert {"branch=0" in answer.header("x-foldaway-view") for answer in answers} == {True}
    assert len(views[-1]) < len(told)
    # What was sent stays the beginning of what is sent, but where it was folded.
    breaks = sum(later[: len(earlier)] != earlier for earlier, later in pairwise(views))
    assert breaks == sum("commit=" in answer.header("x-foldaway-view") for answer in answers)
    assert breaks < len(views) / 2


def test_two_agents_with_prompts_of_their_own_and_one_task_keep_apart(world: Any) -> None:
    made = world(lambda sent: chat())
    start = [{"role": "user", "content": "one task"}]
    for step in range(1, 4):
        for who in ("a writer", "a critic"):
            said = [{"role": ("assistant", "user")[n % 2], "content": f"{who} {n}"} for n in range(2 * step)]
            made.ask(PATH, prompted(f"You are {who}.", [*start, *said]))
            sent = made.upstream.sent[-1].body["messages"]
            assert sent == [{"role": "system", "content": f"You are {who}."}, *start, *said]


def test_a_request_of_nothing_but_a_prompt_goes_through(world: Any) -> None:
    made = world(lambda sent: chat())
    answer = made.ask(PATH, prompted("Say hello.", []))
    assert answer.status == 200
    assert made.upstream.sent[-1].body["messages"] == [{"role": "system", "content": "Say hello."}]
