"""LlamaIndex: a memory, an agent that manages every model call with it, and a block for LlamaIndex' own `Memory`.

    agent = FoldawayAgent(tools=tools, llm=llm, system_prompt=prompt)
    await agent.run(user_msg, memory=FoldawayMemory(budget=100_000, per_call=True))

LlamaIndex' agents keep what happens within a run beside their memory, so a memory alone manages between the runs.
"""

from __future__ import annotations

import contextvars
import uuid
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
from foldaway.session import Session

try:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.memory.types import BaseChatStoreMemory
    from llama_index.core.storage.chat_store.loading import load_chat_store
    from llama_index.core.tools import FunctionTool
    from llama_index.core.workflow import Context
    from pydantic import BaseModel, Field, PrivateAttr

    from foldaway.adapters._llamaindex_block import FoldawayBlock
    from foldaway.adapters._llamaindex_messages import LlamaIndexMessages
except ImportError as error:
    raise missing("llamaindex", error) from error

__all__ = ["ContextWarning", "FoldawayAgent", "FoldawayBlock", "FoldawayMemory", "recall_tool"]

UNMANAGED_READS = 4
"""Reads of a memory for `FoldawayAgent` in a row, without its managing a call, that tell of another agent."""


class FoldawayMemory(BaseChatStoreMemory):  # type: ignore[misc, unused-ignore]
    """A chat memory of one conversation: it keeps every message in its chat store and gives what fits the budget.

    `per_call`: it gives the whole history, for `FoldawayAgent` to manage at each call. Other keywords are settings of
    `foldaway.Session`, and `declared=` (functions under `@foldaway.tool`).
    """

    session_id: str = Field(default_factory=lambda: uuid.uuid4().hex)
    budget: int | None = None
    store: Any = None
    recall: str = "tool"
    system: str | None = None
    """What stands before the history in each request, so that it counts; `FoldawayAgent` knows it itself."""
    per_call: bool = False
    settings: dict[str, Any] = Field(default_factory=dict)
    _folding: Any = PrivateAttr(default=None)
    _reads: int = PrivateAttr(default=0)

    def __init__(self, **given: Any) -> None:
        own = {name: given.pop(name) for name in list(given) if name in type(self).model_fields}
        settings = {**own.pop("settings", {}), **given}
        if own.get("store") is not None and not own.get("session_id"):
            raise SettingsError("a memory with a store needs session_id=, the session's name there")
        super().__init__(**own, settings=settings)
        self._folding = Folding(
            LlamaIndexMessages(), budget=self.budget, store=self.store, recall=self.recall, **settings
        )

    @classmethod
    def class_name(cls) -> str:
        return "FoldawayMemory"

    @classmethod
    def from_defaults(
        cls, chat_history: list[ChatMessage] | None = None, llm: Any = None, **given: Any
    ) -> FoldawayMemory:
        memory = cls(**given)
        if chat_history:
            memory.set(chat_history)
        return memory

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> FoldawayMemory:
        given = {name: value for name, value in data.items() if name != "class_name"}
        if isinstance(given.get("chat_store"), dict):
            given["chat_store"] = load_chat_store(given["chat_store"])
        return cls(**given)

    @property
    def folding(self) -> Folding[ChatMessage]:
        folding: Folding[ChatMessage] = self._folding
        return folding

    def session(self) -> Session:
        return self.folding.session(self.session_id)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """What the model is to see. Raises OverBudget where nothing valid fits."""
        return self._shown(super().get_all())

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        whole = await super().aget_all()
        if self.per_call:
            return self._shown(whole)
        return (await self.folding.afold(whole, key=self.session_id, system=self.system)).messages

    def _shown(self, whole: list[ChatMessage]) -> list[ChatMessage]:
        if not self.per_call:
            return self.folding.fold(whole, key=self.session_id, system=self.system).messages
        self._reads += 1
        if self._reads >= UNMANAGED_READS:
            self.folding.warn("this memory is for FoldawayAgent (per_call=True); nothing else manages it at its calls")
        return whole


