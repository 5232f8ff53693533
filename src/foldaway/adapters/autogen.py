"""AutoGen: a model context.

    context = FoldawayContext(budget=100_000, system=prompt, tools=tools)
    agent = AssistantAgent("clerk", model, system_message=prompt, tools=[*tools, *context.tools], model_context=context)

The context keeps the whole history, as `save_state` and `load_state` see it; only what `get_messages` gives is managed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from foldaway.adapters._base import (
    RECALL,
    RECALL_DESCRIPTION,
    ContextWarning,
    Folding,
    declaration,
    missing,
)
from foldaway.errors import SettingsError
from foldaway.protocols import Store
from foldaway.session import Session

try:
    from autogen_core import CancellationToken, Component
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import LLMMessage
    from autogen_core.tools import BaseTool, FunctionTool
    from pydantic import BaseModel, Field

    from foldaway.adapters._autogen_messages import AutoGenMessages
except ImportError as error:
    raise missing("autogen", error) from error

__all__ = ["ContextWarning", "FoldawayContext", "RecallTool"]


class FoldawayContextConfig(BaseModel):
    """What `dump_component` writes."""

    budget: int | None = None
    store: str | None = None
    name: str = ""
    recall: str = "tool"
    system: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    initial_messages: list[LLMMessage] | None = None


class FoldawayContext(ChatCompletionContext, Component[FoldawayContextConfig]):  # type: ignore[misc, unused-ignore]
    """What one agent's model sees of one conversation. Each agent gets its own."""

    component_config_schema = FoldawayContextConfig
    component_provider_override = "foldaway.adapters.autogen.FoldawayContext"

    def __init__(
        self, *, budget: int | None = None, store: str | Store | None = None, name: str = "", recall: str = "tool",
        system: str | None = None, tools: Sequence[Any] = (), initial_messages: list[LLMMessage] | None = None,
        **settings: Any,
    ) -> None:  # fmt: skip
        """Takes the settings of `foldaway.Session`. `name`: of the session, needed with a store.

        `system` and `tools`: as the agent has them, so that they count towards the budget and `@foldaway.tool` is
        heard; AutoGen does not tell a context. Raises SettingsError for a tool of the user's named recall.
        """
        super().__init__(initial_messages)
        if store is not None and not name:
            raise SettingsError("a context with a store needs name=, the session's name there: each context its own")
        self.folding: Folding[LLMMessage] = Folding(
            AutoGenMessages(), budget=budget, store=store, recall=recall, **settings
        )
        self.tools: list[Any] = [RecallTool(self)] if recall == "tool" else []
        self.name = name or "main"
        self._config: dict[str, Any] = {"budget": budget, "store": store, "recall": recall, "settings": settings}
        self._system, self._definitions = system, [self._definition(tool) for tool in tools]

    def session(self) -> Session:
        return self.folding.session(self.name)

    async def get_messages(self) -> list[LLMMessage]:
        """What the model is to see. Raises OverBudget where nothing valid fits."""
        folded = await self.folding.afold(
            self._messages, key=self.name, system=self._system, tools=self._definitions or None
        )
        return folded.messages

    def _definition(self, tool: Any) -> dict[str, Any]:
        if not isinstance(tool, BaseTool):
            tool = FunctionTool(tool, description=tool.__doc__ or "")
        if self.tools and tool.name == RECALL:
            raise SettingsError("the agent has a tool named recall already; rename it, or recall='directive'")
        declared = declaration(getattr(tool, "_func", None))
        if declared is not None:
            self.folding.declare(replace(declared, tool=tool.name))
        return {"type": "function", "function": dict(tool.schema)}

    def _to_config(self) -> FoldawayContextConfig:
        if not isinstance(self._config["store"], str | None):
            raise SettingsError("a context with a store that is an object cannot be dumped: give the store as text")
        return FoldawayContextConfig(
            **self._config, name=self.name, system=self._system, initial_messages=self._initial_messages
        )

    @classmethod
    def _from_config(cls, config: FoldawayContextConfig) -> FoldawayContext:
        given = {name: getattr(config, name) for name in type(config).model_fields if name != "settings"}
        return cls(**given, **config.settings)


class RecallArguments(BaseModel):
    ids: str = Field(description="words to look for, or ids or ranges")
    find: str | None = Field(default=None, description="only the part about these words")


class RecallTool(BaseTool[RecallArguments, str]):  # type: ignore[misc, unused-ignore]
    """Brings back what is folded in one context. `dump_component` does not know it: it belongs to its context."""

    def __init__(self, context: FoldawayContext) -> None:
        super().__init__(RecallArguments, str, RECALL, RECALL_DESCRIPTION)
        self._context = context

    async def run(self, args: RecallArguments, cancellation_token: CancellationToken) -> str:
        context = self._context
        return await context.folding.arecall(args.model_dump(), key=context.name)
