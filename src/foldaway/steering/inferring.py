"""Links inferred by a small model, beside the loop (S1.2): on which earlier items does this action rest?

Value reuse finds what an action quotes, not what it is about. A model sees the action and a table of earlier items, and
names those that it rests on, each with a confidence. The session keeps all of them and counts those from its threshold
on (`Session.infer_link`). Whatever goes wrong, the graph is what it would have been without.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from foldaway.asking import Asker, Jobs
from foldaway.errors import AskError, SettingsError
from foldaway.linking.kinds import one_line
from foldaway.model.items import Item, Kind
from foldaway.model.wire import TurnKind
from foldaway.session import Session
from foldaway.steering.prompt import unchanged
from foldaway.steering.reading import read_object
from foldaway.steering.worker import MOST_FAILURES, Failure
from foldaway.stores.redaction import redact

EVERY_STEPS = 4
"""Model calls between two questions about one session."""
MOST_CANDIDATES = 40
"""Earlier items that a question tells of: the newest, and of the older ones those the action shares words with."""
NEWEST_CANDIDATES = 24
MOST_ANSWER_TOKENS = 800
MOST_LINKS = 20
"""More links than this from one action are no answer."""
ACTION_CHARS = 2_000
BESIDE_CHARS = 600
ROW_CHARS = 200
SMALLEST_TOKENS = 20
_ASKED = frozenset({Kind.EDIT, Kind.COMMAND, Kind.RESULT, Kind.ERROR})
"""Kinds of items whose action is asked about: those that do something."""
_TOLD = frozenset({*_ASKED, Kind.READ, Kind.LISTING, Kind.SEARCH, Kind.PLAN, Kind.PASTE, Kind.ATTACHMENT})
_TASK = """\
You find out what a step of an agent's work rests on. Below is one action of the agent and a table of earlier items of \
its session. Name the earlier items without which the agent could not have known how to do this action: where it got a \
value, a rule, a place or a cause from. An item that is merely about the same subject is not one of them. Most actions \
rest on one to three items, some on none.

