"""Walking through a case: each step drives the system under test and leaves one outcome."""

from __future__ import annotations

import copy
import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foldaway.testing.cases.generators import CaseError, substitute
from foldaway.testing.cases.outcome import Fit, Labelled, Order, Outcome, Run, fit_faults
from foldaway.testing.cases.reading import Message, as_bytes, flat_text, results_of, role_of, spoken
from foldaway.testing.cases.system import (
    Clock,
    Driver,
    Json,
    NotApplicable,
    Proxy,
    Sent,
    Session,
    Setup,
)
from foldaway.testing.cases.watch import Reports, memory_mb

Produced = dict[str, Any]
"""Fields of the step's outcome."""
Action = Callable[["Walk", Mapping[str, Any]], Produced]

_MODIFIERS = frozenset({"as", "handle_as", "append_exchange", "session"})
_READS = frozenset({"search", "recall", "entries"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wants:
    """What the case's assertions will look at, so that a long run does not keep what nobody reads."""

    keep_fit: Callable[[str], bool]
    stand_ins: bool = False
    collect_memory: Callable[[str], bool] = lambda name: False


class Walk:
    """One run of one case. Sessions are opened when first used: a refused name falls to the step that met it."""

    def __init__(
        self,
        driver: Driver,
        setup: Setup,
        folder: Path,
        run: Run,
        *,
        wants: Wants,
        reports: Reports,
        actions: Mapping[str, Action],
    ) -> None:
        self.actions = actions
        self.driver, self.setup, self.run, self.wants, self.reports = driver, setup, run, wants, reports
        self.clock = Clock()
        self.store = folder / "store"
        self.root = self.store / "1"
        self.root.mkdir(parents=True)
        self.history: list[Message] = []
        self.fixed: list[Message] = []
        self.order = Order()
        self.guard: list[tuple[str, Any, str]] = []
        self.unchecked = 0
        self.user, self.name = "someone", "main"
        self.sessions: dict[tuple[str, str], Session] = {}
        self.reported: dict[int, int] = {}
        self.sent: dict[str, Sent] = {}
        self.handles: dict[str, str] = {}
        self.since_fit = 0.0
        self.proxy: Proxy | None = None
        self.lock = threading.Lock()
        self.watch("tools", setup.tools)
        self.watch("system", setup.system)

    # -- the whole walk

    def steps(self, steps: Sequence[Mapping[str, Any]], bound: Mapping[str, str] | None = None) -> None:
        for step in steps:
            self.step(step, bound or {})

    def step(self, step: Mapping[str, Any], bound: Mapping[str, str]) -> None:
        keys = [key for key in step if not key.startswith("_")]
        known = {*self.actions, "for_each", "parallel"}
        # `session` goes with `as_user`, and is a step of its own without it.
        actions = [key for key in keys if key in known and key != "session"] or keys[:1]
        unknown = [key for key in keys if key not in known and key not in _MODIFIERS]
        if unknown or len(actions) != 1 or actions[0] not in known:
            raise CaseError(f"unknown step: {', '.join(unknown or keys)}")
        action = actions[0]
        if action == "for_each":
            return self._for_each(step["for_each"], bound)
        if action == "parallel":
            return self._parallel(step["parallel"], bound)
        produced: Produced = {}
        error: Exception | None = None
        started = time.perf_counter()
        try:
            produced = self.actions[action](self, step)
        except (CaseError, NotApplicable):
            raise
        except Exception as raised:
            error = raised
        seconds = time.perf_counter() - started
        self._record(step, action, {"seconds": seconds, "error": error, "bound": dict(bound), **produced})
        return None

    def _record(self, step: Mapping[str, Any], kind: str, fields: Produced) -> None:
        given = step.get("as") or (step[kind] if kind in ("fit", "count") else None)
        error = fields.get("error")
        with self.lock:
            channels = self.take_reports()
            if (extra := fields.pop("sent_warnings", None)) is not None:
                channels.append(list(extra))
            outcome = Outcome(
                name=str(given) if given is not None else f"step {len(self.run.outcomes)} ({kind})",
                kind=kind,
                own_error=error is not None and self.driver.is_own(error),
                says_missing=error is not None and self.driver.is_missing(error),
                warnings=tuple(line for channel in channels for line in channel),
                most_reports=max((len(channel) for channel in channels), default=0),
                **fields,
            )
            self.run.outcomes.append(outcome)

    def take_reports(self) -> list[list[str]]:
        said: list[str] = []
        for session in self.sessions.values():
            lines = session.warnings()
            said.extend(lines[self.reported.get(id(session), 0) :])
            self.reported[id(session)] = len(lines)
        return [said, *self.reports.take()]

    def close_sessions(self) -> None:
        for session in self.sessions.values():
            session.close()
        self.sessions.clear()
        self.reported.clear()

    def close(self) -> None:
        self.close_sessions()
        if self.proxy is not None:
            self.run.calls["upstream"] = [len(as_bytes(each)) // 4 for each in self.proxy.upstream_requests()]
            self.proxy.close()
            self.proxy = None
        self.unchecked = 0
        self.check_guard()

    # -- what the caller gave must stay as it was

    def watch(self, what: str, given: Any) -> None:
        if given is not None:
            self.guard.append((what, given, _digest(given)))

    def check_guard(self) -> None:
        """Look at what was given since the last look; at the end, at everything."""
        for what, given, digest in self.guard[self.unchecked :]:
            if _digest(given) != digest and what not in self.run.input_changes:
                self.run.input_changes.append(what)
        self.unchecked = len(self.guard)

    # -- sessions

    def session(self) -> Session:
        key = (self.user, self.name)
        if key not in self.sessions:
            self.sessions[key] = self.driver.open(
                self.setup, self.root, user=self.user, name=self.name, clock=self.clock
            )
        return self.sessions[key]

    def twin(self) -> Walk:
        """Another worker on the same store, with handles of its own."""
        other = copy.copy(self)
        other.sessions, other.reported = {}, {}
        return other

    def joined(self, messages: list[Message], *, exchange: bool = False) -> None:
        """Messages that the case gives join the session; the runner keeps copies of its own."""
        labels = [(str(message["_label"]), index) for index, message in enumerate(messages) if "_label" in message]
        given = [bare(message) for message in messages]
        start = len(self.history)
        kept = copy.deepcopy(given)
        self.history.extend(kept)
        self.fixed.extend(m for m in kept if not exchange and role_of(m) in ("system", "developer"))
        self.order.extend(kept)
        self.run.input_bytes += sum(len(as_bytes(message)) for message in kept)
        self.watch(f"the messages from {start} on", given)
        for label, index in labels:
            named = Labelled(message=kept[index], position=start + index)
            self.run.labels.setdefault(label, []).append(named)
        session = self.session()
        started = time.perf_counter()
        session.append(given)
        self.since_fit += time.perf_counter() - started
        # Asked for now: after `adopt` the position is another message's.
        for label in {label for label, _ in labels}:
            known = self.run.labels[label]
            self.run.labels[label] = [
                one if one.handles else replace(one, handles=tuple(session.handles_of(one.position))) for one in known
            ]

    # -- a request by itself

    def alone(self, operation: str, messages: list[Message]) -> None:
        """The operations without steps: one fit or one count of this history."""
        given = [bare(message) for message in messages]
        kept = copy.deepcopy(given)
        for index, message in enumerate(messages):
            if "_label" in message:
                named = Labelled(message=kept[index], position=index)
                self.run.labels.setdefault(str(message["_label"]), []).append(named)
        self.history, self.fixed = kept, [m for m in kept if role_of(m) in ("system", "developer")]
        self.order.extend(kept)
        self.watch("the messages", given)
        produced: Produced = {}
        error: Exception | None = None
        started = time.perf_counter()
        try:
            if operation == "fit":
                produced = self.fitted(lambda: self.driver.fit_once(self.setup, given), "fit")
            else:
                produced = {"count": self.driver.count_once(self.setup, given)}
        except (CaseError, NotApplicable):
            raise
        except Exception as raised:
            error = raised
        seconds = time.perf_counter() - started
        self._record({operation: operation}, operation, {"seconds": seconds, "error": error, **produced})

    # -- fits

    def fitted(
        self, ask: Callable[[], Sent], name: str, since: float = 0.0, session: Session | None = None
    ) -> Produced:
        started = time.perf_counter()
        sent = ask()
        seconds = time.perf_counter() - started
        faults = fit_faults(self.run.format, sent, ask(), self.order)
        self.check_guard()
        if self.run.input_changes:
            faults.append(f"the caller's own input was changed: {self.run.input_changes[0]}")
        produced: Produced = {"seconds": seconds, "since_fit_seconds": seconds + since, "faults": tuple(faults)}
        produced["sent_warnings"] = sent.warnings
        if self.wants.collect_memory(name):
            import gc

            gc.collect()
        produced["memory_mb"] = memory_mb()
        if not self.wants.keep_fit(name):
            return produced
        stand_ins, handles = self._stand_ins(session)
        self.sent[name] = sent
        produced["fit"] = Fit(
            sent=copy.deepcopy(sent),
            history=tuple(self.history),
            fixed=tuple(self.fixed),
            system=copy.deepcopy(self.setup.system),
            tools=copy.deepcopy(self.setup.tools),
            budget=self.setup.budget,
            stand_ins=stand_ins,
            handles=handles,
        )
        return produced

    def _stand_ins(self, session: Session | None) -> tuple[dict[int, str], dict[int, tuple[str, ...]]]:
        if session is None or not self.wants.stand_ins:
            return {}, {}
        found: dict[int, str] = {}
        for position in range(len(self.history)):
            if (text := session.stand_in(position)) is not None:
                found[position] = text
        return found, {position: tuple(session.handles_of(position)) for position in found}

    def labelled(self, wanted: Mapping[str, Any]) -> Labelled:
        named = self.run.labels.get(str(wanted["of"]))
        if not named:
            raise CaseError(f"no message is labelled {wanted['of']!r}")
        return named[-1 if wanted.get("nth") == "last" else 0]

    # -- steps around steps

    def _for_each(self, argument: Mapping[str, Any], bound: Mapping[str, str]) -> None:
        only("for_each", argument, {"var", "values", "each"})
        name = argument["var"]
        for value in argument["values"]:
            self.steps(substitute(argument["each"], name, str(value)), {**bound, name: str(value)})

    def _parallel(self, argument: Mapping[str, Any], bound: Mapping[str, str]) -> None:
        only("parallel", argument, {"workers", "var", "each", "meanwhile"})
        name = str(argument.get("var", "w"))
        own_handles = self.setup.store_only
        if not own_handles:
            self.session()
        failures: list[BaseException] = []

        def work(number: int) -> None:
            walk = self.twin() if own_handles else self
            try:
                walk.steps(substitute(argument["each"], name, str(number)), {**bound, name: str(number)})
            except BaseException as error:
                failures.append(error)
            finally:
                if own_handles:
                    walk.close()

        threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(int(argument["workers"]))]
        for thread in threads:
            thread.start()
        self._meanwhile(argument.get("meanwhile", []), bound, threads)
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def _meanwhile(
        self, steps: Sequence[Mapping[str, Any]], bound: Mapping[str, str], threads: Sequence[threading.Thread]
    ) -> None:
        self.steps(steps, bound)
        # A reader reads on while the writers write, or it would only ever see the first moment.
        while steps and all(_READS & set(step) for step in steps) and any(thread.is_alive() for thread in threads):
            time.sleep(0.02)
            self.steps(steps, bound)

    # -- HTTP

    def in_front(self) -> Proxy:
        if self.proxy is None:
            self.proxy = self.driver.proxy(self.root)
        return self.proxy


def only(step: str, argument: Mapping[str, Any], known: set[str]) -> None:
    """Raises CaseError for a key of a step that this runner does not know."""
    if unknown := set(argument) - known:
        raise CaseError(f"unknown key of step {step}: {', '.join(sorted(unknown))}")


def bare(message: Message) -> Message:
    """The message without the runner's notes."""
    return {key: value for key, value in message.items() if not key.startswith("_")}


def text_of(message: Message) -> str:
    """What the message holds as text: its results' text, or what it says."""
    found = results_of(message)
    return "\n".join(result.text for result in found) if found else spoken(message) or flat_text(message.get("content"))


def set_timezone(zone: str) -> None:
    os.environ["TZ"] = zone
    if hasattr(time, "tzset"):
        time.tzset()


def _digest(given: Json) -> str:
    return hashlib.sha256(as_bytes(given).encode("ascii")).hexdigest()
