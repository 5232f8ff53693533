"""A small client for any endpoint that speaks OpenAI's Chat Completions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from foldaway.asking.client import Client, parts_text
from foldaway.errors import AskError


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatClient(Client):
    """Asks one model of an OpenAI-compatible endpoint."""

    format: ClassVar[str] = "openai_chat"
    """The wire format of the messages it takes."""

    def __call__(
        self, messages: Sequence[Mapping[str, Any]], max_tokens: int, beside: Mapping[str, Any] | None = None, /
    ) -> str:
        """The model's answer. `beside`: further fields of this request alone (`tools` ...).

        Raises:
            AskError: none came (kinds "timeout", "unreachable", "status", "protocol"), the model or the provider
                refused ("refusal"), or the answer ended at `max_tokens` ("cut").
        """
        body = {"model": self.model, "messages": list(messages), "max_tokens": max_tokens, "temperature": 0}
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return _answer(self.post("/chat/completions", {**body, **(beside or {})}, headers))


def _answer(reply: bytes) -> str:
    try:
        choice = json.loads(reply)["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        content, refused = message.get("content"), message.get("refusal")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise AskError("protocol", "the answer is no chat completion") from error
    if refused or reason == "content_filter":
        raise AskError("refusal", "the model or its provider refused")
    if reason == "length":
        raise AskError("cut", "the answer was cut off at its longest")
    return parts_text(content)