The action (#{id}, {kind}):
{action}

What the agent said beside it:
{beside}

Earlier items (id | kind | what it was | how it begins), oldest first:
{rows}

Which of these ids does action #{id} rest on? At most five, the surest first. Answer with one JSON object and nothing \
else:
{{"rests_on": [{{"id": <id>, "confidence": <0 to 1>, "why": "<a few words>"}}]}}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkQuestion:
    """What a model is asked about one action."""

    messages: tuple[Mapping[str, Any], ...]
    source: Item
    listed: Mapping[int, Item]
    """The items it may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """One link that a model named."""

    target: int
    confidence: float
    why: str


@dataclass(slots=True)
class _Mine:
    """What the worker keeps of one session."""

    name: str
    upto: int = 0
    """Items up to this id were asked about or passed over."""
    asked_step: int | None = None
    asking: bool = False
    done: deque[tuple[LinkQuestion, tuple[Inferred, ...]] | None] = field(default_factory=deque)
    """Answers to take over; None for a failure."""


class LinkWorker:
    """Has a model name what actions rest on, in a thread of its own. Also a context manager."""

    def __init__(
        self, ask: Asker, *, name: str = "", every_steps: int = EVERY_STEPS,
        most_answer_tokens: int = MOST_ANSWER_TOKENS, most_waiting: int = 32,
    ) -> None:  # fmt: skip
        """`ask`: a client of `foldaway.asking`, or any function like it. `name`: what the ledger calls the model."""
        if every_steps < 1 or most_answer_tokens < 1:
            raise SettingsError(f"every_steps {every_steps}, most_answer_tokens {most_answer_tokens}: expected > 0")
        self.ask = ask
        self.name = name or str(getattr(ask, "model", "")) or "model"
        self.made = 0
        """Links that a session took so far."""
        self.counted = 0
        """Of these, the ones sure enough to count."""
        self.counts: Counter[str] = Counter()
        """Kind of failure -> how often."""
        self._every, self._most_tokens = every_steps, most_answer_tokens
        self._failures: deque[Failure] = deque(maxlen=MOST_FAILURES)
        self._counting = threading.Lock()
        self._jobs: Jobs[_Mine] = Jobs("foldaway-links", self._job_failed, most_waiting=most_waiting)
        self._mine: WeakKeyDictionary[Session, _Mine] = WeakKeyDictionary()

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The newest failures, oldest first. No text of a session and no key is in them."""
        return tuple(self._failures)

    def attend(self, session: Session) -> int:
        """Take over the links that are ready and ask about the newest action when it is time; how many were taken.

        Call it before each view. Never waits for the model and never raises for what it does.
        """
        taken = self.hand_in(session)
        mine, log = self._of(session), session.engine.log
        due = mine.asked_step is None or not 0 <= log.step - mine.asked_step < self._every
        if due and not mine.asking and not log.open:
            self.submit(session)
        return taken

    def submit(self, session: Session) -> bool:
        """Ask about the newest action that was not asked about; False when there is none, or too much waits."""
        mine, log = self._of(session), session.engine.log
        # After a branch ids are given anew.
        mine.upto = min(mine.upto, log.next_id - 1)
        source = newest_action(session, after=mine.upto)
        question = None if source is None else question_of_links(session, source)
        if question is None:
            return False
        mine.upto, mine.asked_step, mine.asking = question.source.id, log.step, True
        asked = self._jobs.put(mine, lambda: mine.done.append((question, self._answered(question))))
        if not asked:
            mine.asking = False
        return asked

    def hand_in(self, session: Session) -> int:
        """Give the session the links that are ready; how many it took. From the session's own thread."""
        mine, taken = self._of(session), 0
        while mine.done:
            answer = mine.done.popleft()
            mine.asking = False
            if answer is not None:
                taken += self._take(session, mine, *answer)
        self.made += taken
        return taken

    def wait(self, timeout_seconds: float) -> bool:
        """Until nothing waits or runs; False when that took too long. For batch work and tests."""
        return self._jobs.wait(timeout_seconds)

    def close(self, timeout_seconds: float = 0.0) -> None:
        """Ask no more and forget the questions that wait; give the one under way this long. May be called twice."""
        self._jobs.close(timeout_seconds)

    def __enter__(self) -> LinkWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside

    def _of(self, session: Session) -> _Mine:
        return self._mine.setdefault(session, _Mine(name=session.name))

    def _take(self, session: Session, mine: _Mine, question: LinkQuestion, found: Sequence[Inferred]) -> int:
        if not all(unchanged(session, item) for item in (question.source, *question.listed.values())):
            self._fail(mine, AskError("changed", "the client rewrote its history meanwhile"))
            return 0
        illegal = sorted({one.target for one in found} - question.listed.keys())
        if illegal:
            self._fail(mine, AskError("illegal-targets", f"{len(illegal)} ids that were not in the table"))
        legal = [one for one in found if one.target in question.listed]
        for one in legal:
            self.counted += session.infer_link(
                question.source.id, one.target, one.confidence, one.why, made_by=self.name
            )
        return len(legal)

    def _fail(self, mine: _Mine, error: AskError) -> None:
        with self._counting:
            self.counts[error.kind] += 1
            self._failures.append(Failure(mine.name, error.kind, error.message))

    def _job_failed(self, mine: _Mine, error: AskError) -> None:
        self._fail(mine, error)
        mine.done.append(None)

    def _answered(self, question: LinkQuestion) -> tuple[Inferred, ...]:
        return read_links(self.ask(question.messages, self._most_tokens, None))


def newest_action(session: Session, *, after: int) -> Item | None:
    """The newest settled item above an id whose action is worth asking about; None when there is none. O(those)."""
    log = session.engine.log
    for number in range(log.next_id - 1, after, -1):
        item = log.item_at(number)
        if item is not None and item.turn < log.settled and _action(session, item):
            return item
    return None


def question_of_links(session: Session, source: Item) -> LinkQuestion | None:
    """What to ask about one action; None when nothing came before it that it could rest on. O(candidates)."""
    log = session.engine.log
    listed = candidates(session, source)
    if not listed:
        return None
    thoughts = (i for i in log.items_of_turn(source.turn) if i.kind is Kind.THOUGHT and i.id != source.id)
    beside = "\n".join(map(log.text_of, thoughts))
    task = _TASK.format(
        id=source.id, kind=source.kind.value, action=_clipped(_action(session, source), ACTION_CHARS),
        beside=_clipped(beside, BESIDE_CHARS) or "(nothing)",
        rows="\n".join(_row(session, item) for item in listed),
    )  # fmt: skip
    # Another provider may be asked, who has not seen what the main one has.
    message = {"role": "user", "content": redact(task)}
    return LinkQuestion(messages=(message,), source=source, listed={item.id: item for item in listed})


def candidates(session: Session, source: Item) -> list[Item]:
    """Earlier items that an action may rest on and is not known to, oldest first."""
    log = session.engine.log
    known = {link.target for link in log.graph.needs(source.id)}
    found: dict[int, Item] = {}

    def take(numbers: Iterable[int], most: int) -> None:
        for number in numbers:
            if len(found) == most:
                return
            item = log.item_at(number)
            if item is not None and number not in known and _tellable(item, source):
                found.setdefault(number, item)

    take(range(source.id - 1, max(0, source.id - 1 - 8 * NEWEST_CANDIDATES), -1), NEWEST_CANDIDATES)
    shared: Counter[int] = Counter()
    for anchor in log.anchors.known(log.anchors.of_item(source.id)):
        shared.update({*anchor.suppliers, anchor.first_item})
    take(sorted(shared, key=lambda i: (-shared[i], -i)), MOST_CANDIDATES)
    return sorted(found.values(), key=lambda item: item.id)


def read_links(text: str) -> tuple[Inferred, ...]:
    """The links of an answer, read strictly: one JSON object of the schema, or nothing. Linear in its length.

    Raises:
        AskError: "too-large", "empty", "refusal", or "malformed" with what is wrong where.
    """
    found = read_object(text)
    if not isinstance(found, dict) or set(found) != {"rests_on"} or not isinstance(found["rests_on"], list):
        raise AskError("malformed", "expected an object with rests_on as a list and no more")
    if len(found["rests_on"]) > MOST_LINKS:
        raise AskError("too-large", f"{len(found['rests_on'])} links; at most {MOST_LINKS}")
    return tuple(_inferred(number, entry) for number, entry in enumerate(found["rests_on"]))


def _inferred(number: int, entry: Any) -> Inferred:
    if not isinstance(entry, dict) or set(entry) != {"id", "confidence", "why"}:
        raise AskError("malformed", f"entry {number}: expected an object with id, confidence, why and no more")
    target, confidence, why = entry["id"], entry["confidence"], entry["why"]
    # JSON's true is no number, whatever Python says.
    if type(target) is not int or type(confidence) not in (int, float) or not isinstance(why, str):
        raise AskError("malformed", f"entry {number}: expected a whole number, a number and a text")
    if not 0.0 <= confidence <= 1.0:
        raise AskError("malformed", f"entry {number}: expected a confidence from 0 to 1")
    return Inferred(target=target, confidence=round(float(confidence), 3), why=one_line(why, ROW_CHARS))


def _action(session: Session, item: Item) -> str:
    """What an item did, "" for what is not asked about; of an agent without a tool protocol, what it said to do."""
    log = session.engine.log
    if item.kind is Kind.THOUGHT and item.turn + 1 < len(log.turns):
        return log.text_of(item) if log.turns[item.turn + 1].kind is TurnKind.OBSERVATION else ""
    return log.action_text(item) if item.kind in _ASKED else ""


def _tellable(item: Item, source: Item) -> bool:
    return item.kind in _TOLD and item.turn < source.turn and item.tokens >= SMALLEST_TOKENS


def _row(session: Session, item: Item) -> str:
    log = session.engine.log
    begins = "" if item.kind is Kind.ATTACHMENT else log.result_text(item)[: 4 * ROW_CHARS]
    return f"{item.id} | {item.kind.value} | {one_line(item.title, 100)} | {one_line(begins, ROW_CHARS)}"


def _clipped(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"
