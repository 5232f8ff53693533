"""A memory block for LlamaIndex' own `Memory`: what that flushes is folded here instead of being lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.tools import FunctionTool
from pydantic import Field, PrivateAttr

from foldaway.adapters._base import RECALL, RECALL_DESCRIPTION
from foldaway.adapters._llamaindex_messages import LlamaIndexMessages
from foldaway.errors import FoldawayError, SettingsError
from foldaway.model.wire import Message
from foldaway.session import Session

CODEC = LlamaIndexMessages()


class FoldawayBlock(BaseMemoryBlock[str]):  # type: ignore[misc, unused-ignore]
    """The conversation before the newest messages, within `budget` tokens, and `tools` that bring back the rest.

    One block, one conversation. Other keywords are settings of `foldaway.Session`.
    """

    name: str = "earlier"
    description: str | None = "The conversation before; what was folded away can be recalled by its id."
    budget: int = 2_000
    store: Any = None
    session_id: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    _session: Any = PrivateAttr(default=None)

    def __init__(self, **given: Any) -> None:
        own = {name: given.pop(name) for name in list(given) if name in type(self).model_fields}
        settings = {**own.pop("settings", {}), **given}
        if own.get("store") is not None and not own.get("session_id"):
            raise SettingsError("a block with a store needs session_id=, the session's name there")
        super().__init__(**own, settings=settings)
        if self.session_id:
            settings = {**settings, "name": self.session_id}
        self._session = Session(budget=self.budget, store=self.store, format=CODEC.format, **settings)

    def session(self) -> Session:
        session: Session = self._session
        return session

    @property
    def tools(self) -> list[Any]:
        """The recall tool of this block, for the agent."""

        def recall(ids: Any, find: Any = "") -> str:
            try:
                return self.session().recall_result({"ids": ids, "find": find or None})
            except FoldawayError as error:
                return f"Nothing was brought back: {error}"

        recall.__annotations__ = {"ids": str, "find": str, "return": str}
        return [FunctionTool.from_defaults(fn=recall, name=RECALL, description=RECALL_DESCRIPTION)]

    async def _aput(self, messages: list[ChatMessage]) -> None:
        self.session().append([part for message in messages for part in CODEC.to_wire(message)])

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        session = self.session()
        return as_text(session.view().messages) if session.messages else ""

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """A smaller budget from now on; nothing at all where that does not help."""
        session = self.session()
        view = session.view()
        smaller = view.tokens - tokens_to_truncate
        if smaller < 1:
            return None
        session.set_budget(budget=smaller)
        view = session.view()
        return as_text(view.messages) if view.tokens <= smaller else None


def as_text(messages: Sequence[Message]) -> str:
    """Messages as lines of text, one a message or call."""
    lines = []
    for message in messages:
        content = message.get("content") or ""
        if not isinstance(content, str):
            content = "\n".join(str(p["text"]) if "text" in p else json.dumps(p, ensure_ascii=False) for p in content)
        if content:
            lines.append(f"{message['role']}: {content}")
        for call in message.get("tool_calls") or ():
            lines.append(f"{message['role']} calls {call['function']['name']}({call['function']['arguments']})")
    return "\n".join(lines)
