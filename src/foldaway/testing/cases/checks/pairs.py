"""Calls and their results."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from foldaway.testing.cases.checks._base import Look, check
from foldaway.testing.cases.reading import Call, Result, calls, canonical, pair_faults, results

Args = Mapping[str, Any]

SHORTENED = re.compile(
    r"left out|omitted|shortened|truncat|folded|elided|evicted|not shown|removed|hidden|more (?:lines|records|rows)"
    r"|\bcut\b|\bmasked\b|\bskipped\b",
    re.IGNORECASE,
)
"""A plain mark that something is not all there."""


@check("pairs_valid", on="fit")
def pairs_valid(look: Look, args: Args) -> str | None:
    return next(iter(pair_faults(look.run.format, look.fit.sent.messages)), None)


@check("results_once", on="fit")
def results_once(look: Look, args: Args) -> str | None:
    made = Counter(call.id for call in calls(look.fit.sent.messages))
    given = Counter(result.id for result in results(look.fit.sent.messages))
    return next((f"{each}: {n} results for {made[each]} calls" for each, n in given.items() if n > made[each]), None)


@check("parallel_group_whole", on="fit", needs="ids")
def parallel_group_whole(look: Look, args: Args) -> str | None:
    messages = look.fit.sent.messages
    found = {call.id: call.message for call in calls(messages)}
    answered = {result.id for result in results(messages)}
    if missing := [each for each in args["ids"] if each not in found]:
        return f"calls are gone: {', '.join(missing)}"
    if missing := [each for each in args["ids"] if each not in answered]:
        return f"results are gone: {', '.join(missing)}"
    if look.run.format != "openai_responses" and len({found[each] for each in args["ids"]}) > 1:
        return "the calls stand in several messages"
    return None


@check("pair_text", on="fit", needs="id contains", takes="nth")
def pair_text(look: Look, args: Args) -> str | None:
    found = _results(look, args)
    if not found:
        return f"no result of {args['id']}"
    if any(args["contains"] in result.text for result in found):
        return None
    return f"the result of {args['id']} does not hold {args['contains']!r}: {found[-1].text[:200]!r}"


@check("block_kept", on="fit", needs="id fields", takes="nth")
def block_kept(look: Look, args: Args) -> str | None:
    found = _results(look, args)
    if not found:
        return f"no result of {args['id']}"
    for result in found:
        for name, value in args["fields"].items():
            if name not in result.block or canonical(result.block[name]) != canonical(value):
                return f"the result of {args['id']} has {name} = {result.block.get(name)!r}"
    return None


def _results(look: Look, args: Args) -> list[Result]:
    found = [result for result in results(look.fit.sent.messages) if result.id == args["id"]]
    match args.get("nth"):
        case "first":
            return found[:1]
        case "last":
            return found[-1:]
        case _:
            return found


def _object(call: Call) -> Any:
    """The arguments read as JSON. Raises ValueError."""
    return json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments


@check("call_input_equals", on="fit", needs="id value", takes="nth")
def call_input_equals(look: Look, args: Args) -> str | None:
    found = [call for call in calls(look.fit.sent.messages) if call.id == args["id"]]
    if not found:
        return f"no call {args['id']}"
    try:
        value = _object(found[-1 if args.get("nth") == "last" else 0])
    except ValueError as error:
        return f"the arguments of {args['id']} do not parse: {error}"
    return None if canonical(value) == canonical(args["value"]) else f"the arguments of {args['id']} are {value!r}"


@check("args_json_valid", on="fit", takes="object")
def args_json_valid(look: Look, args: Args) -> str | None:
    for call in calls(look.fit.sent.messages):
        if call.arguments is None and call.type not in ("function_call", "tool_use"):
            continue
        try:
            value = _object(call)
        except ValueError as error:
            return f"the arguments of {call.id} do not parse: {error}"
        if args.get("object") and not isinstance(value, dict):
            return f"the arguments of {call.id} are no object but {value!r}"
    return None


@check("json_or_marked", on="fit", needs="id", takes="nth")
def json_or_marked(look: Look, args: Args) -> str | None:
    found = _results(look, args)
    if not found:
        return f"no result of {args['id']}"
    for result in found:
        try:
            json.loads(result.text)
        except ValueError:
            if not SHORTENED.search(result.text):
                return f"the result of {args['id']} is neither JSON nor marked as shortened: {result.text[-120:]!r}"
    return None
