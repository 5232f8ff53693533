"""What an agent says about its own plan: entries and their states, read from plan tools and from checklists.

Three shapes cover the tools seen in recordings: a call that states the whole list (TodoWrite, update_plan, write_todos,
task_tracker), calls that add or change one entry by its id (TaskCreate, TaskUpdate), and a call that says the current
entry is done (mark_task_completed). Agents without such a tool tick boxes in Markdown, in their text or in a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from foldaway.model.wire import Part, PartType, Turn

MOST_ENTRIES = 60
"""A list longer than this is a document, not a plan."""
TEXT_CHARS = 200


class Status(StrEnum):
    OPEN = "open"
    ACTIVE = "active"
    DONE = "done"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a plan as one statement gives it."""

    text: str
    """"" where the statement names the entry by its key alone."""
    status: Status
    key: str = ""
    """The plan tool's own id of it; "" where the text is all there is."""
    firm: bool = True
    """False: an unticked box, which does not say that a finished entry is open again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What one call or text says about the plan."""

    entries: tuple[Entry, ...] = ()
    whole: bool = False
    """The entries are the whole plan: what is missing is no longer in it."""
    current_done: bool = False
    """What the agent works on now is done, whatever it is called."""


_LISTS = ("todos", "plan", "task_list", "todo_list", "tasks", "items", "steps")
_TEXTS = ("content", "step", "title", "subject", "task", "text", "name", "description")
_IDS = ("taskId", "task_id", "todo_id", "id")
_STATES = {
    "completed": Status.DONE, "complete": Status.DONE, "done": Status.DONE, "finished": Status.DONE,
    "in_progress": Status.ACTIVE, "in progress": Status.ACTIVE, "active": Status.ACTIVE, "doing": Status.ACTIVE,
    "cancelled": Status.DROPPED, "canceled": Status.DROPPED, "deleted": Status.DROPPED, "skipped": Status.DROPPED,
}  # fmt: skip
_WORD = re.compile(r"[A-Za-z][a-z]*|[A-Z]+")
_PLANNING = frozenset({"todo", "todos", "plan", "task", "tasks", "checklist"})
_ADDING = frozenset({"create", "add", "new"})
_CHANGING = frozenset({"update", "set", "mark", "complete", "completed", "finish"})
_BOX = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)]) \[([ xX~/-])\] +(\S.*)$", re.MULTILINE)
_BOXES = {" ": Status.OPEN, "x": Status.DONE, "X": Status.DONE, "~": Status.ACTIVE, "/": Status.ACTIVE}
_GIVEN_ID = re.compile(r"#?\b(\d{1,6})\b")


def statements(turn: Turn) -> Iterator[Statement]:
    """What the agent says about its plan in this turn, in order. O(size of what it wrote)."""
    results = {p.call_id: p for p in turn.parts if p.type is PartType.RESULT}
    for part in turn.parts:
        if part.role != "assistant" or part.type not in (PartType.TEXT, PartType.CALL):
            continue
        if part.type is PartType.CALL and (said := _called(part, results.get(part.call_id))) is not None:
            yield said
        elif "[" in part.text:
            entries = tuple(_boxes(_words(part)))
            if 0 < len(entries) <= MOST_ENTRIES:
                yield Statement(entries=entries)


def same(text: str) -> str:
    """An entry's text as it is compared: case, white space and closing marks aside."""
    return " ".join(text.casefold().split()).rstrip(".;:! ")


def _called(call: Part, result: Part | None) -> Statement | None:
    """What a call of a plan tool says; None when the tool is none or the call failed."""
    words = {w.lower() for w in _WORD.findall(call.name)}
    if not words & _PLANNING or not isinstance(call.arguments, Mapping):
        return None
    if result is not None and (result.is_error or "not found" in result.text[:80].lower()):
        return Statement()
    listed = next((found for key in _LISTS if (found := _listed(call.arguments.get(key)))), ())
    if listed:
        return Statement(entries=listed[:MOST_ENTRIES], whole=True)
    key = next((str(call.arguments[k]) for k in _IDS if isinstance(call.arguments.get(k), str | int)), "")
    text = _text(call.arguments)
    if words & _ADDING and text:
        given = _GIVEN_ID.search(result.text[:80]) if result is not None else None
        made = Entry(text=text, status=_status(call.arguments), key=key or (given.group(1) if given else ""))
        return Statement(entries=(made,))
    if words & _CHANGING and key and "status" in call.arguments:
        return Statement(entries=(Entry(text=text, status=_status(call.arguments), key=key),))
    if words & _CHANGING and words & {"completed", "complete", "finish"} and not key:
        return Statement(current_done=True)
    return None


def _listed(value: Any) -> tuple[Entry, ...]:
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            value = json.loads(value)
        except ValueError:
            return ()
    if not isinstance(value, list):
        return ()
    rows = [row for row in value if isinstance(row, Mapping) and ("status" in row or "done" in row)]
    return tuple(Entry(text=text, status=_status(row)) for row in rows if (text := _text(row)))


def _text(row: Mapping[str, Any]) -> str:
    found = next((row[k] for k in _TEXTS if isinstance(row.get(k), str) and row[k].strip()), "")
    return " ".join(found[: TEXT_CHARS * 4].split())[:TEXT_CHARS]


def _status(row: Mapping[str, Any]) -> Status:
    if isinstance(row.get("done"), bool):
        return Status.DONE if row["done"] else Status.OPEN
    return _STATES.get(str(row.get("status", "")).lower(), Status.OPEN)


def _words(part: Part) -> str:
    """A text, or the texts inside a call's arguments."""
    if part.type is PartType.TEXT or not isinstance(part.arguments, Mapping):
        return part.text
    return "\n".join(v for v in part.arguments.values() if isinstance(v, str))


def _boxes(text: str) -> Iterator[Entry]:
    """Ticked and unticked boxes, each text once with its last state (an edit shows the old list, then the new)."""
    last: dict[str, tuple[str, list[Status]]] = {}
    for mark, words in _BOX.findall(text):
        status = _BOXES.get(mark, Status.DROPPED)
        last.setdefault(same(words), (words.strip()[:TEXT_CHARS], []))[1].append(status)
    for words, seen in last.values():
        yield Entry(text=words, status=seen[-1], firm=seen[-1] is not Status.OPEN or Status.DONE in seen)
