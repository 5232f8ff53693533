"""Results that come inside another value: MCP contents printed by Python or as JSON, and JSON with one long text.

The text inside is what the model reads; its class of content is judged without the wrapping.
"""

from __future__ import annotations

import json
import re
from typing import Any

from foldaway.compressors.checker import unescaped

MOST_CHARS = 8_000_000
_DEEPEST = 4
_DOMINANT = 0.7
"""Part of a JSON object that its one long text must make up to count as its content."""
_SHORTEST = 400

_PRINTED = re.compile(r"\bTextContent\(|\btext=['\"]")
# The text may be cut off before its closing quote.
_LITERAL = re.compile(r"""\btext=(?:'((?>[^'\\]+|\\.)*)|"((?>[^"\\]+|\\.)*))""", re.DOTALL)
_CUT_OFF = re.compile(
    r'\s*\{\s*(?:"_?meta":\s*null,\s*)?"content":\s*\[\s*\{\s*"type":\s*"text",\s*"text":\s*"((?>[^"\\]+|\\.)*)',
    re.DOTALL,
)
_PARTS = frozenset({"text", "content", "output", "stdout", "result", "markdown", "body", "data"})


def unwrapped(text: str) -> str | None:
    """The text inside, unwrapped as often as it was wrapped; None when it stands for itself. O(len(text)).

    Small fields beside it (an exit code, isError: true) follow on a line of their own.
    """
    if len(text) > MOST_CHARS:
        return None
    inner: str | None = None
    for _ in range(_DEEPEST):
        step = _once(text if inner is None else inner)
        if step is None:
            return inner
        inner = step
    return inner


def _once(text: str) -> str | None:
    start = text[:200].lstrip()
    if start.startswith(("meta=", "content=[", "[TextContent(", "TextContent(")) and _PRINTED.search(text[:400]):
        pieces = [unescaped(a or b) for a, b in _LITERAL.findall(text)]
        failed = "\nisError=True" if text.rstrip().endswith("isError=True") else ""
        return "\n".join(pieces) + failed if pieces else None
    if start[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]"):
        try:
            value = json.loads(text, strict=False)
            return _content(value, len(text))
        except (ValueError, RecursionError):
            pass
    cut_off = _CUT_OFF.match(text)
    return unescaped(cut_off.group(1)) if cut_off else None


def _content(value: Any, size: int) -> str | None:
    """The texts of an MCP result or of a list of content blocks; the dominant text of an object."""
    blocks = value.get("content") if isinstance(value, dict) else value
    if isinstance(blocks, list) and blocks and all(_is_block(block) for block in blocks):
        texts = [str(block["text"]) for block in blocks]
        if sum(map(len, texts)) > size * 0.5:
            return "\n".join(texts)
    if not isinstance(value, dict):
        return None
    texts_by_key = {k: v for k, v in value.items() if k.lower() in _PARTS and isinstance(v, str)}
    key = max(texts_by_key, key=lambda k: len(texts_by_key[k]), default="")
    if not key or len(texts_by_key[key]) < max(_SHORTEST, size * _DOMINANT):
        return None
    rest = {k: v for k, v in value.items() if k != key and v not in (None, "", [], {})}
    around = json.dumps(rest, ensure_ascii=False) if rest else ""
    return texts_by_key[key] + (f"\n{around}" if around else "")


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and len(value) <= 4 and isinstance(value.get("text"), str)
