from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import foldaway
from foldaway import Session
from foldaway.model.plan import Action
from foldaway.readers import read_sessions
from foldaway.steering import plan_by_rules
from foldaway.testing.histories import working_session

SESSIONS = Path(foldaway.__file__).parent / "data/sessions"


def session(policy: str = "cwl", **fields: Any) -> Session:
    made = Session(**{"budget": 5_000, "policy": policy, "prices": "no-cache", **fields})
    made.append(working_session("openai_chat", 40, words=120))
    return made


@pytest.mark.parametrize("policy", ["auto", "cwl", "lru", "mask-old", "window"])
def test_what_a_policy_would_do_is_a_legal_plan(policy: str) -> None:
    made = session(policy)
    plan = plan_by_rules(made)
    assert plan is not None
    assert plan.made_by == f"rules: {policy}"
    assert made.ledger == []
    verdict = made.propose_plan(plan)
    assert verdict.accepted
    assert {r.code for r in verdict.refused} <= {"raises-cost", "no-change"}


def test_the_plan_of_the_policy_frees_what_the_policy_frees() -> None:
    made = session()
    preview, plan = made.preview(), plan_by_rules(made)
    assert preview is not None
    assert plan is not None
    verdict = made.propose_plan(plan)
    assert verdict.commit is not None
    assert verdict.commit.tokens_after == pytest.approx(preview.tokens_after, rel=0.15)


def test_entries_hold_items_of_one_action_and_reason() -> None:
    plan = plan_by_rules(session())
    assert plan is not None
    keys = [(entry.action, entry.reason) for entry in plan.entries]
    assert len(keys) == len(set(keys))
    assert all(entry.action is not Action.KEEP for entry in plan.entries)
    assert plan.summary.startswith("Repair the berth planner")


def test_where_nothing_may_go_there_is_no_plan() -> None:
    made = Session(budget=100_000)
    made.append([{"role": "user", "content": "hello"}])
    assert plan_by_rules(made) is None


def test_a_real_session_is_planned_by_rules(tmp_path: Path) -> None:
    recorded = next(iter(read_sessions(SESSIONS / "openhands-6e5782946284.jsonl.gz")))
    made = Session(format=recorded.format, budget=20_000, policy="cwl", prices="anthropic")
    made.append(recorded.messages, recorded.origins)
    plan = plan_by_rules(made)
    assert plan is not None
    verdict = made.propose_plan(plan)
    assert verdict.accepted
    assert verdict.commit is not None
    assert verdict.commit.tokens_after < verdict.commit.tokens_before // 2
