"""The literals in an agent's action: what a label of need is made of.

These rules judge the engine, so they share no code with it: nothing here comes from `foldaway.linking`, and nothing
there may use this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class LiteralKind(StrEnum):
    URL = "url"
    PATH = "path"
    HASH = "hash"
    NUMBER = "number"
    IDENTIFIER = "identifier"
    QUOTED = "quoted"
    LINE = "line"
    """A line that an edit or a patch must repeat word for word."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as an action spells it. `shorter` are the spellings that would do as well, longest first."""

    kind: LiteralKind
    text: str
    shorter: tuple[str, ...] = ()


MIN_LINE_CHARS = 16
MIN_WORD_CHARS = 4
MIN_QUOTED_CHARS = 8
MAX_QUOTED_CHARS = 160

OLD_TEXT_KEYS = frozenset(
    {"old_string", "old_str", "old_text", "oldtext", "oldstring", "oldstr", "search", "old", "old_content", "original"}
)
"""Names, in small letters, under which edit tools take the text that is there now."""

_UNITS = r"(?:ms|min|s|sec|[kKMGT]i?B|GHz|MHz|kHz|Hz|px|rem|pt|mm|cm|km|kg|mg|EUR|USD|GBP|%)"
_EXTENSIONS = (
    "py|pyi|js|jsx|ts|tsx|mjs|cjs|go|rs|c|h|cc|cpp|hpp|java|kt|rb|php|cs|swift|scala|sh|bash|sql|json|jsonl|yaml|yml|"
    "toml|ini|cfg|conf|lock|env|md|rst|txt|csv|tsv|xml|html|css|scss|svg|png|jpg|jpeg|pdf|zip|gz|tar|log|diff|patch|"
    "ipynb|xlsx|docx|pptx|parquet|db|sqlite|proto|mod|sum"
)
_SCAN = re.compile(
    "|".join(
        (
            r"""(?P<url>https?://[^\s"'<>`\\)\]}|]+)""",
            r"(?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)",
            r"(?P<path>(?<![\w/])(?:~|\.{1,2})?/?[\w@+.-]+(?:/[\w@+.-]+)+|(?<![\w/.])/[\w@+.-]{3,})",
            r"(?P<uuid>(?<![\w-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w-]))",
            r"(?P<date>(?<![\w-])\d{4}-\d{2}-\d{2}(?!\d))",
            rf"(?P<file>(?<![\w.-])[\w-]+(?:\.[\w-]+)*\.(?:{_EXTENSIONS})(?!\w|[.-]\w|\())",
            r"(?P<module>(?<![\w.])(?!(?:self|this|cls)\.)[A-Za-z_]\w+(?:\.[A-Za-z_]\w+){2,})",
            rf"(?P<number>(?<![\w.])(?:\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)*{_UNITS}?)(?!\w))",
            r"(?P<word>\w+(?:-\w+)*)",
        )
    ),
    re.ASCII,
)
_FILE_NAME = re.compile(rf"[\w.-]*\w\.(?:{_EXTENSIONS})", re.ASCII)
_HASH = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}", re.ASCII)
_HUMP = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]", re.ASCII)
_QUOTED = re.compile(r"""(?<![\w\\])(["'`])((?:(?!\1)[^\n]){8,160})\1""")
_SUBSCRIPT = re.compile(r"""\[(["'])([A-Za-z_][\w ]{3,60})\1\]""")
_FENCE = re.compile(r"```[\w+-]*\n(.*?)(?:```|\Z)", re.DOTALL)
_TAGGED = re.compile(
    r"<(use_mcp_tool|tool_call|command|execute_\w+|function=[\w.]+)>(.*?)(?:</(?:\1|function)>|\Z)", re.DOTALL
)
_ACTION = re.compile(r"^Action:\s*(.+)", re.DOTALL | re.MULTILINE)
_SEARCH_BLOCK = re.compile(r"^<{5,9} ?SEARCH\n(.*?)^={5,9}$", re.DOTALL | re.MULTILINE)
_PATCH = re.compile(r"\*\*\* Begin Patch\n(.*?)(?:\*\*\* End Patch|\Z)", re.DOTALL)
# Names that every programmer knows; that an observation showed them first says nothing.
_COMMON = frozenset(
    {"__init__", "__name__", "__main__", "__file__", "__str__", "__repr__", "__call__", "__all__", "__dict__"}
    | {"python2", "python3", "pip3", "utf8", "utf-8", "UTF-8", "base64", "sha1", "sha256", "x86_64", "isinstance"}
    | {"int32", "int64", "uint64", "float32", "float64", "dev/null", "JavaScript", "TypeScript", "GitHub"}
    | {"README.md", "setup.py", "package.json"}
)


def action_literals(arguments: Any) -> list[Literal]:
    """The literals in a call's arguments (parsed JSON, or text), each once, in order of appearance.

    Text under the keys that edit tools use for what is there now, and context lines of patches, give whole lines.
    """
    found: dict[str, Literal] = {}
    for key, value in _leaves(arguments, ""):
        for literal in _of_leaf(key, value):
            found.setdefault(literal.text, literal)
    return list(found.values())


def code_in(text: str) -> str:
    """The code or command in the words of an agent that has no tool calls; all of the text when none is marked."""
    for pattern, group in ((_TAGGED, 2), (_FENCE, 1), (_ACTION, 1)):
        blocks = [match.group(group) for match in pattern.finditer(text)]
        if blocks:
            return "\n".join(blocks + [m.group(0) for m in _SEARCH_BLOCK.finditer(text)])
    return text


