"""S3.1, the state of the work: newer facts supersede older ones, the user's word wins, nothing is mixed."""

from __future__ import annotations

from foldaway.linking.state import MOST_CONSTRAINTS, MOST_FACTS, Fact, Request, State, Topic, grouped


def fact(key: str, value: str, item: int, *, topic: Topic = Topic.RECORD, subject: str = "order 7") -> Fact:
    return Fact(topic=topic, subject=subject, key=key, value=value, item=item, step=item)


def test_a_newer_fact_supersedes_the_older_one_and_keeps_its_source() -> None:
    state = State()
    state.learn(fact("status", "pending", 3))
    state.learn(fact("status", "shipped", 9))
    assert [(f.value, f.item) for f in state.facts] == [("shipped", 9)]
    assert [(f.value, f.item, f.superseded_by) for f in state.superseded] == [("pending", 3, 9)]


def test_the_same_value_again_supersedes_nothing() -> None:
    state = State()
    state.learn(fact("status", "pending", 3))
    state.learn(fact("status", "pending", 9))
    assert [f.item for f in state.facts] == [9]
    assert state.superseded == []


def test_a_users_correction_wins_over_what_a_tool_said_before() -> None:
    state = State()
    state.learn(fact("port", "8080", 3, subject="config.toml"))
    state.correct(fact("port", "8081", 5, topic=Topic.TOLD, subject="user"))
    assert [(f.value, f.topic) for f in state.facts] == [("8081", Topic.TOLD)]
    assert [(f.value, f.superseded_by) for f in state.superseded] == [("8080", 5)]


def test_a_correction_by_value_finds_the_fact_whatever_its_key() -> None:
    state = State()
    state.learn(fact("listen", "8080", 3, subject="config.toml"))
    state.correct(fact("instead of 8080", "8081", 5, topic=Topic.TOLD, subject="user"), "8080")
    assert [f.value for f in state.facts] == ["8081"]


def test_a_correction_leaves_records_alone_where_nobody_can_tell_which_one_is_meant() -> None:
    state = State()
    state.learn(fact("name", "Ann", 3, subject="user 1"))
    state.learn(fact("name", "Bob", 4, subject="user 2"))
    state.correct(fact("name", "Cy_3", 5, topic=Topic.TOLD, subject="user"))
    assert [f.value for f in state.facts] == ["Ann", "Bob", "Cy_3"]


def test_a_tool_takes_back_nothing_that_the_user_said() -> None:
    state = State()
    state.learn(fact("port", "8081", 3, topic=Topic.TOLD, subject="user"))
    state.learn(fact("port", "8080", 5, subject="user"))
    assert [f.value for f in state.facts] == ["8081"]


def test_what_works_again_failed_no_more() -> None:
    state = State()
    state.learn(fact("failed", "3 failed", 3, topic=Topic.FAILURE, subject="pytest -x"))
    state.repair("pytest -x", 8)
    assert state.facts == ()
    assert state.superseded[0].superseded_by == 8


def test_the_goal_is_what_came_first_and_the_request_what_came_last() -> None:
    state = State()
    for number, text in enumerate(["Plan the berths.", "Now the cranes.", "And the tides."]):
        state.ask(Request(text=text, item=number + 1, step=number))
    assert state.goal is not None
    assert state.goal.text == "Plan the berths."
    assert state.request is not None
    assert state.request.text == "And the tides."


def test_state_is_bounded_and_constraints_of_the_goal_outlive_small_talk() -> None:
    state = State()
    state.ask(Request(text="goal", item=1, step=0))
    state.bind(Request(text="Never touch production.", item=1, step=0))
    for n in range(2, MOST_FACTS * 2):
        state.learn(fact("status", str(n), n, subject=f"order {n}"))
        state.bind(Request(text=f"never {n}", item=n, step=n))
    assert len(state.facts) == MOST_FACTS
    assert len(state.constraints) == MOST_CONSTRAINTS
    assert "Never touch production." in state.constraints
    assert state.facts[-1].value == str(MOST_FACTS * 2 - 1)


def test_what_the_user_decided_outlives_records_when_the_state_is_full() -> None:
    state = State()
    state.learn(fact("answer", "yes", 1, topic=Topic.DECISION, subject="Cancel?"))
    for n in range(2, MOST_FACTS * 2):
        state.learn(fact("status", str(n), n, subject=f"order {n}"))
    assert state.fact("Cancel?", "answer") is not None


def test_facts_are_grouped_by_topic_in_a_fixed_order() -> None:
    facts = [
        fact("status", "open", 1), fact("port", "1", 2, topic=Topic.TOLD, subject="user"), fact("total", "5", 3),
    ]  # fmt: skip
    found = [(topic, subject, [f.key for f in held]) for topic, subject, held in grouped(facts)]
    assert found == [(Topic.TOLD, "user", ["port"]), (Topic.RECORD, "order 7", ["status", "total"])]
