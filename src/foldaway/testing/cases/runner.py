"""Running a case from its file to a verdict."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from foldaway.testing.cases.checks import expects_error, holds, validate
from foldaway.testing.cases.checks._base import named_by
from foldaway.testing.cases.generators import CaseError, expand
from foldaway.testing.cases.outcome import Run
from foldaway.testing.cases.steps import ACTIONS
from foldaway.testing.cases.system import Driver, NotApplicable, Setup
from foldaway.testing.cases.walk import Walk, Wants, set_timezone
from foldaway.testing.cases.watch import FilesOutside, reports

TIME_LIMIT_SECONDS = 60.0

_KEYS = frozenset(
    {
        *("id", "kind", "source", "format", "operation", "model_window", "budget", "settings"),
        *("system", "messages", "input", "tools", "steps", "expect"),
    }
)
_FORMATS = frozenset({"openai_chat", "anthropic_messages", "openai_responses", "store", "proxy_http"})
_OPERATIONS = frozenset({"fit", "count", "sequence", "store", "proxy"})
_SETTINGS = frozenset(
    {
        *("no_prefill", "strict_alternation", "strict_arguments", "thinking", "max_output_tokens", "redact"),
        *("summariser", "summariser_window", "model_name", "timezone"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of one case."""

    id: str
    status: str
    """passed, failed, or not applicable."""
    reasons: tuple[str, ...] = ()
    """Why it failed or does not apply."""
    wished: tuple[str, ...] = ()
    """Assertions of level `should` that do not hold."""
    seconds: float = 0.0

    def line(self) -> str:
        if self.status == "passed":
            return f"passed {self.id}"
        reason = self.reasons[0] if self.reasons else "no reason given"
        return f"{self.status} {self.id}: {' '.join(reason.split())}"


