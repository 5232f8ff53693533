"""Sizes, times, errors and warnings, of one step or over the whole run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from foldaway.testing.cases.checks._base import Look, check, named_by
from foldaway.testing.cases.outcome import Fit, Outcome
from foldaway.testing.cases.reading import as_bytes, plain_estimate

Args = Mapping[str, Any]

# The plain estimate is a rule of thumb: it may be this much over where the system's own count is not.
_SLACK = 1.1


def _plain(fit: Fit) -> int:
    return plain_estimate(fit.sent.messages, fit.sent.system, fit.sent.tools)


@check("fits_budget", on="fit", takes="tokens")
def fits_budget(look: Look, args: Args) -> str | None:
    budget = args.get("tokens", look.fit.budget)
    if budget is None:
        return "there is no budget to hold it against"
    if look.fit.sent.tokens > budget:
        return f"{look.fit.sent.tokens} tokens by its own count, the budget is {budget}"
    plain = _plain(look.fit)
    return None if plain <= budget * _SLACK else f"{plain} tokens by the plain estimate, the budget is {budget}"


@check("count_between", on="answer", needs="min max")
def count_between(look: Look, args: Args) -> str | None:
    count = look.step.count
    if count is None:
        return "this step counts nothing"
    return None if args["min"] <= count <= args["max"] else f"{count} tokens, not {args['min']} to {args['max']}"


@check("same_bytes", on="run", needs="a b")
def same_bytes(look: Look, args: Args) -> str | None:
    a, b = (_fit(look, args[name]) for name in ("a", "b"))
    if a is None or b is None:
        return "one of the two fits is not there"
    return None if as_bytes(a.request()) == as_bytes(b.request()) else f"{args['a']} and {args['b']} differ"


@check("not_larger", on="run", needs="a b")
def not_larger(look: Look, args: Args) -> str | None:
    a, b = (_fit(look, args[name]) for name in ("a", "b"))
    if a is None or b is None:
        return "one of the two fits is not there"
    if b.sent.tokens > a.sent.tokens:
        return f"{b.sent.tokens} tokens, {a.sent.tokens} before"
    return None if _plain(b) <= _plain(a) else f"{_plain(b)} tokens by the plain estimate, {_plain(a)} before"


def _fit(look: Look, name: str) -> Fit | None:
    return next((outcome.fit for outcome in look.run.fits() if outcome.name == name), None)


def _fits(look: Look, pattern: str) -> list[Outcome]:
    return [outcome for outcome in look.run.fits() if named_by(pattern, outcome.name)]


@check("prefix_breaks_at_most", on="run", needs="breaks fits")
def prefix_breaks_at_most(look: Look, args: Args) -> str | None:
    fits = [outcome.fit for outcome in _fits(look, args["fits"]) if outcome.fit is not None]
    if len(fits) < 2:
        return f"no two fits are named {args['fits']!r}"
    breaks = sum(not _extends(before, after) for before, after in pairwise(fits))
    return None if breaks <= args["breaks"] else f"{breaks} of {len(fits) - 1} fits do not extend the one before"


def _extends(before: Fit, after: Fit) -> bool:
    if as_bytes([before.sent.system, before.sent.tools]) != as_bytes([after.sent.system, after.sent.tools]):
        return False
    size = len(before.sent.messages)
    return as_bytes(before.sent.messages) == as_bytes(after.sent.messages[:size])


@check("input_untouched", on="run")
def input_untouched(look: Look, args: Args) -> str | None:
    return f"changed: {', '.join(look.run.input_changes)}" if look.run.input_changes else None


def _names(outcome: Outcome, names: Sequence[str]) -> str | None:
    error = outcome.error
    if not outcome.own_error:
        return f"{type(error).__name__}: {error}" if error is not None else None
    missing = [name for name in names if name.lower() not in str(error).lower()]
    return f"the error does not name {', '.join(missing)}: {error}" if missing else None


@check("error", on="step or run", takes="names")
def error(look: Look, args: Args) -> str | None:
    if look.outcome is None:
        raised = [outcome for outcome in look.run.outcomes if outcome.error is not None]
        if len(raised) != 1:
            return f"{len(raised)} steps raised an error, one was expected"
        return _names(raised[0], args.get("names", ()))
    if look.step.error is None:
        answer = look.step.answer
        if answer is not None and answer.status >= 400:
            text = answer.body.decode("utf-8", "replace").lower()
            missing = [name for name in args.get("names", ()) if name.lower() not in text]
            return f"the error answer does not name {', '.join(missing)}" if missing else None
        return "no error"
    return _names(look.step, args.get("names", ()))


@check("error_or_ok", on="step", takes="names")
def error_or_ok(look: Look, args: Args) -> str | None:
    return _names(look.step, args.get("names", ()))


@check("no_exception", on="run")
def no_exception(look: Look, args: Args) -> str | None:
    raised = next((outcome for outcome in look.run.outcomes if outcome.error is not None), None)
    return None if raised is None else f"{raised.name}: {type(raised.error).__name__}: {raised.error}"


@check("warned", on="step or run")
def warned(look: Look, args: Args) -> str | None:
    steps = look.run.outcomes if look.outcome is None else [look.outcome]
    most = sum(step.most_reports for step in steps)
    if most == 1:
        return None
    return f"reported {most} times: {[line for step in steps for line in step.warnings][:3]}" if most else "no report"


@check("warned_or_error", on="step")
def warned_or_error(look: Look, args: Args) -> str | None:
    if look.step.error is not None:
        return _names(look.step, ())
    return None if look.step.warnings else "neither a warning nor an error"


@check("max_calls", on="run", needs="what most")
def max_calls(look: Look, args: Args) -> str | None:
    made = len(look.run.calls.get(args["what"], ()))
    return None if made <= args["most"] else f"{made} calls of the {args['what']}, {args['most']} are allowed"


@check("each_call_fits", on="run", needs="tokens")
def each_call_fits(look: Look, args: Args) -> str | None:
    for what, sizes in look.run.calls.items():
        if sizes and max(sizes) > args["tokens"]:
            return f"a request of {max(sizes)} tokens went to the {what}"
    return None


@check("time_under", on="step or run", needs="seconds")
def time_under(look: Look, args: Args) -> str | None:
    seconds = look.run.seconds if look.outcome is None else look.outcome.seconds
    return None if seconds < args["seconds"] else f"took {seconds:.2f} s, {args['seconds']} s are allowed"


@check("time_ratio", on="run", needs="of to most")
def time_ratio(look: Look, args: Args) -> str | None:
    of, to = _fits(look, args["of"]), _fits(look, args["to"])
    if not of or not to:
        return "there are no such fits"
    late = sum(outcome.since_fit_seconds for outcome in of) / len(of)
    early = sum(outcome.since_fit_seconds for outcome in to) / len(to)
    if late <= early * args["most"]:
        return None
    return f"{late * 1000:.2f} ms a fit, {early * 1000:.2f} ms before: {late / early:.1f} times as long"


@check("memory", on="run", needs="growth_mb between")
def memory(look: Look, args: Args) -> str | None:
    at = {outcome.name: outcome.memory_mb for outcome in look.run.fits()}
    first, last = args["between"]
    if first not in at or last not in at:
        return f"there is no fit {first if first not in at else last}"
    growth = at[last] - at[first]
    return None if growth < args["growth_mb"] else f"grew by {growth:.0f} MB, {args['growth_mb']} MB are allowed"


@check("http_status", on="answer", needs="any_of")
def http_status(look: Look, args: Args) -> str | None:
    answer = look.step.answer
    if answer is None:
        return "this step has no HTTP answer"
    return None if answer.status in args["any_of"] else f"status {answer.status}, not one of {args['any_of']}"


@check("json_error_body", on="answer")
def json_error_body(look: Look, args: Args) -> str | None:
    answer = look.step.answer
    if answer is None:
        return "this step has no HTTP answer"
    try:
        body = json.loads(answer.body)
    except ValueError:
        return f"the body is no JSON: {answer.body[:80]!r}"
    return None if isinstance(body, dict) and "error" in body else f"the body names no error: {answer.body[:80]!r}"
