"""The outline of source code: where its classes, functions and other definitions begin and end.

By tree-sitter where the extra `code` is installed, by `ast` for whole Python files, else by the shape of the lines,
which also copes with fragments of files.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from foldaway.compressors import tree

LANGUAGES = {
    "py": "python", "pyi": "python", "js": "javascript", "jsx": "javascript", "mjs": "javascript", "cjs": "javascript",
    "ts": "typescript", "tsx": "tsx", "mts": "typescript", "go": "go", "rs": "rust", "java": "java", "kt": "kotlin",
    "c": "c", "h": "c", "cc": "c++", "cpp": "c++", "hpp": "c++", "cs": "c#", "rb": "ruby", "php": "php", "sh": "shell",
    "bash": "shell", "zsh": "shell", "swift": "swift", "scala": "scala", "lua": "lua", "sql": "sql", "pl": "perl",
    "r": "r", "proto": "protobuf", "vue": "vue", "svelte": "svelte", "css": "css", "scss": "css", "pyx": "python",
    "yaml": "yaml", "yml": "yaml", "toml": "toml", "ini": "ini", "cfg": "ini", "gradle": "groovy", "tf": "terraform",
}  # fmt: skip
"""Extension of a file name -> language, in the words a digest uses."""

_LONGEST_SIGNATURE = 12

MAX_PARSED_CHARS = 1_000_000
"""Longer code is outlined by the shape of its lines."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition: lines [start, end), of which [start, body) are its signature; indexes from 0."""

    kind: str
    """class, function, method, type, ..."""
    name: str
    start: int
    body: int
    end: int


_LONGEST_LINE = 400
_FIRST_CALLS = ("describe", "it(", "it.", "test", "suite", "context", "pub(")
_NAME = r"[A-Za-z_$][\w$]*"
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "class",
        re.compile(
            r"\s{0,40}(?:(?:export|default|abstract|public|private|protected|internal|static|final|sealed|data|open|pub"
            r"|declare|partial)(?:\([a-z]{1,9}\))?\s+){0,5}"
            rf"(?:class|interface|struct|enum|trait|namespace|module|mod|impl|object|record|message"
            rf"|protocol)\b\s{{0,9}}({_NAME})"
        ),
    ),
    (
        "function",
        re.compile(
            r"\s{0,40}(?:(?:export|default|public|private|protected|static|async|final|override|pub|unsafe|const|inline"
            r"|suspend|internal|open|extern|local)(?:\([a-z]{1,9}\))?\s+){0,6}"
            rf"(?:def|function\*?|func|fn|fun|sub)\b\s{{0,9}}(?:\([^()]{{0,120}}\)\s{{0,4}})?({_NAME})"
        ),
    ),
    ("type", re.compile(rf"(?:export\s+|pub\s+|declare\s+)?(?:type|typedef|using)\s+({_NAME})")),
    (
        "function",
        re.compile(
            rf"\s{{0,8}}(?:export\s+)?(?:const|let|var)\s+({_NAME})\s?(?::[^=]{{1,120}})?=\s?(?:async\s?)?"
            rf"(?:function\b|\([^()]{{0,200}}\)\s?(?::[^=]{{1,80}})?=>|{_NAME}\s?=>)"
        ),
    ),
    ("test", re.compile(r"\s{0,20}(?:describe|it|test|suite|context)(?:\.\w{1,12})?\(\s?[\"'`]([^\"'`]{1,120})")),
    (
        "table",
        re.compile(
            r"\s{0,8}create\s+(?:or\s+replace\s+)?(?:temp\s+)?(?:table|function|view|index|type)\s+"
            r"(?:if\s+not\s+exists\s+)?([\w.\"]{1,80})",
            re.IGNORECASE,
        ),
    ),
    (
        "method",
        re.compile(
            r"\s{1,16}(?:(?:public|private|protected|static|async|get|set|readonly|override|final|virtual|abstract"
            rf"|synchronized)\s+){{0,4}}(?:[\w<>\[\],.?]{{1,60}}\s+)?\*?#?({_NAME})\s?"
            r"(?:<[^<>()]{1,60}>)?\([^;]{0,300}\{\s*$"
        ),
    ),
    (
        "function",
        re.compile(rf"[A-Za-z_][\w\s*&:<>,]{{0,100}}?[\s*&]({_NAME}(?:::~?{_NAME})?)\([^;=]{{0,300}}\)?\s*\{{?\s*$"),
    ),
    ("function", re.compile(r"(?:function\s+)?([A-Za-z_][\w-]{0,60})\s?\(\)\s?\{")),
)
_NO_NAMES = frozenset(
    "if for while switch catch return else do try with match when until elif case function new".split()
)
_FIRST_WORDS = frozenset(
    "export default abstract public private protected internal static final sealed data open pub declare partial class "
    "interface struct enum trait namespace module mod impl object record message protocol def function function* func "
    "fn fun sub async override unsafe const inline suspend extern local type typedef using let var create CREATE "
    "get set readonly virtual synchronized".split()
)


