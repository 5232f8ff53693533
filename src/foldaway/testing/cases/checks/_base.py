"""How checks are declared, and how `at` picks the steps that one looks at."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from foldaway.testing.cases.generators import CaseError
from foldaway.testing.cases.outcome import Fit, Labelled, Outcome, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a check is given: the run and, for checks on one step, that step."""

    run: Run
    outcome: Outcome | None

    @property
    def step(self) -> Outcome:
        assert self.outcome is not None
        return self.outcome

    @property
    def fit(self) -> Fit:
        fit = self.step.fit
        assert fit is not None
        return fit

    def labelled(self, label: str, nth: str | None = None) -> Labelled:
        named = self.run.labels.get(label)
        if not named:
            raise CaseError(f"no message is labelled {label!r}")
        return named[-1 if nth == "last" else 0]


Judge = Callable[[Look, Mapping[str, Any]], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    judge: Judge
    on: str
    """fit, answer (a recall, search, listing, count or HTTP answer), step, run, or "step or run"."""
    takes: frozenset[str]
    needs: frozenset[str]


CHECKS: dict[str, Check] = {}


def check(name: str, *, on: str, needs: str = "", takes: str = "") -> Callable[[Judge], Judge]:
    """Declare a check: what it looks at, which keys it must have, and which more it may have."""

    def register(judge: Judge) -> Judge:
        required = frozenset(needs.split())
        CHECKS[name] = Check(judge=judge, on=on, needs=required, takes=required | frozenset(takes.split()))
        return judge

    return register


_SPAN = re.compile(r"(?P<stem>.*?)(?P<first>\d+)\.\.(?P=stem)(?P<last>\d+)", re.DOTALL)


def spanned(pattern: str) -> list[str] | None:
    """The names of `t0..t31`, in order; None when the pattern is not a span."""
    if (found := _SPAN.fullmatch(pattern)) is None:
        return None
    return [f"{found['stem']}{number}" for number in range(int(found["first"]), int(found["last"]) + 1)]


def named_by(pattern: str, name: str) -> bool:
    if pattern == name:
        return True
    if pattern.endswith("*") and name.startswith(pattern[:-1]):
        return True
    return (names := spanned(pattern)) is not None and name in names


_ANSWERS = frozenset({"recall", "search", "entries", "count", "request"})


def select(run: Run, at: str | None, on: str) -> list[Outcome]:
    """The steps that a check looks at, in the order in which they ran."""
    if at is None:
        match on:
            case "fit":
                return run.fits()
            case "answer":
                return [outcome for outcome in run.outcomes if outcome.kind in _ANSWERS]
            case _:
                return run.outcomes
    # The very name first: a name may itself end in a star.
    exact = [outcome for outcome in run.outcomes if outcome.name == at]
    return exact or [outcome for outcome in run.outcomes if named_by(at, outcome.name)]
