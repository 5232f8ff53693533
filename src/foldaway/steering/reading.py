"""A planner's answer read strictly: one JSON object of the fixed schema, bare or in one code fence, or nothing.

    {"summary": "one sentence", "plan": [{"action": "fold", "targets": [12, 14], "reason": "why"}]}

Which targets are legal is not asked here: the session vets them (`Session.propose_plan`).
"""

from __future__ import annotations

import json
import re
from typing import Any

from foldaway.errors import AskError
from foldaway.model.plan import Action, PlanEntry

MOST_CHARS = 200_000
MOST_ENTRIES = 1_000
MOST_TARGETS = 5_000
_THOUGHTS = (("<think>", "</think>"), ("<thinking>", "</thinking>"))
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?```", re.DOTALL | re.IGNORECASE)
_REFUSAL = re.compile(
    r"\b(?:i(?:['’]m| am) (?:sorry|unable|not able)|i (?:cannot|can['’]t|won['’]t|will not|apologi[sz]e)|as an ai\b"
    r"|unable to (?:assist|help|comply))|抱歉|对不起|我(?:无法|不能)",
    re.IGNORECASE,
)
_FIELDS = {"summary", "plan"}
_ENTRY_FIELDS = {"action", "targets", "reason"}


def read_answer(text: str) -> tuple[str, tuple[PlanEntry, ...]]:
    """(summary, entries) of an answer. Linear in its length.

    Raises:
        AskError: "too-large", "empty", "refusal", or "malformed" with what is wrong where.
    """
    return _plan(read_object(text))


def read_object(text: str) -> Any:
    """The one JSON value of an answer, bare or in one code fence, thoughts left out; raises as `read_answer`."""
    if len(text) > MOST_CHARS:
        raise AskError("too-large", f"an answer of {len(text)} characters; at most {MOST_CHARS}")
    said = _after_thoughts(text.strip())
    if not said:
        raise AskError("empty", "the planner wrote nothing")
    fenced = _FENCE.findall(said) if "```" in said else []
    if len(fenced) > 1:
        raise AskError("malformed", f"{len(fenced)} code fences; expected one JSON object")
    body = fenced[0] if fenced else said
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        if not body.lstrip().startswith("{") and _REFUSAL.search(said[:400]):
            raise AskError("refusal", "the planner refused") from error
        raise AskError("malformed", "expected one JSON object and nothing else") from error


def _after_thoughts(said: str) -> str:
    """What a reasoning model says behind the thoughts that it opens with."""
    for begin, end in _THOUGHTS:
        if said.startswith(begin) and end in said:
            return said.rpartition(end)[2].strip()
    return said


def _plan(found: Any) -> tuple[str, tuple[PlanEntry, ...]]:
    _object(found, _FIELDS, "the answer")
    summary, plan = found["summary"], found["plan"]
    if not isinstance(summary, str) or not isinstance(plan, list):
        raise AskError("malformed", "expected summary as text and plan as a list")
    if len(plan) > MOST_ENTRIES:
        raise AskError("too-large", f"{len(plan)} entries; at most {MOST_ENTRIES}")
    entries = tuple(_entry(number, entry) for number, entry in enumerate(plan))
    targets = sum(len(entry.targets) for entry in entries)
    if targets > MOST_TARGETS:
        raise AskError("too-large", f"{targets} targets; at most {MOST_TARGETS}")
    return summary, entries


def _entry(number: int, entry: Any) -> PlanEntry:
    where = f"entry {number}"
    _object(entry, _ENTRY_FIELDS, where)
    action, targets, reason = entry["action"], entry["targets"], entry["reason"]
    if not isinstance(action, str) or action not in {known.value for known in Action}:
        raise AskError("malformed", f"{where}: expected an action of {', '.join(known.value for known in Action)}")
    # JSON's true is no number, whatever Python says.
    if not isinstance(targets, list) or not all(type(target) is int for target in targets):
        raise AskError("malformed", f"{where}: expected targets as a list of whole numbers")
    if not isinstance(reason, str):
        raise AskError("malformed", f"{where}: expected reason as text")
    return PlanEntry(action=Action(action), targets=tuple(targets), reason=reason)


def _object(found: Any, fields: set[str], where: str) -> None:
    if not isinstance(found, dict) or set(found) != fields:
        raise AskError("malformed", f"{where}: expected an object with {', '.join(sorted(fields))} and no more")
