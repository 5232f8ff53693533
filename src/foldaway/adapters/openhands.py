"""OpenHands SDK: a condenser that gives the agent a view of its events instead of forgetting them.

    condenser = FoldawayCondenser(budget=100_000, store="sqlite:///foldaway.db", session="report-17")
    agent = Agent(llm=llm, tools=tools, condenser=condenser)

The conversation keeps all its events: no `Condensation` takes any of them out. Needs Python 3.12, as the SDK does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from operator import is_
from typing import Any, Self

from foldaway.adapters._base import ContextWarning, Folded, Folding, check_settings, missing
from foldaway.errors import OverBudget
from foldaway.linking.declared import Declaration, declaration_of
from foldaway.model.wire import Message as WireMessage
from foldaway.session import Session

try:
    from openhands.sdk.context.condenser.base import PipelinableCondenserBase
    from openhands.sdk.context.view import View
    from openhands.sdk.event import ActionEvent, Condensation, LLMConvertibleEvent, SystemPromptEvent
    from openhands.sdk.event.condenser import CondensationSummaryEvent
    from openhands.sdk.event.types import SourceType
    from openhands.sdk.llm import ImageContent, Message, MessageToolCall, TextContent
    from openhands.sdk.llm.exceptions import LLMContextWindowExceedError
    from pydantic import Field, PrivateAttr, field_validator, model_validator
except ImportError as error:
    raise missing("openhands", error) from error

__all__ = ["ContextOverflow", "ContextWarning", "FoldawayCondenser", "FoldedEvent"]

SUMMARISED = (
    "another condenser has replaced events by a summary: what it forgot, Foldaway never sees and nobody can recall; "
    "take one of the two out"
)
SQUEEZE = 0.8
"""Where the provider refused a request as too long: the share of its tokens that the next ones may have."""


class ContextOverflow(OverBudget, LLMContextWindowExceedError):  # type: ignore[misc, unused-ignore]
    """What may not be evicted does not fit, as the SDK's own error for it."""

    def __init__(self, error: OverBudget) -> None:
        LLMContextWindowExceedError.__init__(self, str(error))
        self.missing_tokens, self.largest = error.missing_tokens, error.largest


class FoldedEvent(LLMConvertibleEvent):  # type: ignore[misc, unused-ignore]
    """A message of a view that stands for events, or for a fold note; never part of the conversation itself."""

    source: SourceType = "environment"
    message: Message

    def to_llm_message(self) -> Message:
        # The SDK joins neighbours by writing into the message it is given.
        return self.message.model_copy()


@dataclass(frozen=True, slots=True)
class Unit:
    """Events that are one message to a model: the actions of one answer, or any other event."""

    events: tuple[Any, ...]

    @property
    def message(self) -> Message:
        return LLMConvertibleEvent.events_to_messages(list(self.events))[0]


class OpenHandsEvents:
    """The codec, of units."""

    format = "openai_chat"

    def to_wire(self, unit: Unit) -> list[WireMessage]:
        message = unit.message
        out: WireMessage = {"role": message.role, "content": _content(message)}
        if message.tool_call_id:
            out["tool_call_id"] = message.tool_call_id
        if message.reasoning_content:
            out["reasoning_content"] = message.reasoning_content
        if message.tool_calls:
            out["content"] = out["content"] or None
            out["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in message.tool_calls
            ]
        return [out]

    def from_wire(self, messages: Sequence[WireMessage], like: Unit | None) -> list[Unit]:
        if like is not None and len(messages) == 1:
            return [Unit((FoldedEvent(message=_rewritten(messages[0], like.message)),))]
        names = {c.get("id"): c["function"]["name"] for m in messages for c in m.get("tool_calls") or ()}
        return [Unit((FoldedEvent(message=_made(message, names)),)) for message in messages]


