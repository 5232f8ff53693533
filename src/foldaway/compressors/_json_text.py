"""Small pieces of JSON as they are written: numbers as spelled, strings cut at words, counts in place of values."""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import Any

from foldaway.compressors._json_read import Spelled


def first_words(value: str, room: int) -> str:
    """The first words that fit, with an ellipsis; no word is cut."""
    flat = " ".join(value[: room * 4 + 40].split())
    if len(flat) <= room and len(value) <= room * 4 + 40:
        return flat
    space = flat.rfind(" ", 0, room)
    if space < 0:
        return "…"
    return flat[:space] + "…"


def counted(value: Any) -> str:
    """How many there are of what is not shown."""
    if isinstance(value, dict):
        return f'"… {len(value):,} keys"'
    return f'"… {len(value):,} items"'


def dumps(value: Any) -> str:
    """Compact JSON with numbers as they were spelled."""
    if isinstance(value, Spelled):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{dumps(k)}:{dumps(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dumps, value)) + "]"
    if isinstance(value, str):
        return encode_basestring(value)
    return json.dumps(value, ensure_ascii=False)
