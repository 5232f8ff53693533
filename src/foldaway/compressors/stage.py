"""Several calls of one stretch as one digest: what was done to what, how often, what failed, which figures came out.

    [#12–#19: 8 calls in src/plan: 4 reads, 2 searches, 1 edit, 1 command; 1 failed]
    edited: rates.py (#15)
    read: table.py (#12, #16), rates.py (#13)
    failed: #19 pytest -q: AssertionError: 3 != 4

Verbs follow the kinds of calls, objects the main arguments; a tool of no kind counts under its own name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldaway.compressors._json_text import first_words
from foldaway.compressors._literals import literals, worth_of
from foldaway.compressors._picking import named
from foldaway.compressors.base import Digest, Fact
from foldaway.compressors.facts import facts
from foldaway.linking.kinds import Kinds, is_error, one_line, title_of
from foldaway.model.items import Kind

OBJECT_CHARS = 72
ERROR_CHARS = 200
NAMED_SHARE = 0.3
READ_CHARS = 20_000
"""Of each result this much is searched for names: a stage shows few of them anyway."""
_VERBS = {
    Kind.EDIT: ("edited", "edits"),
    Kind.READ: ("read", "reads"),
    Kind.SEARCH: ("searched", "searches"),
    Kind.LISTING: ("listed", "listings"),
    Kind.COMMAND: ("ran", "commands"),
    Kind.PLAN: ("planned", "plans"),
}
_ORDER = (Kind.EDIT, Kind.COMMAND, Kind.RESULT, Kind.SEARCH, Kind.READ, Kind.LISTING, Kind.PLAN)
_OBJECT_KEYS = (
    "path file_path filePath filename file command cmd query pattern url code prompt description script input".split()
)
_TAG_ONLY = re.compile(r"\s*</?[A-Za-z][\w-]*>\s*$")
_SPOKEN = frozenset({"exit code", "status", "version", "id", "error"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One exchange of a stage."""

    item: int
    """Id of its item, as #12."""
    tool: str
    arguments: Mapping[str, Any] | None = None
    text: str = ""
    """The result."""
    error: bool = False


@dataclass(slots=True)
class _Done:
    """A call with what is said about it."""

    call: Call
    kind: Kind
    what: str
    failed: bool


def digest(calls: Sequence[Call], room_chars: int, kinds: Kinds | None = None) -> Digest:
    """The stage in at most `room_chars` characters; every literal in it stands in an argument or a result.

    Lines go in the order of their worth: the head, failures, edits, commands with their figures, what was read,
    and names from the results while there is room. O(total length).
    """
    room = max(0, room_chars)
    done = [_classed(call, kinds or Kinds()) for call in calls]
    folder = _common_folder([d.what for d in done])
    first = [_head(done, folder), *_failures(done)]
    shown: list[str] = []
    used = 0
    for number, line in enumerate([*first, *_objects(done, folder)]):
        limit = room if number < len(first) else room - int(room * NAMED_SHARE)
        if used + len(line) + 1 <= limit:
            shown.append(line)
            used += len(line) + 1
    text = "\n".join(shown)
    worth = worth_of(literals(call.text[:READ_CHARS]) for call in calls)
    names = named(worth, text, room - used)
    whole = "\n".join(piece for piece in (text, names) if piece)
    lost = f"arguments and results of {len(calls):,} calls"
    return Digest(text=whole[:room], content="stage", facts=tuple(_facts(calls)), lost=lost)


def _classed(call: Call, kinds: Kinds) -> _Done:
    kind = kinds.of_call(call.tool, call.arguments, call.text)
    what, named_so = _object(call, kind)
    return _Done(
        call, kind if named_so else Kind.RESULT, first_words(what, OBJECT_CHARS), is_error(call.text, call.error)
    )


