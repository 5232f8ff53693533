"""Pydantic AI: a capability around the model request, and a tier of its harness' compaction.

    agent = Agent(model, capabilities=[Foldaway(budget=100_000, store="sqlite:///foldaway.db")])

The history of a run stays whole; only what a request holds is managed. The conversation id is the session. As a tier
(`TieredCompaction(tiers=[Foldaway(...), ...])`) it is the harness that calls, and that replaces the history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
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
from foldaway.errors import OverBudget
from foldaway.protocols import Store
from foldaway.session import Session

try:
    from pydantic_ai import RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import ModelContextWindowExceededError
    from pydantic_ai.messages import CompactionPart, InstructionPart, ModelMessage, ModelResponse
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.toolsets import FunctionToolset

    from foldaway.adapters._pydantic_ai_messages import PydanticMessages, wire_usage
except ImportError as error:
    raise missing("pydantic-ai", error) from error

__all__ = ["ContextOverflow", "ContextWarning", "Foldaway"]

TWO_MANAGERS = (
    "{} is at work on the same history as Foldaway: what it takes out, Foldaway never sees and nobody can recall; "
    "take one of the two out"
)
MADE_UP_USAGE = frozenset({"function", "test"})
"""Model systems whose usage is a guess of the framework's."""
_MANAGERS = frozenset({"ProcessHistory", "OpenAICompaction", "AnthropicCompaction"})


class ContextOverflow(OverBudget, ModelContextWindowExceededError):  # type: ignore[misc, unused-ignore]
    """What may not be evicted does not fit, as the framework's own error for it, so that fallbacks catch it."""

    def __init__(self, error: OverBudget, model_name: str = "") -> None:
        ModelContextWindowExceededError.__init__(self, model_name, str(error))
        self.missing_tokens, self.largest = error.missing_tokens, error.largest


class Foldaway(AbstractCapability[Any]):  # type: ignore[misc, unused-ignore]
    """Manages what the agent's model sees. One object may serve several agents and conversations.

    Say `conversation_id=` at each run where a session is to go on in another process; otherwise the framework makes one
    up and hands it on with `message_history`.
    """

    def __init__(
        self, *, budget: int | None = None, store: str | Store | None = None, recall: str = "tool",
        id: str | None = None, **settings: Any,
    ) -> None:  # fmt: skip
        """Takes the settings of `foldaway.Session` and `declared=` (functions under `@foldaway.tool`)."""
        self.id, self.description, self.defer_loading = id, None, False
        self.folding: Folding[ModelMessage] = Folding(
            PydanticMessages(), budget=budget, store=store, recall=recall, **settings
        )
        self._budgeted = budget is not None or "window" in settings
        # A request is prepared, sent and answered in one task.
        self._at: ContextVar[Folded[ModelMessage] | None] = ContextVar("foldaway", default=None)
        self._toolset = FunctionToolset([self._recall_tool()], id="foldaway") if recall == "tool" else None

    def session(self, conversation_id: str | None = None) -> Session:
        """The session of a conversation; None: the only one there is."""
        return self.folding.session(conversation_id)

    # -- the framework's hooks

    def get_toolset(self) -> Any:
        return self._toolset

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        parameters = request_context.model_request_parameters
        self._check(ctx, request_context.messages)
        self._declare(ctx)
        self.folding.keep_thinking(*_thinking(request_context))
        folded = await self._fold(ctx, request_context.messages, request_context.model, **_fixed(parameters))
        self._at.set(folded)
        other: dict[str, Any] = {"messages": folded.messages} if folded.changed else {}
        if self._toolset is not None and not folded.recallable:
            tools = [tool for tool in parameters.function_tools if tool.name != RECALL]
            other["model_request_parameters"] = replace(parameters, function_tools=tools)
        return replace(request_context, **other) if other else request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        folded = self._at.get()
        if folded is not None and request_context.model.system not in MADE_UP_USAGE:
            self.folding.report(folded, wire_usage(response.usage))
        return response

    async def compact(self, messages: list[ModelMessage], ctx: RunContext[Any]) -> list[ModelMessage]:
        """The history as a tier of the harness' compaction hands it on. Where nothing valid fits, as it came.

        Its recall tool has to be given to the agent: `Agent(toolsets=[foldaway.get_toolset()])`.
        """
        try:
            return (await self._fold(ctx, messages, ctx.model)).messages
        except ContextOverflow as error:
            self.folding.warn(f"left to the next tier: {error}")
            return messages

    # -- inside

    async def _fold(
        self, ctx: RunContext[Any], messages: Sequence[ModelMessage], model: Any, **fixed: Any
    ) -> Folded[ModelMessage]:
        name = getattr(model, "model_name", "")
        settings: Mapping[str, Any] = {} if self._budgeted else ctx.model_settings or {}
        try:
            return await self.folding.afold(
                list(messages),
                key=ctx.conversation_id,
                model=name,
                max_output_tokens=settings.get("max_tokens"),
                **fixed,
            )
        except OverBudget as error:
            raise ContextOverflow(error, name) from error

    def _declare(self, ctx: RunContext[Any]) -> None:
        def visit(toolset: Any) -> None:
            tools = getattr(toolset, "tools", None)
            for name, tool in tools.items() if isinstance(tools, dict) else ():
                declared = declaration(getattr(tool, "function", None))
                if declared is not None:
                    self.folding.declare(replace(declared, tool=name))

        for toolset in getattr(ctx.agent, "toolsets", None) or ():
            toolset.apply(visit)

    def _check(self, ctx: RunContext[Any], messages: Sequence[ModelMessage]) -> None:
        if any(isinstance(part, CompactionPart) for message in messages for part in message.parts):
            self.folding.warn(TWO_MANAGERS.format("the provider's own compaction"))
        found: list[str] = []

        def visit(capability: Any) -> None:
            kind = type(capability)
            if kind.__name__ in _MANAGERS or kind.__module__.startswith("pydantic_ai_harness.compaction"):
                found.append(kind.__name__)

        root = getattr(ctx, "root_capability", None)
        if root is not None:
            root.apply(visit)
        for name in found:
            self.folding.warn(TWO_MANAGERS.format(name))

    def _recall_tool(self) -> Tool[Any]:
        async def recall(ctx: RunContext[Any], **arguments: Any) -> str:
            return await self.folding.arecall(arguments, key=ctx.conversation_id)

        return Tool.from_schema(recall, RECALL, RECALL_DESCRIPTION, dict(RECALL_SCHEMA), takes_ctx=True)


def _thinking(context: ModelRequestContext) -> list[Any]:
    """What this request says of Claude's thinking, in Anthropic's terms."""
    settings: Mapping[str, Any] = context.model_settings or {}
    more = settings.get("bedrock_additional_model_requests_fields") or {}
    found = [settings.get("anthropic_thinking"), more.get("thinking")]
    profile: Any = getattr(context.model, "profile", None) or {}
    asked = context.model_request_parameters.thinking or settings.get("thinking")
    if "claude" in context.model.model_name and (asked or profile.get("thinking_always_enabled")):
        found.append({"type": "adaptive"})
    return found


def _fixed(parameters: Any) -> dict[str, Any]:
    """System prompt and tools beside the messages, in the wire's terms."""
    parts = parameters.instruction_parts
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema,
            },
        }
        for tool in [*parameters.function_tools, *parameters.output_tools]
    ]  # fmt: skip
    return {"system": InstructionPart.join(parts) if parts else None, "tools": tools}