def load(path: Path) -> dict[str, Any]:
    """The case with its generators expanded and every name in it known.

    Raises:
        CaseError: the file is no case, or uses a word this runner does not know.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CaseError(f"not a case file: {error}") from error
    if not isinstance(raw, dict):
        raise CaseError("not a case file: no JSON object")
    case: dict[str, Any] = expand({key: value for key, value in raw.items() if not key.startswith("_")})
    _known("key", case, _KEYS)
    _known("operation", [case.get("operation")], _OPERATIONS)
    _known("format", [case.get("format")], _FORMATS)
    _known("setting", case.get("settings") or {}, _SETTINGS)
    for assertion in _assertions(case):
        validate(assertion)
    return case


def _known(what: str, given: Mapping[str, Any] | Sequence[Any], known: frozenset[str]) -> None:
    if unknown := [str(each) for each in given if each not in known]:
        raise CaseError(f"unknown {what}: {', '.join(unknown)}")


def _assertions(case: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    expect = case.get("expect") or {}
    _known("key of expect", expect, frozenset({"rule", "assert"}))
    return list(expect.get("assert") or [])


def run_case(case: Mapping[str, Any], driver: Driver, *, watch_files: bool = False) -> Verdict:
    """Run a loaded case in this process. Sets the working directory and, where the case says so, the time zone.

    `watch_files` notes what is opened outside the store's folder; only for a process that ends with the case.
    """
    started = time.perf_counter()
    try:
        run = _walk(case, driver, watch_files)
        reasons, wished = _judge(case, run)
    except NotApplicable as why:
        return Verdict(id=case["id"], status="not applicable", reasons=(str(why),))
    except CaseError as error:
        reasons, wished = [str(error)], []
    seconds = time.perf_counter() - started
    status = "failed" if reasons else "passed"
    return Verdict(id=case["id"], status=status, reasons=tuple(reasons), wished=tuple(wished), seconds=seconds)


def _walk(case: Mapping[str, Any], driver: Driver, watch_files: bool) -> Run:
    settings = case.get("settings") or {}
    setup = _setup(case, settings)
    run = Run(format=setup.format)
    zone, here = os.environ.get("TZ"), Path.cwd()
    with tempfile.TemporaryDirectory(prefix="case-", ignore_cleanup_errors=True) as folder, reports() as said:
        walk = Walk(driver, setup, Path(folder), run, wants=_wants(case), reports=said, actions=ACTIONS)
        beside = Path(folder) / "beside"
        beside.mkdir()
        os.chdir(beside)
        if "timezone" in settings:
            set_timezone(settings["timezone"])
        outside = FilesOutside(walk.store, Path(folder)) if watch_files else None
        started = time.perf_counter()
        try:
            _operate(case, walk)
        finally:
            run.seconds = time.perf_counter() - started
            os.chdir(here)
            run.calls["summariser"] = driver.calls("summariser")
            walk.close()
            _restore_timezone(zone)
        run.outside = outside.stop() if outside is not None else []
        run.store_root, run.log_lines = walk.store, said.everything
        # What is judged over the whole run looks at the store, which goes away with the folder.
        run.judged = {index: holds(run, each) for index, each in enumerate(_assertions(case))}
    return run


def _setup(case: Mapping[str, Any], settings: Mapping[str, Any]) -> Setup:
    store_only = case["format"] in ("store", "proxy_http")
    return Setup(
        format="openai_chat" if store_only else case["format"],
        window=case.get("model_window"),
        budget=case.get("budget"),
        model=str(settings.get("model_name", "")),
        system=case.get("system"),
        tools=case.get("tools"),
        settings=settings,
        store_only=store_only,
    )


def _operate(case: Mapping[str, Any], walk: Walk) -> None:
    operation = case["operation"]
    if operation in ("sequence", "store", "proxy"):
        walk.steps(case.get("steps") or [])
        return
    messages = case.get("messages") if "messages" in case else case.get("input")
    if messages is None:
        raise CaseError("there are no messages")
    walk.alone(operation, messages)


def _wants(case: Mapping[str, Any]) -> Wants:
    assertions = _assertions(case)
    looked = [
        str(each[key])
        for each in assertions
        if each["check"] not in ("time_ratio", "memory", "time_under")
        for key in ("at", "a", "b", "fits")
        if key in each
    ]
    # A check without `at` looks at every fit; so does a short run.
    everything = len(case.get("steps") or []) <= 100
    between = [name for each in assertions if each["check"] == "memory" for name in each["between"]]
    stand_ins = any(each["check"] in ("placeholders_ok", "no_nested_placeholders") for each in assertions)
    return Wants(
        keep_fit=lambda name: everything or any(named_by(pattern, name) for pattern in looked),
        stand_ins=stand_ins,
        collect_memory=lambda name: name in between,
    )


def _restore_timezone(zone: str | None) -> None:
    if zone != os.environ.get("TZ"):
        if zone is None:
            del os.environ["TZ"]
            if hasattr(time, "tzset"):
                time.tzset()
        else:
            set_timezone(zone)


def _judge(case: Mapping[str, Any], run: Run) -> tuple[list[str], list[str]]:
    assertions = _assertions(case)
    reasons: list[str] = []
    wished: list[str] = []
    for outcome in run.outcomes:
        allowed = expects_error(assertions, run, outcome)
        if outcome.error is not None and not allowed:
            reasons.append(f"{outcome.name} raised {type(outcome.error).__name__}: {outcome.error}")
        reasons.extend(f"{outcome.name}: {fault}" for fault in outcome.faults)
    reasons.extend(f"the caller's input was changed: {what}" for what in run.input_changes)
    for index, assertion in enumerate(assertions):
        if (why := run.judged[index]) is not None:
            at = f" at {assertion['at']}" if "at" in assertion else ""
            (wished if assertion.get("level") == "should" else reasons).append(f"{assertion['check']}{at}: {why}")
    return reasons, wished


def run_file(path: Path, driver: Driver, *, watch_files: bool = False) -> Verdict:
    try:
        case = load(path)
        case.setdefault("id", path.stem)
    except CaseError as error:
        return Verdict(id=path.stem, status="failed", reasons=(str(error),))
    return run_case(case, driver, watch_files=watch_files)


def run_apart(path: Path, driver: Driver, *, limit_seconds: float = TIME_LIMIT_SECONDS) -> Verdict:
    """Run a case in a process of its own, which is ended when it takes too long.

    So neither a hang, a crash, a time zone nor the memory of one case reaches the next.
    """
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    process: Any = context.Process(target=_child, args=(sender, path, driver), daemon=True)  # type: ignore[attr-defined]
    process.start()
    sender.close()
    verdict: Verdict | None = None
    with contextlib.suppress(EOFError):
        if receiver.poll(limit_seconds):
            verdict = receiver.recv()
        else:
            verdict = Verdict(id=path.stem, status="failed", reasons=(f"not done after {limit_seconds:g} s",))
    process.join(2)
    if process.is_alive():
        process.kill()
        process.join()
    receiver.close()
    if verdict is not None:
        return verdict
    return Verdict(id=path.stem, status="failed", reasons=(f"the process ended with {process.exitcode}",))


def _child(sender: Connection, path: Path, driver: Driver) -> None:
    try:
        verdict = run_file(path, driver, watch_files=True)
    except BaseException as error:
        verdict = Verdict(
            id=path.stem, status="failed", reasons=(f"the runner broke: {type(error).__name__}: {error}",)
        )
    sender.send(verdict)
    sender.close()


def case_files(folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """The case files of a folder by name; with `only`, those of these ids."""
    return [path for path in sorted(folder.glob("*.json")) if not only or path.stem in only]


def run_folder(
    folder: Path,
    driver: Driver,
    *,
    only: Sequence[str] = (),
    limit_seconds: float = TIME_LIMIT_SECONDS,
    each: Callable[[Verdict], None] = lambda verdict: None,
) -> list[Verdict]:
    """Run every case of a folder, each in its own process; `each` is told of a verdict as soon as it is there."""
    found = []
    for path in case_files(folder, only):
        verdict = run_apart(path, driver, limit_seconds=limit_seconds)
        found.append(verdict)
        each(verdict)
    return found
