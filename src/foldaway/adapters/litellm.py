"""LiteLLM: a custom logger whose hook manages the messages of a call just before it goes to its deployment.

    foldaway = FoldawayLogger(budget=100_000, store="sqlite:///foldaway.db")
    litellm.callbacks.append(foldaway)
    await litellm.acompletion(model=..., messages=..., litellm_session_id="thread-1")

It serves `acompletion`, streamed or not, the router, and the proxy server (`litellm_settings: callbacks:`). The plain
`litellm.completion` has no such hook: call `foldaway.completion` with the same arguments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from foldaway.adapters._base import (
    RECALL,
    RECALL_DESCRIPTION,
    RECALL_SCHEMA,
    ContextWarning,
    Folded,
    Folding,
    missing,
    tool_name,
)
from foldaway.errors import OverBudget
from foldaway.model.wire import Message
from foldaway.protocols import Store
from foldaway.session import Session

try:
    import litellm
    from litellm.exceptions import ContextWindowExceededError
    from litellm.integrations.custom_logger import CustomLogger
except ImportError as error:
    raise missing("litellm", error) from error

__all__ = ["ContextOverflow", "ContextWarning", "FoldawayLogger"]

CHAT = frozenset({"completion", "acompletion"})
TWO_MANAGERS = "{} is at work on the same history as Foldaway; take one of the two out"
UNNAMED = "messages given by position cannot be managed: acompletion(model=..., messages=...)"
_MANAGERS = frozenset({"CompressionInterceptionLogger", "HeadroomGuardrail", "CompresrGuardrail"})


class ContextOverflow(OverBudget, ContextWindowExceededError):  # type: ignore[misc, unused-ignore]
    """What may not be evicted does not fit, as LiteLLM's own error, so that context window fallbacks catch it."""

    def __init__(self, error: OverBudget, model: str) -> None:
        ContextWindowExceededError.__init__(self, str(error), model, model.partition("/")[0])
        self.missing_tokens, self.largest = error.missing_tokens, error.largest


class ChatMessages:
    """The codec: LiteLLM's messages are those of Chat Completions, as dicts or as its own objects."""

    format = "openai_chat"

    def to_wire(self, message: Any) -> list[Message]:
        if isinstance(message, Mapping):
            return [dict(message)]
        return [{key: value for key, value in message.model_dump(exclude_unset=True).items() if value is not None}]

    def from_wire(self, messages: Sequence[Message], like: Any) -> list[Any]:
        return list(messages)


class FoldawayLogger(CustomLogger):  # type: ignore[misc, unused-ignore]
    """Manages what models see of chat completions. One object serves any number of conversations.

    `litellm_session_id` (or `session_id` in the metadata) names the conversation, behind the hash of the caller's key
    where the proxy knows one; without it a conversation is told by its history and kept in memory.

    Models ask for what is folded by a directive in their text (`recall="directive"`), which needs nothing of the
    caller. A program that runs its own tools may offer the tool instead: `recall="tool"`, `tools=[*tools,
    *foldaway.tools]`, and `foldaway.recall(arguments, session)` for the answer.
    """

    def __init__(
        self, *, budget: int | None = None, store: str | Store | None = None, recall: str = "directive",
        when: Callable[[Mapping[str, Any]], bool] | None = None, **settings: Any,
    ) -> None:  # fmt: skip
        """Takes the settings of `foldaway.Session` and `declared=` (functions under `@foldaway.tool`).

        `when`: whether a call is to be managed, by its arguments; all are without it.
        """
        super().__init__()
        self.folding: Folding[Any] = Folding(ChatMessages(), budget=budget, store=store, recall=recall, **settings)
        self._budgeted = budget is not None or "window" in settings
        self._when = when
        function = {"name": RECALL, "description": RECALL_DESCRIPTION, "parameters": RECALL_SCHEMA}
        self.tools: list[dict[str, Any]] = [{"type": "function", "function": function}] if recall == "tool" else []

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """LiteLLM's hook: the arguments of the call as they are to be, None where they stay as they are."""
        if str(getattr(call_type, "value", call_type)) not in CHAT:
            return None
        return await asyncio.to_thread(self._managed, kwargs)

    def completion(self, **call: Any) -> Any:
        """`litellm.completion` with managed messages."""
        return litellm.completion(**(self._managed(call) or call))

    def recall(self, arguments: Mapping[str, Any], session_id: str | None = None) -> str:
        """The answer to a model's call of the recall tool. Never raises: a model reads what went wrong."""
        return self.folding.recall(arguments, key=session_id)

    def session(self, session_id: str | None = None) -> Session:
        """The session of a conversation; None: the only one there is."""
        return self.folding.session(session_id)

    # -- inside

    def _managed(self, call: dict[str, Any]) -> dict[str, Any] | None:
        if self._when is not None and not self._when(call):
            return None
        messages = call.get("messages")
        if not messages:
            self.folding.warn(UNNAMED)
            return None
        self._check(call)
        model = str(call.get("model") or "")
        tools = call.get("tools") or None
        window = None if self._budgeted else _window(model)
        try:
            folded = self.folding.fold(
                messages, key=_key(call), tools=tools, model=model.rpartition("/")[2], window=window,
                max_output_tokens=None if window is None else call.get("max_tokens"),
            )  # fmt: skip
        except OverBudget as error:
            raise ContextOverflow(error, model) from error
        return self._changed(call, folded)

    def _changed(self, call: dict[str, Any], folded: Folded[Any]) -> dict[str, Any] | None:
        other: dict[str, Any] = {"messages": folded.messages} if folded.changed else {}
        if self.tools and not folded.recallable and call.get("tools"):
            tools = [tool for tool in call["tools"] if tool_name(tool) != RECALL]
            other["tools"] = tools or None
        return {**call, **other} if other else None

    def _check(self, call: Mapping[str, Any]) -> None:
        self.folding.keep_thinking(call.get("thinking"))
        for callback in litellm.callbacks:
            if type(callback).__name__ in _MANAGERS:
                self.folding.warn(TWO_MANAGERS.format(type(callback).__name__))
        if call.get("context_management"):
            self.folding.warn(TWO_MANAGERS.format("the provider's own context management (context_management=)"))
        if call.get("truncation") == "auto":
            self.folding.warn(TWO_MANAGERS.format("the provider's own truncation (truncation='auto')"))


def _key(call: Mapping[str, Any]) -> str | None:
    found = [m for m in (call.get("litellm_metadata"), call.get("metadata")) if isinstance(m, Mapping)]
    session = next(
        (value for value in (call.get("litellm_session_id"), *(m.get("session_id") for m in found)) if value), None
    )
    if session is None:
        return None
    # The proxy tells it as a hash; two callers that name their sessions alike do not meet.
    caller = next((m["user_api_key_hash"] for m in found if m.get("user_api_key_hash")), None)
    return f"{caller}:{session}" if caller else str(session)


def _window(model: str) -> int | None:
    try:
        tokens = litellm.get_model_info(model).get("max_input_tokens")
    except Exception:
        # LiteLLM raises plain exceptions for models that it does not know.
        return None
    return tokens if isinstance(tokens, int) else None
