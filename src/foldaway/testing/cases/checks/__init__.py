"""The checks that a case may name, one function each. A check returns why it fails, or None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldaway.testing.cases.checks import fields, messages, pairs, stand_ins, things
from foldaway.testing.cases.checks import run as run_checks
from foldaway.testing.cases.checks._base import CHECKS, Look, select, spanned
from foldaway.testing.cases.generators import CaseError
from foldaway.testing.cases.outcome import Outcome, Run

__all__ = ["CHECKS", "expects_error", "holds", "spanned", "validate"]

_PARTS = (fields, messages, pairs, run_checks, stand_ins, things)

# Checks under which a step may raise.
_ERROR_CHECKS = frozenset({"error", "error_or_ok", "warned_or_error", "not_found", "isolated"})


def validate(assertion: Mapping[str, Any]) -> None:
    """Raises CaseError for a check, or a word of a check, that this runner does not know."""
    name = assertion.get("check")
    if name not in CHECKS:
        raise CaseError(f"unknown check {name!r}")
    if assertion.get("level", "must") not in ("must", "should"):
        raise CaseError(f"check {name}: unknown level {assertion['level']!r}")
    known = {"check", "at", "level", *CHECKS[name].takes}
    if unknown := {key for key in assertion if not key.startswith("_")} - known:
        raise CaseError(f"check {name}: unknown key {', '.join(sorted(unknown))}")
    if missing := CHECKS[name].needs - set(assertion):
        raise CaseError(f"check {name}: {', '.join(sorted(missing))} is missing")


def holds(run: Run, assertion: Mapping[str, Any]) -> str | None:
    """None when the assertion holds, else the first reason why not."""
    validate(assertion)
    check = CHECKS[str(assertion["check"])]
    if check.on == "run" or (check.on == "step or run" and "at" not in assertion):
        return check.judge(Look(run=run, outcome=None), assertion)
    chosen = select(run, assertion.get("at"), check.on)
    if not chosen:
        return f"no {check.on} to look at" + (f" is named {assertion['at']!r}" if "at" in assertion else "")
    for outcome in chosen:
        if (why := _judge(run, check.on, outcome, assertion)) is not None:
            return why if len(chosen) == 1 else f"{outcome.name}: {why}"
    return None


def _judge(run: Run, on: str, outcome: Outcome, assertion: Mapping[str, Any]) -> str | None:
    check = CHECKS[str(assertion["check"])]
    if on == "fit" and outcome.fit is None:
        return f"there is no outcome: {said(outcome.error)}" if outcome.error else "the outcome was not kept"
    if on == "answer" and outcome.error is not None:
        return f"there is no answer: {said(outcome.error)}"
    return check.judge(Look(run=run, outcome=outcome), assertion)


def said(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}" if error is not None else "nothing"


def expects_error(assertions: Sequence[Mapping[str, Any]], run: Run, outcome: Outcome) -> bool:
    """Whether some assertion allows this step to raise."""
    return any(
        each["check"] in _ERROR_CHECKS
        and any(outcome is one for one in select(run, each.get("at", each.get("recalls")), "step"))
        for each in assertions
    )
