"""What a planner is asked: the very messages of the last view, and one more behind them.

So the provider's prompt cache is hit and the question costs little more than its answer. The last message states the
purpose, the schema, the items with ids, and which of them are protected; it holds no text of theirs but titles.
Where the planner speaks another wire format than the session, the view goes in as plain text instead, uncached.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldaway.engine.constraints import HARD, SOFT, protected
from foldaway.model.items import Item, Level
from foldaway.model.jsonlike import copy
from foldaway.model.wire import Message
from foldaway.session import Session
from foldaway.stores.redaction import redact

MOST_ROWS = 300
"""Items listed; of more, the largest."""
SMALLEST_TOKENS = 40
"""Smaller items are not listed: what stands for them costs as much."""
ASKED_SHARE = 0.6
"""Of a view below the low watermark: what is to be left."""
TITLE_CHARS = 80
PLAIN_CHARS = 60_000
"""Of a view that goes in as text, head and tail together."""

_TASK = """\
[context management] This is not part of the task above and no tool may be called now. The conversation above is \
getting long. Decide for each past item whether its full text is still needed, so that the rest can be folded away. \
Everything folded stays stored and can be brought back by its id.

Actions:
- keep: still needed word for word.
- mask: only beginning and end matter (long repetitive output).
- fold: done with; one line that names it is enough.
- archive: done with and unlikely to come up again.
- prune: obsolete, because a newer item says the same (a file read again, the same command run again).

Rules: never name an item that is not in the list. Name each item once. What later work needs exactly (a path, a URL, \
an id, code that is being edited) stays: keep it or leave it out. What is left out stays as it is. Fold large results \
of finished work first.

Items (id, what it is, tokens, title), oldest first:
{rows}

Protected, never to be named: {protected}

The view has {tokens} tokens; {target} are to be left at most.
Answer with one JSON object and nothing else:
{{"summary": "<one sentence: what the conversation is about>", "plan": [{{"action": "<keep, mask, fold, archive or \
prune>", "targets": [<ids>], "reason": "<a few words>"}}]}}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """All that is sent to a planner, and what it speaks of."""

    messages: tuple[Mapping[str, Any], ...]
    beside: Mapping[str, Any]
    """System prompt and tools where they stand beside the messages, as the main call sends them."""
    listed: Mapping[int, Item]
    """The items it may name; one that is another by the time of the answer is not meant."""
    seen_step: int
    tokens: int
    """What asking costs in tokens of prompt, about: the view and the question."""
    cached: bool
    """Whether the messages are those of the last view, so that the provider's cache holds them."""


def question_of(session: Session, *, format: str = "") -> Question | None:
    """What to ask about a session's last view; None when there was none or nothing may be folded.

    `format`: wire format that the planner speaks; "" takes the session's. O(visible items).
    """
    view, engine = session.last_view, session.engine
    if not view:
        return None
    snapshot = engine.snapshot()
    listed = _listed([item for item in snapshot.foldable if snapshot.level(item.id) > Level.STUB])
    if not listed:
        return None
    task = _TASK.format(
        rows="\n".join(map(_row, listed)), protected=_protected(session), tokens=snapshot.tokens,
        target=min(snapshot.target_tokens, int(snapshot.tokens * ASKED_SHARE)),
    )  # fmt: skip
    cached = (format or session.format) == session.format and session.format != "openai_responses"
    messages = [*view, {"role": "user", "content": task}]
    if cached and session.format == "anthropic_messages":
        messages = _marked(messages)
    elif not cached:
        # Another protocol is likely another provider, who has not seen what the main one has.
        messages = [{"role": "user", "content": f"{redact(_plain(view))}\n\n{task}"}]
    return Question(
        messages=tuple(messages), beside=_beside(session) if cached else {}, listed={i.id: i for i in listed},
        seen_step=engine.log.step, tokens=snapshot.tokens + engine.log.counter.counter.count(task), cached=cached,
    )  # fmt: skip


def _listed(foldable: Sequence[Item]) -> list[Item]:
    worth = [item for item in foldable if item.tokens >= SMALLEST_TOKENS]
    largest = sorted(worth, key=lambda item: (-item.tokens, item.id))[:MOST_ROWS]
    return sorted(largest, key=lambda item: item.id)


def _row(item: Item) -> str:
    title = " ".join(item.title.split())[:TITLE_CHARS]
    return f"{item.id} | {item.kind.value} | {item.tokens} | {title}"


def _protected(session: Session) -> str:
    """Ids of what may not be named, with why: the last turn, pins, open calls, fresh recalls."""
    scene = session.engine.scene()
    by_why: dict[str, list[int]] = {}
    for item, why in {**protected(scene, SOFT), **protected(scene, HARD)}.items():
        by_why.setdefault(why, []).append(item)
    pinned = [i.id for t in session.engine.shown.turns for i in session.engine.log.items_of_turn(t) if i.pinned]
    if pinned:
        by_why.setdefault("user words and instructions", []).extend(pinned)
    return "; ".join(f"{why}: {', '.join(map(str, sorted(items)))}" for why, items in sorted(by_why.items())) or "none"


def _beside(session: Session) -> dict[str, Any]:
    """Fields of the main call that the provider's cache counts as part of the prefix."""
    system, tools = session.system, session.tools
    found: dict[str, Any] = {"tools": tools} if tools else {}
    if system is not None and session.format == "anthropic_messages":
        found["system"] = system
    return found


def _marked(messages: Sequence[Message]) -> list[Message]:
    """The prefix marked for Anthropic's cache, which reads nothing that is not asked for."""
    *view, task = messages
    last = copy(view[-1])
    content = last.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if isinstance(blocks, list) and blocks and isinstance(blocks[-1], dict):
        if blocks[-1].get("type") not in ("thinking", "redacted_thinking"):
            blocks = [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]
        last["content"] = blocks
    return [*view[:-1], last, task]


def _plain(view: Sequence[Message]) -> str:
    text = "\n".join(json.dumps(message, ensure_ascii=False) for message in view)
    if len(text) <= PLAIN_CHARS:
        return text
    half = PLAIN_CHARS // 2
    return f"{text[:half]}\n[... {len(text) - PLAIN_CHARS} characters left out ...]\n{text[-half:]}"


def unchanged(session: Session, item: Item) -> bool:
    """Whether an id still stands for the item that the planner was told of: after a branch it may be another."""
    return session.engine.log.item_at(item.id) == item
