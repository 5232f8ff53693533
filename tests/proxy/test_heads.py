"""Only what is new of a history is hashed, and the chain is the same."""

from __future__ import annotations

import random
from typing import Any

import pytest

from foldaway.model.wire import Message
from foldaway.proxy import chains, heads
from foldaway.proxy.chains import chain
from foldaway.proxy.heads import Heads


def history(*texts: str) -> list[Message]:
    return [{"role": "user" if n % 2 == 0 else "assistant", "content": text} for n, text in enumerate(texts)]


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """The messages that were hashed."""
    seen: list[Message] = []

    def digest(message: Message) -> bytes:
        seen.append(message)
        return chains.digest(message)

    monkeypatch.setattr(heads, "digest", digest)
    return seen


def test_of_a_history_that_goes_on_only_its_end_is_hashed(hashed: list[Any]) -> None:
    known = Heads(8)
    first = history(*"abcdefgh")
    known.keep(("t", "s", 0), "seed", first, known.chain("t", "seed", first))
    hashed.clear()
    longer = history(*"abcdefghij")
    assert known.chain("t", "seed", longer) == chain(longer, "seed")
    # The two new ones, and the last of those known.
    assert len(hashed) == 3


def test_a_history_that_was_edited_in_front_is_hashed_as_a_whole(hashed: list[Any]) -> None:
    known = Heads(8)
    first = history(*"abcd")
    known.keep(("t", "s", 0), "seed", first, known.chain("t", "seed", first))
    edited = history(*"axcdef")
    assert known.chain("t", "seed", edited) == chain(edited, "seed")
    assert known.chain("t", "seed", edited) != chain(history(*"abcdef"), "seed")


def test_moving_cache_marks_is_no_edit(hashed: list[Any]) -> None:
    known = Heads(8)
    marked: list[Message] = [
        {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}
    ]
    known.keep(("t", "s", 0), "", marked, known.chain("t", "", marked))
    hashed.clear()
    moved: list[Message] = [{"role": "user", "content": [{"type": "text", "text": "a"}]}, *history("b")]
    assert known.chain("t", "", moved) == chain(moved, "")
    assert len(hashed) == 2


def test_tenants_and_seeds_do_not_share_what_is_known(hashed: list[Any]) -> None:
    known = Heads(8)
    first = history(*"abc")
    known.keep(("t", "s", 0), "seed", first, known.chain("t", "seed", first))
    hashed.clear()
    for tenant, seed in (("u", "seed"), ("t", "other")):
        assert known.chain(tenant, seed, first) == chain(first, seed)
    assert len(hashed) == 6


def test_so_many_sessions_are_kept_and_no_more() -> None:
    known = Heads(3)
    for n in range(10):
        messages = history(f"task {n}")
        known.keep(("t", f"s{n}", 0), "", messages, known.chain("t", "", messages))
    assert len(known) == 3
    assert len(known._owners) == 3


def test_whatever_agents_do_the_chain_is_that_of_the_whole_history() -> None:
    rng = random.Random(7)
    known = Heads(4)
    agents = [history("task"), history("task"), history("another task")]
    for call in range(300):
        agent = rng.randrange(len(agents))
        messages = agents[agent]
        if rng.random() < 0.1 and len(messages) > 2:
            del messages[rng.randrange(1, len(messages)) :]
        if rng.random() < 0.1:
            messages[rng.randrange(len(messages))] = {"role": "user", "content": f"edited {call}"}
        messages += history(*(f"{rng.randrange(3)}" for _ in range(rng.randrange(4))))
        given = [dict(m) for m in messages]
        found = known.chain("t", "s", given)
        assert found == chain(given, "s")
        known.keep(("t", f"a{rng.randrange(4)}", 0), "s", given, found)
