"""What LangChain's and LangGraph's adapters share besides the messages: recall tool, keys, errors, other managers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolRuntime

from foldaway.adapters._base import RECALL, RECALL_DESCRIPTION, Folding
from foldaway.errors import OverBudget

TOOL_NODE = "tools"
"""What LangChain's and LangGraph's agents call the node that runs tools."""
TWO_MANAGERS = (
    "{} is at work on the same history as Foldaway: what it takes out, Foldaway never sees and nobody can recall; "
    "take one of the two out"
)


class ContextOverflow(OverBudget, ContextOverflowError):  # type: ignore[misc, unused-ignore]
    """What may not be evicted does not fit, as LangChain's own error for it, so that fallbacks catch it."""


def recall_tool(folding: Folding[BaseMessage], messages_key: str = "messages") -> BaseTool:
    """The tool that brings back what is folded in the conversation it is called from."""

    # Annotations as objects: LangChain reads them, and this module's are text.
    def recall(ids: Any, runtime: Any, find: Any = None) -> str:
        return folding.recall({"ids": ids, "find": find}, **_where(runtime, messages_key))

    async def arecall(ids: Any, runtime: Any, find: Any = None) -> str:
        return await folding.arecall({"ids": ids, "find": find}, **_where(runtime, messages_key))

    for function in (recall, arecall):
        function.__annotations__ = {"ids": str, "runtime": ToolRuntime, "find": str, "return": str}
    return StructuredTool.from_function(func=recall, coroutine=arecall, name=RECALL, description=RECALL_DESCRIPTION)


def thread_key(config: Mapping[str, Any]) -> str | None:
    """The session's name in a run: its thread, the agent's name in front or, in a graph of others, its node behind.

    None without a thread, and for an agent that a tool calls: it inherits the thread of its caller, and each of its
    runs, of which several may be under way, is a conversation of its own.
    """
    configurable = config.get("configurable") or {}
    thread = configurable.get("thread_id")
    # Of the nodes around the running one: "tools:TASK|model:TASK" for an agent that a tool calls.
    _, *around = reversed([part.partition(":")[0] for part in str(configurable.get("checkpoint_ns") or "").split("|")])
    if thread is None or TOOL_NODE in around:
        return None
    agent = (config.get("metadata") or {}).get("lc_agent_name")
    return f"{agent}:{thread}" if agent else ":".join([str(thread), *reversed(around)])


def managers(messages: Sequence[BaseMessage], model: Any) -> list[str]:
    """What else manages this history, as far as it shows in messages and model."""
    found = []
    if any(m.additional_kwargs.get("lc_source") == "summarization" for m in messages):
        found.append("LangChain's SummarizationMiddleware")
    if any((m.response_metadata or {}).get("context_editing") for m in messages):
        found.append("LangChain's ContextEditingMiddleware")
    if getattr(model, "context_management", None):
        found.append("the provider's own context management (context_management=)")
    if getattr(model, "truncation", None) == "auto":
        found.append("the provider's own truncation (truncation='auto')")
    if getattr(model, "use_previous_response_id", False):
        found.append("a conversation kept by the provider (use_previous_response_id=True)")
    return found


def _where(runtime: Any, messages_key: str) -> dict[str, Any]:
    state = runtime.state
    messages = state.get(messages_key, []) if isinstance(state, Mapping) else getattr(state, messages_key, [])
    # The calls being answered may have results beside ours already; they are not in the session yet.
    known = [m for m in messages if isinstance(m, BaseMessage)]
    while known and isinstance(known[-1], ToolMessage):
        known.pop()
    return {"key": thread_key(runtime.config), "messages": known}


def overflow(error: OverBudget) -> ContextOverflow:
    return ContextOverflow(str(error), missing_tokens=error.missing_tokens, largest=error.largest)
