"""Digests made ahead between the calls of an async session, in a thread that is there only while there is work.

One digest is made at a time; the session's lock is held only to take a job and to hand in what came of it, so a call
waits for neither. While a call is under way no further job is begun.
"""

from __future__ import annotations

import threading

from foldaway.engine.preparing import next_job
from foldaway.session import Session

_ONE_AT_A_TIME = threading.Lock()
"""Held while a digest is made. Digests are Python: two at once take as long as one after the other, and threads of many
sessions would only slow the calls down."""


class Ahead:
    """Makes the digests of one session while it is between calls."""

    def __init__(self, session: Session, busy: threading.Lock) -> None:
        """`busy`: whoever works on the session holds it."""
        self._session = session
        self._busy = busy
        self._state = threading.Lock()
        self._calls = 0
        self._ended = 0
        """Calls that ended so far."""
        self._running = False
        self._over = False
        self.made = 0
        """Digests made ahead so far."""

    def pause(self) -> None:
        """A call is about to begin: no further digest is begun before `go_on`."""
        with self._state:
            self._calls += 1

    def go_on(self) -> None:
        """A call has ended: a thread looks for what there is to make, if the policy shows digests at all."""
        with self._state:
            self._calls -= 1
            self._ended += 1
            wanted = self._session.engine.planner.digests.wanted
            if self._calls or self._running or self._over or not wanted:
                return
            self._running = True
        threading.Thread(target=self._run, name="foldaway-ahead", daemon=True).start()

    def end(self) -> None:
        """Begin nothing any more. The digest that is under way is made to its end."""
        self._over = True

    @property
    def running(self) -> bool:
        """Whether a thread is making digests, or looks for some to make."""
        return self._running

    def wait(self, timeout_seconds: float) -> bool:
        """Until nothing is under way; False when that took too long. For tests."""
        step = threading.Event()
        for _ in range(max(1, int(timeout_seconds * 200))):
            if not self._running:
                return True
            step.wait(0.005)
        return False

    # -- inside, the thread

    def _run(self) -> None:
        seen = -1
        more = True
        while self._may_go_on(seen, more):
            seen = self._ended
            try:
                more = self._one()
            except Exception:
                # A compressor of the caller's failed, or the session was changed around its lock: the commit that needs
                # the digest makes it, and says what is wrong.
                more = False

    def _may_go_on(self, seen: int, more: bool) -> bool:
        """Whether the thread looks for another digest; says that it is gone where not."""
        with self._state:
            # A call that ended meanwhile may have brought something.
            if self._calls or self._over or not (more or self._ended > seen):
                self._running = False
            return self._running

    def _one(self) -> bool:
        """Make the next digest; False when none is left."""
        with self._busy:
            engine = self._session.engine
            digests = engine.planner.digests
            job = next_job(engine.log, engine.shown, digests)
        if job is None:
            return False
        with _ONE_AT_A_TIME:
            if self._calls:
                return True
            made = job.make()
        with self._busy:
            digests.adopt(job, made)
            digests.costs(job.item)
        self.made += 1
        return True
