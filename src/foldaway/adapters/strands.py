"""Strands Agents: a conversation manager.

    agent = Agent(model, tools=tools, conversation_manager=FoldawayConversationManager(budget=100_000))

`agent.messages` keeps the whole history, and so does a session manager; only what the model sees is managed, in a
middleware around the model call. A session manager's session, with the agent's id, is the session.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any

from foldaway.adapters._base import (
    RECALL,
    RECALL_DESCRIPTION,
    RECALL_SCHEMA,
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
    from strands import ToolContext, tool
    from strands.agent.conversation_manager import ConversationManager
    from strands.hooks import AgentInitializedEvent, HookRegistry
    from strands.middleware import InvokeModelContext, InvokeModelStage, ModelStopReason
    from strands.types.exceptions import ContextWindowOverflowException

    from foldaway.adapters._strands_messages import StrandsMessages
except ImportError as error:
    raise missing("strands", error) from error

__all__ = ["ContextOverflow", "ContextWarning", "FoldawayConversationManager"]

OFFLOADER = "retrieve_offloaded_content"
OFFLOADING = (
    "Strands' context offloader is at work on the same history as Foldaway: what it takes out, Foldaway never sees; "
    "take one of the two out"
)
_MORE_PARAMETERS = ("params", "additional_request_fields", "additional_args")
"""Where the configurations of Strands' models keep what goes to the provider as it is."""
SHRINK = 0.8
"""What is left of the budget when the provider says that a request within it was too long."""


class ContextOverflow(OverBudget, ContextWindowOverflowException):  # type: ignore[misc, unused-ignore]
    """What may not be evicted does not fit, as Strands' own error for it."""


class FoldawayConversationManager(ConversationManager):  # type: ignore[misc, unused-ignore]
    """Manages what agents' models see. One object may serve several agents, each with a history of its own.

    Where a provider says that a request was too long all the same, the budget shrinks by a fifth and the call is made
    again.
    """

    def __init__(
        self, *, budget: int | None = None, store: str | Store | None = None, name: str = "", recall: str = "tool",
        **settings: Any,
    ) -> None:  # fmt: skip
        """Takes the settings of `foldaway.Session` and `declared=` (functions under `@foldaway.tool`).

        `name`: of the session, for one agent; by default `AGENT_ID:SESSION_ID`. Without a session manager an agent has
        no session id that lasts, so with a store one of the two is needed.
        """
        super().__init__()
        self.folding: Folding[Any] = Folding(StrandsMessages(), budget=budget, store=store, recall=recall, **settings)
        self._stored, self._name, self._budgeted = store is not None, name, budget is not None or "window" in settings
        self._recall: Any = _recall_tool(self) if recall == "tool" else None
        self._named: Any = None
        self._last: dict[str, int] = {}
        """Tokens of each session's last request."""
        self._refused: dict[str, int] = {}
        """The same where the provider took it for too long."""

    def session(self, key: str | None = None) -> Session:
        """The session of `AGENT_ID:SESSION_ID`; None: the only one there is."""
        return self.folding.session(key or self._name or None)

    # -- Strands' side

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._attach)

    def apply_management(self, agent: Any, **kwargs: Any) -> None:
        """Nothing: the agent keeps its history."""

    def reduce_context(self, agent: Any, e: Exception | None = None, **kwargs: Any) -> None:
        """After the provider's own overflow: a smaller budget from now on. What may not be evicted ends it (raises)."""
        if isinstance(e, ContextOverflow):
            raise e
        if e is None:
            return
        key = self.key(agent)
        tokens, before = self._last.get(key), self._refused.get(key)
        if tokens is None or (before is not None and tokens >= before):
            raise e
        self._refused[key], smaller = tokens, max(1, int(tokens * SHRINK))
        self.folding.session(key).set_budget(budget=smaller)
        self.folding.warn(f"the provider took no request of {tokens} tokens; the budget is {smaller} from now on")

    def restore_from_session(self, state: dict[str, Any]) -> None:
        """Another manager's state is left behind: the session manager has all messages, also those it took out."""
        self.removed_message_count = 0

    # -- inside

    def key(self, agent: Any) -> str:
        """The session's name for an agent."""
        return self._name or f"{agent.agent_id}:{agent.session_id}"

    def _attach(self, event: AgentInitializedEvent) -> None:
        agent = event.agent
        if self._name and self._named not in (None, agent):
            raise SettingsError(
                f"the conversation manager with the name {self._name} has an agent already: one for each"
            )
        self._named = agent
        if self._stored and not self._name and getattr(agent, "_session_manager", None) is None:
            raise SettingsError("with a store, give the agent a session_manager, or the conversation manager a name=")
        if self._recall is not None:
            if RECALL in agent.tool_registry.registry:
                raise SettingsError("the agent has a tool named recall already; rename it, or recall='directive'")
            agent.tool_registry.register_tool(self._recall)
        agent.add_middleware(InvokeModelStage, self._around)

    async def _around(self, context: InvokeModelContext, next_fn: Callable[[Any], Any]) -> AsyncIterator[Any]:
        messages, transient = _parted(context)
        try:
            folded = await self.folding.afold(messages, **self._call(context))
        except OverBudget as error:
            raise ContextOverflow(str(error), missing_tokens=error.missing_tokens, largest=error.largest) from error
        if folded.view is not None:
            self._last[self.key(context.agent)] = folded.view.tokens
        async for event in next_fn(self._managed(context, folded, transient)):
            if isinstance(event, ModelStopReason):
                self._refused.pop(self.key(context.agent), None)
                self.folding.report(folded, _usage(event.usage))
            yield event

    def _call(self, context: InvokeModelContext) -> dict[str, Any]:
        registry = context.agent.tool_registry.registry
        if OFFLOADER in registry:
            self.folding.warn(OFFLOADING)
        for spec in context.tool_specs:
            declared = declaration(registry.get(spec["name"]))
            if declared is not None:
                self.folding.declare(replace(declared, tool=spec["name"]))
        config: Any = context.model.get_config()
        for field in _MORE_PARAMETERS:
            self.folding.keep_thinking((config.get(field) or {}).get("thinking"))
        system = context.system_prompt
        if isinstance(system, list):
            system = "\n".join(block["text"] for block in system if "text" in block)
        window = None if self._budgeted else context.model.context_window_limit
        tools = [_definition(spec) for spec in context.tool_specs]
        return {"key": self.key(context.agent), "system": system, "tools": tools, "window": window}

    def _managed(self, context: InvokeModelContext, folded: Folded[Any], transient: list[Any]) -> InvokeModelContext:
        other: dict[str, Any] = {}
        if folded.changed:
            other["messages"] = _alternating(_joined(folded.messages, transient))
        if self._recall is not None and not folded.recallable:
            other["tool_specs"] = [spec for spec in context.tool_specs if spec["name"] != RECALL]
        return context.replace(**other) if other else context


