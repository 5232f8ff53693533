"""`sync(unchanged=)`: what the caller knows to be known is not compared again, unless something else happened."""

from __future__ import annotations

from typing import Any

from foldaway import Session
from foldaway.model.wire import Message
from foldaway.stores.memory import MemoryStore
from foldaway.testing.histories import working_session


class Watched(dict[str, Any]):
    """A message that tells when it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Watched.compared += 1
        return super().__eq__(other)

    __hash__ = None


def watched(steps: int) -> list[Message]:
    return [Watched(message) for message in working_session("openai_chat", steps)]


def test_what_is_said_to_be_unchanged_is_not_compared() -> None:
    history = watched(10)
    session = Session(budget=100_000)
    session.sync(history[:20])
    Watched.compared = 0
    assert session.sync(history, unchanged=20) == len(history) - 20
    assert Watched.compared == 0
    assert session.messages == history


def test_nothing_is_taken_for_known_after_something_else_happened() -> None:
    history = watched(10)
    for happen in ("append", "fewer", "another process"):
        store = MemoryStore()
        session = Session(budget=100_000, store=store)
        session.sync(history[:10])
        changed = [{**history[0], "content": "otherwise"}, *history[1:]]
        if happen == "append":
            session.append([{"role": "assistant", "content": "Beside."}])
        elif happen == "another process":
            Session(budget=100_000, store=store).append([{"role": "user", "content": "Elsewhere."}])
        session.sync(changed, unchanged=8 if happen == "fewer" else 10)
        # Where another process wrote, our store says so, and all is compared with what it has.
        assert session.messages[0]["content"] == "otherwise", happen
        assert session.messages == changed
