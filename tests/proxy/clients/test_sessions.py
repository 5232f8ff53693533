"""Which session a request belongs to: agents that restart, compact, fork, edit, repeat and work side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

from foldaway import Session
from foldaway.testing.replies import Call, Reply

BUDGET = 2500
STEPS = 24
Proxied = Callable[..., Any]


def names(made: Any, key: str = "sk-a") -> list[str]:
    """Names of the sessions that this key has."""
    tenant = made.app.tenants.tenant({"authorization": f"Bearer {key}"})
    return list(made.app.store.sessions(tenant))


def check_sent(*all_made: Any, budget: int = BUDGET) -> None:
    for made in all_made:
        assert made.upstream.complaints == []
        assert max(asked.tokens for asked in made.upstream.requests) <= budget


def test_one_agent_is_one_session(kit: Any, proxied: Proxied) -> None:
    made = proxied(kit.task(steps=STEPS), budget=BUDGET)
    assert kit.secret in kit.agent("chat", made).run()
    assert len(names(made)) == 1


def test_another_process_finds_the_session_in_the_store(kit: Any, proxied: Proxied) -> None:
    task = kit.task(steps=STEPS)
    first = proxied(task, budget=BUDGET)
    agent = kit.agent("chat", first)
    for _ in range(15):
        agent.step()
    first.close()
    second = proxied(task, budget=BUDGET)
    again = kit.after(agent, kit.agent("chat", second).ask)
    assert kit.secret in again.run()
    assert len(names(second)) == 1
    # It goes on from the very view that was there: what was folded stays folded in the same words.
    before, after = first.upstream.requests[-1].messages, second.upstream.requests[0].messages
    assert after[: len(before)] == before
    check_sent(first, second)


def test_two_processes_on_one_store_in_turn_lose_nothing(kit: Any, proxied: Proxied) -> None:
    task = kit.task(steps=STEPS, mixed_at=(16,))
    one, two = proxied(task, budget=BUDGET), proxied(task, budget=BUDGET)
    agent = kit.agent("chat", one)
    asks = [agent.ask, kit.agent("chat", two).ask]
    for turn in range(80):
        agent.ask = asks[turn % 2]
        if not agent.step():
            break
    assert kit.secret in agent.answers[-1]
    assert len(names(one)) == 1
    check_sent(one, two)
    assert len(one.upstream.requests) > 8
    assert len(two.upstream.requests) > 8
    told = held(one, names(one)[0])
    assert [json.loads(json.dumps(m)) for m in told] == agent.history[:-1]


def held(made: Any, name: str) -> list[Any]:
    """The client's messages that the store has of a session."""
    tenant = made.app.tenants.tenant({"authorization": "Bearer sk-a"})
    return list(Session(store=made.app.store, user=tenant, name=name, budget=BUDGET).messages)


def test_a_request_that_is_repeated_gets_the_same_view(kit: Any, proxied: Proxied) -> None:
    made = proxied(kit.task(steps=STEPS), budget=BUDGET)
    agent = kit.agent("messages", made)
    for _ in range(18):
        agent.step()
    history = json.loads(json.dumps(agent.history))
    agent.ask(history)
    agent.ask(history)
    last, before = made.upstream.requests[-1], made.upstream.requests[-2]
    assert last.body == before.body
    assert "[foldaway" in last.text
    assert len(names(made)) == 1


def test_an_agent_that_compacts_by_itself_goes_on_with_what_it_kept(kit: Any, proxied: Proxied) -> None:
    task = kit.task(steps=STEPS)
    made = proxied(task, budget=BUDGET)
    agent = kit.agent("chat", made)
    for _ in range(18):
        agent.step()
    summary = {"role": "user", "content": f"Summary so far: 18 files read; the access code is {kit.secret}."}
    agent.history = [agent.history[0], summary]
    assert kit.secret in agent.run()
    assert task.recalls == 0
    check_sent(made)


def test_an_edited_message_starts_a_branch_and_the_old_one_is_still_there(kit: Any, proxied: Proxied) -> None:
    task = kit.task(steps=STEPS)
    made = proxied(task, budget=BUDGET)
    agent = kit.agent("chat", made)
    for _ in range(18):
        agent.step()
    old = kit.after(agent)
    edited = kit.after(agent)
    edited.history[4]["content"] = "file file-1.txt\nnothing in it"
    edited.step()
    last = made.upstream.requests[-1]
    assert "entry 1.3" not in last.text
    assert kit.secret in old.run()
    assert kit.secret in kit.after(edited).run()
    check_sent(made)


