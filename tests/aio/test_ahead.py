"""Digests made ahead between the calls of an async session: nobody waits for them, and views are the same."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

from foldaway import Session
from foldaway.aio import AsyncSession
from foldaway.compressors.base import Digest, Hint
from foldaway.compressors.excerpt import cut_head
from foldaway.compressors.registry import Registry
from foldaway.testing.histories import Writer, prose

WORDS = 1_500
SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Gated:
    """Takes any text, and digests it once it is allowed to."""

    name: str = "gated"
    begun: threading.Event = field(default_factory=threading.Event)
    allowed: threading.Event = field(default_factory=threading.Event)
    seen: list[str] = field(default_factory=list)

    def matches(self, text: str, hint: Hint) -> float:
        return 1.0

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        self.begun.set()
        assert self.allowed.wait(SECONDS)
        self.seen.append(text)
        return Digest(text=cut_head(text, room_chars), content="text")


def history() -> list[dict[str, Any]]:
    writer = Writer("openai_chat")
    writer.user("Read all notes.")
    for number in range(5):
        writer.call("read_file", prose(WORDS, number), path=f"notes_{number}.md")
    return writer.messages


def gated(policy: str = "clear-tools", *, prepare: bool = True) -> tuple[AsyncSession, Gated]:
    session, gate = Session(budget=16_000, policy=policy), Gated()
    session.engine.planner.digests.registry = Registry().with_compressor(gate)
    return AsyncSession(session, prepare=prepare), gate


def test_what_came_in_is_digested_between_the_calls_and_views_are_the_same() -> None:
    async def run() -> list[dict[str, Any]]:
        facade, gate = gated()
        gate.allowed.set()
        await facade.append(history())
        assert await asyncio.to_thread(facade.ahead.wait, SECONDS)
        assert facade.ahead.made == len(gate.seen) == 5
        await facade.compact()
        assert len(gate.seen) == 5
        return (await facade.view()).messages

    plain, gate = gated()
    gate.allowed.set()
    plain.session.append(history())
    plain.session.compact()
    assert asyncio.run(run()) == plain.session.view().messages


def test_no_call_waits_for_a_digest_and_none_is_begun_while_one_is_under_way() -> None:
    async def run() -> None:
        facade, gate = gated()
        await facade.append(history())
        assert await asyncio.to_thread(gate.begun.wait, SECONDS)
        view = await asyncio.wait_for(facade.view(), SECONDS)
        assert len(view.messages) == len(history())
        assert gate.seen == []
        facade.ahead.pause()
        gate.allowed.set()
        assert await asyncio.to_thread(facade.ahead.wait, SECONDS)
        assert facade.ahead.made == len(gate.seen) == 1
        facade.ahead.go_on()
        assert await asyncio.to_thread(facade.ahead.wait, SECONDS)
        assert facade.ahead.made == 5

    asyncio.run(run())


def test_nothing_is_begun_after_close_or_where_it_is_turned_off() -> None:
    async def run() -> None:
        for prepare in (True, False):
            facade, gate = gated(prepare=prepare)
            if prepare:
                await facade.close()
                facade.session = Session()
            else:
                await facade.append(history())
            facade.ahead.pause()
            facade.ahead.go_on()
            assert not facade.ahead.running
            assert not gate.begun.is_set()

    asyncio.run(run())


def test_no_thread_is_started_for_a_policy_that_shows_no_digests() -> None:
    async def run() -> None:
        facade, gate = gated("window")
        await facade.append(history())
        assert not facade.ahead.running
        assert not gate.begun.is_set()

    asyncio.run(run())


def test_a_compressor_that_fails_ends_the_thread_and_nothing_else() -> None:
    @dataclass(frozen=True, slots=True)
    class Broken(Gated):
        def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
            raise ZeroDivisionError

    async def run() -> None:
        facade, _ = gated()
        facade.session.engine.planner.digests.registry = Registry().with_compressor(Broken(name="broken"))
        await facade.append(history())
        assert await asyncio.to_thread(facade.ahead.wait, SECONDS)
        assert facade.ahead.made == 0
        assert len((await facade.view()).messages) == len(history())

    asyncio.run(run())
