"""JSON within a number of characters, still valid JSON: room is shared so that small values stay and large ones shrink.

Lists of like objects become tables (`_json_table`): column names once, then the rows. Long strings keep their best
sentences. What is left out is said in the place where it stood, in a string that begins with an ellipsis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldaway.compressors import _json_table
from foldaway.compressors._json_read import Spelled, read
from foldaway.compressors._json_text import counted, dumps, first_words
from foldaway.compressors.base import Hint
from foldaway.compressors.prose import extract, shortened, units_of

DEEPEST = 60
"""Below this many levels a value is only counted."""
SMALLEST = 40
"""Characters below which a list or an object is only counted."""
_MORE_KEYS = 30
_MORE_KEYS_SHARE = 0.1
"""Characters, and part of the room, kept free for saying which keys are missing."""
_SENTENCES_FROM = 160
"""A string shorter than this is cut at a word; a longer one keeps its best sentences."""


class Fitter:
    """Fits values of one document. `sizes` are computed once, so the whole is near linear in the document."""

    def __init__(self, hint: Hint) -> None:
        self.hint = hint
        self._sizes: dict[int, int] = {}
        self._tables: dict[int, _json_table.Table | None] = {}
        # Both are kept by identity, so what was unpacked from a string must live as long as they do.
        self._unpacked: list[Any] = []

    def size(self, value: Any, depth: int = 0) -> int:
        """Characters of a value in compact JSON; of what is nested too deeply, a guess."""
        if isinstance(value, Spelled):
            return len(value)
        if isinstance(value, str):
            return len(value) + 2 + value.count("\n") + value.count('"') + value.count("\\")
        if not isinstance(value, dict | list):
            return 5
        known = self._sizes.get(id(value))
        if known is None:
            if depth > DEEPEST:
                known = 1 << 40
            elif isinstance(value, dict):
                known = 2 + sum(len(k) + 4 + self.size(v, depth + 1) for k, v in value.items())
            else:
                known = 2 + sum(1 + self.size(v, depth + 1) for v in value)
            self._sizes[id(value)] = known
        return known

    def fit(self, value: Any, room: int, depth: int = 0) -> str:
        """The value in about `room` characters of JSON."""
        if self.size(value, depth) <= room:
            return dumps(value)
        if isinstance(value, Spelled) or not isinstance(value, str | dict | list):
            return dumps(value)
        if isinstance(value, str):
            return self._string(value, room, depth)
        if room < SMALLEST or depth > DEEPEST:
            return counted(value)
        table = self._table(value)
        if table is not None and (shown := table.fit(room)):
            return shown
        return self._object(value, room, depth) if isinstance(value, dict) else self._list(value, room, depth)

    def _table(self, value: Any) -> _json_table.Table | None:
        if id(value) not in self._tables:
            rows = _json_table.rows_of(value)
            self._tables[id(value)] = _json_table.Table(rows, self.hint) if rows is not None else None
        return self._tables[id(value)]

    def _string(self, value: str, room: int, depth: int) -> str:
        if value[:1] in ("{", "[") and len(value) > _SENTENCES_FROM and depth < DEEPEST:
            inner = read(value)
            if inner is not None and not inner.before and len(inner.after) < 400:
                self._unpacked.append(inner.value)
                return self.fit(inner.value, room, depth + 1)
        return cut_string(value, room, self.hint)

    def _object(self, value: Mapping[str, Any], room: int, depth: int) -> str:
        keys = list(value)
        sizes = {key: self.size(value[key], depth + 1) for key in keys}
        plain = set(_predictable(value))
        # First the keys with something to tell, each with its name and what it needs at least; then the rest.
        least: dict[str, int] = {}
        more = max(_MORE_KEYS, int(room * _MORE_KEYS_SHARE))
        left = room - more
        for key in sorted(keys, key=lambda k: (k in plain, not _json_table.telling(k))):
            needed = sizes[key] if key in plain else min(sizes[key], _least(value[key]))
            if len(key) + 4 + needed <= left:
                least[key] = needed
                left -= len(key) + 4 + needed
        if not least:
            return counted(value)
        missing = [key for key in keys if key not in least]
        extra = water([sizes[key] - least[key] for key in least], left if missing else left + more)
        shares = {key: least[key] + share for key, share in zip(least, extra, strict=True)}
        pieces = [f"{dumps(key)}:{self.fit(value[key], shares[key], depth + 1)}" for key in keys if key in shares]
        if missing:
            pieces.append(f'"…":{dumps(_names(missing, more - 8))}')
        return "{" + ",".join(pieces) + "}"

    def _list(self, value: Sequence[Any], room: int, depth: int) -> str:
        sizes = [self.size(item, depth + 1) + 1 for item in value]
        simple = not any(isinstance(item, dict | list) for item in value)
        typical = max(2, min(sum(sizes) // len(sizes), 60 if simple else 160))
        most = max(1, (room - 16) // typical)
        head, tail = most - most // 4, most // 4
        if len(value) <= most:
            head, tail = len(value), 0
        kept = [*range(head), *range(len(value) - tail, len(value))]
        shares = water([sizes[n] for n in kept], room - 16)
        pieces = [self.fit(value[n], share - 1, depth + 1) for n, share in zip(kept, shares, strict=True)]
        if len(kept) < len(value):
            bounds = _bounds(value)
            pieces.insert(head, dumps(f"… {len(value) - len(kept):,} items{bounds}"))
        return "[" + ",".join(pieces) + "]"


def _least(value: Any) -> int:
    """Characters below which a value is better left out: an id or a path stays whole or goes, a text may be cut."""
    if isinstance(value, dict | list):
        return SMALLEST
    return 16 if isinstance(value, str) and " " in value else 120


def _predictable(value: Mapping[str, Any]) -> list[str]:
    """Keys of an object that say least: empty values, and addresses where an object has many."""
    empty = [key for key, v in value.items() if v is None or v in ("", [], {}) or v is False]
    links = [key for key, v in value.items() if isinstance(v, str) and v.startswith("http")]
    return empty + (links[1:] if len(links) > 3 else [])


def _names(keys: Sequence[str], room: int) -> str:
    """The keys that are not shown, as many as fit, and how many more there are."""
    shown, used = 0, 0
    while shown < len(keys) and used + len(keys[shown]) + 1 <= room - 16:
        used += len(keys[shown]) + 1
        shown += 1
    if not shown:
        return f"{len(keys):,} more keys"
    rest = f" … {len(keys) - shown:,} more keys" if shown < len(keys) else ""
    return " ".join(keys[:shown]) + rest


def _bounds(value: Sequence[Any]) -> str:
    """Of a list of numbers: from where to where."""
    if not all(isinstance(item, Spelled) for item in value):
        return ""
    bounds = _json_table.extremes(value)
    return f" from {bounds[0]} to {bounds[1]}" if bounds else ""


def water(sizes: Sequence[int], room: int) -> list[int]:
    """Shares of `room`: small ones get what they ask for, the rest is split evenly among the large."""
    shares = [0] * len(sizes)
    left, waiting = max(0, room), len(sizes)
    for index in sorted(range(len(sizes)), key=sizes.__getitem__):
        shares[index] = min(sizes[index], left // waiting)
        left -= shares[index]
        waiting -= 1
    return shares


def cut_string(value: str, room: int, hint: Hint) -> str:
    """A string in about `room` characters of JSON: its best sentences, or its first words."""
    if room < 10:
        return '"…"'
    if room < _SENTENCES_FROM:
        return dumps(first_words(value, room - 3))
    short, _ = extract(units_of(shortened(value)), hint, int(room * 0.94) - 3)
    return dumps(short)