class FoldawayCondenser(PipelinableCondenserBase):  # type: ignore[misc, unused-ignore]
    """Manages what the agent's model sees. One condenser, one conversation: `session` is its name in the store.

    Without a name the conversation is told by its events and kept in memory. The model asks for what is folded by a
    directive in its text. Where the provider refuses a request as too long, the next ones are smaller.
    """

    budget: int | None = None
    store: str | None = None
    session: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    """Of `foldaway.Session`, as JSON has them."""
    declared: list[dict[str, Any]] = Field(default_factory=list)
    """What tools read and produce: functions under `@foldaway.tool`, kept as `{"tool", "reads", "produces"}`."""
    _folding: Any = PrivateAttr(default=None)
    _last: Any = PrivateAttr(default=None)
    _units: Any = PrivateAttr(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _with_settings(cls, given: Any) -> Any:
        """Settings given by name, as other adapters take them; the SDK itself would drop them without a word."""
        if not isinstance(given, dict):
            return given
        named = {name: value for name, value in given.items() if name not in (*cls.model_fields, "kind")}
        check_settings(named, cls.model_fields)
        kept = {name: value for name, value in given.items() if name not in named}
        return {**kept, "settings": {**(given.get("settings") or {}), **named}} if named else given

    @model_validator(mode="after")
    def _usable(self) -> Self:
        """Settings that no session takes are told of now, not at the first call."""
        Folding(OpenHandsEvents(), budget=self.budget, **{"recall": "directive", **self.settings})
        return self

    @field_validator("declared", mode="before")
    @classmethod
    def _as_fields(cls, given: Any) -> list[Any]:
        return [asdict(declaration_of(one)) if callable(one) else one for one in given]

    @property
    def folding(self) -> Folding[Unit]:
        """Made at the first use: the SDK copies and restores condensers by their fields."""
        if self._folding is None:
            settings = {"recall": "directive", **self.settings}
            self._folding = Folding(OpenHandsEvents(), budget=self.budget, store=self.store, **settings)
            for one in self.declared:
                self._folding.declare(
                    Declaration(tool=one["tool"], reads=tuple(one["reads"]), produces=tuple(one["produces"]))
                )
        made: Folding[Unit] = self._folding
        return made

    def live(self) -> Session:
        """The session: to pin, to explain, to look at the ledger."""
        return self.folding.session(self.session)

    def handles_condensation_requests(self) -> bool:
        return True

    def condense(self, view: View, agent_llm: Any = None) -> View | Condensation:
        if view.unhandled_condensation_request and self._squeezed():
            # Forgets nothing: it tells the conversation that the request was dealt with.
            return Condensation(llm_response_id="foldaway")
        folded = self._fold(view, agent_llm)
        if any(isinstance(event, CondensationSummaryEvent) for unit in folded.fresh for event in unit.events):
            self.folding.warn(SUMMARISED)
        self._last = folded
        if not folded.changed:
            return view
        events = [event for unit in folded.messages for event in unit.events]
        return View(events=events, unhandled_condensation_request=view.unhandled_condensation_request)

    async def acondense(self, view: View, agent_llm: Any = None) -> View | Condensation:
        """`condense` in a thread: a first look at a long conversation takes a while."""
        return await asyncio.to_thread(self.condense, view, agent_llm)

    # -- inside

    def _fold(self, view: View, agent_llm: Any) -> Folded[Unit]:
        budgeted = self.budget is not None or "window" in self.settings
        window = None if budgeted else getattr(agent_llm, "effective_max_input_tokens", None)
        model = str(getattr(agent_llm, "model", "") or "").rpartition("/")[2]
        # The same units for the same events: what is known is told by identity.
        self._units = units(view.events, self._units)
        try:
            return self.folding.fold(
                self._units, key=self.session, tools=_tools(view.events), model=model, window=window
            )
        except OverBudget as error:
            raise ContextOverflow(error) from error

    def _squeezed(self) -> bool:
        folded = self._last
        if folded is None or folded.view is None or folded.desk is None:
            return False
        with folded.desk.lock:
            folded.desk.session.set_budget(budget=max(1, int(folded.view.tokens * SQUEEZE)))
        self._last = None
        return True


def units(events: Sequence[Any], before: Sequence[Unit] = ()) -> list[Unit]:
    """Events by the messages they become; the very units of `before` where their events are the same. Linear."""
    found: list[list[Any]] = []
    for event in events:
        last = found[-1][-1] if found else None
        if (
            isinstance(event, ActionEvent)
            and isinstance(last, ActionEvent)
            and last.llm_response_id == event.llm_response_id
        ):
            found[-1].append(event)
        else:
            found.append([event])
    known = [*before, *[None] * max(0, len(found) - len(before))]
    return [
        unit if unit is not None and len(unit.events) == len(group) and all(map(is_, unit.events, group))
        else Unit(tuple(group))
        for group, unit in zip(found, known, strict=False)
    ]  # fmt: skip


def _tools(events: Sequence[Any]) -> list[dict[str, Any]] | None:
    """What the system prompt's event says of the tools, in the wire's terms."""
    prompt = next((event for event in events if isinstance(event, SystemPromptEvent)), None)
    if prompt is None:
        return None
    return [dict(tool.to_openai_tool()) for tool in prompt.tools]


def _content(message: Message) -> Any:
    blocks: list[dict[str, Any]] = [block.model_dump() for block in message.thinking_blocks]
    for part in message.content:
        if isinstance(part, TextContent):
            blocks.append({"type": "text", "text": part.text})
        else:
            blocks += [{"type": "image_url", "image_url": {"url": url}} for url in part.image_urls]
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0]["type"] == "text" else blocks


def _rewritten(wire: WireMessage, like: Message) -> Message:
    content = wire.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    thinking = [block for block in like.thinking_blocks if block.model_dump() in blocks]
    known = {call.id: call for call in like.tool_calls or ()}
    calls = [_call(call, known) for call in wire.get("tool_calls") or ()]
    return like.model_copy(
        update={
            "content": _parts(blocks),
            "thinking_blocks": thinking,
            "tool_calls": calls or None,
            "reasoning_content": wire.get("reasoning_content"),
            "responses_reasoning_item": like.responses_reasoning_item if calls == like.tool_calls else None,
        }
    )


def _parts(blocks: Sequence[Any]) -> list[Any]:
    parts: list[Any] = []
    for block in blocks:
        if block.get("type") == "text":
            parts.append(TextContent(text=block["text"]))
        elif block.get("type") == "image_url":
            parts.append(ImageContent(image_urls=[block["image_url"]["url"]]))
    return parts


def _call(call: Any, known: dict[Any, Any]) -> MessageToolCall:
    function, before = call["function"], known.get(call.get("id"))
    if before is not None and before.arguments == function["arguments"]:
        return before
    return MessageToolCall(
        id=call.get("id"), name=function["name"], arguments=function["arguments"],
        origin=before.origin if before is not None else "completion",
    )  # fmt: skip


def _made(wire: WireMessage, names: dict[Any, str]) -> Message:
    content = wire.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    role = wire.get("role")
    return Message(
        role="system" if role == "developer" else role,
        content=_parts(blocks),
        tool_calls=[_call(call, {}) for call in wire.get("tool_calls") or ()] or None,
        tool_call_id=wire.get("tool_call_id"),
        name=names.get(wire.get("tool_call_id")),
    )
