"""The async face of a session: the same methods, each one handed to a thread.

A step costs micro- to milliseconds, so the session itself stays synchronous; the thread is for the disk and for what
is long once (a first view of a long history). Calls of one session run one at a time, in the order they were made.
Between them digests are made ahead (see `Session.prepare`).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from foldaway.aio.ahead import Ahead
from foldaway.session import Session

P = ParamSpec("P")
R = TypeVar("R")


def _threaded(
    method: Callable[Concatenate[Session, P], R],
) -> Callable[Concatenate[AsyncSession, P], Coroutine[Any, Any, R]]:
    @wraps(method)
    async def call(self: AsyncSession, /, *args: P.args, **kwargs: P.kwargs) -> R:
        # By name: a subclass of Session may have its own.
        bound: Callable[P, R] = getattr(self.session, method.__name__)
        return await self._run(bound, *args, **kwargs)

    return call


class AsyncSession:
    """A `Session` for async code; take it from `AsyncSession.open`. Also an async context manager.

    A cancelled call may still take effect: its thread runs to the end, and the next call waits for it.
    """

    def __init__(self, session: Session, *, prepare: bool = True) -> None:
        """`prepare`: make digests ahead between the calls, where the policy shows digests."""
        self.session = session
        """The session itself, for its properties (`ledger`, `warnings`, `engine`): only while no call is under way."""
        self._busy = threading.Lock()
        self._line: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.ahead = Ahead(session, self._busy)
        """Makes digests between the calls."""
        if not prepare:
            self.ahead.end()

    @classmethod
    async def open(cls, *, prepare: bool = True, **settings: Any) -> AsyncSession:
        """Takes the settings of `Session`; a stored session is read in a thread as well.

        `prepare`: make digests ahead between the calls, where the policy shows digests. Views are the same without.
        """
        return cls(await asyncio.to_thread(lambda: Session(**settings)), prepare=prepare)

    append = _threaded(Session.append)
    sync = _threaded(Session.sync)
    view = _threaded(Session.view)
    count = _threaded(Session.count)
    compact = _threaded(Session.compact)
    set_budget = _threaded(Session.set_budget)
    set_prompt = _threaded(Session.set_prompt)
    report_usage = _threaded(Session.report_usage)
    recall = _threaded(Session.recall)
    recall_into_view = _threaded(Session.recall_into_view)
    recall_messages = _threaded(Session.recall_messages)
    recall_result = _threaded(Session.recall_result)
    recall_tool = _threaded(Session.recall_tool)
    search = _threaded(Session.search)
    remember = _threaded(Session.remember)
    notes = _threaded(Session.notes)
    note = _threaded(Session.note)
    pin = _threaded(Session.pin)
    unpin = _threaded(Session.unpin)
    propose_plan = _threaded(Session.propose_plan)
    drop_plan = _threaded(Session.drop_plan)
    preview = _threaded(Session.preview)
    undo = _threaded(Session.undo)
    explain = _threaded(Session.explain)
    digest = _threaded(Session.digest)
    costs = _threaded(Session.costs)
    prepare = _threaded(Session.prepare)
    set_digest = _threaded(Session.set_digest)
    set_section = _threaded(Session.set_section)
    link = _threaded(Session.link)
    infer_link = _threaded(Session.infer_link)
    reflect = _threaded(Session.reflect)
    declare = _threaded(Session.declare)
    use_tools = _threaded(Session.use_tools)
    perceive = _threaded(Session.perceive)
    items = _threaded(Session.items)
    level = _threaded(Session.level)
    items_of = _threaded(Session.items_of)
    stand_in = _threaded(Session.stand_in)

    async def close(self) -> None:
        self.ahead.end()
        await self._run(self.session.close)

    close.__doc__ = Session.close.__doc__

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, method: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        def locked() -> R:
            # A cancelled caller has left the line, but its thread still works on the session.
            with self._busy:
                return method(*args, **kwargs)

        self.ahead.pause()
        try:
            async with self._queue():
                return await asyncio.to_thread(locked)
        finally:
            self.ahead.go_on()

    def _queue(self) -> asyncio.Lock:
        """Waiting in line holds no thread. A lock belongs to one event loop, a session may see several in turn."""
        loop = asyncio.get_running_loop()
        if self._line is None or self._loop is not loop:
            self._line, self._loop = asyncio.Lock(), loop
        return self._line


__all__ = ["AsyncSession"]
