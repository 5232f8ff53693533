"""Any recorded session as plain chat messages, so that tasks of different agents can stand in one session.

The conversion keeps what a model reads and acts on, and is stated here in full: a system prompt beside the messages
becomes the first message; an answer of the model becomes one message with its texts and its calls; each result becomes
a tool message; words beside results become a user message behind them. Reasoning is left out (no provider takes that of
another), a picture or document becomes one word in brackets, arguments that are no JSON object become
`{"input": text}`, and stand-ins of repair are left to the chat wire. Messages of what is chat already stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from foldaway.lab.finder import strings_of
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message, Part, PartType, Turn, TurnKind
from foldaway.wire import get_wire

CHAT = "openai_chat"
RESPONSES = "openai_responses"
ENVIRONMENT = "environment"
_SAID = {PartType.TEXT, PartType.IMAGE, PartType.DOCUMENT}


def as_chat(recorded: Recorded) -> Recorded:
    """The session in the format `openai_chat`, its model unnamed: tokens are counted alike for all.

    Positions of messages change; so labels of needs are to be made from what comes out. Tools stay beside the
    messages as they were recorded. Of a converted session, usage, compactions and what hangs on them, and times are
    left out. O(messages).
    """
    if recorded.format == CHAT:
        return replace(recorded, model="")
    messages: list[Message] = []
    origins: list[str] = []
    if system := "\n".join(strings_of(recorded.system)):
        messages.append({"role": "system", "content": system})
        origins.append("")
    for turn in get_wire(recorded.format).parse(recorded.messages, origins=recorded.origins).turns:
        for message in _of_turn(turn):
            if recorded.format == RESPONSES and _goes_on(messages, message):
                message = _as_one(messages.pop(), message)
                origins.pop()
            messages.append(message)
            origins.append(ENVIRONMENT if turn.kind is TurnKind.OBSERVATION else "")
    return Recorded(
        name=recorded.name,
        source_format=recorded.source_format,
        format=CHAT,
        messages=messages,
        tools=recorded.tools,
        origins=tuple(origins) if any(origins) else (),
        problems=recorded.problems,
        meta=recorded.meta,
    )


def _goes_on(messages: Sequence[Message], message: Message) -> bool:
    """Responses has words and the calls behind them as items of their own; both are one answer of the model."""
    last = messages[-1] if messages else {}
    return message["role"] == "assistant" == last.get("role") and "tool_calls" not in last


def _as_one(words: Message, message: Message) -> Message:
    return {**message, "content": "\n\n".join(filter(None, (words["content"], message["content"])))}


def _of_turn(turn: Turn) -> Iterator[Message]:
    parts = [part for part in turn.parts if not part.stand_in]
    if turn.kind is TurnKind.INSTRUCTION:
        yield from _said("system", parts)
        return
    yield from _assistant([part for part in parts if part.role == "assistant"])
    for part in parts:
        if part.type is PartType.RESULT:
            yield {"role": "tool", "tool_call_id": part.call_id, "content": part.text}
    # What the environment says in a message of its own is a text of role tool here.
    yield from _said("user", [part for part in parts if part.role != "assistant"])


def _said(role: str, parts: Sequence[Part]) -> Iterator[Message]:
    texts = [part.text if part.type is PartType.TEXT else f"[{part.type}]" for part in parts if part.type in _SAID]
    if text := "\n\n".join(filter(None, texts)):
        yield {"role": role, "content": text}


def _assistant(parts: Sequence[Part]) -> Iterator[Message]:
    text = "\n\n".join(part.text for part in parts if part.type is PartType.TEXT and part.text)
    calls = [_call(part) for part in parts if part.type is PartType.CALL]
    if calls:
        yield {"role": "assistant", "content": text or None, "tool_calls": calls}
    elif text:
        yield {"role": "assistant", "content": text}


def _call(part: Part) -> dict[str, object]:
    arguments = part.arguments if isinstance(part.arguments, dict) else {"input": part.text}
    function = {"name": part.name or "call", "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": part.call_id, "type": "function", "function": function}
