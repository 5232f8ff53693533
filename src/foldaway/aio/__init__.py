"""The async face of a session: the same methods, each one handed to a thread.

A step costs micro- to milliseconds, so the session itself stays synchronous; the thread is for the disk and for what
is long once (a first view of a long history). Calls of one session run one at a time, in the order they were made.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

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

    def __init__(self, session: Session) -> None:
        self.session = session
        """The session itself, for its properties (`ledger`, `warnings`, `engine`): only while no call is under way."""
        self._busy = threading.Lock()
        self._line: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    async def open(cls, **settings: Any) -> AsyncSession:
        """Takes the settings of `Session`; a stored session is read in a thread as well."""
        return cls(await asyncio.to_thread(lambda: Session(**settings)))

    append = _threaded(Session.append)
    sync = _threaded(Session.sync)
    view = _threaded(Session.view)
    count = _threaded(Session.count)
    compact = _threaded(Session.compact)
    set_budget = _threaded(Session.set_budget)
    report_usage = _threaded(Session.report_usage)
    recall = _threaded(Session.recall)
    recall_messages = _threaded(Session.recall_messages)
    recall_result = _threaded(Session.recall_result)
    recall_tool = _threaded(Session.recall_tool)
    search = _threaded(Session.search)
    remember = _threaded(Session.remember)
    notes = _threaded(Session.notes)
    note = _threaded(Session.note)
    pin = _threaded(Session.pin)
    unpin = _threaded(Session.unpin)
    preview = _threaded(Session.preview)
    undo = _threaded(Session.undo)
    explain = _threaded(Session.explain)
    digest = _threaded(Session.digest)
    set_digest = _threaded(Session.set_digest)
    set_section = _threaded(Session.set_section)
    link = _threaded(Session.link)
    declare = _threaded(Session.declare)
    use_tools = _threaded(Session.use_tools)
    items = _threaded(Session.items)
    level = _threaded(Session.level)
    items_of = _threaded(Session.items_of)
    stand_in = _threaded(Session.stand_in)
    close = _threaded(Session.close)

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, method: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        def locked() -> R:
            # A cancelled caller has left the line, but its thread still works on the session.
            with self._busy:
                return method(*args, **kwargs)

        async with self._queue():
            return await asyncio.to_thread(locked)

    def _queue(self) -> asyncio.Lock:
        """Waiting in line holds no thread. A lock belongs to one event loop, a session may see several in turn."""
        loop = asyncio.get_running_loop()
        if self._line is None or self._loop is not loop:
            self._line, self._loop = asyncio.Lock(), loop
        return self._line


__all__ = ["AsyncSession"]
