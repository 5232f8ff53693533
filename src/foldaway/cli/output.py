"""What the commands write: data to stdout, talk to stderr."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

# A recorded text may hold escape sequences; on a terminal they must not act.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """The text with control characters shown instead of sent; line breaks and tabs stay."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def say(text: str) -> None:
    """Talk: one or more lines on stderr."""
    sys.stderr.write(printable(text) + "\n")


def warn(text: str) -> None:
    say(f"warning: {text}")


def show(text: str) -> None:
    """Text for people, on stdout."""
    sys.stdout.write(printable(text) + "\n")


def show_json(value: Any, *, indent: int | None = 2) -> None:
    """A JSON document on stdout, in ASCII: safe under any locale, and for lone surrogates."""
    sys.stdout.write(json.dumps(value, indent=indent) + "\n")


def show_bytes(text: str) -> None:
    """Recorded text as it was, byte for byte: no line break is added. Lone surrogates come out as UTF-8 has them."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.buffer.flush()


def clipped(text: str, width: int) -> str:
    """The first line, cut to a width."""
    first = text.split("\n", 1)[0]
    return first if len(first) <= width else first[: width - 1] + "…"
