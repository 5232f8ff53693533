"""A running digest of what was folded stands as a section of the fold note, kept by the worker beside the loop."""

from __future__ import annotations

from typing import Any

from foldaway import Level, Session
from foldaway.digesting import ChatClient, DigestWorker, Retry, RunningDigest, Writer
from foldaway.digesting.prompt import UPDATING
from foldaway.digesting.so_far import TITLE
from foldaway.testing.endpoint import Endpoint, completion
from foldaway.testing.free_text import REPORT
from foldaway.testing.histories import Writer as History

SAID = "The harbour office moved its tide gauge because the older post had drifted; engineers compared the readings."
LATER = f"{SAID} The dredging contract of the northern channel is an open question."
REFUSED = "I'm sorry, but I can't assist with that request."


def follower(endpoint: Endpoint, **settings: Any) -> DigestWorker:
    client = ChatClient(url=endpoint.url, model="small", retry=Retry(attempts=1), timeout_seconds=5)
    writer = Writer(complete=client, name="small")
    # No digest of single items: the endpoint's script is for the running one.
    return DigestWorker(
        writer, smallest_tokens=1_000_000, running=RunningDigest(writer=writer, room_chars=500, **settings)
    )


def grown(calls: int, **settings: Any) -> tuple[Session, History]:
    session, history = Session(**{"budget": 3_000, "policy": "window", **settings}), History("openai_chat")
    session.append(history.user("Report on the harbour."))
    more(session, history, calls)
    return session, history


def more(session: Session, history: History, calls: int) -> None:
    first = len(history.messages)
    for number in range(first, first + calls):
        text = REPORT[number * 300 % 4_000 :][:1_800]
        session.append(history.call("fetch", f"Page {number}.\n{text}", page=f"part-{number}"))
    session.view()


def step(worker: DigestWorker, session: Session) -> None:
    worker.attend(session)
    assert worker.wait(10)
    worker.attend(session)


def section(session: Session) -> dict[str, Any]:
    return next(entry for entry in reversed(session.ledger) if entry["type"] == "section")


def folded(session: Session) -> list[int]:
    return [item.id for item in session.items() if session.level(item.id) <= Level.STUB]


def test_what_was_folded_is_told_in_the_next_note_with_the_items_it_comes_from(endpoint: Endpoint) -> None:
    endpoint.says(SAID)
    session, history = grown(10)
    gone = folded(session)
    with follower(endpoint) as worker:
        step(worker, session)
        entry = section(session)
        assert (entry["title"], entry["sources"], worker.failures) == (TITLE, gone, ())
        assert entry["text"].startswith(SAID)
        prompt = endpoint.requests[0]["messages"][1]["content"]
        assert all(f"#{item} " in prompt for item in gone[:3])
        assert SAID not in str(session.view().messages)
        more(session, history, 5)
        assert SAID in str(session.view().messages)


def test_an_update_reads_the_digest_before_and_what_was_folded_since(endpoint: Endpoint) -> None:
    endpoint.answers = [(200, completion(SAID), {}), (200, completion(LATER), {})]
    session, history = grown(8)
    first = folded(session)
    with follower(endpoint) as worker:
        step(worker, session)
        more(session, history, 4)
        step(worker, session)
        second = [item for item in folded(session) if item not in first]
        request = endpoint.requests[-1]["messages"]
        assert request[0]["content"].startswith(UPDATING)
        assert SAID in request[1]["content"]
        assert f"#{second[-1]} " in request[1]["content"]
        assert len(request[1]["content"]) < len(endpoint.requests[0]["messages"][1]["content"])
        assert (section(session)["text"], section(session)["sources"]) == (LATER, [*first, *second])


def test_where_the_model_fails_the_section_is_the_digest_by_rule_and_says_so(endpoint: Endpoint) -> None:
    endpoint.says(REFUSED)
    session, _ = grown(8)
    with follower(endpoint) as worker:
        step(worker, session)
        entry = section(session)
        assert entry["source"] == "rules"
        assert 0 < len(entry["text"]) <= 500
        assert "sorry" not in entry["text"]
        assert worker.counts == {"refusal": 1}


def test_a_literal_that_nothing_folded_holds_is_not_told(endpoint: Endpoint) -> None:
    endpoint.says(f"{SAID} It now stands at pier 9271.")
    session, _ = grown(8)
    with follower(endpoint) as worker:
        step(worker, session)
        assert "9271" not in section(session)["text"]
        assert worker.counts == {"literals": 1}


def test_nothing_is_asked_while_nothing_more_is_folded(endpoint: Endpoint) -> None:
    endpoint.says(SAID)
    session, _ = grown(8)
    with follower(endpoint) as worker:
        for _ in range(3):
            step(worker, session)
        assert len(endpoint.requests) == 1


def test_after_a_client_went_back_the_digest_is_made_of_what_is_there(endpoint: Endpoint) -> None:
    endpoint.says(SAID)
    session, history = grown(10)
    with follower(endpoint) as worker:
        step(worker, session)
        kept = history.messages[:9]
        session.sync([*kept, {"role": "user", "content": "Start again with the lighthouse."}])
        step(worker, session)
        told = History("openai_chat", messages=[])
        for number in range(50, 58):
            session.append(told.call("fetch", f"Lighthouse {number}.\n{REPORT[:1_500]}", page=f"light-{number}"))
        session.view()
        step(worker, session)
        assert set(section(session)["sources"]) <= {item.id for item in session.items()}
        assert "not-taken" not in worker.counts


def test_without_it_no_section_is_written(endpoint: Endpoint) -> None:
    session, _ = grown(8)
    with DigestWorker(Writer(complete=lambda messages, tokens: SAID, name="small")) as worker:
        step(worker, session)
        assert not [entry for entry in session.ledger if entry["type"] == "section"]
