"""What a provider's messages look like to the rest of the house: turns made of parts.

A wire module turns a provider's message list into turns and back. A *turn* is the smallest group of messages
that must be shown or hidden together to stay legal: one plain message, or an assistant message with calls plus
the results of those calls. A *part* is one block inside a turn: a text, a call, a result, a reasoning block...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Message = dict[str, Any]
"""One message (Responses: one input item) in the provider's own JSON shape."""


class PartType(StrEnum):
    TEXT = "text"
    CALL = "call"
    RESULT = "result"
    REASONING = "reasoning"
    IMAGE = "image"
    DOCUMENT = "document"
    OTHER = "other"
    """A block this release does not know: carried along untouched, counted by its JSON."""


class TurnKind(StrEnum):
    INSTRUCTION = "instruction"
    """system or developer message"""
    USER = "user"
    """a person's words (or what cannot be told from them)"""
    ASSISTANT = "assistant"
    """an assistant message without calls"""
    EXCHANGE = "exchange"
    """an assistant message with calls and the results of those calls"""
    OBSERVATION = "observation"
    """what the environment said in a message of role user (agents that have no tool protocol)"""
    OTHER = "other"
    """an input item that is none of these (Responses: item_reference, compaction ...): kept untouched"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One block of a turn."""

    type: PartType
    role: str
    """system, developer, user, assistant or tool: who speaks, whatever the provider calls the message."""
    text: str
    """All the model can read of it: the text, the result's text, the arguments as JSON text. "" for images."""
    message: int
    """Index into `Turn.messages` of the message that holds it."""
    block: int = -1
    """Index of the block inside that message's content list; -1 when the content is a plain string or the
    message is the block (tool message, Responses item)."""
    call_id: str = ""
    """For calls and results."""
    name: str = ""
    """Tool name for calls and, copied from the call, for results."""
    arguments: Any = None
    """For calls: the arguments as parsed JSON, or None when they do not parse."""
    is_error: bool = False
    stand_in: bool = False
    """Not from the client: put there by repair (a missing result)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Messages that are shown or hidden together. Immutable; the messages must not be changed in place."""

    kind: TurnKind
    messages: tuple[Message, ...]
    """What goes out at level raw. Where the history was legal these are the client's messages, JSON-identical."""
    parts: tuple[Part, ...]
    sources: tuple[int, ...]
    """Positions in the client's history that this turn was made from, ascending."""
    open: bool = False
    """A call of this turn has no result yet and may still get one: parse it again when more arrives."""
    repaired: bool = False
    """`messages` differ from the client's (a result was moved, added or taken out, an empty block dropped...)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """How one part of a turn is shown. Exactly one of the three is set."""

    drop: bool = False
    """The block is left out (reasoning, assistant text; with every part dropped the turn yields no message)."""
    text: str | None = None
    """The part's text is replaced: a result's content, a user text. Role, ids, error mark and position stay."""
    arguments: dict[str, Any] | None = None
    """Calls only: the arguments are replaced whole by this object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Something in a client's history that had to be mended to be legal."""

    position: int
    """Position in the client's history."""
    what: str
    """One line: what was wrong and what was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What a wire module made of a run of messages."""

    turns: tuple[Turn, ...]
    repairs: tuple[Repair, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirks:
    """What a server demands beyond its protocol."""

    no_prefill: bool = False
    """The model refuses a last message from the assistant."""
    strict_alternation: bool = False
    """The chat template wants user and assistant in turn (calls and tool messages aside)."""
    strict_arguments: bool = False
    """Call arguments must be a JSON object."""
    thinking: bool = False
    """Thinking is switched on (Anthropic): thinking blocks of the open tool loop must stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request's input as the client has it: the history plus what stands beside it."""

    format: str
    """openai_chat, anthropic_messages or openai_responses."""
    messages: Sequence[Message]
    system: Any = None
    """Anthropic: `system` (string or blocks). Responses: `instructions`. Else None."""
    tools: Sequence[Mapping[str, Any]] | None = None
    model: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """All other fields of the body, untouched."""
