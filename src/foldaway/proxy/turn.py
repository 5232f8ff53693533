"""One request: find its session, decide, say what to send. And after the answer: recalls, usage, what was learned.

Synchronous; the app hands each step to a thread. Whatever fails here, there is something valid to send (I9).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from foldaway.errors import OverBudget
from foldaway.model.plan import Commit
from foldaway.model.view import View
from foldaway.model.wire import Message
from foldaway.proxy.answers import Listening, Recall
from foldaway.proxy.dialects import Dialect
from foldaway.proxy.jsons import dumps
from foldaway.proxy.places import RECALL_TOOL, Incoming, Places, Seat
from foldaway.proxy.shelf import Busy
from foldaway.proxy.weight import DOWN_TO, shed
from foldaway.session import Session

NOT_LISTENING = Listening()
RUN_AT_ONCE = 2
"""Requests decided on at a time, while the first of them go on.

One at a time leaves the processor idle while the store writes, and a short request waits behind a long first one. At 64
connections with folding histories of 200 KB two gave 107 calls a second and 1.75 s at 95 %, one 90 and 1.93 s; again,
at more load, 70 and 2.2 s against 49 and 3.5 s (`lab.proxy_bench`, both in one run). A longer wait, strict order of
arrival and a shorter switch interval of the interpreter were tried and gained nothing."""
MOST_WAIT_SECONDS = 0.1
SMALLER_TRIES = 3
"""How often a budget is lowered for a body that is too large in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What goes to the upstream, and what it came from."""

    body: bytes
    changed: bool
    """False: the very bytes that the client sent."""
    seat: Seat | None = None
    """None: the request went past the engine."""
    view: View | None = None
    shed: Commit | None = None
    """What folded beforehand because of the size in bytes."""
    history_tokens: int = 0
    """Of what the client sent, with system prompt and tools; 0: not counted."""
    listening: Listening = NOT_LISTENING
    """How the model may ask for what is folded; nothing: its answer need not be looked at."""
    why: str = ""
    """Why the request went past the engine, or what went wrong."""


class Turns:
    """The steps of one request around its model call."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._running = threading.Semaphore(RUN_AT_ONCE)

    def prepare(self, raw: bytes, body: Mapping[str, Any], dialect: Dialect, incoming: Incoming) -> Prepared:
        """Decide what to send. Raises OverBudget where nothing valid fits the window, and what `Places.seat` raises."""
        with self._few_at_once():
            return self.look(raw, body, dialect, incoming, self.places.seat(incoming, len(raw)))

    @contextmanager
    def _few_at_once(self) -> Iterator[None]:
        """Python runs one thread at a time, and many that want to run hinder each other. Nobody waits for long here:
        those in front may be stuck."""
        mine = self._running.acquire(timeout=MOST_WAIT_SECONDS)
        try:
            yield
        finally:
            if mine:
                self._running.release()

    def look(
        self, raw: bytes, body: Mapping[str, Any], dialect: Dialect, incoming: Incoming, seat: Seat, offer: bool = True
    ) -> Prepared:
        """The view of a session that is up to date, as a request under the limits in tokens and in bytes.

        `offer` False: the model may ask for nothing more; it has to answer with what it has.
        """
        try:
            with seat.desk.held(self.places.settings.time_limit_seconds):
                prepared = self._under_limits(raw, body, dialect, incoming, seat)
                if offer or not prepared.listening or prepared.view is None:
                    return prepared
                changed = dialect.write(body, prepared.view, None)
                return replace(prepared, body=dumps(changed), listening=NOT_LISTENING)
        except (Busy, OverBudget):
            raise
        except Exception:
            # It may be half changed: the next request opens it again from the store.
            self.places.shelf.drop(seat.key)
            raise

    def _under_limits(
        self, raw: bytes, body: Mapping[str, Any], dialect: Dialect, incoming: Incoming, seat: Seat
    ) -> Prepared:
        session, most = seat.desk.session, self.places.most_bytes(incoming)
        budget = self.places.budget(incoming)
        prepared = self._as_request(raw, body, dialect, incoming, seat, budget)
        commit = shed(session, len(prepared.body), most) if len(prepared.body) > most else None
        if commit is not None:
            prepared = replace(self._as_request(raw, body, dialect, incoming, seat, budget), shed=commit)
        for _ in range(SMALLER_TRIES):
            if len(prepared.body) <= most or prepared.view is None:
                break
            # No attachments left: text has to go, in proportion.
            budget = max(1, int(prepared.view.tokens * most * DOWN_TO / len(prepared.body)))
            prepared = self._as_request(raw, body, dialect, incoming, seat, budget)
        return prepared

    def _as_request(
        self, raw: bytes, body: Mapping[str, Any], dialect: Dialect, incoming: Incoming, seat: Seat, budget: int
    ) -> Prepared:
        asked, session = incoming.asked, seat.desk.session
        session.set_budget(
            budget=budget, window=self.places.window(incoming), model=asked.model,
            max_output_tokens=asked.max_output_tokens,
        )  # fmt: skip
        session.set_prompt(system=asked.system, tools=asked.tools)
        view = session.view()
        folds = session.folds
        # Several answers at once cannot be asked again with one recall, and one that is fetched later passes unseen.
        alone = body.get("n") in (None, 1) and not body.get("background")
        offered = session.recall_offered if alone else "none"
        listening = Listening(
            tool=RECALL_TOOL if folds and offered == "tool" else "", directives=folds and offered == "directive"
        )
        # A history in which no message says anything is for the provider to refuse, in its own words.
        if not folds and not asked.previous and (view.messages == asked.messages or not view.messages):
            return Prepared(body=raw, changed=False, seat=seat, view=view, history_tokens=view.tokens)
        changed = dialect.write(body, view, view.tools if listening.tool else None)
        return Prepared(
            body=dumps(changed), changed=True, seat=seat, view=view, listening=listening, history_tokens=session.count()
        )

    def recall(self, seat: Seat, recalls: Sequence[Recall]) -> tuple[str, ...]:
        """Bring back what a model asked for: it stands at the end of the next view. What came, without marks."""
        with seat.desk.held(self.places.settings.time_limit_seconds):
            session = seat.desk.session
            return tuple(session.recall_into_view(recall.ids, find=recall.find or None).text for recall in recalls)

    def told(self, seat: Seat, usage: Mapping[str, Any] | None) -> None:
        """The provider's own count of what was sent."""
        if usage:
            with seat.desk.held(self.places.settings.time_limit_seconds):
                seat.desk.session.report_usage(usage)

    def learn(
        self, seat: Seat, recalls: Sequence[Recall], usage: Mapping[str, Any] | None, answer_id: str,
        output: Sequence[Message],
    ) -> None:  # fmt: skip
        """After an answer: what its model asked for, what the provider counted, and under which id it is continued."""
        if recalls:
            self.recall(seat, recalls)
        self.told(seat, usage)
        if answer_id:
            self.places.remember(seat, answer_id, output)


def warm_up() -> None:
    """Load what the first decision needs, so that the first request does not wait for it."""
    for format in ("openai_chat", "anthropic_messages"):
        session = Session(format=format, budget=1_000)
        session.append([{"role": "user", "content": "hello"}])
        session.view()