def test_two_continuations_of_one_start_each_see_their_own(kit: Any, proxied: Proxied) -> None:
    task = kit.task(steps=18)
    made = proxied(task, budget=BUDGET)
    agent = kit.agent("chat", made)
    for _ in range(18):
        agent.step()
    forks = []
    for name in ("left", "right"):
        fork = kit.after(agent, kit.agent("chat", made).ask)
        fork.history.append({"role": "user", "content": f"You go {name}: keep the word {name}-only."})
        forks.append(fork)
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda fork: fork.run(), forks))
    assert all(kit.secret in answer for answer in answers)
    for asked in made.upstream.requests:
        assert not ("left-only" in asked.text and "right-only" in asked.text)
    check_sent(made)


@pytest.mark.parametrize("kind", ["chat", "messages, streamed"])
def test_sub_agents_with_the_same_first_message_part_where_they_part(kit: Any, proxied: Proxied, kind: str) -> None:
    tasks = [kit.task(steps=STEPS), kit.task(steps=STEPS)]

    def model(asked: Any) -> Any:
        # The second one reads other files: its calls are answered under other names.
        return tasks["sub-b" in asked.headers.get("x-agent", "")](asked)

    made = proxied(model, budget=BUDGET)
    agents = [kit.agent(kind, made, extra_headers={"x-agent": f"sub-{n}"}) for n in "ab"]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda agent: agent.run(), agents))
    assert all(kit.secret in answer for answer in answers)
    check_sent(made)


def test_two_requests_of_one_session_at_once_are_both_answered(kit: Any, proxied: Proxied) -> None:
    made = proxied(kit.task(steps=60), budget=BUDGET)
    agent = kit.agent("chat", made)
    for _ in range(18):
        agent.step()
    history = json.loads(json.dumps(agent.history))
    asks = [kit.agent("chat", made).ask for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda ask: ask(history), asks))
    assert len(answers) == 4
    bodies = {json.dumps(asked.body) for asked in made.upstream.requests[-4:]}
    assert len(bodies) == 1
    check_sent(made)
    assert len(names(made)) == 1


def test_a_name_in_the_header_parts_sessions_that_begin_alike(kit: Any, proxied: Proxied) -> None:
    made = proxied(kit.task(steps=60), budget=BUDGET)
    for name in ("one", "two"):
        agent = kit.agent("chat", made, extra_headers={"x-foldaway-session": name})
        for _ in range(3):
            agent.step()
    assert sorted(names(made)) == ["one", "two"]
    assert all("x-foldaway-session" not in asked.headers for asked in made.upstream.requests)


def test_a_key_never_gets_what_another_key_has_seen(kit: Any, proxied: Proxied) -> None:
    task = kit.task(steps=STEPS)
    made = proxied(task, budget=BUDGET)
    agent = kit.agent("chat", made)
    assert kit.secret in agent.run()

    def thief(asked: Any) -> Any:
        if "recall" in asked.tools and not any("recall" in json.dumps(m) for m in asked.messages[-2:]):
            return Reply(calls=[Call(name="recall", arguments={"ids": f"#1-#200, {kit.secret}, access code"})])
        return Reply(text="done")

    # The same history but for one file, under another key: nothing of the first one's may come.
    made.upstream.script = thief
    history = [m for m in json.loads(json.dumps(agent.history)) if kit.secret not in json.dumps(m)]
    lost = [m for m in agent.history if kit.secret in json.dumps(m) and m["role"] == "tool"]
    calls = {m["tool_call_id"] for m in lost}
    history = [m for m in history if not any(c["id"] in calls for c in m.get("tool_calls", ()))]
    other = made.openai(key="sk-b")
    said = other.chat.completions.create(model="m", messages=history, tools=[tool()])
    assert said.choices[0].message.content
    sent = [asked for asked in made.upstream.requests if asked.headers["authorization"] == "Bearer sk-b"]
    assert len(sent) >= 2
    assert all(kit.secret not in asked.text.replace(f"#1-#200, {kit.secret}", "") for asked in sent)
    assert len(names(made, "sk-b")) == 1
    assert len(names(made, "sk-a")) == 1


def tool() -> Any:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return {"type": "function", "function": {"name": "read", "parameters": schema}}


def test_a_response_id_of_another_key_is_not_known(kit: Any, proxied: Proxied) -> None:
    made = proxied(lambda asked: Reply(text="Yes."), budget=BUDGET)
    first = made.openai(key="sk-a").responses.create(model="m", input="The word is plum.", tools=[])
    answer = made.openai(key="sk-b").responses.create(model="m", input="And?", previous_response_id=first.id)
    # It went past the engine: whether the id is this key's own is for the provider to say.
    assert answer.id
    assert made.upstream.requests[-1].body["previous_response_id"] == first.id
    assert "plum" not in made.upstream.requests[-1].text
    with pytest.raises(openai.BadRequestError, match="not found"):
        made.openai(key="sk-b").responses.create(model="m", input="And?", previous_response_id="resp_none")
