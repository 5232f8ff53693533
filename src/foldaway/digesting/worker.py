"""The background thread: jobs in, checked digests out, handed in by the session's own thread.

A session belongs to one thread at a time, so the worker never touches one: `attend`, called by whoever drives the
session, hands in what is ready and submits what is new, and costs what that is. A model's failure, a crash of the
writer included, becomes an entry of `failures`; the deterministic digest stays.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakKeyDictionary

from foldaway.asking import Jobs
from foldaway.compressors.base import Hint
from foldaway.digesting.incremental import RunningDigest
from foldaway.digesting.so_far import MOST_SOURCES, TITLE, SoFar
from foldaway.digesting.writer import Writer
from foldaway.engine.digests import hint_of
from foldaway.errors import AskError, DigestError, FoldawayError
from foldaway.session import Session

MOST_FAILURES = 100
"""Failures kept one by one, the newest; all are counted."""
SMALLEST_TOKENS = 800
"""Items below are not worth a model's time; `submit` takes them all the same."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A digest that did not come to be."""

    item: int
    kind: str
    """One word: "timeout", "refusal", "literals" ... (see `DigestError`)."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    mine: _Mine
    item: int
    text: str
    title: str
    beside: str
    hint: Hint
    room_chars: int
    asked: bool
    """By `submit`: then it is written whatever class of content it is."""


@dataclass(slots=True)
class _Mine:
    """What the worker keeps of one session."""

    seen: int = 0
    """Items up to this id were submitted or passed over."""
    taken: set[int] = field(default_factory=set)
    done: deque[tuple[int, str, str]] = field(default_factory=deque)
    """(item, source, digest) to hand in."""
    so_far: SoFar = field(default_factory=SoFar)


class DigestWorker:
    """Writes digests of free text in a thread of its own. Also a context manager."""

    def __init__(
        self, writer: Writer, *, most_waiting: int = 32, smallest_tokens: int = SMALLEST_TOKENS,
        running: RunningDigest | None = None,
    ) -> None:  # fmt: skip
        """`most_waiting`: jobs that may wait; more are refused, not queued. The thread starts with the first job.

        `running`: also keep a running digest of what each session folds away, as a section of its fold note.
        """
        self.writer = writer
        self.running = running
        self.made = 0
        """Digests handed in so far."""
        self.counts: Counter[str] = Counter()
        """Kind of failure -> how often."""
        self._smallest = smallest_tokens
        self._failures: deque[Failure] = deque(maxlen=MOST_FAILURES)
        self._counting = threading.Lock()
        self._jobs: Jobs[int] = Jobs("foldaway-digests", self._fail, most_waiting=most_waiting)
        self._mine: WeakKeyDictionary[Session, _Mine] = WeakKeyDictionary()

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The newest failures, oldest first. No text and no key is in them."""
        return tuple(self._failures)

    def attend(self, session: Session) -> list[int]:
        """Hand in what is ready and submit what is new; the items that got a digest. Call it before each view.

        Never waits for the model and never raises for what it does. Cost: the items that are new or ready.
        """
        handed = self.hand_in(session)
        self._submit_new(session)
        if self.running is not None:
            self._follow(session, self.running)
        return handed

    def submit(self, session: Session, item: int) -> bool:
        """Ask for one item's digest, whatever class of content it is; False when no digest would ever be shown for it,
        when it was asked for already, when too many wait, or after `close`. Raises RecallError for an unknown item."""
        return bool(session.digest(item)) and self._put(session, item, asked=True)

    def hand_in(self, session: Session) -> list[int]:
        """Give the session the digests that are ready; the items that got one. From the session's own thread."""
        done = self._of(session).done
        handed: list[int] = []
        while done:
            number, source, text = done.popleft()
            item = session.engine.log.item_at(number)
            if item is None or session.engine.log.result_text(item) != source:
                self._fail(number, DigestError("changed", "the client rewrote its history meanwhile"))
                self._forget_from(session, number)
                continue
            try:
                session.set_digest(number, text, made_by=self.writer.name)
            except ValueError as error:
                self._fail(number, DigestError("not-taken", str(error)))
            else:
                handed.append(number)
        self.made += len(handed)
        if self.running is not None:
            self._hand_in_so_far(session)
        return handed

    def wait(self, timeout_seconds: float) -> bool:
        """Until nothing waits or runs; False when that took too long. For batch work and tests."""
        return self._jobs.wait(timeout_seconds)

    def close(self, timeout_seconds: float = 0.0) -> None:
        """Take no more jobs and forget those that wait; give the one under way this long. May be called twice."""
        self._jobs.close(timeout_seconds)

    def __enter__(self) -> DigestWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside, the session's thread

    def _of(self, session: Session) -> _Mine:
        return self._mine.setdefault(session, _Mine())

    def _submit_new(self, session: Session) -> None:
        mine, log = self._of(session), session.engine.log
        if log.next_id <= mine.seen:
            self._forget_from(session, log.next_id)
        for number in range(mine.seen + 1, log.next_id):
            item = log.item_at(number)
            if item is not None and item.turn >= log.settled:
                return
            mine.seen = number
            if item is not None and item.tokens >= self._smallest and session.engine.planner.digests.shown_for(item):
                self._put(session, number, asked=False)

    def _forget_from(self, session: Session, number: int) -> None:
        """After a branch ids are given anew from some number on."""
        mine = self._of(session)
        mine.seen = min(mine.seen, number - 1)
        mine.taken = {taken for taken in mine.taken if taken < number}

    def _put(self, session: Session, number: int, *, asked: bool) -> bool:
        mine, log, digests = self._of(session), session.engine.log, session.engine.planner.digests
        item = log.items[number]
        if number in mine.taken or item.turn >= log.settled:
            return False
        text = log.result_text(item)
        if not asked and len(text) < self._smallest:
            # What is large is the call, not what came back: "ok" needs no digest.
            return False
        job = _Job(
            mine=mine, item=number, text=text, title=item.title if item.name else "",
            beside=log.action_text(item), hint=hint_of(log, item),
            room_chars=digests.room_chars(item), asked=asked,
        )  # fmt: skip
        if not self._jobs.put(number, partial(self._write, job)):
            return False
        mine.taken.add(number)
        return True

    def _follow(self, session: Session, running: RunningDigest) -> None:
        """Have the running digest take in what was folded since; one update at a time."""
        so_far = self._so_far(session)
        if so_far.busy or so_far.done or not (folded := so_far.take(session)):
            return
        so_far.busy = True
        if not self._jobs.put(folded[-1].item, partial(so_far.update, running, folded)):
            so_far.busy = False
            so_far.waiting.update((one.item, None) for one in folded)

    def _so_far(self, session: Session) -> SoFar:
        mine = self._of(session)
        if not mine.so_far.look(session):
            # An update under way goes on with the old state, and nobody takes what it makes.
            mine.so_far = SoFar()
            mine.so_far.look(session)
        return mine.so_far

    def _hand_in_so_far(self, session: Session) -> None:
        so_far = self._so_far(session)
        while so_far.done:
            running, items = so_far.done.pop()
            so_far.running, so_far.items = running, (*so_far.items, *items)
            if running.failed:
                kind, _, why = running.failed.partition(": ")
                self._fail(items[-1], DigestError(kind, why))
            made_by = "rules" if running.failed else self.writer.name
            try:
                session.set_section(TITLE, running.text, sorted(so_far.items)[-MOST_SOURCES:], made_by=made_by)
            except FoldawayError as error:
                self._fail(items[-1], DigestError("not-taken", str(error)))

    def _fail(self, item: int, error: AskError) -> None:
        with self._counting:
            self.counts[error.kind] += 1
            self._failures.append(Failure(item, error.kind, str(error)))

    # -- inside, the worker's thread

    def _write(self, job: _Job) -> None:
        if not job.asked and not self.writer.free_text(job.text, job.hint, job.room_chars):
            return
        text = self.writer.write(job.text, room_chars=job.room_chars, title=job.title, beside=job.beside, hint=job.hint)
        job.mine.done.append((job.item, job.text, text))
