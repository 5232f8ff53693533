"""Sessions at hand are bounded, in number and in bytes; what is let go of comes back from the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from foldaway.proxy.shelf import Desk, Shelf
from foldaway.session import Session
from foldaway.testing.scripted_http import chat

Worlds = Callable[..., Any]
PATH = "/v1/chat/completions"


def desk() -> Desk:
    return Desk(session=Session(budget=1_000))


def key(n: int) -> tuple[str, str, int]:
    return ("t", f"s{n}", 0)


def test_the_sessions_used_longest_ago_make_room_by_their_bytes() -> None:
    out: list[Any] = []
    shelf = Shelf(100, most_bytes=1_000, when_out=out.append)
    for n in range(10):
        shelf.put(key(n), desk(), size=300)
    assert len(shelf) == 3
    assert out == [key(n) for n in range(7)]
    shelf.put(key(9), desk(), size=900)
    assert len(shelf) == 1
    shelf.put(key(10), desk(), size=5_000)
    assert len(shelf) == 1, "the one at work stays, however large"


def test_a_session_that_somebody_works_on_stays() -> None:
    shelf = Shelf(100, most_bytes=1_000)
    busy = desk()
    shelf.put(key(0), busy, size=800)
    with busy.held(1.0):
        shelf.put(key(1), desk(), size=800)
        assert len(shelf) == 2
    shelf.put(key(2), desk(), size=100)
    assert len(shelf) == 2


def test_growing_and_dropped_sessions_are_counted_as_they_are_now() -> None:
    shelf = Shelf(100, most_bytes=1_000)
    one = desk()
    for size in (200, 400, 600):
        shelf.put(key(0), one, size=size)
    shelf.put(key(1), desk(), size=400)
    assert len(shelf) == 2
    shelf.drop(key(0))
    shelf.put(key(2), desk(), size=600)
    assert len(shelf) == 2


def test_what_was_let_go_of_goes_on_where_it_stood(world: Worlds, tmp_path: Path) -> None:
    made = world([chat()], budget=2_000, most_kept_bytes=20_000, store=f"sqlite:///{tmp_path / 's.db'}")
    histories = []
    for n in range(4):
        told: list[dict[str, Any]] = [{"role": "user", "content": f"Task {n}."}]
        for m in range(30):
            told += [{"role": "assistant", "content": f"step {m}"}, {"role": "user", "content": f"{n}.{m} word " * 40}]
        histories.append(told)
    views: dict[tuple[int, int], str] = {}
    for end in range(31, 61, 10):
        for n, told in enumerate(histories):
            answer = made.ask(PATH, {"model": "m", "messages": told[:end]})
            views[n, end] = answer.header("x-foldaway-view").partition(";")[0]
            assert len(made.app.places.shelf) <= 3
            assert len(made.app.places.heads) <= 3
    for n in range(4):
        assert len({views[n, end] for end in range(31, 61, 10)}) == 1
    assert len(set(views.values())) == 4
