from __future__ import annotations

import threading

from foldaway.asking import Jobs
from foldaway.errors import AskError


def test_jobs_are_done_in_order_and_failures_are_told() -> None:
    done: list[int] = []
    failed: list[tuple[int, str]] = []

    def refuse() -> None:
        raise AskError("refusal", "no")

    made: Jobs[int] = Jobs("test-jobs", lambda subject, error: failed.append((subject, error.kind)))
    assert made.put(1, lambda: done.append(1))
    assert made.put(2, refuse)
    assert made.put(3, lambda: [][0])
    assert made.put(4, lambda: done.append(4))
    assert made.wait(10)
    made.close(5)
    assert (done, failed) == ([1, 4], [(2, "refusal"), (3, "crash")])


def test_what_would_wait_too_long_is_refused_and_told() -> None:
    failed: list[tuple[int, str]] = []
    begun, release = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        release.wait(10)

    made: Jobs[int] = Jobs("test-jobs", lambda subject, error: failed.append((subject, error.kind)), most_waiting=1)
    assert made.put(1, slow)
    assert begun.wait(10)
    assert made.put(2, slow)
    assert not made.put(3, slow)
    assert failed == [(3, "queue-full")]
    assert not made.wait(0.01)
    release.set()
    assert made.wait(10)


def test_a_closed_line_takes_nothing_and_leaves_no_thread() -> None:
    made: Jobs[int] = Jobs("test-jobs-closed", lambda subject, error: None)
    assert made.put(1, lambda: None)
    made.close(5)
    made.close(5)
    assert not made.put(2, lambda: None)
    assert "test-jobs-closed" not in {thread.name for thread in threading.enumerate()}
