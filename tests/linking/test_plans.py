from __future__ import annotations

import json

import pytest

from foldaway import Session
from foldaway.linking.plans import MOST_ENTRIES, Statement, Status, statements
from foldaway.testing.histories import FORMATS, Call, Writer


def said(writer: Writer) -> list[Statement]:
    """Everything the last turn says about the plan."""
    session = Session(format=writer.format, budget=1_000_000, policy="window")
    session.append(writer.messages)
    return list(statements(session.engine.log.turns[-1]))


def told(statement: Statement) -> list[tuple[str, str, str]]:
    return [(e.text, e.status.value, e.key) for e in statement.entries]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("tool", "field", "text", "states"),
    [
        ("TodoWrite", "todos", "content", ("completed", "in_progress", "pending")),
        ("update_plan", "plan", "step", ("completed", "in_progress", "pending")),
        ("task_tracker", "task_list", "title", ("done", "in_progress", "todo")),
        ("write_todos", "todos", "content", ("completed", "in_progress", "pending")),
    ],
)
def test_a_plan_tool_states_the_whole_plan(
    format: str, tool: str, field: str, text: str, states: tuple[str, ...]
) -> None:
    writer = Writer(format)
    writer.user("Mend it.")
    rows = [{text: f"part {n}", "status": state} for n, state in enumerate(states)]
    writer.calls(Call(name=tool, arguments={field: rows}, result="ok"))
    (found,) = said(writer)
    assert found.whole
    assert told(found) == [("part 0", "done", ""), ("part 1", "active", ""), ("part 2", "open", "")]


def test_a_list_that_came_as_json_text_is_read() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("update_plan", "ok", plan=json.dumps([{"step": "look", "status": "in_progress"}]))
    assert told(said(writer)[0]) == [("look", "active", "")]


def test_a_task_gets_its_id_from_the_result_and_is_changed_by_it() -> None:
    writer = Writer("anthropic_messages")
    writer.user("Mend it.")
    writer.call("TaskCreate", "Task #12 created successfully: Mend", subject="Mend", description="all of it")
    assert told(said(writer)[0]) == [("Mend", "open", "12")]
    writer.call("TaskUpdate", "Updated task #12 status", taskId="12", status="completed")
    assert told(said(writer)[0]) == [("", "done", "12")]
    writer.call("TaskUpdate", "Task not found", taskId="13", status="completed")
    assert said(writer)[0].entries == ()


def test_a_call_that_hands_work_to_another_agent_is_no_plan() -> None:
    writer = Writer("anthropic_messages")
    writer.user("Mend it.")
    writer.call("Task", "report", description="Explore the parser", prompt="read it all", subagent_type="Explore")
    assert said(writer) == []


def test_the_current_entry_is_done_where_the_tool_names_none() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("mark_task_completed", "ok", completed_task_summary="built the node")
    assert said(writer) == [Statement(current_done=True)]


def test_ticked_boxes_are_a_plan_and_an_edit_counts_by_its_new_text() -> None:
    writer = Writer("anthropic_messages")
    writer.user("Mend it.")
    old = "- [ ] Split `run()`\n- [ ] Test it"
    writer.call("edit", "ok", path="plan.md", oldText=old, newText=old.replace("[ ] S", "[x] S"))
    (found,) = said(writer)
    assert not found.whole
    assert [(e.text, e.status, e.firm) for e in found.entries] == [
        ("Split `run()`", Status.DONE, True),
        ("Test it", Status.OPEN, False),
    ]


def test_boxes_in_a_result_are_not_the_agents_words() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("read_file", "- [ ] somebody else's list", path="TODO.md")
    assert said(writer) == []


def test_a_document_full_of_boxes_is_no_plan() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.say("\n".join(f"- [ ] entry {n}" for n in range(MOST_ENTRIES + 1)))
    assert said(writer) == []


@pytest.mark.parametrize("plan", [None, 7, "[", "[1, 2]", [None, {"step": 3, "status": []}], {"a": 1}, [[]]])
def test_a_malformed_plan_says_nothing(plan: object) -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("update_plan", "ok", plan=plan)
    assert all(not s.entries for s in said(writer))
