"""A model names what an action rests on; whatever it says, the graph holds no nonsense."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway import Session, SettingsError
from foldaway.asking import ChatClient, Retry
from foldaway.errors import AskError
from foldaway.steering import LinkWorker, question_of_links, read_links
from foldaway.steering.inferring import MOST_CANDIDATES, MOST_LINKS, Inferred, candidates, newest_action
from foldaway.testing.endpoint import Endpoint, completion
from foldaway.testing.histories import FORMATS, Writer, prose

KEY = "sk-test-4f1c2b3a9d8e7f60"


def session(format: str = "openai_chat", reads: int = 6) -> Session:
    writer = Writer(format)
    writer.user("Mend the berth planner.")
    for n in range(reads):
        writer.call("read_file", f"rule {n}: keep {n} slots free\n{prose(40, n)}", path=f"rules_{n}.md")
    writer.call("edit_file", "ok", thought="As the rule says.", path="plan.py", text="free = max(free, slots)")
    made = Session(format=format, budget=100_000, policy="cwl")
    made.append(writer.messages)
    return made


def answer(*links: tuple[int, float]) -> str:
    return json.dumps({"rests_on": [{"id": i, "confidence": c, "why": "the rule"} for i, c in links]})


def saying(text: str) -> LinkWorker:
    return LinkWorker(lambda messages, tokens, beside=None: text, name="scripted")


def asking(endpoint: Endpoint, **fields: Any) -> LinkWorker:
    client = ChatClient(
        url=endpoint.url, model="small", key=KEY, retry=Retry(attempts=1), timeout_seconds=fields.pop("seconds", 10.0)
    )
    return LinkWorker(client, **fields)


def inferred(made: Session) -> list[tuple[int, int, float]]:
    return [(e["item"], e["needs"], e["weight"]) for e in made.ledger if e["type"] == "infer"]


@pytest.mark.parametrize("format", FORMATS)
def test_what_the_model_is_sure_of_counts_and_the_rest_is_kept(endpoint: Endpoint, format: str) -> None:
    made = session(format)
    action = newest_action(made, after=0)
    assert action is not None
    reads = [i.id for i in made.items() if i.kind.value == "read"]
    endpoint.says(answer((reads[1], 0.9), (reads[4], 0.4)))
    with asking(endpoint) as worker:
        assert worker.attend(made) == 0
        assert inferred(made) == []
        assert worker.wait(10)
        assert worker.attend(made) == 2
        assert (worker.made, worker.counted, worker.failures) == (2, 1, ())
    assert inferred(made) == [(action.id, reads[1], 0.9), (action.id, reads[4], 0.4)]
    found = made.explain(action.id)
    assert [(t, by) for t, _, by, _ in found.needs] == [(reads[1], "inferred")]
    assert [t for t, _, _, _ in found.guesses] == [reads[4]]
    assert {e["source"] for e in made.ledger} == {"small"}


def test_the_question_holds_the_action_and_a_row_for_each_earlier_item(endpoint: Endpoint) -> None:
    made = session()
    endpoint.says(answer())
    with asking(endpoint) as worker:
        assert worker.submit(made)
        worker.wait(10)
    [asked] = endpoint.requests
    [message] = asked["messages"]
    assert "free = max(free, slots)" in message["content"]
    assert "As the rule says." in message["content"]
    assert "\n3 | read | " in message["content"]
    assert "rule 1: keep 1 slots free" in message["content"]
    assert "\n9 | " not in message["content"]


def test_secrets_and_more_than_so_many_items_are_not_sent() -> None:
    writer = Writer("openai_chat")
    writer.user("Go.")
    for n in range(90):
        writer.call("read_file", f"key_{n} = sk-ant-REDACTED{n:04d}abcdefghij\n{prose(30, n)}", path=f"{n}.md")
    writer.call("edit_file", "ok", path="a.py", text="see 3.md and key_4")
    made = Session(budget=1_000_000)
    made.append(writer.messages)
    action = newest_action(made, after=0)
    assert action is not None
    question = question_of_links(made, action)
    assert question is not None
    assert len(question.listed) <= MOST_CANDIDATES
    assert action.id not in question.listed
    assert "sk-ant-" not in question.messages[0]["content"]
    assert [i.id for i in candidates(made, action)] == sorted(question.listed)


def test_an_action_is_asked_about_once_and_a_new_one_when_it_is_time() -> None:
    made, questions = session(), list[str]()

    def ask(messages: Sequence[Mapping[str, Any]], tokens: int, beside: Mapping[str, Any] | None = None) -> str:
        questions.append(messages[0]["content"])
        return answer()

    writer = Writer("openai_chat")
    writer._calls = 50
    with LinkWorker(ask, every_steps=2) as worker:
        for n in range(6):
            worker.attend(made)
            worker.wait(10)
            worker.attend(made)
            made.append(writer.call("edit_file", "ok", path="plan.py", text=f"step {n}"))
    assert len(questions) == 3
    assert len({q.partition("Earlier items")[0] for q in questions}) == 3


BAD = [
    ("", "empty"), ("I'm sorry, I can't help with that.", "refusal"), ("It rests on #3.", "malformed"),
    ("[]", "malformed"), ("{}", "malformed"), ('{"rests_on": 3}', "malformed"),
    ('{"rests_on": [], "more": 1}', "malformed"), ('{"rests_on": [3]}', "malformed"),
    ('{"rests_on": [{"id": "3", "confidence": 0.9, "why": ""}]}', "malformed"),
    ('{"rests_on": [{"id": true, "confidence": 0.9, "why": ""}]}', "malformed"),
    ('{"rests_on": [{"id": 3, "confidence": true, "why": ""}]}', "malformed"),
    ('{"rests_on": [{"id": 3, "confidence": 1.1, "why": ""}]}', "malformed"),
    ('{"rests_on": [{"id": 3, "confidence": NaN, "why": ""}]}', "malformed"),
    ('{"rests_on": [{"id": 3, "confidence": 0.9}]}', "malformed"),
    (answer(*[(3, 0.9)] * (MOST_LINKS + 1)), "too-large"), ("x" * 300_000, "too-large"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "kind"), BAD, ids=range(len(BAD)))
def test_an_answer_that_is_none_changes_nothing_and_is_counted(said: str, kind: str) -> None:
    made = session()
    links = made.engine.log.graph.links()
    with saying(said) as worker:
        worker.attend(made)
        assert worker.wait(10)
        assert worker.attend(made) == 0
        assert [f.kind for f in worker.failures] == [kind]
    assert made.engine.log.graph.links() == links
    assert made.ledger == []


def test_a_fenced_answer_behind_thoughts_is_one() -> None:
    assert read_links(f"<think>hm</think>\n```json\n{answer((3, 0.5))}\n```")[0].target == 3


def test_ids_that_were_not_in_the_table_are_not_taken_and_the_others_are() -> None:
    made = session()
    with saying(answer((1, 0.9), (9, 0.9), (99, 0.9), (3, 0.9))) as worker:
        worker.attend(made)
        worker.wait(10)
        assert worker.attend(made) == 1
        assert worker.counts == {"illegal-targets": 1}
    assert inferred(made) == [(9, 3, 0.9)]


@pytest.mark.parametrize(("status", "kind"), [(500, "status"), (200, "protocol")])
def test_an_endpoint_that_fails_is_a_failure_and_no_more(endpoint: Endpoint, status: int, kind: str) -> None:
    made = session()
    endpoint.answers = [(status, b"no", {})]
    with asking(endpoint) as worker:
        worker.attend(made)
        worker.wait(10)
        assert worker.attend(made) == 0
        assert worker.counts == {kind: 1}
        assert KEY not in str(worker.failures)


def test_an_endpoint_that_is_not_there_is_a_failure_and_no_more() -> None:
    made = session()
    client = ChatClient(url="http://127.0.0.1:9/v1", model="small", retry=Retry(attempts=1), timeout_seconds=2.0)
    with LinkWorker(client) as worker:
        worker.attend(made)
        worker.wait(10)
        assert worker.attend(made) == 0
        assert worker.counts == {"unreachable": 1}


def test_a_slow_answer_keeps_nobody_waiting_and_is_taken_when_it_comes() -> None:
    made, go = session(), threading.Event()

    def ask(messages: Sequence[Mapping[str, Any]], tokens: int, beside: Mapping[str, Any] | None = None) -> str:
        go.wait(10)
        return answer((3, 0.9))

    writer = Writer("openai_chat")
    writer._calls = 50
    with LinkWorker(ask, every_steps=1) as worker:
        for n in range(4):
            assert worker.attend(made) == 0
            made.append(writer.call("edit_file", "ok", path="plan.py", text=f"step {n}"))
            made.view()
        go.set()
        worker.wait(10)
        assert worker.attend(made) == 1
    assert inferred(made) == [(9, 3, 0.9)]


def test_after_a_rewritten_history_an_answer_speaks_of_other_items() -> None:
    made = session()
    with saying(answer((3, 0.9))) as worker:
        worker.submit(made)
        worker.wait(10)
        other = session(reads=2)
        made.sync([*other.messages, {"role": "assistant", "content": "Otherwise."}])
        assert worker.attend(made) == 0
        assert worker.counts == {"changed": 1}
    assert inferred(made) == []


def test_of_an_agent_without_a_tool_protocol_its_words_are_the_action() -> None:
    made = Session(budget=9_000)
    said = [("Look at rules.md.", f"keep two slots\n{prose(40, 1)}"), ("I write plan.py as the rule says.", "ok")]
    messages, origins = [{"role": "user", "content": "Mend it."}], [""]
    for words, came in said:
        messages += [{"role": "assistant", "content": words}, {"role": "user", "content": came}]
        origins += ["", "environment"]
    made.append(messages, origins)
    action = newest_action(made, after=0)
    assert action is not None
    question = question_of_links(made, action)
    assert question is not None
    assert "I write plan.py as the rule says." in question.messages[0]["content"]
    assert [i.title for i in question.listed.values()]
    with saying(answer((min(question.listed), 0.8))) as worker:
        worker.submit(made)
        worker.wait(10)
        assert worker.hand_in(made) == 1
    assert [(k.target, k.weight) for k in made.engine.log.graph.needs(action.id)] == [(3, 0.8)]


def test_nothing_to_rest_on_is_nothing_to_ask() -> None:
    made = Session(budget=9_000)
    writer = Writer("openai_chat")
    writer.user("Go.")
    writer.call("edit_file", "ok", path="a.py", text="x")
    made.append(writer.messages)
    with saying(answer()) as worker:
        assert not worker.submit(made)
    with pytest.raises(SettingsError, match="every_steps"):
        LinkWorker(lambda messages, tokens, beside=None: "", every_steps=0)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 200) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["rests_on", "id", "confidence", "why"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(said=_JSON.map(json.dumps) | st.text(max_size=60))
def test_any_answer_is_links_or_an_error_of_a_kind(said: str) -> None:
    kind, found = "", tuple[Inferred, ...]()
    try:
        found = read_links(said)
    except AskError as error:
        kind = error.kind
    assert kind in ("", "empty", "refusal", "malformed", "too-large")
    assert all(0.0 <= one.confidence <= 1.0 for one in found)


def test_a_body_the_fake_sends_is_what_the_client_reads(endpoint: Endpoint) -> None:
    endpoint.answers = [(200, completion(answer((3, 1))), {})]
    with asking(endpoint) as worker:
        made = session()
        worker.attend(made)
        worker.wait(10)
        worker.attend(made)
    assert inferred(made) == [(9, 3, 1.0)]
