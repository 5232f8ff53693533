"""S4.2: what a window holds, by part, level, value and age; all of it adds up."""

from __future__ import annotations

import json

import pytest

from foldaway import Session
from foldaway.engine.perception import METRICS, Part, Perception, perceive
from foldaway.model.items import Level
from foldaway.settings.parts import policy_names
from foldaway.testing.histories import FORMATS, SYSTEM, Writer, prose, working_session

TOOLS = [{"type": "function", "function": {"name": "read_file", "description": "Reads.", "parameters": {}}}]


def perceived(budget: int = 1500, policy: str = "ace", **settings: object) -> tuple[Perception, Session]:
    session = Session(budget=budget, policy=policy, system=SYSTEM, **settings)  # type: ignore[arg-type]
    session.append(working_session(session.format, 20))
    session.view()
    return session.perceive(), session


@pytest.mark.parametrize("policy", policy_names())
@pytest.mark.parametrize("format", FORMATS)
def test_the_parts_add_up_to_the_view(policy: str, format: str) -> None:
    perception, session = perceived(policy=policy, format=format)
    view = session.view()
    assert sum(perception.parts.values()) == perception.tokens == view.tokens
    assert perception.room_left == 1500 - view.tokens


def test_system_prompt_and_tools_are_told_apart() -> None:
    perception, session = perceived(tools=TOOLS)
    assert perception.parts[Part.SYSTEM] > 0
    assert perception.parts[Part.TOOLS] > 0
    together = perceive(session.engine.snapshot())
    assert together.parts[Part.SYSTEM] == perception.parts[Part.SYSTEM] + perception.parts[Part.TOOLS]


def test_nothing_folded_is_all_raw_and_no_note() -> None:
    perception, session = perceived(budget=100_000)
    assert perception.parts[Part.NOTE] == 0
    assert perception.levels[Level.RAW].items == len(session.items())
    assert perception.levels[Level.HIDDEN].items == 0


def test_folded_items_count_at_their_level_and_the_note_has_a_part() -> None:
    perception, session = perceived()
    counted = {level: sum(1 for i in session.items() if session.level(i.id) is level) for level in Level}
    assert {level: at.items for level, at in perception.levels.items()} == counted
    assert perception.parts[Part.NOTE] > 50
    assert perception.levels[Level.HIDDEN].tokens == 0 < perception.levels[Level.HIDDEN].raw_tokens


def test_a_recall_is_a_part_of_its_own() -> None:
    _, session = perceived(budget=4000, policy="window")
    before = session.perceive().parts[Part.RECALLED]
    session.append([{"role": "assistant", "content": "Again, please. [RETRIEVE: #3]"}])
    session.view()
    assert session.perceive().parts[Part.RECALLED] > before


def test_users_words_keep_the_highest_value_and_what_came_again_is_redundant() -> None:
    writer = Writer("openai_chat")
    writer.user("Read it twice.")
    text = prose(120, 3)
    writer.call("read_file", text, path="a.md")
    writer.call("read_file", text, path="a.md")
    writer.say("Read.")
    session = Session(budget=50_000)
    session.append(writer.messages)
    perception = session.perceive()
    values = {valued.item: valued for valued in perception.values}
    assert values[1].value == 1.0
    assert values[2].value < values[3].value
    assert perception.redundant_tokens == values[2].tokens
    assert perception.metrics["redundant_share"] > 0.3


def test_age_is_weighted_by_tokens() -> None:
    writer = Writer("openai_chat")
    writer.user("Go.")
    writer.call("read_file", prose(2000, 1), path="big.md")
    for n in range(6):
        writer.call("read_file", prose(10, n), path=f"{n}.md")
    session = Session(budget=50_000)
    session.append(writer.messages)
    median, most, oldest = session.perceive().ages
    assert (median, most, oldest) == (7, 7, 7)


def test_every_metric_a_rule_may_name_is_there() -> None:
    perception, _ = perceived()
    assert tuple(perception.metrics) == METRICS
    assert all(0 <= perception.metrics[f"{part.name.lower()}_share"] <= 1 for part in Part)


def test_it_is_plain_data_and_looking_changes_nothing() -> None:
    perception, session = perceived()
    before = session.ledger
    told = json.loads(json.dumps(perception.as_json()))
    assert told["parts"]["fold note"] == perception.parts[Part.NOTE]
    assert session.perceive() == perception
    assert session.ledger == before


def test_an_empty_session_can_be_looked_at() -> None:
    perception = Session(budget=1000).perceive()
    assert (perception.ages, perception.values, perception.phase) == ((0, 0, 0), (), "")
    assert perception.metrics["results_share"] == 0.0


def test_progress_is_the_share_of_the_agents_plan_that_is_done() -> None:
    writer = Writer("openai_chat")
    writer.user("Do the four things.")
    todos = [{"content": f"thing {n}", "status": "completed" if n == 0 else "pending"} for n in range(4)]
    writer.call("TodoWrite", "ok", todos=todos)
    writer.say("On it.")
    session = Session(budget=50_000)
    session.append(writer.messages)
    assert session.perceive().progress == 0.25
    assert perceived()[0].progress == -1.0
