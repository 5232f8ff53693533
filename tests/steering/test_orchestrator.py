"""The model-backed orchestrator of elastic context: abstractions in, raw, abstract or drop out, up as well as down."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from foldaway import MemoryStore, Session
from foldaway.asking import ChatClient, Retry
from foldaway.errors import AskError
from foldaway.model.items import Level
from foldaway.model.plan import Action
from foldaway.steering.orchestrator import Orchestrator, question_of_steps, read_assignment, step_rows
from foldaway.testing.endpoint import Endpoint
from foldaway.testing.histories import Call, Writer, prose
from foldaway.testing.walks import dumped
from foldaway.wire import problems


def log_of(entries: int) -> str:
    return "\n".join(f"{prose(9, n)} entry_{n}_x" for n in range(entries))


def session(budget: int = 14_000, **fields: Any) -> Session:
    writer = Writer("openai_chat")
    writer.user("Compare the logs of berth 7.")
    for n in range(10):
        writer.call("read_file", log_of(60 + n), path=f"src/part_{n}.log", thought=f"Now part {n}.")
    writer.calls(*(Call(name="read_file", arguments={"path": f"{n}.md"}, result=prose(150, n)) for n in range(2)))
    writer.say("Compared.")
    made = Session(**{"budget": budget, "policy": "window", "prices": "no-cache", **fields})
    made.append(writer.messages)
    made.view()
    return made


def planner(answer: Callable[[list[int]], Any]) -> Orchestrator:
    """An orchestrator whose model answers by the steps it is told of."""

    def ask(messages: Any, tokens: int, beside: Any = None) -> str:
        rows = messages[0]["content"].split("oldest first:\n", 1)[1].split("\n\n", 1)[0].split("\n")
        said = answer([int(row.split(" | ", 1)[0]) for row in rows])
        return said if isinstance(said, str) else json.dumps(said)

    return Orchestrator(ask, name="scripted")


def test_the_question_holds_abstractions_not_originals_and_says_how_each_step_is_shown() -> None:
    made = session(9_000)
    question = question_of_steps(made)
    assert question is not None
    (message,) = question.messages
    assert "Compare the logs of berth 7." in message["content"]
    rows = step_rows(made.engine.snapshot())
    assert {row.text().split(" | ")[1] for row in rows} == {"raw", "dropped"}
    assert all(len(row.abstraction) <= 360 for row in rows)
    assert question.tokens < made.view().tokens
    assert question_of_steps(Session(budget=1000)) is None


def test_the_newest_step_and_the_users_words_are_not_asked_about() -> None:
    made = session()
    question = question_of_steps(made)
    assert question is not None
    kept = {i.id for i in made.items() if i.pinned} | made.engine.snapshot().protected
    assert not kept & set(question.listed)


def test_a_secret_in_a_result_is_not_sent() -> None:
    made = session(30_000)
    secret = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"
    made.append(Writer("openai_chat").call("bash", f"OPENAI_API_KEY={secret}\n{prose(60, 1)}", command="env"))
    made.append(Writer("openai_chat").say("Seen."))
    question = question_of_steps(made)
    assert question is not None
    assert secret not in question.messages[0]["content"]
    assert "OPENAI_API_KEY" in question.messages[0]["content"]


def test_a_step_stands_for_all_its_items() -> None:
    question = question_of_steps(session())
    assert question is not None
    rows = step_rows(session().engine.snapshot())
    both = next(row for row in rows if sum(i.name == "read_file" for i in row.items) == 2)
    why, entries = read_assignment(json.dumps({"drop": [both.id], "why": "done"}), question.listed)
    assert why == "done"
    assert [(e.action, e.targets, e.reason) for e in entries] == [
        (Action.ARCHIVE, tuple(i.id for i in both.items), "drop: done")
    ]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("", "empty"),
        ("I'm sorry, I cannot do that.", "refusal"),
        ("drop everything", "malformed"),
        ("[1, 2]", "malformed"),
        ("{}", "malformed"),
        ('{"raw": [1], "hide": [2]}', "malformed"),
        ('{"raw": ["1"]}', "malformed"),
        ('{"raw": [true]}', "malformed"),
        ('{"raw": 1}', "malformed"),
        ('{"raw": [1], "why": 2}', "malformed"),
        ('{"drop": [' + ",".join(["7"] * 6_000) + "]}", "too-large"),
    ],
)
def test_an_answer_that_makes_no_sense_is_told_apart(answer: str, kind: str) -> None:
    with pytest.raises(AskError) as caught:
        read_assignment(answer, {})
    assert caught.value.kind == kind


def test_a_fenced_answer_is_read() -> None:
    assert read_assignment('```json\n{"drop": [3]}\n```', {})[1][0].targets == (3,)


def test_its_plan_is_committed_and_shows_steps_raw_as_digests_and_hidden() -> None:
    made = session(30_000)
    steps = {row.id: row for row in step_rows(made.engine.snapshot())}
    with planner(lambda ids: {"raw": ids[-1:], "abstract": ids[4:-1], "drop": ids[:4], "why": "compared"}) as worker:
        worker.submit(made)
        assert worker.wait(10)
        verdict = worker.hand_in(made)
        assert verdict is not None
        assert verdict.accepted, verdict
        view = made.view()
    assert view.commit is not None
    assert view.commit.trigger == "plan of scripted"
    ids = sorted(steps)
    levels = [{made.level(i.id) for i in steps[step].items if i.name} for step in ids]
    assert levels[:4] == [{Level.HIDDEN}] * 4
    assert levels[4] == {Level.ABSTRACT}
    assert levels[-1] == {Level.RAW}
    assert problems("openai_chat", view.messages) == []


def test_what_was_dropped_is_shown_raw_again_when_the_model_says_so_and_a_restart_agrees() -> None:
    store = MemoryStore()
    made = session(9_000, store=store)
    rows = step_rows(made.engine.snapshot())
    folded = next(row for row in rows if row.level <= Level.STUB)
    raw = [row.id for row in rows if row.level is Level.RAW]
    with planner(lambda ids: {"raw": [folded.id], "drop": raw}) as worker:
        worker.submit(made)
        assert worker.wait(10)
        verdict = worker.hand_in(made)
        assert verdict is not None
        assert verdict.accepted, verdict
    again = Session(budget=9_000, policy="window", prices="no-cache", store=store)
    assert again.pending_plan == made.pending_plan
    commit = made.compact()
    assert commit is not None
    again = Session(budget=9_000, policy="window", prices="no-cache", store=store)
    assert all(made.level(item.id) is Level.RAW for item in folded.items)
    assert dumped(again.view().messages) == dumped(made.view().messages)


def test_nonsense_changes_nothing() -> None:
    made, twin = session(), session()
    newest = max(i.id for i in made.items())
    for said in ({"drop": [newest, 1, 99_999]}, {"raw": [1]}, "no", {"why": "nothing"}):
        with planner(lambda ids, said=said: said) as worker:  # type: ignore[misc]
            worker.submit(made)
            assert worker.wait(10)
            worker.hand_in(made)
        assert made.pending_plan is None
        assert made.view().messages == twin.view().messages
        assert worker.failures


def test_it_asks_a_real_endpoint_like_any_planner(endpoint: Endpoint) -> None:
    made = session(30_000)
    ids = [row.id for row in step_rows(made.engine.snapshot())]
    endpoint.says(json.dumps({"drop": ids[:5]}))
    client = ChatClient(url=endpoint.url, model="small", key="sk-test", retry=Retry(attempts=1), timeout_seconds=5)
    with Orchestrator(client, ask_from_share=0.1) as worker:
        worker.attend(made)
        assert worker.wait(10)
        verdict = worker.attend(made)
        assert verdict is not None
        assert verdict.accepted
    assert len(endpoint.requests) == 1
