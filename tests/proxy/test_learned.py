"""One refusal teaches every process with the same store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from foldaway.errors import StoreError
from foldaway.proxy.learned import LONGEST_NAME, UNKNOWN, Learned, Limit
from foldaway.settings.parts import make_store
from foldaway.testing.scripted_http import Reply, Sent, chat, reply_json

Worlds = Callable[..., Any]
PATH = "/v1/chat/completions"


def small(sent: Sent) -> Reply:
    if len(sent.content) // 4 <= 3_000:
        return chat("done")
    message = "This model's maximum context length is 3000 tokens."
    return reply_json({"error": {"message": message, "code": "context_length_exceeded"}}, 400)


def told(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "user", "content": f"Do the task of {name}."}]
    for n in range(40):
        found += [
            {"role": "assistant", "content": f"step {n}"},
            {"role": "user", "content": f"see {n} " + "word " * 90},
        ]
    return found


def test_a_second_process_pays_no_refusal_of_its_own(world: Worlds, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    one, other = world(small, store=url), world(small, store=url)
    assert other.ask(PATH, {"model": "local", "messages": told("c")[:5]}).status == 200
    assert one.ask(PATH, {"model": "local", "messages": told("a")}).status == 200
    assert len(one.upstream.sent) == 2
    one.app.saver.submit(lambda: None).result(10)
    assert other.ask(PATH, {"model": "local", "messages": told("b")}).status == 200
    assert len(other.upstream.sent) == 2, "no refusal: it knew the window when it opened the session"


def test_another_tenant_learns_nothing_from_it() -> None:
    store = make_store("memory:")
    assert store is not None
    one, other = Learned(store), Learned(store)
    one.learn("a", "m", window=3_000, body_bytes=99)
    one.save("a", "m")
    other.look("a", "m")
    other.look("b", "m")
    assert other.of("a", "m") == Limit(window=3_000, body_bytes=99)
    assert other.of("b", "m") == UNKNOWN


def test_it_is_asked_once_for_each_model_until_a_session_is_opened() -> None:
    asked: list[str] = []

    class Store:
        def open(self, key: Any) -> str:
            return "h"

        def put_marks(self, session: str, marks: Any) -> None:
            raise StoreError("down")

        def marks(self, user: str, keys: Any) -> dict[str, str]:
            asked.extend(keys)
            return {}

    learned = Learned(Store())
    for _ in range(5):
        learned.look("a", "m")
    assert len(asked) == 1
    learned.look("a", "m", again=True)
    assert len(asked) == 2
    learned.learn("a", "m", window=5)
    learned.save("a", "m")
    assert learned.of("a", "m").window == 5, "a store that is down takes nothing away"
    learned.look("a", "x" * (LONGEST_NAME + 1))
    assert len(asked) == 2


def test_models_beyond_the_bound_are_forgotten() -> None:
    learned = Learned(most=10)
    for n in range(50):
        learned.learn("a", f"m{n}", window=n + 1)
    assert learned.of("a", "m0") == UNKNOWN
    assert learned.of("a", "m49").window == 50
