"""Long tasks by the official clients: what is sent stays valid and in the budget, recalls are served out of sight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

KINDS = (
    "chat", "chat, streamed", "messages", "messages, streamed", "responses", "responses, streamed", "responses by id",
    "responses by id, streamed",
)  # fmt: skip
BUDGET = 2500
Proxied = Callable[..., Any]


def check_sent(proxied: Any, budget: int = BUDGET) -> None:
    """All that was sent was valid, and inside the budget."""
    assert proxied.upstream.complaints == []
    assert max(asked.tokens for asked in proxied.upstream.requests) <= budget


@pytest.mark.parametrize("kind", KINDS)
def test_an_early_fact_is_recalled_and_the_agent_sees_none_of_it(kind: str, kit: Any, proxied: Proxied) -> None:
    task = kit.task(steps=28, mixed_at=(12,))
    made = proxied(task, budget=BUDGET)
    agent = kit.agent(kind, made)
    last = agent.run()
    assert last == f"Let me look it up. The access code is {kit.secret}."
    assert task.recalls == 2
    assert agent.names == {"read"}
    assert "recall" not in str(agent.history)
    assert "foldaway" not in str(agent.history)
    check_sent(made)
    assert len(made.upstream.requests[-1].text) < len(str(agent.history)) / 2


@pytest.mark.parametrize("kind", ["chat", "messages, streamed", "responses, streamed"])
def test_an_agent_without_tools_has_it_recalled_by_a_directive(kind: str, kit: Any, proxied: Proxied) -> None:
    task = kit.task(steps=28, in_text=True)
    made = proxied(task, budget=BUDGET)
    agent = kit.agent(kind, made, tools=False)
    last = agent.run()
    assert last.replace("  ", " ") == f"Let me look it up. The access code is {kit.secret}."
    assert task.recalls == 1
    assert "RETRIEVE" not in str(agent.history)
    assert all("tools" not in asked.body for asked in made.upstream.requests)
    check_sent(made)


@pytest.mark.parametrize("kind", ["chat, streamed", "messages", "responses by id, streamed"])
def test_parallel_calls_keep_their_results_beside_them(kind: str, kit: Any, proxied: Proxied) -> None:
    task = kit.task(steps=28, at_once=3, mixed_at=(18, 24), by="words")
    made = proxied(task, budget=BUDGET)
    agent = kit.agent(kind, made)
    assert kit.secret in agent.run()
    assert task.recalls >= 2
    assert agent.names == {"read"}
    check_sent(made)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_session_of_two_hundred_calls(kind: str, kit: Any, proxied: Proxied) -> None:
    task = kit.task(steps=200, mixed_at=(50, 120))
    made = proxied(task, budget=4000)
    agent = kit.agent(kind, made)
    assert kit.secret in agent.run()
    assert agent.names == {"read"}
    check_sent(made, 4000)


@pytest.mark.parametrize(("stubborn", "rounds"), [("else", 3), ("the same", 1)])
@pytest.mark.parametrize("kind", ["chat", "messages, streamed", "responses by id, streamed"])
def test_a_model_that_asks_without_end_is_asked_once_more_without_recall(
    kind: str, stubborn: str, rounds: int, kit: Any, proxied: Proxied
) -> None:
    """At the limit of rounds, or as soon as a round brings nothing that the one before had not brought."""
    task = kit.task(steps=24, stubborn=stubborn)
    made = proxied(task, budget=BUDGET, recall_rounds=3)
    agent = kit.agent(kind, made)
    last = agent.run()
    assert len(made.upstream.requests) == 24 + 1 + rounds + 1
    assert ["recall" in asked.tools for asked in made.upstream.requests[-2:]] == [True, False]
    assert agent.names == {"read"}
    assert last.startswith("Let me look it up. " * (rounds + 1))
    check_sent(made)


def test_no_rounds_at_all_leaves_the_agent_with_an_answer(kit: Any, proxied: Proxied) -> None:
    made = proxied(kit.task(steps=24), budget=BUDGET, recall_rounds=0)
    agent = kit.agent("chat, streamed", made)
    assert agent.run() == "Let me look it up. "
    # What was asked for stands in the view of the next request.
    agent.history.append({"role": "user", "content": "And?"})
    agent.step()
    assert kit.secret in made.upstream.requests[-1].text


def test_the_tool_is_offered_only_once_something_is_folded(kit: Any, proxied: Proxied) -> None:
    made = proxied(kit.task(steps=24), budget=BUDGET)
    agent = kit.agent("messages", made)
    agent.run()
    offered = ["recall" in asked.tools for asked in made.upstream.requests]
    assert offered == sorted(offered)
    assert not offered[0]
    assert offered[-1]
    folded = ["[foldaway" in asked.text for asked in made.upstream.requests]
    assert folded == offered


def test_an_own_tool_of_this_name_stays_the_agents(kit: Any, proxied: Proxied) -> None:
    task = kit.task(steps=24)
    made = proxied(task, budget=BUDGET)
    own = {"type": "function", "function": {"name": "recall", "parameters": {"type": "object", "properties": {}}}}
    agent = kit.agent("chat", made)
    tools = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}, own]
    client = made.openai()
    while task.read < 24:
        said = client.chat.completions.create(model="m", messages=agent.history, tools=tools).choices[0].message
        assert said.tool_calls
        agent.history.append(said.model_dump(exclude_none=True))
        agent.history.append(
            {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": kit.content_of(f"f-{task.read}")}
        )
    said = client.chat.completions.create(model="m", messages=agent.history, tools=tools).choices[0].message
    assert said.tool_calls
    assert said.tool_calls[0].function.name == "recall"
    check_sent(made)