def _may_define(lines: Sequence[str]) -> list[int]:
    """Indexes of the lines that may define something: a quick look that spares most lines the patterns."""
    return [
        index
        for index, bare in enumerate([line.strip() for line in lines])
        if bare
        and (
            bare[-1] == "{"
            or bare.partition(" ")[0] in _FIRST_WORDS
            or (bare[-1] in "),(" and lines[index][0].isalpha())
            or (bare[0] in "ditscp" and bare.startswith(_FIRST_CALLS) and "(" in bare.partition(" ")[0])
        )
        and len(lines[index]) <= _LONGEST_LINE
    ]


def language_of(path: str) -> str:
    """The language a file name speaks of; "" for none that has an outline."""
    name = path.rpartition("/")[2]
    return LANGUAGES.get(name.rpartition(".")[2].lower(), "") if "." in name else ""


def outline(lines: Sequence[str], language: str) -> list[Definition]:
    """The definitions in `lines`, in order of their start. Never raises."""
    size = sum(map(len, lines))
    if size <= MAX_PARSED_CHARS:
        if tree.knows(language) and (nodes := tree.definitions("\n".join(lines), language)) is not None:
            return [Definition(*node) for node in nodes]
        if language == "python" and (found := _by_ast("\n".join(lines))) is not None:
            return found
    return by_shape(lines)


def by_shape(lines: Sequence[str]) -> list[Definition]:
    """Definitions told by the form of their first line; they end where the indentation comes back to theirs."""
    starts: list[tuple[int, int, str, str]] = []
    for index in _may_define(lines):
        line = lines[index]
        for kind, pattern in _PATTERNS:
            match = pattern.match(line)
            if match and match.group(1) not in _NO_NAMES and not line.lstrip().startswith(_NOT_CODE):
                starts.append((index, len(line) - len(line.lstrip()), kind, match.group(1)))
                break
    ends = _ends(lines, [(start, indent) for start, indent, _, _ in starts])
    return [
        Definition(kind, name, start, min(_body(lines, start), end), end)
        for (start, _, kind, name), end in zip(starts, ends, strict=True)
    ]


_NOT_CODE = ("//", "#", "*", "/*", "return ", "else", "} else", "if ", "for ", "while ", "await ", "throw ", "--")


def _body(lines: Sequence[str], start: int) -> int:
    """First line after a signature, which goes on while its brackets are open."""
    depth = 0
    for index in range(start, min(start + _LONGEST_SIGNATURE, len(lines))):
        depth += lines[index].count("(") - lines[index].count(")")
        if depth <= 0:
            return index + 1
    return start + 1


def _ends(lines: Sequence[str], starts: Sequence[tuple[int, int]]) -> list[int]:
    """For each start the first later line that is indented no deeper and is no closing bracket. One pass, a stack."""
    ends = [len(lines)] * len(starts)
    at = {start: number for number, (start, _) in enumerate(starts)}
    open_: list[tuple[int, int]] = []
    for index, line in enumerate(lines):
        bare = line.lstrip()
        if not open_ and index not in at:
            continue
        if bare and bare[0] not in ")]}" and not bare.startswith(("{", "*/")):
            indent = len(line) - len(bare)
            while open_ and open_[-1][1] >= indent and index > open_[-1][0]:
                ends[at[open_.pop()[0]]] = index
        if index in at:
            open_.append((index, len(line) - len(bare)))
    return ends


def _by_ast(text: str) -> list[Definition] | None:
    """Of Python that parses; None of what does not (fragments, other versions, hostile nesting)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: list[Definition] = []
    stack: list[ast.AST] = [module]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            body = max(node.body[0].lineno - 1, node.lineno) if node.body[0].lineno > node.lineno else node.lineno
            found.append(Definition(kind, node.name, node.lineno - 1, body, node.end_lineno or node.lineno))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.If | ast.Try):
            stack.extend(ast.iter_child_nodes(node))
    return sorted(found, key=lambda d: (d.start, d.end))