def _recall_tool(manager: FoldawayConversationManager) -> Any:
    @tool(name=RECALL, description=RECALL_DESCRIPTION, inputSchema={"json": RECALL_SCHEMA}, context=True)
    async def recall(ids: str, tool_context: ToolContext, find: str = "") -> str:
        return await manager.folding.arecall({"ids": ids, "find": find}, key=manager.key(tool_context.agent))

    return recall


def _definition(spec: Mapping[str, Any]) -> dict[str, Any]:
    schema = spec["inputSchema"]
    return {"name": spec["name"], "description": spec["description"], "input_schema": schema.get("json", schema)}


def _parted(context: InvokeModelContext) -> tuple[list[Any], list[Any]]:
    """The history, and the blocks at its end that are made anew for each call and belong to none."""
    messages, count = list(context.messages), context.dynamic_trailing_blocks
    if not count or not messages:
        return messages, []
    last = messages.pop()
    kept = last["content"][:-count]
    return [*messages, {**last, "content": kept}] if kept else messages, last["content"][-count:]


def _joined(messages: list[Any], transient: list[Any]) -> list[Any]:
    if not transient:
        return messages
    if messages and messages[-1]["role"] == "user":
        return [*messages[:-1], {**messages[-1], "content": [*messages[-1]["content"], *transient]}]
    return [*messages, {"role": "user", "content": transient}]


def _alternating(messages: list[Any]) -> list[Any]:
    """Bedrock wants user and assistant in turn: what became neighbours speaks as one, block by block as it came."""
    out: list[Any] = []
    for message in messages:
        if out and out[-1]["role"] == message["role"]:
            out[-1] = {**out[-1], "content": [*out[-1]["content"], *message["content"]]}
        else:
            out.append(message)
    return out


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    """The whole prompt's tokens: some providers count cached ones in, the total tells which."""
    read, total = usage.get("inputTokens", 0), usage.get("totalTokens", 0)
    if read + usage.get("outputTokens", 0) != total:
        read += usage.get("cacheReadInputTokens", 0) + usage.get("cacheWriteInputTokens", 0)
    return {"prompt_tokens": read}
