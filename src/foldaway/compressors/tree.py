"""Definitions in source code by tree-sitter: exact extents, also where the code does not parse as a whole.

The parser and the grammars are the extra `code`; without it this file knows no language, and the outline is made by
the shape of the lines.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from threading import Lock
from typing import Any

_GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
}
"""Language -> module and function that give its grammar."""

_KINDS = {
    "class_definition": "class", "class_declaration": "class", "abstract_class_declaration": "class",
    "interface_declaration": "interface", "enum_declaration": "enum", "record_declaration": "class",
    "struct_item": "struct", "enum_item": "enum", "trait_item": "trait", "impl_item": "impl", "mod_item": "module",
    "type_spec": "type", "type_alias_declaration": "type", "type_item": "type", "internal_module": "namespace",
    "function_definition": "function", "function_declaration": "function", "function_item": "function",
    "generator_function_declaration": "function", "macro_definition": "macro", "method_definition": "method",
    "method_declaration": "method", "constructor_declaration": "method", "function_signature_item": "function",
    "method_signature": "method", "abstract_method_signature": "method", "method_elem": "method",
    "variable_declarator": "function", "public_field_definition": "method", "field_definition": "method",
}  # fmt: skip
"""Node type -> kind of definition. One type may occur in several grammars."""
_BOUND = ("variable_declarator", "public_field_definition", "field_definition")
"""These count only when a function is their value: `const handle = async () => {...}`."""
MAX_DEPTH = 300
"""Code nested deeper (generated, hostile) is not queried: that takes time quadratic in the depth."""
_BRACKET = re.compile(r"[()\[\]{}]")
_FUNCTIONS = "[(arrow_function) (function_expression)]"


class _Parser:
    """The parser of one language with the query that finds its definitions."""

    def __init__(self, tree_sitter: Any, grammar: Any) -> None:
        language = tree_sitter.Language(grammar)
        self._parser = tree_sitter.Parser(language)
        self._cursor = tree_sitter.QueryCursor(tree_sitter.Query(language, _query(language)))
        # Digests are made in several threads; a parser and a cursor have a state of their own.
        self._lock = Lock()

    def nodes(self, text: str) -> list[Any]:
        """The nodes that define something.

        Raises:
            ValueError: the code is nested too deep.
        """
        if _brackets_too_deep(text):
            raise ValueError("nested too deep")
        with self._lock:
            root = self._parser.parse(text.encode("utf-8", "replace")).root_node
            if any(_too_deep(child, side) for child in root.named_children for side in (0, -1)):
                raise ValueError("nested too deep")
            return list(self._cursor.captures(root).get("definition", ()))


def _brackets_too_deep(text: str) -> bool:
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth = depth + 1 if bracket in "([{" else max(0, depth - 1)
        if depth > MAX_DEPTH:
            return True
    return False


def _too_deep(node: Any, side: int) -> bool:
    """Whether the chain of first (0) or last (-1) children is too long: `a + a + a ...`, `else if ... else if ...`."""
    for _ in range(MAX_DEPTH):
        count = node.named_child_count
        if not count:
            return False
        node = node.named_child(0 if side == 0 else count - 1)
    return True


def _query(language: Any) -> str:
    known = {kind for number in range(language.node_kind_count) if (kind := language.node_kind_for_id(number))}
    plain = [f"({kind})" for kind in _KINDS if kind in known and kind not in _BOUND]
    bound = [f"({kind} value: {_FUNCTIONS})" for kind in _BOUND if kind in known and "arrow_function" in known]
    return f"[{' '.join(plain + bound)}] @definition"


@cache
def _parser(language: str) -> _Parser | None:
    """None where the extra is not installed. Kept: making a parser takes milliseconds."""
    if language not in _GRAMMARS:
        return None
    module, function = _GRAMMARS[language]
    try:
        tree_sitter = importlib.import_module("tree_sitter")
        return _Parser(tree_sitter, getattr(importlib.import_module(module), function)())
    except (ImportError, AttributeError, TypeError, ValueError):
        # Not installed, or of a version that does not fit: an outline by lines is good enough.
        return None


def knows(language: str) -> bool:
    """Whether code of this language can be parsed here."""
    return _parser(language) is not None


def definitions(text: str, language: str) -> list[tuple[str, str, int, int, int]] | None:
    """(kind, name, start, body, end) of each definition in order, lines from 0; None when the parser gives up."""
    parser = _parser(language)
    if parser is None:
        return None
    try:
        found = [_definition(node, _KINDS[node.type]) for node in parser.nodes(text)]
    except (ValueError, RuntimeError):
        return None
    return sorted(found, key=lambda d: (d[2], -d[4]))


def _definition(node: Any, kind: str) -> tuple[str, str, int, int, int]:
    start, end = node.start_point[0], node.end_point[0] + 1
    body = _body_of(node)
    first = end
    if body is not None:
        # `{` on the signature's line or on its own belongs to the signature.
        first = body.start_point[0] + (1 if body.type != "block" or _braced(body) else 0)
    name = node.child_by_field_name("name") or node.child_by_field_name("type")
    spelled = name.text.decode("utf-8", "replace") if name is not None and name.text else ""
    return kind, spelled, start, min(max(first, start + 1), end), end


def _body_of(node: Any) -> Any:
    body = node.child_by_field_name("body")
    if body is None and (value := node.child_by_field_name("value")) is not None:
        body = value.child_by_field_name("body")
    return body


def _braced(body: Any) -> bool:
    return bool(body.text[:1] == b"{") if body.text else False
