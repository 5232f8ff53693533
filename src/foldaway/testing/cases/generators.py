"""Generators: one-key JSON objects that stand for something long or hard to write down."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any


class CaseError(Exception):
    """A case asks for something this runner does not know, or is not well formed. Never a pass."""


def substitute(node: Any, name: str, value: str) -> Any:
    """The node with `{name}` replaced in every string and key, at any depth. Shares what did not change."""
    mark = "{" + name + "}"
    if isinstance(node, str):
        return node.replace(mark, value) if mark in node else node
    if isinstance(node, list):
        return [substitute(item, name, value) for item in node]
    if isinstance(node, dict):
        return {substitute(key, name, value): substitute(item, name, value) for key, item in node.items()}
    return node


def expand(node: Any) -> Any:
    """The node with every generator in it expanded. A new tree; strings are shared.

    Raises:
        CaseError: a generator has the wrong shape, or a one-key object that is none stands where a string must.
    """
    if isinstance(node, list):
        grown: list[Any] = []
        for item in node:
            if _is_splice(item):
                grown.extend(_items(item["repeat"]))
            else:
                grown.append(expand(item))
        return grown
    if isinstance(node, dict):
        if (found := generator_of(node)) is not None:
            name, argument = found
            return _call(name, argument)
        return {key: _field(key, value) for key, value in node.items()}
    return node


def generator_of(node: Any) -> tuple[str, Any] | None:
    """Name and argument of the generator that this object stands for, or None."""
    if isinstance(node, dict) and len(node) == 1:
        name, argument = next(iter(node.items()))
        if name in _GENERATORS:
            return name, argument
    return None


# Where only a string (or a list of blocks) can stand, so that a one-key object must be a generator.
_TEXT_FIELDS = frozenset({"content", "text", "arguments", "raw_body", "contains", "thinking"})


def _field(key: str, value: Any) -> Any:
    if key in _TEXT_FIELDS and isinstance(value, dict) and len(value) == 1 and generator_of(value) is None:
        name = next(iter(value))
        # A tool's schema may well have a property of that name.
        if name not in ("type", "$ref"):
            raise CaseError(f"unknown generator {name!r} under {key!r}")
    return expand(value)


def _call(name: str, argument: Any) -> str:
    try:
        return _GENERATORS[name](argument)
    except CaseError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise CaseError(f"generator {name!r} is not well formed: {error}") from error


def _text(node: Any) -> str:
    text = expand(node)
    if not isinstance(text, str):
        raise CaseError(f"a text was expected, got {type(text).__name__}: {str(text)[:80]}")
    return text


def _only(argument: Mapping[str, Any], allowed: set[str]) -> None:
    if unknown := set(argument) - allowed:
        raise CaseError(f"unknown key of a generator: {', '.join(sorted(unknown))}")


def _is_splice(node: Any) -> bool:
    found = generator_of(node)
    return found is not None and found[0] == "repeat" and isinstance(found[1], dict) and "items" in found[1]


def _items(argument: Mapping[str, Any]) -> list[Any]:
    _only(argument, {"items", "times", "var"})
    name = str(argument.get("var", "i"))
    grown: list[Any] = []
    for number in range(int(argument["times"])):
        # Replaced before the generators inside are expanded: their own variables then keep their meaning.
        grown.extend(expand(substitute(argument["items"], name, str(number))))
    return grown


def _repeat(argument: Any) -> str:
    _only(argument, {"text", "times", "join", "var"})
    text, times, name = argument["text"], int(argument["times"]), str(argument.get("var", "i"))
    join = _text(argument.get("join", ""))
    if isinstance(text, str):
        mark = "{" + name + "}"
        if mark not in text:
            return join.join([text] * times)
        return join.join(text.replace(mark, str(number)) for number in range(times))
    return join.join(_text(substitute(text, name, str(number))) for number in range(times))


def _concat(argument: Any) -> str:
    if not isinstance(argument, list):
        raise CaseError("'concat' takes a list")
    return "".join(_text(part) for part in argument)


def _codepoints(argument: Any) -> str:
    return "".join(chr(int(point, 16)) for point in argument)


def _base64(argument: Any) -> str:
    _only(argument, {"bytes"})
    size = int(argument["bytes"])
    return base64.b64encode((bytes(range(256)) * (size // 256 + 1))[:size]).decode("ascii")


def _nest(argument: Any) -> str:
    _only(argument, {"open", "close", "depth"})
    depth = int(argument["depth"])
    return _text(argument["open"]) * depth + _text(argument["close"]) * depth


_GENERATORS: dict[str, Callable[[Any], str]] = {
    "repeat": _repeat,
    "concat": _concat,
    "codepoints": _codepoints,
    "base64": _base64,
    "nest": _nest,
}
