"""S4.5, the part of rules: what a window holds decides which strategies serve it, and the commit says why."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway import Session, SettingsError
from foldaway.engine.perception import Perception
from foldaway.policies.scheduling import DEFAULT_RULES, choose, rules_from
from foldaway.testing.histories import Writer, prose, working_session


def perceived(writer: Writer, budget: int = 50_000) -> Perception:
    session = Session(budget=budget)
    session.append(writer.messages)
    return session.perceive()


def chosen(writer: Writer) -> str:
    return choose(rules_from(list(DEFAULT_RULES), "rules"), perceived(writer)).name


def test_one_giant_result_is_told_apart() -> None:
    writer = Writer("openai_chat")
    writer.user("Read the log.")
    writer.call("read_file", prose(3000, 1), path="a.log")
    assert chosen(writer) == "few giant results"


def test_many_results_dominate() -> None:
    writer = Writer("openai_chat")
    writer.user("Read them.")
    for n in range(20):
        writer.call("read_file", prose(100, n), path=f"{n}.md")
    assert chosen(writer) == "tool results dominate"


def test_a_long_talk_is_told_apart() -> None:
    writer = Writer("openai_chat")
    for n in range(12):
        writer.user(prose(60, n))
        writer.say(prose(80, n + 50))
    assert chosen(writer) == "long talk"


def test_a_plan_nearly_done_is_late() -> None:
    writer = Writer("openai_chat")
    writer.user("Do four things.")
    for n in range(8):
        writer.call("read_file", prose(40, n), path=f"{n}.md", thought=prose(8, n + 9))
    todos = [{"content": f"thing {n}", "status": "completed" if n < 3 else "pending"} for n in range(4)]
    writer.call("TodoWrite", "ok", todos=todos)
    writer.say("One left.")
    assert chosen(writer) == "late in the plan"


def test_the_first_rule_that_holds_decides_and_the_last_where_none_does() -> None:
    rules = rules_from(
        [
            {"name": "never", "when": {"steps": [1000, 2000]}, "chain": ["window:1"]},
            {"name": "acts", "phases": ["act"], "chain": ["importance:1"]},
            {"name": "last", "when": {"steps": [5000, 9000]}, "chain": ["extraction:1"]},
        ],
        "mine",
    )
    perception = perceived(Writer("openai_chat", messages=working_session("openai_chat", 4)))
    assert perception.phase != "act"
    assert choose(rules, perception).name == "last"
    assert rules[0].why(perception) == "never: steps 4"


def test_the_commit_keeps_which_rule_it_was_and_why() -> None:
    session = Session(budget=1500, policy="ace")
    session.append(working_session("openai_chat", 20))
    commit = session.view().commit
    assert commit is not None
    assert commit.remark.startswith("rule ")
    assert " -> " in commit.remark
    assert session.ledger[-1]["remark"] == commit.remark


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "expected a list of rules"),
        ({"name": "x"}, "expected a list of rules"),
        ([{"name": "x"}], "expected an object with name, when and chain"),
        ([{"chain": ["window:1"], "if": {}}], "unknown if; a rule has"),
        ([{"chain": ["window:1"], "when": {"share": [0, 1]}}], "no figure 'share'; there are system_share"),
        ([{"chain": ["window:1"], "when": {"steps": [2, 1]}}], "steps [2, 1]; expected [from, to]"),
        ([{"chain": ["window:1"], "when": {"steps": 3}}], "expected [from, to]"),
        ([{"chain": ["window:1"], "phases": ["acting"]}], "expected a list out of"),
        ([{"chain": ["windows:1"]}], "rule 1, entry 1: no strategy 'windows'"),
    ],
)
def test_rules_that_make_no_sense_are_refused_with_what_would(data: Any, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        rules_from(data, "mine")
    assert said in str(caught.value)
