"""A background thread for what may take seconds: jobs in, failures out as values, nothing ever raised to the caller."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from foldaway.errors import AskError

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class _Job(Generic[Subject]):
    subject: Subject
    work: Callable[[], object]


class Jobs(Generic[Subject]):
    """One thread that does one job after the other. The thread starts with the first job."""

    def __init__(self, name: str, failed: Callable[[Subject, AskError], object], *, most_waiting: int = 32) -> None:
        """`failed` is told of each job that came to nothing, from whichever thread noticed; `most_waiting`: jobs that
        may wait; more are refused, not queued."""
        self._name, self._failed = name, failed
        self._jobs: queue.Queue[_Job[Subject] | None] = queue.Queue(maxsize=most_waiting)
        self._idle = threading.Condition()
        self._waiting = 0
        self._thread: threading.Thread | None = None
        self._closed = False

    def put(self, subject: Subject, work: Callable[[], object]) -> bool:
        """Have `work` done; False when too many wait (`failed` is told, kind "queue-full") or after `close`."""
        if self._closed:
            return False
        with self._idle:
            self._waiting += 1
        try:
            self._jobs.put_nowait(_Job(subject, work))
        except queue.Full:
            self._finished()
            self._failed(subject, AskError("queue-full", f"{self._jobs.maxsize} jobs wait already"))
            return False
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        return True

    def wait(self, timeout_seconds: float) -> bool:
        """Until nothing waits or runs; False when that took too long. For batch work and tests."""
        with self._idle:
            return self._idle.wait_for(lambda: self._waiting == 0, timeout_seconds)

    def close(self, timeout_seconds: float = 0.0) -> None:
        """Take no more jobs and forget those that wait; give the one under way this long. May be called twice."""
        self._closed = True
        while True:
            try:
                waiting = self._jobs.get_nowait()
            except queue.Empty:
                break
            if waiting is not None:
                self._finished()
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join(timeout_seconds)

    # -- inside, the thread

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job.work()
            except AskError as error:
                self._failed(job.subject, error)
            except BaseException as error:  # nothing that a job does may end the thread
                self._failed(job.subject, AskError("crash", type(error).__name__))
            finally:
                self._finished()

    def _finished(self) -> None:
        with self._idle:
            self._waiting -= 1
            self._idle.notify_all()