def _leaves(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    # A stack of its own: arguments come from outside and may be nested deeper than Python recurses.
    stack = [(key, value)]
    while stack:
        name, node = stack.pop()
        if isinstance(node, Mapping):
            stack.extend((str(k), v) for k, v in reversed(list(node.items())))
        elif isinstance(node, Sequence) and not isinstance(node, str | bytes):
            stack.extend((name, v) for v in reversed(node))
        else:
            yield name, node


def _of_leaf(key: str, value: Any) -> Iterator[Literal]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield from _numbers(str(value))
        return
    text = str(value)
    if key.lower() in OLD_TEXT_KEYS and "\n" in text.strip():
        yield from _lines(text.splitlines())
        return
    if key.lower() in OLD_TEXT_KEYS:
        yield from _lines([text])
    for patch in _PATCH.finditer(text):
        yield from _lines(line[1:] for line in patch.group(1).splitlines() if line[:1] in (" ", "-"))
    for block in _SEARCH_BLOCK.finditer(text):
        yield from _lines(block.group(1).splitlines())
    yield from _quoted(text, whole=bool(key))
    yield from scan(text)


def _lines(lines: Any) -> Iterator[Literal]:
    for line in lines:
        bare = line.strip()
        if len(bare) >= MIN_LINE_CHARS and any(c.isalnum() for c in bare):
            yield Literal(LiteralKind.LINE, bare)


def _quoted(text: str, *, whole: bool) -> Iterator[Literal]:
    """Strings in quotes; with `whole`, a short argument counts as quoted by its JSON."""
    stripped = text.strip()
    if whole and MIN_WORD_CHARS < len(stripped) <= MAX_QUOTED_CHARS and "\n" not in stripped and " " in stripped:
        yield Literal(LiteralKind.QUOTED, stripped)
    # Column and field names are often plain words; as a subscript they are exact all the same.
    for match in _SUBSCRIPT.finditer(text):
        yield Literal(LiteralKind.QUOTED, match.group(2))
    for match in _QUOTED.finditer(text):
        inner = match.group(2).strip()
        # What stands between two strings is in quotes too, the wrong way round.
        if match.group(2)[0] in " ,;:+)" or (" " not in inner and "/" in inner):
            continue
        # One word in quotes is an identifier, a path or no literal at all: `scan` says which.
        if len(inner) >= MIN_QUOTED_CHARS and re.search(r"[A-Za-z0-9]{2}[^\w/]+[A-Za-z0-9]", inner):
            yield Literal(LiteralKind.QUOTED, inner)


def scan(text: str) -> Iterator[Literal]:
    """URLs, paths, hashes, numbers and identifiers in a text, left to right, repeats included."""
    for match in _SCAN.finditer(text):
        group = match.lastgroup
        token = match.group()
        if group == "url":
            yield Literal(LiteralKind.URL, token.rstrip(".,;:!?"))
        elif group == "path":
            yield from _path(token)
        elif group == "file" and token not in _COMMON:
            yield Literal(LiteralKind.PATH, token)
        elif group == "uuid":
            yield Literal(LiteralKind.HASH, token)
        elif group == "email":
            yield Literal(LiteralKind.IDENTIFIER, token)
        elif group == "module":
            pieces = token.split(".")
            tails = [".".join(pieces[i:]) for i in range(1, len(pieces))]
            shorter = tuple(t for t in tails if "." in t or _is_identifier(t))
            yield Literal(LiteralKind.IDENTIFIER, token, shorter)
        elif group == "date":
            yield Literal(LiteralKind.NUMBER, token)
        elif group == "number":
            yield from _numbers(token)
        elif group == "word":
            yield from _word(token)


def _numbers(token: str) -> Iterator[Literal]:
    digits = sum(c.isdigit() for c in token)
    plain = token.isdigit()
    # "1.0" or "5s" are too common to be values that something supplied.
    if (plain and digits >= 4) or (not plain and (digits >= 3 or (digits >= 2 and not token[-1].isdigit()))):
        yield Literal(LiteralKind.NUMBER, token)


def _path(token: str) -> Iterator[Literal]:
    path = token.rstrip(".-:").rstrip("/")
    while path.startswith("./"):
        path = path[2:]
    segments = [s for s in path.split("/") if s]
    rooted = path[:1] in ("/", "~", ".")
    named = bool(segments) and _FILE_NAME.fullmatch(segments[-1]) is not None
    if path in _COMMON or (rooted and path[1:] in _COMMON):
        return
    # "and/or", "s/old/new/", "origin/main": no path, but its words may be identifiers.
    if not (rooted or named or len(segments) > 2) or token[:2] in ("s/", "y/"):
        for segment in segments:
            for word in re.findall(r"\w+(?:-\w+)*", segment, re.ASCII):
                yield from _word(word)
        return
    first = 1 if len(segments) > 1 else 0
    tails = ["/".join(segments[i:]) for i in range(0 if path[:1] == "/" else first, len(segments))]
    shorter = tuple(t for t in tails if t != path and ("/" in t or (named and t not in _COMMON)))
    yield Literal(LiteralKind.PATH, path, shorter)


def _word(token: str) -> Iterator[Literal]:
    if "-" in token and not (any(c.isdigit() for c in token) or "_" in token):
        for piece in token.split("-"):
            yield from _word(piece)
        return
    if len(token) < MIN_WORD_CHARS or token in _COMMON:
        return
    if _HASH.fullmatch(token):
        yield Literal(LiteralKind.HASH, token)
    elif _is_identifier(token):
        yield Literal(LiteralKind.IDENTIFIER, token)


def _is_identifier(token: str) -> bool:
    letters = any(c.isalpha() for c in token)
    digits = any(c.isdigit() for c in token)
    if not letters:
        return False
    if token[0].isdigit() and len(token) < 5:
        return False
    return "_" in token.strip("_") or _HUMP.search(token) is not None or digits
