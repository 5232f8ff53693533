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


def fits(proxied: Any, budget: int = BUDGET) -> None:
    """All that was sent was valid, and inside the budget."""
    assert proxied.upstream.complaints == []
    assert max(asked.tokens for asked in proxied.upstream.requests) <= budget


@pytest.mark.parametrize("kind", KINDS)
def test_an_early_fact_is_recalled_and_the_agent_sees_none_of_it(
    kind: str, kit: Any, proxied: Callable[..., Any]
) -> None:
    task = kit.task(steps=60, mixed_at=(40,))
    made = proxied(task, budget=BUDGET)
    agent = kit.agent(kind, made)
    last = agent.run()
    assert kit.secret in last
    assert last.startswith("Let me look it up. ")
    assert task.recalls >= 2
    assert agent.names == {"read"}
    assert "recall" not in str(agent.history)
    fits(made)
    whole = len(str(agent.history))
    assert len(str(made.upstream.requests[-1].messages)) < whole / 3
