"""JSON of bodies: by orjson where it is installed, with the very results of the standard library.

What orjson reads or writes differently is left to the standard library: halves of surrogate pairs, integers beyond 64
bits (orjson reads them as floats), NaN and the infinities, and floats that it writes in another form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

try:
    import orjson
except ImportError:  # the extra `proxy-fast`
    orjson = None  # type: ignore[assignment]

MAYBE_INTEGER = 2.0**63
"""Floats from here on may have been integers that do not fit into 64 bits."""


def loads(raw: bytes) -> Any:
    """As `json.loads`: raises ValueError or RecursionError. Of equal keys in one object the last one counts."""
    if orjson is not None:
        try:
            value = orjson.loads(raw)
        except orjson.JSONDecodeError:
            return json.loads(raw)
        if not any(abs(number) >= MAYBE_INTEGER for number in _floats(value)):
            return value
    return json.loads(raw)


def dumps(value: Mapping[str, Any]) -> bytes:
    """As short as it gets, not in ASCII; lone surrogates stay escapes, since bytes cannot hold them."""
    if orjson is not None and all(_alike(number) for number in _floats(value)):
        try:
            return orjson.dumps(value)
        except TypeError:
            # Integers beyond 64 bits, lone surrogates, very deep nesting.
            pass
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _alike(number: float) -> bool:
    """Whether orjson writes a float as the standard library does: not 1e+22, and not NaN."""
    return bool(orjson.dumps(number) == repr(number).encode())


def _floats(value: Any) -> Iterator[float]:
    """All floats in a value. Level by level, without recursion; linear in the number of values."""
    if type(value) is float:
        yield value
    level = [value] if isinstance(value, dict | list) else []
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
                    yield inner
        level = below