def _object(call: Call, kind: Kind) -> tuple[str, bool]:
    """What a call was about, and whether its kind says all about the tool; else the tool's name does."""
    arguments = call.arguments or {}
    if kind in _VERBS and any(isinstance(arguments.get(key), str) for key in _OBJECT_KEYS):
        title = title_of(call.tool, arguments, "", 400)
        return title.removeprefix(call.tool).strip() or call.tool, True
    plain = [(k, v) for k, v in arguments.items() if isinstance(v, str | int | float) and not isinstance(v, bool)]
    ids = [str(v) for k, v in plain if k.lower().endswith(("id", "name", "number", "path", "url", "key"))]
    return " ".join(ids or [str(v) for _, v in plain]) or call.tool, False


def _head(done: Sequence[_Done], folder: str) -> str:
    ids = [d.call.item for d in done]
    span = f"#{min(ids)}–#{max(ids)}" if len(set(ids)) > 1 else f"#{ids[0]}" if ids else "nothing"
    counts: dict[str, int] = {}
    for d in sorted(done, key=lambda d: _ORDER.index(d.kind) if d.kind in _ORDER else len(_ORDER)):
        name = _VERBS[d.kind][1] if d.kind in _VERBS else f"× {d.call.tool}"
        counts[name] = counts.get(name, 0) + 1
    said = ", ".join(f"{count:,} {_plural(name, count)}" for name, count in counts.items())
    failed = sum(d.failed for d in done)
    where = f" in {folder.rstrip('/')}" if folder else ""
    return f"[{span}: {len(done):,} calls{where}: {said}" + (f"; {failed:,} failed]" if failed else "]")


def _plural(name: str, count: int) -> str:
    if count != 1 or name.startswith("×"):
        return name
    return {"searches": "search"}.get(name, name.removesuffix("s"))


def _failures(done: Sequence[_Done]) -> list[str]:
    lines = []
    for d in done:
        if d.failed:
            lines.append(f"failed: #{d.call.item} {d.what}: {one_line(_cause(d.call.text), ERROR_CHARS)}")
    return lines


def _cause(text: str) -> str:
    """The line of an error text that says most: its last line that names an error, else its last line."""
    errors = [fact.value for fact in facts(text) if fact.key == "error"]
    if errors:
        return errors[-1]
    filled = [line for line in text[-4000:].splitlines() if line.strip() and not _TAG_ONLY.match(line)]
    return filled[-1] if filled else "no output"


def _objects(done: Sequence[_Done], folder: str) -> list[str]:
    """One line a verb: the objects with the ids they come from and the figures that came out."""
    groups: dict[tuple[int, str], dict[str, list[str]]] = {}
    for d in done:
        place = _ORDER.index(d.kind) if d.kind in _ORDER else len(_ORDER)
        verb = _VERBS[d.kind][0] if d.kind in _VERBS else d.call.tool
        what = d.what.removeprefix(folder) if folder else d.what
        figures = "" if d.failed or d.kind is Kind.READ else _figures(d.call.text)
        groups.setdefault((place, verb), {}).setdefault(what, []).append(f"#{d.call.item}{figures}")
    return [
        f"{verb}: " + ", ".join(f"{what} ({', '.join(ids)})" for what, ids in objects.items())
        for (_, verb), objects in sorted(groups.items(), key=lambda group: group[0][0])
    ]


def _figures(text: str) -> str:
    said = [f.value + " " + f.key for f in facts(text[-READ_CHARS:], 12) if f.value[:1].isdigit() and _counted(f)]
    return ": " + ", ".join(said[:3]) if said else ""


def _counted(fact: Fact) -> bool:
    return (
        fact.key not in _SPOKEN and fact.key.islower() and " " not in fact.key and fact.value.replace(",", "").isdigit()
    )


def _common_folder(objects: Iterable[str]) -> str:
    """The folder that most of the paths share; "" when there is none worth naming."""
    paths = [what for what in objects if "/" in what and " " not in what and not what.startswith(("http", "…"))]
    if len(paths) < 2:
        return ""
    first, last = min(paths), max(paths)
    shared = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[: first.rfind("/", 0, shared) + 1]


def _facts(calls: Sequence[Call]) -> list[Fact]:
    """The few most telling facts of each result, under the id they come from."""
    return [Fact(f"#{call.item} {f.key}", f.value, f.line) for call in calls for f in facts(call.text[:READ_CHARS], 4)]
