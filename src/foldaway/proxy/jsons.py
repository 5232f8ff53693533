"""JSON of bodies: by orjson where it is installed, with the very results of the standard library.

What orjson reads or writes differently is left to the standard library: halves of surrogate pairs, integers beyond 64
bits (orjson reads them as floats), NaN and the infinities, and floats that it writes in another form.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

FAST: Any
"""The module orjson; None where it is not installed (the extra `proxy-fast`)."""
try:
    FAST = importlib.import_module("orjson")
except ImportError:
    FAST = None

MAYBE_INTEGER = 2.0**63
"""Floats from here on may have been integers that do not fit into 64 bits."""


def loads(raw: bytes) -> Any:
    """As `json.loads`: raises ValueError or RecursionError. Of equal keys in one object the last one counts."""
    return measured(raw)[0]


def measured(raw: bytes) -> tuple[Any, int]:
    """A value, and how deep it is nested: 0 for a plain one, 1 for a list of those. Raises as `loads` does."""
    if FAST is not None:
        try:
            value = FAST.loads(raw)
        except FAST.JSONDecodeError:
            value = None
        else:
            depth, floats = _walk(value)
            if not any(abs(number) >= MAYBE_INTEGER for number in floats):
                return value, depth
    value = json.loads(raw)
    return value, _walk(value)[0]


def dumps(value: Mapping[str, Any]) -> bytes:
    """As short as it gets, not in ASCII; lone surrogates stay escapes, since bytes cannot hold them."""
    if FAST is not None and all(_alike(number) for number in _walk(value)[1]):
        try:
            return bytes(FAST.dumps(value))
        except TypeError:
            # Integers beyond 64 bits, lone surrogates, very deep nesting.
            pass
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _alike(number: float) -> bool:
    """Whether orjson writes a float as the standard library does: not 1e+22, and not NaN."""
    return bool(FAST.dumps(number) == repr(number).encode())


def _walk(value: Any) -> tuple[int, list[float]]:
    """How deep a value is nested, and its floats. Level by level, without recursion; linear in the number of values."""
    floats: list[float] = []
    depth = 0
    level: list[Any] = [[value]]
    while level:
        below: list[Any] = []
        for outer in level:
            for inner in outer.values() if isinstance(outer, dict) else outer:
                kind = type(inner)
                if kind is str:
                    continue
                if kind is dict or kind is list or kind is tuple:
                    below.append(inner)
                elif kind is float:
                    floats.append(inner)
        depth, level = depth + 1, below
    return depth - 1, floats
