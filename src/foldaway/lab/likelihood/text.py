"""Messages as one plain text, the same way for every policy: a transcript with the speaker in brackets.

    [user]
    Look at main_entry.

    [call run]
    command: cat src/tool_box.py

    [result run]
    def open_box(): pass

No model's chat template: the same text is good for any model, and no policy's marks are dressed up. Values of calls
stand as they are, not as JSON, so that what an agent writes compares with what it read. Reasoning is left out, in the
context as in the action: many logs hold it encrypted, and views drop it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldaway.lab.finder import strings_of
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message, Part, PartType
from foldaway.wire import get_wire


def view_text(
    format: str, messages: Sequence[Message], system: Any = None, tools: Sequence[Mapping[str, Any]] | None = None
) -> str:
    """A view as the text that the model reads in front of the action. Linear in its size."""
    return beside_text(system, tools) + messages_text(format, messages)


def beside_text(system: Any, tools: Sequence[Mapping[str, Any]] | None) -> str:
    """What stands beside the messages: system text, one line a tool."""
    blocks = []
    if system:
        blocks.append(_block("system", "\n".join(strings_of(system))))
    if tools:
        blocks.append(_block("tools", "\n".join(json.dumps(tool, ensure_ascii=False, default=str) for tool in tools)))
    return "".join(blocks)


def messages_text(format: str, messages: Sequence[Message]) -> str:
    return "".join(block for part in _parts(format, messages) for block in _of_part(part))


def action_text(recorded: Recorded, start: int, end: int) -> str:
    """The recorded action as the labels read it: the calls, or without any the agent's words.

    Words in front of a call are left out: they name what the call is going to use, and the model would read it there.
    """
    parts = _parts(recorded.format, recorded.messages[start:end])
    calls = [part for part in parts if part.type is PartType.CALL]
    return "".join(block for part in calls or parts for block in _of_part(part))


def _parts(format: str, messages: Sequence[Message]) -> list[Part]:
    turns = get_wire(format).parse(messages).turns
    return [part for turn in turns for part in turn.parts if not part.stand_in]


def _of_part(part: Part) -> Iterator[str]:
    match part.type:
        case PartType.REASONING:
            return
        case PartType.CALL:
            yield _block(f"call {part.name}", _arguments(part))
        case PartType.RESULT:
            yield _block(f"result {part.name}".rstrip(), part.text)
        case PartType.IMAGE | PartType.DOCUMENT:
            yield _block(part.role, part.text or f"({part.type.value})")
        case _:
            if part.text:
                yield _block(part.role, part.text)


def _arguments(part: Part) -> str:
    if not isinstance(part.arguments, Mapping):
        return part.text
    return "\n".join(f"{key}: {_value(value)}" for key, value in part.arguments.items())


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _block(label: str, text: str) -> str:
    return f"[{label}]\n{text}\n\n"
