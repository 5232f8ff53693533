"""LangChain: an agent middleware around the model call.

The agent's state keeps the whole history; only what the model sees is managed. The thread id of the run is the session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from foldaway.adapters._base import (
    RECALL,
    ContextWarning,
    Folded,
    Folding,
    declaration,
    missing,
)
from foldaway.errors import OverBudget, SettingsError
from foldaway.protocols import Store
from foldaway.session import Session

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config

    from foldaway.adapters._langchain_messages import LangChainMessages, wire_usage
    from foldaway.adapters._langchain_shared import (
        TWO_MANAGERS,
        ContextOverflow,
        managers,
        overflow,
        recall_tool,
        thread_key,
    )
except ImportError as error:
    raise missing("langchain", error) from error

__all__ = ["ContextOverflow", "ContextWarning", "FoldawayMiddleware"]

MOST_DEFINITIONS = 256


class FoldawayMiddleware(AgentMiddleware):  # type: ignore[misc, type-arg, unused-ignore]
    """Manages what the agent's model sees. One object may serve several agents and threads.

    Without a budget it is the window that the model's profile tells. Runs without a thread id (no checkpointer) are
    told by their history. Where the agent has a name, its session in the store is `NAME:THREAD`.
    """

    def __init__(
        self, *, budget: int | None = None, store: str | Store | None = None, recall: str = "tool", **settings: Any
    ) -> None:
        """Takes the settings of `foldaway.Session` and `declared=` (functions under `@foldaway.tool`)."""
        super().__init__()
        self.folding: Folding[BaseMessage] = Folding(
            LangChainMessages(), budget=budget, store=store, recall=recall, **settings
        )
        self._budgeted = budget is not None or "window" in settings
        self._definitions: dict[int, tuple[Any, dict[str, Any]]] = {}
        self.tools = [recall_tool(self.folding)] if recall == "tool" else []

    @property
    def name(self) -> str:
        return "Foldaway"

    def session(self, thread_id: str | None = None) -> Session:
        """The session of a thread (of an agent with a name: `NAME:THREAD`); None: the only one there is."""
        return self.folding.session(thread_id)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> Any:
        try:
            folded = self.folding.fold(request.messages, **self._call(request))
        except OverBudget as error:
            raise overflow(error) from error
        self._look_around(request, folded)
        response = handler(self._managed(request, folded))
        self.folding.report(folded, _usage(response))
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> Any:
        try:
            folded = await self.folding.afold(request.messages, **self._call(request))
        except OverBudget as error:
            raise overflow(error) from error
        self._look_around(request, folded)
        response = await handler(self._managed(request, folded))
        self.folding.report(folded, _usage(response))
        return response

    # -- inside

    def _call(self, request: ModelRequest[Any]) -> dict[str, Any]:
        self._check(request)
        for tool in request.tools:
            declared = declaration(getattr(tool, "func", None), getattr(tool, "coroutine", None))
            if declared is not None:
                self.folding.declare(replace(declared, tool=tool.name))
        system = None if request.system_message is None else request.system_message.text
        profile = getattr(request.model, "profile", None) or {}
        window = None if self._budgeted else profile.get("max_input_tokens")
        return {
            "key": thread_key(get_config()),
            "system": system,
            "tools": [self._definition(tool) for tool in request.tools],
            "window": window,
        }

    def _definition(self, tool: Any) -> dict[str, Any]:
        if isinstance(tool, dict):
            return tool
        known = self._definitions.get(id(tool))
        # The tool is kept beside its id: an id alone may come to name another object.
        if known is None or known[0] is not tool:
            if len(self._definitions) >= MOST_DEFINITIONS:
                self._definitions.clear()
            known = self._definitions[id(tool)] = (tool, convert_to_openai_tool(tool))
        return known[1]

    def _managed(self, request: ModelRequest[Any], folded: Folded[BaseMessage]) -> ModelRequest[Any]:
        other: dict[str, Any] = {"messages": folded.messages} if folded.changed else {}
        if self.tools and not folded.recallable:
            other["tools"] = [tool for tool in request.tools if tool not in self.tools]
        return request.override(**other) if other else request

    def _check(self, request: ModelRequest[Any]) -> None:
        if self.tools and any(getattr(t, "name", None) == RECALL and t not in self.tools for t in request.tools):
            raise SettingsError(
                "the agent has a tool named recall already; rename it, or FoldawayMiddleware(recall='directive')"
            )
        self.folding.keep_thinking(getattr(request.model, "thinking", None), request.model_settings.get("thinking"))

    def _look_around(self, request: ModelRequest[Any], folded: Folded[BaseMessage]) -> None:
        for manager in managers(folded.fresh, request.model):
            self.folding.warn(TWO_MANAGERS.format(manager))


def _usage(response: Any) -> Mapping[str, Any] | None:
    result = getattr(getattr(response, "model_response", response), "result", None) or ()
    said = [m for m in ([response] if isinstance(response, AIMessage) else result) if isinstance(m, AIMessage)]
    return wire_usage(said[-1].usage_metadata) if said else None