class FoldawayAgent(FunctionAgent):  # type: ignore[misc, unused-ignore]
    """A function agent whose every model call is managed: within a run too. Each conversation has its memory."""

    async def get_tools(self, input_str: str | None = None) -> Sequence[Any]:
        # A tool of the user's with the same name comes behind, so that it would be the one called.
        return [RECALL_TOOL, *await super().get_tools(input_str)]

    async def take_step(self, ctx: Any, llm_input: list[ChatMessage], tools: Sequence[Any], memory: Any) -> Any:
        if not isinstance(memory, FoldawayMemory) or not memory.per_call:
            raise SettingsError(
                "FoldawayAgent wants run(memory=FoldawayMemory(..., per_call=True)); "
                f"a {type(memory).__name__} gives it a history that is cut already"
            )
        token = _MEMORY.set(memory)
        try:
            return await super().take_step(ctx, llm_input, tools, memory)
        finally:
            _MEMORY.reset(token)

    async def _get_response(self, current_llm_input: list[ChatMessage], tools: Sequence[Any]) -> Any:
        return await super()._get_response(*await _managed(current_llm_input, tools))

    async def _get_streaming_response(
        self, ctx: Any, current_llm_input: list[ChatMessage], tools: Sequence[Any]
    ) -> Any:
        return await super()._get_streaming_response(ctx, *await _managed(current_llm_input, tools))


_MEMORY: contextvars.ContextVar[FoldawayMemory] = contextvars.ContextVar("foldaway_memory")
"""Of the step at work: LlamaIndex does not hand it on to where the model is called."""


async def _managed(messages: list[ChatMessage], tools: Sequence[Any]) -> tuple[list[ChatMessage], list[Any]]:
    """What the model is to see, and the tools it is offered."""
    memory = _MEMORY.get()
    memory._reads = 0
    others = [tool for tool in tools if tool is not RECALL_TOOL]
    if memory.recall == "tool" and any(tool.metadata.name == RECALL for tool in others):
        raise SettingsError("the agent has a tool named recall already; rename it, or recall='directive'")
    for tool in others:
        declared = declaration(*(getattr(tool, name, None) for name in ("real_fn", "fn", "async_fn")))
        if declared is not None:
            memory.folding.declare(replace(declared, tool=tool.metadata.name))
    first = next((i for i, m in enumerate(messages) if m.role != MessageRole.SYSTEM), len(messages))
    folded = await memory.folding.afold(
        messages[first:], key=memory.session_id, system="\n".join(m.content or "" for m in messages[:first]) or None,
        tools=[tool.metadata.to_openai_tool(skip_length_check=True) for tool in others],
    )  # fmt: skip
    return [*messages[:first], *folded.messages], [*others, RECALL_TOOL] if folded.recallable else others


class RecallArguments(BaseModel):
    ids: str = Field(description="words to look for, or ids or ranges")
    find: str = Field(default="", description="only the part about these words")


def recall_tool() -> FunctionTool:
    """Brings back what is folded in the memory of the run it is called in. `FoldawayAgent` has it already."""

    # Annotations as objects: LlamaIndex reads them, and this module's are text.
    async def recall(ctx: Any, ids: Any, find: Any = "") -> str:
        memory = await ctx.store.get("memory", default=None)
        if not isinstance(memory, FoldawayMemory):
            return "Nothing was brought back: this run has no FoldawayMemory"
        return await memory.folding.arecall({"ids": ids, "find": find}, key=memory.session_id)

    recall.__annotations__ = {"ctx": Context, "ids": str, "find": str, "return": str}
    return FunctionTool.from_defaults(
        async_fn=recall, name=RECALL, description=RECALL_DESCRIPTION, fn_schema=RecallArguments
    )


RECALL_TOOL = recall_tool()
