"""The background thread of the side-channel planner: questions in, plans out, handed in by the session's own thread.

A session belongs to one thread at a time, so the worker never touches one: `attend`, called by whoever drives the
session, hands in what is ready and asks anew when it is time, and costs what that is. A failure becomes an entry of
`failures`; the window is then decided as it would have been without.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from foldaway.asking import Asker, Jobs
from foldaway.errors import AskError, SettingsError
from foldaway.model.plan import PlanEntry, PlanVerdict, ProposedPlan
from foldaway.session import Session
from foldaway.steering.prompt import Question, question_of, unchanged
from foldaway.steering.reading import read_answer

MOST_FAILURES = 100
"""Failures kept one by one, the newest; all are counted."""
ASK_FROM_SHARE = 0.5
"""Of the budget: smaller views are not worth a question."""
EVERY_STEPS = 8
"""Model calls between two questions about one session."""
MOST_ANSWER_TOKENS = 4_000
OUTPUT_PRICE = 5.0
"""A token of the answer in tokens of prompt at base price: what most providers charge (4 to 5 times the input)."""
CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Failure:
    """A question that led to no plan, or a part of a plan that was not taken."""

    session: str
    """Name of the session."""
    kind: str
    """One word: "timeout", "unreachable", "refusal", "malformed", "deadline", "illegal-targets", "nothing-legal" ..."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """An answer, read."""

    question: Question
    summary: str
    entries: tuple[PlanEntry, ...]
    answer_tokens: int


@dataclass(slots=True)
class _Mine:
    """What the worker keeps of one session."""

    name: str
    asked_step: int | None = None
    asked_at: float | None = None
    """When the question under way was put; None when none is."""
    number: int = 0
    """Of that question: an answer to an earlier one is too late."""
    done: deque[tuple[int, _Made | None]] = field(default_factory=deque)
    """(question's number, answer or None for a failure)."""


class PlanWorker:
    """Has a model plan the windows of sessions in a thread of its own. Also a context manager."""

    raises = False
    """Whether what it says to keep is shown whole again where it is not."""

    def __init__(
        self, ask: Asker, *, name: str = "", every_steps: int = EVERY_STEPS, ask_from_share: float = ASK_FROM_SHARE,
        deadline_seconds: float = 120.0, most_answer_tokens: int = MOST_ANSWER_TOKENS, most_waiting: int = 32,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`ask`: a client of `foldaway.asking`, or any function like it. `name`: what the ledger calls the planner.

        `deadline_seconds`: an answer that takes longer is not waited for; a new question may be put then.
        """
        if every_steps < 1 or not 0.0 <= ask_from_share <= 1.0 or deadline_seconds <= 0 or most_answer_tokens < 1:
            raise SettingsError(
                f"every_steps {every_steps}, ask_from_share {ask_from_share}, deadline_seconds {deadline_seconds}, "
                f"most_answer_tokens {most_answer_tokens}: expected > 0, and a share from 0 to 1"
            )
        self.ask = ask
        self.name = name or str(getattr(ask, "model", "")) or "planner"
        self.made = 0
        """Plans that a session took so far."""
        self.counts: Counter[str] = Counter()
        """Kind of failure -> how often."""
        self._every, self._share, self._deadline = every_steps, ask_from_share, deadline_seconds
        self._most_tokens, self._clock = most_answer_tokens, clock
        self._failures: deque[Failure] = deque(maxlen=MOST_FAILURES)
        self._counting = threading.Lock()
        self._jobs: Jobs[tuple[_Mine, int]] = Jobs("foldaway-plans", self._job_failed, most_waiting=most_waiting)
        self._mine: WeakKeyDictionary[Session, _Mine] = WeakKeyDictionary()

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The newest failures, oldest first. No text of a session and no key is in them."""
        return tuple(self._failures)

    def attend(self, session: Session) -> PlanVerdict | None:
        """Hand in the plan that is ready and ask anew when it is time; the session's verdict, None when none came.

        Call it before each view. Never waits for the model and never raises for what it does.
        """
        verdict = self.hand_in(session)
        if self.due(session):
            self.submit(session)
        return verdict

    def due(self, session: Session) -> bool:
        """Whether a question about this session is worth its price now."""
        mine, engine = self._of(session), session.engine
        if mine.asked_at is not None or session.pending_plan is not None or engine.log.open:
            return False
        if mine.asked_step is not None and 0 <= engine.log.step - mine.asked_step < self._every:
            return False
        return engine.tokens() >= self._share * engine.budget.tokens

    def submit(self, session: Session) -> bool:
        """Ask about this session's last view now; False when there is nothing to ask, or too much waits."""
        mine = self._of(session)
        question = self._question(session)
        if question is None:
            return False
        mine.number += 1
        mine.asked_at, mine.asked_step = self._clock(), question.seen_step
        number = mine.number
        done = self._jobs.put((mine, number), lambda: mine.done.append((number, self._answered(question))))
        if not done:
            mine.asked_at = None
        return done

    def hand_in(self, session: Session) -> PlanVerdict | None:
        """Give the session the plan that is ready, if one is. From the session's own thread."""
        mine = self._of(session)
        verdict: PlanVerdict | None = None
        while mine.done:
            number, made = mine.done.popleft()
            if number != mine.number or mine.asked_at is None:
                # Given up already; its failure is counted.
                continue
            late = self._clock() - mine.asked_at > self._deadline
            mine.asked_at = None
            if made is not None and late:
                self._fail(mine, AskError("deadline", f"an answer later than {self._deadline:g} s"))
            elif made is not None:
                verdict = self._propose(session, mine, made)
        if mine.asked_at is not None and self._clock() - mine.asked_at > self._deadline:
            mine.asked_at = None
            self._fail(mine, AskError("deadline", f"no answer in {self._deadline:g} s"))
        return verdict

    def wait(self, timeout_seconds: float) -> bool:
        """Until nothing waits or runs; False when that took too long. For batch work and tests."""
        return self._jobs.wait(timeout_seconds)

    def close(self, timeout_seconds: float = 0.0) -> None:
        """Ask no more and forget the questions that wait; give the one under way this long. May be called twice."""
        self._jobs.close(timeout_seconds)

    def __enter__(self) -> PlanWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside, the session's thread

    def _of(self, session: Session) -> _Mine:
        return self._mine.setdefault(session, _Mine(name=session.name))

    def _propose(self, session: Session, mine: _Mine, made: _Made) -> PlanVerdict:
        listed = made.question.listed
        if not all(unchanged(session, item) for item in listed.values()):
            self._fail(mine, AskError("changed", "the client rewrote its history meanwhile"))
            return PlanVerdict(accepted=False, code="changed", why="the client rewrote its history meanwhile")
        prices = session.engine.planner.prices
        cost = prices.cost(made.question.tokens if made.question.cached else 0, made.question.tokens)
        plan = ProposedPlan(
            summary=made.summary, entries=made.entries, made_by=self.name, seen_step=made.question.seen_step,
            cost=round(cost + OUTPUT_PRICE * made.answer_tokens, 1), raises=self.raises,
        )  # fmt: skip
        verdict = session.propose_plan(plan)
        if verdict.refused:
            codes = Counter(refusal.code for refusal in verdict.refused)
            told = ", ".join(f"{code} {count}" for code, count in sorted(codes.items()))
            self._fail(mine, AskError("illegal-targets", told))
        if verdict.accepted:
            self.made += 1
        else:
            self._fail(mine, AskError(verdict.code, verdict.why))
        return verdict

    def _fail(self, mine: _Mine, error: AskError) -> None:
        with self._counting:
            self.counts[error.kind] += 1
            self._failures.append(Failure(mine.name, error.kind, error.message))

    def _question(self, session: Session) -> Question | None:
        """What to ask; a planner of another kind asks something else."""
        return question_of(session, format=str(getattr(self.ask, "format", "")))

    # -- inside, the worker's thread

    def _read(self, answer: str, question: Question) -> tuple[str, tuple[PlanEntry, ...]]:
        """(summary, entries) of an answer. Raises AskError."""
        return read_answer(answer)

    def _job_failed(self, job: tuple[_Mine, int], error: AskError) -> None:
        mine, number = job
        self._fail(mine, error)
        mine.done.append((number, None))

    def _answered(self, question: Question) -> _Made:
        answer = self.ask(question.messages, self._most_tokens, question.beside)
        summary, entries = self._read(answer, question)
        tokens = len(answer) // CHARS_PER_TOKEN
        return _Made(question=question, summary=summary, entries=entries, answer_tokens=tokens)
