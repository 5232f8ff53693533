"""What an item is, told from the tool's name and arguments: its kind, its one-line title, whether its effect persists.

Names are matched by their words, so `read_file`, `fs.readFile` and `mcp__fs__read` are all reads. A shell command is
judged by the programs it runs. Users extend the table with `Kinds.register`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from foldaway.linking.anchors import AnchorKind, anchors
from foldaway.model.items import Kind

_WORDS: tuple[tuple[Kind, frozenset[str]], ...] = (
    (Kind.PLAN, frozenset("todo todos todowrite plan planner checklist".split())),
    (Kind.EDIT, frozenset("edit write create patch replace insert update delete remove move rename book cancel send add"
                          " set put post modify undo apply multiedit".split())),
    (Kind.SEARCH, frozenset("grep rg search find query lookup route retrieve websearch".split())),
    (Kind.LISTING, frozenset("ls list glob tree dir listing".split())),
    (Kind.READ, frozenset("read view open cat fetch get show browse visit download scrape load goto".split())),
    (Kind.COMMAND, frozenset("bash shell sh exec execute run command terminal python ipython cmd powershell"
                             " test".split())),
)  # fmt: skip
_PROGRAMS: tuple[tuple[Kind, frozenset[str]], ...] = (
    (Kind.READ, frozenset("cat head tail nl less more bat sed awk jq curl wget man xxd".split())),
    (Kind.SEARCH, frozenset("grep rg ag ack egrep fgrep".split())),
    (Kind.LISTING, frozenset("ls find tree fd du stat wc".split())),
    (Kind.EDIT, frozenset("apply_patch patch tee mv cp rm mkdir touch edit create insert".split())),
)
_MAIN_ARGUMENTS = (
    "path file_path filePath filename file command cmd query pattern url code name description prompt input id "
    "message question text"
).split()
_COMMAND_KEYS = ("command", "cmd", "code", "script", "input")
_SPLIT_NAME = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])")
_WRITES = re.compile(
    r"(?<![<>0-9&=-])>{1,2}\s*(?!/dev/null|&)[\w./~$\"']|\bsed\s+(?:-\w+\s+)*-i|\bapply_patch\b|<<\s*['\"]?EOF"
)
_PREFIX = re.compile(
    r"^\s*(?:cd\s+\S+\s*(?:&&|;)\s*|\w+=\S+\s+|sudo\s+|time\s+|timeout\s+\S+\s+|source\s+\S+\s*(?:&&|;)\s*)+"
)
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_ERROR = re.compile(
    r"^\s*(?:Error\b|error:|ERROR\b|Traceback \(most recent call last\)|<(?:tool_use_)?error>|fatal:|Exception\b|"
    r"Exit code:? [1-9]|Command failed|Permission denied|No such file)"
)
_EXIT = re.compile(r"(?:exit(?:ed with)? code:?|returncode>?)\s*(\d+)", re.IGNORECASE)


class Kinds:
    """Classifies calls. The table is data: `register` adds exact tool names, which win over the words."""

    def __init__(self, names: Mapping[str, Kind] | None = None) -> None:
        self._names: dict[str, Kind] = dict(names or {})

    def register(self, tool: str, kind: Kind) -> None:
        self._names[tool] = kind

    def of_call(self, name: str, arguments: Any, text: str) -> Kind:
        """The kind of a call from its tool's name; shell-like tools are judged by their command."""
        if name in self._names:
            return self._names[name]
        words = frozenset(w.lower() for w in _SPLIT_NAME.split(name) if w)
        for kind, vocabulary in _WORDS:
            if words & vocabulary:
                return self.of_command(command_of(arguments, text)) if kind is Kind.COMMAND else kind
        return Kind.RESULT

    def of_command(self, command: str) -> Kind:
        """The kind of a shell command from the program it runs first."""
        if not command:
            return Kind.COMMAND
        if _WRITES.search(command[:4000]):
            return Kind.EDIT
        bare = _PREFIX.sub("", command[:400])
        program = bare.split(None, 1)[0].rsplit("/", 1)[-1] if bare.split() else ""
        for kind, programs in _PROGRAMS:
            if program in programs:
                return kind
        return Kind.COMMAND


def is_error(text: str, flagged: bool) -> bool:
    """Whether a result reports a failure: marked so, or opening like one, or with an exit code other than 0."""
    if flagged or _ERROR.match(text[:200]):
        return True
    found = _EXIT.search(text[:300]) or (_EXIT.search(text[-200:]) if len(text) > 300 else None)
    return found is not None and found.group(1) != "0"


def command_of(arguments: Any, text: str) -> str:
    """The command line inside a call's arguments; the whole text where there is none to single out."""
    if isinstance(arguments, Mapping):
        for key in _COMMAND_KEYS:
            value = arguments.get(key)
            if isinstance(value, str):
                return value
            if isinstance(value, list) and all(isinstance(v, str) for v in value):
                return " ".join(value)
    return text


def title_of(name: str, arguments: Any, text: str, limit: int = 64) -> str:
    """One short line for a call: the tool and its main argument ("read_file src/a.py").

    A shell call is its command; a patch is the files it touches.
    """
    words = {w.lower() for w in _SPLIT_NAME.split(name) if w}
    main = _main_argument(arguments, text)
    if files := _PATCHED.findall(main):
        return one_line("patched " + " ".join(dict.fromkeys(files)), limit)
    bare = _PREFIX.sub("", main)
    if len(bare) > limit - len(name) - 1 and "/" in bare and not any(c.isspace() for c in bare):
        # Of a long path the end says most.
        bare = "…" + bare[-(limit - len(name) - 2) :]
    commands = isinstance(arguments, Mapping) and any(isinstance(arguments.get(k), str) for k in _COMMAND_KEYS)
    if words & _WORDS[-1][1] and commands and bare.strip():
        return one_line(bare, limit)
    return one_line(f"{name} {bare}", limit)


def _main_argument(arguments: Any, text: str) -> str:
    if not isinstance(arguments, Mapping):
        return text
    for key in _MAIN_ARGUMENTS:
        value = arguments.get(key)
        if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
            value = " ".join(value)
        if isinstance(value, str) and value.strip():
            return value
    return ", ".join(f"{k}={v}" for k, v in arguments.items() if isinstance(v, str | int | float) and v != "")


def targets_of(kind: Kind, arguments: Any, text: str) -> tuple[str, ...]:
    """The files that a read or an edit is about, as the call spells them; () for other kinds. At most 6."""
    if kind not in (Kind.READ, Kind.EDIT, Kind.ERROR):
        return ()
    main = _main_argument(arguments, text)
    if files := _PATCHED.findall(text if "*** Begin Patch" in text else main):
        return tuple(dict.fromkeys(f.strip() for f in files))[:6]
    found = anchors(main[:600])
    return tuple(a for a, k in found.items() if k in (AnchorKind.PATH, AnchorKind.FILE))[:6]


def same_file(a: str, b: str) -> bool:
    """Whether two spellings mean one file: equal, or one is the tail of the other at a slash."""
    return a == b or a.endswith("/" + b.lstrip("./")) or b.endswith("/" + a.lstrip("./"))


def one_line(text: str, limit: int) -> str:
    """White space folded, cut at `limit` characters at a word where there is one, with an ellipsis."""
    flat = " ".join(text[: limit * 8].split())
    if len(flat) <= limit:
        return flat
    cut = flat[: limit - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit * 2 // 3 else cut) + "…"
