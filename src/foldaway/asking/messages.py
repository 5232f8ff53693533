"""A small client for endpoints that speak Anthropic's Messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from foldaway.asking.client import Client, parts_text
from foldaway.errors import AskError


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesClient(Client):
    """Asks one model of an Anthropic-compatible endpoint; base address https://host/v1."""

    version: str = "2023-06-01"
    """The `anthropic-version` header."""
    format: ClassVar[str] = "anthropic_messages"
    """The wire format of the messages it takes."""

    def __call__(
        self, messages: Sequence[Mapping[str, Any]], max_tokens: int, beside: Mapping[str, Any] | None = None, /
    ) -> str:
        """The model's answer; messages of role system become the system prompt. `beside` and errors as `ChatClient`.

        No temperature is sent: with thinking on, the protocol refuses any but its own.
        """
        system = "\n\n".join(parts_text(m.get("content")) for m in messages if m.get("role") == "system")
        rest = [m for m in messages if m.get("role") != "system"]
        body = {"model": self.model, "messages": rest, "max_tokens": max_tokens, "system": system or None}
        headers = {"anthropic-version": self.version, **({"x-api-key": self.key} if self.key else {})}
        return _answer(self.post("/messages", {**body, **(beside or {})}, headers))


def _answer(reply: bytes) -> str:
    try:
        message = json.loads(reply)
        content, reason = message["content"], message.get("stop_reason")
        texts = [block for block in content if block["type"] == "text"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise AskError("protocol", "the answer is no message") from error
    if reason == "refusal":
        raise AskError("refusal", "the model or its provider refused")
    if reason in ("max_tokens", "model_context_window_exceeded"):
        raise AskError("cut", "the answer was cut off at its longest")
    return parts_text(texts)
