"""Whatever fails inside, the call goes out with something valid, and it shows (I9)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from foldaway.errors import StoreError
from foldaway.proxy.fallback import shortened
from foldaway.proxy.places import Incoming, Places
from foldaway.stores.memory import MemoryStore
from foldaway.testing.scripted_http import chat
from foldaway.wire import problems

Worlds = Callable[..., Any]
PATH = "/v1/chat/completions"


def history(steps: int, words: int = 200) -> list[dict[str, Any]]:
    """Calls and results of about `words` words each."""
    told: list[dict[str, Any]] = [{"role": "user", "content": "Do the task."}]
    for n in range(steps):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": f'{{"path": "f{n}"}}'}}
        told.append({"role": "assistant", "content": None, "tool_calls": [call]})
        told.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"result {n} " + "word " * words})
    return told


def body(steps: int, words: int = 200, **more: Any) -> dict[str, Any]:
    return {"model": "some-model", "messages": history(steps, words), **more}


def broken(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("a secret of the conversation")


def test_a_small_request_goes_out_as_it_came_when_the_engine_fails(world: Worlds) -> None:
    made = world([chat()], budget=3_000)
    made.app.turns.prepare = broken
    asked = body(1, 5)
    answer = made.ask(PATH, asked)
    assert answer.status == 200
    assert made.upstream.sent[0].body == asked
    assert "ZeroDivisionError" in (answer.header("x-foldaway-passed") or "")
    assert "secret" not in (answer.header("x-foldaway-passed") or "")


def test_a_request_over_the_budget_goes_out_as_a_recent_window_when_the_engine_fails(world: Worlds) -> None:
    made = world([chat()], budget=3_000)
    made.app.turns.prepare = broken
    asked = body(60)
    assert made.ask(PATH, asked).status == 200
    sent = made.upstream.sent[0].body
    assert problems("openai_chat", sent["messages"]) == []
    assert sent["messages"][-1] == asked["messages"][-1]
    assert len(made.upstream.sent[0].content) < 4 * 3_000 * 2
    assert {k: v for k, v in sent.items() if k != "messages"} == {"model": "some-model"}


def test_an_engine_that_hangs_costs_the_time_limit_and_no_more(world: Worlds) -> None:
    made = world([chat()], budget=3_000, time_limit_seconds=0.3)
    made.app.fallback.safest(b"{}", body(1), _dialect(), _incoming(made, body(1)), "")  # warm
    stop = threading.Event()
    made.app.turns.prepare = lambda *_: stop.wait(10)
    started = time.monotonic()
    answer = made.ask(PATH, body(1, 5))
    took = time.monotonic() - started
    stop.set()
    assert answer.status == 200
    assert answer.header("x-foldaway-passed") == "deciding took too long"
    assert 0.25 < took < 5


def test_more_hanging_requests_than_threads_do_not_stop_the_next_one(world: Worlds) -> None:
    made = world([chat()], time_limit_seconds=0.3)
    stop = threading.Event()
    made.app.turns.prepare = lambda *_: stop.wait(20)
    answers = made.all(*[(PATH, body(1, 5))] * 40)
    stop.set()
    assert [a.status for a in answers] == [200] * 40


def test_the_original_goes_out_when_not_even_the_fallback_can_be_made(world: Worlds) -> None:
    made = world([chat()], budget=500)
    made.app.turns.prepare = broken
    made.app.fallback._recent = broken
    asked = body(20)
    assert made.ask(PATH, asked).status == 200
    assert made.upstream.sent[0].body == asked


def test_what_is_known_to_be_too_large_for_the_window_is_never_sent(world: Worlds) -> None:
    made = world([chat()])
    made.app.learned.learn(_incoming(made, body(1)).tenant, "some-model", window=1_000)
    made.app.turns.prepare = broken
    made.app.fallback.safest = broken
    answer = made.ask(PATH, body(60))
    assert answer.status == 400
    assert answer.body["error"]["code"] == "context_length_exceeded"
    assert made.upstream.sent == []


class Failing(MemoryStore):
    """A store whose every verb fails while it is down."""

    down = False

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not name.startswith("_") and callable(found) and name != "close" and super().__getattribute__("down"):

            def fail(*_: Any, **__: Any) -> Any:
                raise StoreError("the disk is gone")

            return fail
        return found


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Failing]:
    store = Failing()
    monkeypatch.setattr("foldaway.proxy.app.make_store", lambda _: store)
    yield store
    store.down = False


def test_with_the_store_down_from_the_start_calls_go_out_inside_the_budget(world: Worlds, failing: Failing) -> None:
    made = world([chat()], budget=3_000)
    failing.down = True
    answer = made.ask(PATH, body(60))
    assert answer.status == 200
    assert answer.header("x-foldaway-passed") == "StoreError"
    assert problems("openai_chat", made.upstream.sent[0].body["messages"]) == []
    assert len(made.upstream.sent[0].content) < 30_000


def test_a_store_that_comes_back_has_everything(world: Worlds, failing: Failing) -> None:
    made = world([chat()], budget=3_000)
    asked = body(30)
    messages = asked["messages"]
    for end, down in ((11, False), (21, True), (31, True), (41, False)):
        failing.down = down
        assert made.ask(PATH, {**asked, "messages": messages[:end]}).status == 200
    desk = next(iter(made.app.places.shelf._desks.values()))
    assert desk.session.messages == messages[:41]
    (user,) = [u for u in failing.users() if u.startswith("t-")]
    (name,) = failing.sessions(user)
    places = Places(made.app.settings, failing, made.app.learned)
    again = places.seat(_incoming(made, {**asked, "messages": messages[:43]}))
    # On the same branch, whichever of its marks the store has by now: the last one is written while an answer comes.
    assert again.key[1:] == (name, 0)
    assert again.desk.session.messages == messages[:43]


def test_a_session_that_somebody_holds_does_not_stop_its_next_request(world: Worlds) -> None:
    made = world([chat()], time_limit_seconds=0.5)
    asked = body(3, 5)
    while made.ask(PATH, {**asked, "messages": asked["messages"][:3]}).header("x-foldaway-passed"):
        pass  # the first decisions load what they need
    desk = next(iter(made.app.places.shelf._desks.values()))
    with desk.lock:
        answer = made.ask(PATH, {**asked, "messages": asked["messages"][:5]})
    assert answer.status == 200
    assert answer.header("x-foldaway-passed") in ("Busy", "deciding took too long")
    answer = made.ask(PATH, asked)
    assert answer.header("x-foldaway-passed") is None
    # A fork's, where the request that waited came to its turn after all.
    assert any(d.session.messages == asked["messages"] for d in made.app.places.shelf._desks.values())


def test_a_session_whose_engine_failed_is_opened_again(world: Worlds, monkeypatch: pytest.MonkeyPatch) -> None:
    made = world([chat()], store="memory:")
    asked = body(3, 5)
    made.ask(PATH, {**asked, "messages": asked["messages"][:3]})
    with monkeypatch.context() as patched:
        patched.setattr("foldaway.session.Session.view", broken)
        assert made.ask(PATH, {**asked, "messages": asked["messages"][:5]}).status == 200
    answer = made.ask(PATH, asked)
    assert answer.header("x-foldaway-passed") is None
    assert next(iter(made.app.places.shelf._desks.values())).session.messages == asked["messages"]


def _dialect() -> Any:
    from foldaway.proxy.dialects import BY_PATH

    return BY_PATH[PATH]


def _incoming(made: Any, asked: dict[str, Any]) -> Incoming:
    read = _dialect().read(asked)
    incoming: Incoming = made.app.tenants.incoming(read, {})
    return incoming


@pytest.mark.parametrize("format", ["openai_chat", "anthropic_messages", "openai_responses"])
def test_of_a_very_long_history_the_fallback_looks_at_both_ends_only(format: str) -> None:
    long = {"openai_chat": history(500), "anthropic_messages": _anthropic(500), "openai_responses": _responses(500)}[
        format
    ]
    cut = shortened(format, long, 40_000)
    assert len(cut) < 120
    assert cut[0] == long[0]
    assert cut[-1] == long[-1]
    assert f"[{len(long) - len(cut) + 1} earlier messages are not shown]" in str(cut[1])
    assert problems(format, cut) == []
    assert shortened(format, long, 10**9) is long
    assert shortened(format, long[-1:], 10) == long[-1:]


def _anthropic(steps: int) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [{"role": "user", "content": "Do the task."}]
    for n in range(steps):
        use = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": "word " * 200}
        told += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return told


def _responses(steps: int) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [{"role": "user", "content": "Do the task."}]
    for n in range(steps):
        told.append({"type": "reasoning", "id": f"r{n}", "summary": [], "encrypted_content": "x"})
        told.append({"type": "function_call", "id": f"f{n}", "call_id": f"c{n}", "name": "read", "arguments": "{}"})
        told.append({"type": "function_call_output", "call_id": f"c{n}", "output": "word " * 200})
    return told


def test_a_decision_that_came_too_late_for_a_thread_is_not_made_afterwards(world: Worlds) -> None:
    made = world([chat()], time_limit_seconds=0.2)
    stop, begun = threading.Event(), []

    def hang(*_: Any) -> None:
        begun.append(1)
        stop.wait(20)

    made.app.turns.prepare = hang
    made.all(*[(PATH, body(1, 5))] * 50)
    stop.set()
    time.sleep(0.1)
    assert len(begun) == 32
