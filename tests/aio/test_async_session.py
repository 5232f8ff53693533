"""The async face of a session."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from foldaway import OverBudget, Session, SettingsError
from foldaway.aio import AsyncSession


def exchange(number: int) -> list[dict[str, Any]]:
    function = {"name": "read_file", "arguments": f'{{"path": "src/part_{number}.py"}}'}
    body = "\n".join(f"part {number} row {row}: rate_{number} = {row}" for row in range(60))
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": body},
    ]


HISTORY = [{"role": "user", "content": "Read all parts."}, *(m for n in range(12) for m in exchange(n))]


def test_every_public_method_of_a_session_is_there_and_says_the_same() -> None:
    methods = {n: m for n, m in inspect.getmembers(Session) if inspect.isfunction(m) and not n.startswith("_")}
    for name, method in methods.items():
        twin = getattr(AsyncSession, name, None)
        assert twin is not None, f"AsyncSession lacks {name}"
        assert inspect.iscoroutinefunction(twin)
        assert twin.__doc__ == method.__doc__
        assert inspect.signature(twin) == inspect.signature(method)


def test_a_session_gives_the_same_views_either_way(tmp_path: Path) -> None:
    async def run() -> list[dict[str, Any]]:
        async with await AsyncSession.open(budget=3000, store=f"sqlite:///{tmp_path / 'a.db'}") as session:
            await session.append(HISTORY)
            view = await session.view()
            first = next(i for i in await session.items() if i.name == "read_file")
            assert "part 0 row 59" in (await session.recall(str(first.id))).text
            return view.messages

    with Session(budget=3000) as plain:
        plain.append(HISTORY)
        expected = plain.view().messages
    assert asyncio.run(run()) == expected
    assert len(expected) < len(HISTORY)


def test_errors_come_through_as_they_are() -> None:
    async def run() -> None:
        with pytest.raises(SettingsError, match="low_share"):
            await AsyncSession.open(low_share=2.0)
        async with await AsyncSession.open(budget=10, system="a long system prompt " * 20) as session:
            await session.append([{"role": "user", "content": "hello"}])
            with pytest.raises(OverBudget):
                await session.view()

    asyncio.run(run())


class Watched(Session):
    """Notes how many calls are inside at once, and in which order they came."""

    def watch(self) -> None:
        self.inside, self.most, self.order = 0, 0, list[str]()
        self.gate = threading.Event()

    def search(self, query: str, limit: int = 10) -> list[Any]:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.order.append(query)
        if query == "slow":
            self.gate.wait(10)
        time.sleep(0.002)
        self.inside -= 1
        return []


def watched() -> tuple[AsyncSession, Watched]:
    session = Watched(budget=1000)
    session.watch()
    return AsyncSession(session), session


def test_calls_run_one_at_a_time_in_the_order_they_were_made() -> None:
    facade, session = watched()

    async def run() -> None:
        await asyncio.gather(*(facade.search(str(n)) for n in range(20)))

    for _ in range(2):  # A second event loop finds the same session in working order.
        asyncio.run(run())
    assert session.most == 1
    assert session.order == [str(n) for n in range(20)] * 2


def test_a_cancelled_call_is_waited_for_by_the_next() -> None:
    facade, session = watched()

    async def run() -> None:
        slow = asyncio.create_task(facade.search("slow"))
        while "slow" not in session.order:
            await asyncio.sleep(0.001)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        following = asyncio.create_task(facade.search("next"))
        await asyncio.sleep(0.02)
        assert session.order == ["slow"]
        session.gate.set()
        await following

    asyncio.run(run())
    assert (session.order, session.most) == (["slow", "next"], 1)


def test_the_event_loop_goes_on_while_a_call_works() -> None:
    facade, session = watched()

    async def run() -> int:
        slow = asyncio.create_task(facade.search("slow"))
        turns = 0
        while "slow" not in session.order or turns < 20:
            await asyncio.sleep(0.001)
            turns += 1
        session.gate.set()
        await slow
        return turns

    assert asyncio.run(run()) >= 20
