"""A recorded session as the lab reads it: model calls, and who said what before each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from foldaway.lab.finder import strings_of
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message, Part, PartType, Turn, TurnKind
from foldaway.wire import get_wire

MIN_PASTE_CHARS = 1_000
"""A user message from this length on counts as pasted material, so as an observation."""


class Voice(StrEnum):
    STANDING = "standing"
    """system prompt, first user message and all in front of the first call: a need must come from elsewhere"""
    OBSERVED = "observed"
    """tool result, environment message or user paste"""
    AGENT = "agent"
    USER = "user"
    """a person's own words, and later instructions"""


@dataclass(frozen=True, slots=True)
class Step:
    """One model call: the recorded messages [start, end) are its answer."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Said:
    """One part of one message."""

    position: int
    voice: Voice
    type: PartType
    text: str
    arguments: Any = None
    call_id: str = ""
    """For calls and results."""
    name: str = ""
    """Of the tool."""


def steps_of(recorded: Recorded) -> tuple[Step, ...]:
    """The model calls. A chat message from the assistant is one call; in Responses a run of the model's items is."""
    runs: list[tuple[int, int]] = []
    joined = recorded.format == "openai_responses"
    for position, message in enumerate(recorded.messages):
        if not _from_model(message, joined):
            continue
        if joined and runs and runs[-1][1] == position:
            runs[-1] = (runs[-1][0], position + 1)
        else:
            runs.append((position, position + 1))
    return tuple(Step(number, start, end) for number, (start, end) in enumerate(runs))


def _from_model(message: Message, responses: bool) -> bool:
    role = message.get("role")
    if role is not None or not responses:
        return role == "assistant"
    kind = str(message.get("type", ""))
    return kind == "reasoning" or kind.endswith("_call")


def timeline(recorded: Recorded) -> list[Said]:
    """Every part of every message, in the order of the messages."""
    turns = get_wire(recorded.format).parse(recorded.messages, origins=recorded.origins).turns
    steps = steps_of(recorded)
    first_call = steps[0].start if steps else len(recorded.messages)
    said: list[Said] = []
    user_seen = False
    for turn in turns:
        # Some agents put several user messages in front of the first call, some greet before the user speaks.
        early = not user_seen or turn.sources[0] < first_call
        said.extend(_said(turn, early and turn.kind in (TurnKind.INSTRUCTION, TurnKind.USER)))
        user_seen = user_seen or turn.kind is TurnKind.USER
    # Repair moves late results up to their calls; what was said when is told by the positions.
    said.sort(key=lambda s: s.position)
    return said


def standing_text(recorded: Recorded) -> str:
    """System prompt and tools, where they stand beside the messages."""
    return "\n".join(strings_of(recorded.system) + strings_of(list(recorded.tools or ())))


def _said(turn: Turn, standing: bool) -> Iterator[Said]:
    for part in turn.parts:
        if part.stand_in:
            continue
        position = _position(turn.sources, part.message, len(turn.messages))
        # The values of a call's arguments, not their JSON: what an agent wrote must compare equal to what it sees.
        text = part.text if part.arguments is None else "\n".join(strings_of(part.arguments))
        voice = _voice(turn.kind, part, standing)
        yield Said(position, voice, part.type, text, part.arguments, part.call_id, part.name)


def _position(sources: Sequence[int], message: int, messages: int) -> int:
    if len(sources) == messages:
        return sources[message]
    return sources[min(message, len(sources) - 1)]


def _voice(kind: TurnKind, part: Part, standing: bool) -> Voice:
    if standing:
        return Voice.STANDING
    if part.type is PartType.RESULT or kind is TurnKind.OBSERVATION:
        return Voice.OBSERVED
    if part.role == "assistant":
        return Voice.AGENT
    if part.role == "user" and len(part.text) >= MIN_PASTE_CHARS:
        return Voice.OBSERVED
    return Voice.USER
