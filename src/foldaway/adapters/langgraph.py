"""LangGraph: a `pre_model_hook` for `create_react_agent`, or for any node in front of one that calls a model.

    hook = PreModelHook(budget=100_000)
    agent = create_react_agent(model, [*tools, *hook.tools], pre_model_hook=hook, checkpointer=...)

It writes `llm_input_messages` alone: the graph's state keeps the whole history. The thread id is the session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldaway.adapters._base import ContextWarning, Folded, Folding, declaration, missing
from foldaway.errors import OverBudget
from foldaway.protocols import Store
from foldaway.session import Session

try:
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import RunnableConfig, RunnableLambda
    from langchain_core.utils.function_calling import convert_to_openai_tool

    from foldaway.adapters._langchain_messages import LangChainMessages
    from foldaway.adapters._langchain_shared import (
        TWO_MANAGERS,
        ContextOverflow,
        managers,
        overflow,
        recall_tool,
        thread_key,
    )
except ImportError as error:
    raise missing("langgraph", error) from error

__all__ = ["ContextOverflow", "ContextWarning", "PreModelHook"]


class PreModelHook(RunnableLambda):  # type: ignore[misc, type-arg, unused-ignore]
    """What the model of a graph sees, as a node in front of it, sync and async.

    A graph has one list of tools: the recall tool (`hook.tools`) is offered from the start, also while nothing is
    folded. Say `system` and `tools` as the agent has them, so that they count towards the budget.
    """

    def __init__(
        self, *, budget: int | None = None, store: str | Store | None = None, recall: str = "tool",
        system: str | None = None, tools: Sequence[Any] = (), messages_key: str = "messages", **settings: Any,
    ) -> None:  # fmt: skip
        """Takes the settings of `foldaway.Session`; `messages_key`: where the state keeps its messages."""
        super().__init__(self._hook, afunc=self._ahook, name="foldaway")
        self.folding: Folding[BaseMessage] = Folding(
            LangChainMessages(), budget=budget, store=store, recall=recall, **settings
        )
        self.tools: list[Any] = [recall_tool(self.folding, messages_key)] if recall == "tool" else []
        self._system, self._key = system, messages_key
        self._definitions = [convert_to_openai_tool(tool) for tool in tools]
        for tool in tools:
            declared = declaration(tool, getattr(tool, "func", None), getattr(tool, "coroutine", None))
            if declared is not None:
                self.folding.declare(declared)

    def session(self, thread_id: str | None = None) -> Session:
        """The session of a thread; None: the only one there is."""
        return self.folding.session(thread_id)

    def _hook(self, state: Any, config: RunnableConfig) -> dict[str, Any]:
        messages = self._messages(state)
        try:
            return self._shown(self.folding.fold(messages, **self._call(config)))
        except OverBudget as error:
            raise overflow(error) from error

    async def _ahook(self, state: Any, config: RunnableConfig) -> dict[str, Any]:
        messages = self._messages(state)
        try:
            return self._shown(await self.folding.afold(messages, **self._call(config)))
        except OverBudget as error:
            raise overflow(error) from error

    def _messages(self, state: Any) -> list[BaseMessage]:
        messages: list[BaseMessage] = state[self._key] if isinstance(state, Mapping) else getattr(state, self._key)
        return messages

    def _call(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return {"key": thread_key(config), "system": self._system, "tools": self._definitions or None}

    def _shown(self, folded: Folded[BaseMessage]) -> dict[str, Any]:
        for manager in managers(folded.fresh, None):
            self.folding.warn(TWO_MANAGERS.format(manager))
        return {"llm_input_messages": folded.messages}
