"""Chat histories in which the roles take turns, for upstreams whose templates refuse anything else.

Templates of many open models raise where two messages of a user, or two of the assistant, stand in a row. A fold note
and a recall are messages of their own, and so may stand beside another of the same role. Where the client's own history
takes turns, what goes out does so too.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from foldaway.model.wire import Message

_OWN = frozenset({"role", "content"})


def takes_turns(messages: Sequence[Message]) -> bool:
    """Whether no two neighbours could be one message. O(messages)."""
    return not any(_one(a, b) for a, b in itertools.pairwise(messages))


def taking_turns(messages: Sequence[Message]) -> list[Message]:
    """The same with neighbours of one role joined. The messages that came stay as they are."""
    joined: list[Message] = []
    for message in messages:
        if joined and _one(joined[-1], message):
            joined[-1] = {**joined[-1], "content": _both(joined[-1]["content"], message["content"])}
        else:
            joined.append(message)
    return joined


def _one(a: Message, b: Message) -> bool:
    """Whether two messages say nothing that one could not: role and words alone."""
    return (
        a.get("role") == b.get("role") and a.get("role") in ("user", "assistant")
        and a.keys() == _OWN == b.keys() and _said(a["content"]) and _said(b["content"])
    )  # fmt: skip


def _said(content: Any) -> bool:
    return isinstance(content, (str, list)) and bool(content)


def _both(a: Any, b: Any) -> Any:
    if isinstance(a, str) and isinstance(b, str):
        return f"{a}\n\n{b}"
    return [*_blocks(a), *_blocks(b)]


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
