"""The three protocols as the proxy needs them: where a request keeps its history, and how it is put back.

A body is only ever rebuilt from its own fields: those that are not ours go on as they came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from foldaway.model.view import View
from foldaway.model.wire import Message, Quirks
from foldaway.proxy.alternating import takes_turns, taking_turns
from foldaway.wire import MARKS_ALLOWED, count_marks, limit_marks


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request, read."""

    format: str
    model: str
    messages: list[Message]
    system: Any
    tools: list[Any] | None
    max_output_tokens: int | None
    stream: bool
    quirks: Quirks
    group: str = ""
    """What the client says its session is, in a field of its own; "" when it says nothing."""
    previous: str = ""
    """Responses: the id of the response that this one continues."""

    @property
    def tool_names(self) -> frozenset[str]:
        """Names of the client's own tools."""
        named = (
            t.get("name") or (t.get("function") or {}).get("name") for t in self.tools or () if isinstance(t, dict)
        )
        return frozenset(n for n in named if isinstance(n, str))


class Dialect(Protocol):
    """One protocol."""

    format: str

    def read(self, body: Mapping[str, Any]) -> Asked | None:
        """The request as a value; None when it is not of a shape that this release understands."""
        ...

    def write(self, body: Mapping[str, Any], view: View, tools: Sequence[Any] | None) -> dict[str, Any]:
        """The body with another history; `tools` None: as they came."""
        ...


class OpenAIChat:
    format = "openai_chat"

    def read(self, body: Mapping[str, Any]) -> Asked | None:
        messages = _messages(body.get("messages"))
        tools = body.get("tools")
        if messages is None or not _listed(tools):
            return None
        size = _prompts(messages)
        return Asked(
            format=self.format, model=_text(body.get("model")), messages=messages[size:], tools=tools,
            system=_blocks(messages[:size]),
            max_output_tokens=_count(body.get("max_completion_tokens")) or _count(body.get("max_tokens")),
            stream=body.get("stream") is True, quirks=Quirks(), group=_group(body),
        )  # fmt: skip

    def write(self, body: Mapping[str, Any], view: View, tools: Sequence[Any] | None) -> dict[str, Any]:
        prompts = body["messages"][: _prompts(body["messages"])]
        return _within_marks({**body, "messages": [*prompts, *_in_turns(body, view)]}, body, tools)


class AnthropicMessages:
    format = "anthropic_messages"

    def read(self, body: Mapping[str, Any]) -> Asked | None:
        messages = _messages(body.get("messages"))
        tools = body.get("tools")
        if messages is None or not _listed(tools):
            return None
        thinking = body.get("thinking")
        on = isinstance(thinking, dict) and thinking.get("type") in ("enabled", "adaptive")
        return Asked(
            format=self.format, model=_text(body.get("model")), messages=messages, system=body.get("system"),
            tools=tools, max_output_tokens=_count(body.get("max_tokens")), stream=body.get("stream") is True,
            quirks=Quirks(thinking=on), group=_group(body),
        )  # fmt: skip

    def write(self, body: Mapping[str, Any], view: View, tools: Sequence[Any] | None) -> dict[str, Any]:
        return _within_marks({**body, "messages": _in_turns(body, view)}, body, tools)


class OpenAIResponses:
    format = "openai_responses"

    def read(self, body: Mapping[str, Any]) -> Asked | None:
        given = body.get("input")
        if isinstance(given, str):
            given = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": given}]}]
        messages = _messages(given)
        tools = body.get("tools")
        # A conversation kept by the provider, or a prompt template of its own, is not ours to rebuild.
        if messages is None or not _listed(tools) or body.get("conversation") or body.get("prompt"):
            return None
        return Asked(
            format=self.format, model=_text(body.get("model")), messages=messages, system=body.get("instructions"),
            tools=tools, max_output_tokens=_count(body.get("max_output_tokens")), stream=body.get("stream") is True,
            quirks=Quirks(), group=_group(body), previous=_text(body.get("previous_response_id")),
        )  # fmt: skip

    def write(self, body: Mapping[str, Any], view: View, tools: Sequence[Any] | None) -> dict[str, Any]:
        # The view is the whole history: what the provider remembers of it must not come in front of it once more.
        kept = {k: v for k, v in body.items() if k != "previous_response_id"}
        return {**kept, "input": view.messages, **({"tools": list(tools)} if tools is not None else {})}


BY_PATH: Mapping[str, Dialect] = {
    "/v1/chat/completions": OpenAIChat(),
    "/v1/responses": OpenAIResponses(),
    "/v1/messages": AnthropicMessages(),
}
"""The routes that hold a history."""


def _in_turns(body: Mapping[str, Any], view: View) -> list[Message]:
    """The messages of a view, their roles taking turns where the client's do."""
    return taking_turns(view.messages) if takes_turns(body.get("messages") or ()) else view.messages


def _within_marks(changed: dict[str, Any], body: Mapping[str, Any], tools: Sequence[Any] | None) -> dict[str, Any]:
    """A body with no more cache marks than the client set in its messages, and with the others than a provider takes.

    A client moves its marks along, while each message of a view has those that it came with. O(messages).
    """
    if tools is not None:
        changed["tools"] = list(tools)
    if count_marks(changed["messages"]):
        others = sum(count_marks(v) for v in (body.get("system"), body.get("tools")) if isinstance(v, list))
        room = MARKS_ALLOWED - others - bool(body.get("cache_control"))
        changed["messages"] = limit_marks(changed["messages"], min(room, count_marks(body["messages"])))
    return changed


def _messages(value: Any) -> list[Message] | None:
    if not isinstance(value, list) or not value or not all(isinstance(m, dict) for m in value):
        return None
    return value


def _prompts(messages: Sequence[Message]) -> int:
    """How many messages at the front are a prompt, which may be another at each call; 0 where nothing else is there."""
    return next((n for n, m in enumerate(messages) if m.get("role") not in ("system", "developer")), 0)


def _blocks(prompts: Sequence[Message]) -> list[Any] | None:
    """The contents of these messages, to be counted."""
    contents = [m.get("content") for m in prompts]
    return [b for c in contents for b in (c if isinstance(c, list) else [{"type": "text", "text": c or ""}])] or None


def _listed(tools: Any) -> bool:
    return tools is None or (isinstance(tools, list) and all(isinstance(t, dict) for t in tools))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _group(body: Mapping[str, Any]) -> str:
    metadata = body.get("metadata")
    said = metadata if isinstance(metadata, dict) else {}
    for value in (
        said.get("foldaway_session"),
        said.get("session_id"),
        said.get("user_id"),
        body.get("prompt_cache_key"),
    ):
        if isinstance(value, str) and value.strip():
            return value[:200]
    return ""
