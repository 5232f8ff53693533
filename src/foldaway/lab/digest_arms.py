"""Ways of making one tool result short, all under one signature: what digests are measured against.

An arm takes the text, what is known about it and the room in characters, and gives the short text. Peers are other
libraries, driven through `foldaway.lab.peers` on a session that holds this one result; they choose its size themselves.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from foldaway.compressors.base import Hint
from foldaway.compressors.excerpt import cut_head, excerpt
from foldaway.compressors.paths import expanded
from foldaway.compressors.registry import digest
from foldaway.errors import MissingExtra
from foldaway.lab.finder import message_text
from foldaway.lab.peers import peer_session
from foldaway.model.recorded import Recorded

MARK = "…"
PEERS = ("headroom:compress", "strands:context-manager")
"""Peers that make a single result shorter and run without a model."""
PEER_ROOM = 1_000_000
"""Budget of a peer's session in tokens: only what the library does to a result by itself is asked for."""

_WORD = re.compile(r"\w{3,40}")
_LONGEST_LINE = 400


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of making a result short."""

    name: str
    note: str
    """What it does, in a few words for the table."""
    cut: Callable[[str, Hint, int], str]
    """(text, hint, room in characters) -> the short text."""
    read: Callable[[str], str] = str
    """How a need is looked for in the short text: as it stands, or with its own abbreviations spelled out."""


def _digest(text: str, hint: Hint, room: int) -> str:
    return digest(text, hint, room).text


def head_and_tail(text: str, hint: Hint, room: int) -> str:
    """As many characters of either end."""
    return excerpt(text, max(0, room - len(MARK) - 2), MARK)


def lead(text: str, hint: Hint, room: int) -> str:
    return cut_head(text, room)


def frequent_lines(text: str, hint: Hint, room: int) -> str:
    """The lines whose words occur in most lines, in order: plain extraction that knows no class of content.

    Source: SumBasic without its update step (Nenkova and Vanderwende, "The impact of frequency on summarization",
    MSR-TR-2005-101, 2005), a line for a sentence. O(n log n).
    """
    lines = [line[:_LONGEST_LINE] for line in text.split("\n")]
    words = [set(_WORD.findall(line)) for line in lines]
    counts = Counter(word for found in words for word in found)
    scores = [sum(counts[word] for word in found) / len(found) if found else 0.0 for found in words]
    kept: list[int] = []
    left = room
    for index in sorted(range(len(lines)), key=lambda i: (-scores[i], i)):
        if words[index] and len(lines[index]) + 1 <= left:
            kept.append(index)
            left -= len(lines[index]) + 1
    return "\n".join(lines[index] for index in sorted(kept))


FOLDAWAY = Arm("foldaway", "digest by class of content", _digest, expanded)
HEAD_AND_TAIL = Arm("head and tail", "as much of either end", head_and_tail)
ARMS = (
    FOLDAWAY,
    HEAD_AND_TAIL,
    Arm("lead", "the first lines", lead),
    Arm("frequent lines", "lines of the most frequent words (SumBasic)", frequent_lines),
)
"""Arms that keep to a given room."""


def peer_text(peer: str, text: str, hint: Hint, model: str) -> str | None:
    """What a library shows of a result once the session went on; None when it leaves it as it is.

    Raises:
        MissingExtra: the library is not installed.
    """
    session = peer_session(_session_of(text, hint, model), peer, PEER_ROOM)
    session.append(_session_of(text, hint, model).messages)
    shown = [message_text(m) for m in session.view().messages if m.get("role") == "tool"]
    told = "\n".join(shown)
    return None if told == text else told


def installed(peer: str) -> bool:
    try:
        peer_text(peer, "ready?", Hint(), "")
    except MissingExtra:
        return False
    return True


def _session_of(text: str, hint: Hint, model: str) -> Recorded:
    """A session that holds one result and goes on for two more calls, so that the result is not the newest."""
    name = re.sub(r"[^\w-]", "_", hint.tool)[:60] or "tool"
    function = {"name": name, "arguments": json.dumps(hint.arguments or {}, default=str)}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Look it up."},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": text},
        {"role": "assistant", "content": "I have looked it up."},
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": "Going on."},
        {"role": "user", "content": "And then?"},
    ]
    return Recorded(name="one result", source_format="lab", format="openai_chat", messages=messages, model=model)
