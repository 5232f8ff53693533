"""smolagents: a wrapper around the agent's model.

    foldaway = FoldawayModel(model, budget=100_000, store="sqlite:///foldaway.db", session="harbour")
    agent = ToolCallingAgent(tools=[*tools, *foldaway.tools], model=foldaway)

The agent's memory stays whole: a step callback would have to take things out of it for good, a model wrapper does not.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
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
from foldaway.errors import SettingsError
from foldaway.protocols import Store
from foldaway.session import Session

try:
    from smolagents import Tool
    from smolagents.models import ChatMessage, Model, get_tool_json_schema

    from foldaway.adapters._smolagents_messages import SmolMessages, Turn, turns
except ImportError as error:
    raise missing("smolagents", error) from error

__all__ = ["ContextWarning", "FoldawayModel"]

NO_RECALL = "the agent has no recall tool: ToolCallingAgent(tools=[*tools, *foldaway.tools]), or recall='directive'"


class FoldawayModel(Model):  # type: ignore[misc, unused-ignore]
    """A model of smolagents' whose calls see a managed context; in all else the model it wraps.

    `session` names the conversation; without it, it is told by its history and kept in memory. Managed agents that
    share the model, plans and final answers have histories of their own, and are told by these.
    """

    def __init__(
        self, model: Model, *, budget: int | None = None, store: str | Store | None = None, recall: str = "tool",
        session: str | None = None, **settings: Any,
    ) -> None:  # fmt: skip
        """Takes the settings of `foldaway.Session` and `declared=` (functions under `@foldaway.tool`).

        A CodeAgent does not tell its model of its tools: declare them here.
        """
        self.model = model
        self.key = session
        self.folding: Folding[Turn] = Folding(SmolMessages(), budget=budget, store=store, recall=recall, **settings)
        self._at: ContextVar[tuple[str | None, list[Turn]] | None] = ContextVar("foldaway", default=None)
        self.tools: list[Any] = [RecallTool(self)] if recall == "tool" else []
        if hasattr(model, "generate_stream"):
            # An agent looks whether there is such a method.
            self.generate_stream = self._generate_stream

    def named(self, session: str) -> FoldawayModel:
        """The same for another conversation: one model and one recall tool may serve several agents."""
        other = copy.copy(self)
        other.key = session
        if hasattr(self.model, "generate_stream"):
            other.generate_stream = other._generate_stream
        return other

    def session(self, name: str | None = None) -> Session:
        """The session of that name, else this model's own; without a name the only one there is."""
        return self.folding.session(name if name is not None else self.key)

    def generate(self, messages: list[ChatMessage], *args: Any, **given: Any) -> ChatMessage:
        folded = self._folded(messages, given)
        answer = self.model.generate(_flat(folded.messages), *args, **self._offered(given, folded))
        self._report(folded, answer.token_usage)
        return answer

    def __call__(self, *args: Any, **given: Any) -> Any:
        return self.generate(*args, **given)

    def parse_tool_calls(self, message: ChatMessage) -> ChatMessage:
        return self.model.parse_tool_calls(message)

    def to_dict(self) -> dict[str, Any]:
        """The model's own: a saved agent comes back without Foldaway."""
        made: dict[str, Any] = self.model.to_dict()
        return made

    @property
    def supports_stop_parameter(self) -> bool:
        return bool(self.model.supports_stop_parameter)

    def __getattr__(self, name: str) -> Any:
        if name in ("model", "generate_stream") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.model, name)

    # -- inside

    def _generate_stream(self, messages: list[ChatMessage], *args: Any, **given: Any) -> Iterator[Any]:
        folded = self._folded(messages, given)
        used: list[Any] = []
        for delta in self.model.generate_stream(_flat(folded.messages), *args, **self._offered(given, folded)):
            if delta.token_usage is not None:
                used.append(delta.token_usage)
            yield delta
        self._report(folded, used[-1] if used else None)

    def _folded(self, messages: Sequence[Any], given: dict[str, Any]) -> Folded[Turn]:
        tools = given.get("tools_to_call_from") or []
        self._check(tools)
        history = turns([m if isinstance(m, ChatMessage) else ChatMessage.from_dict(dict(m)) for m in messages])
        key = self.key if self._goes_on(history) else None
        model = self.model_id if isinstance(self.model_id, str) else ""
        self._at.set((key, history))
        return self.folding.fold(
            history, key=key, model=model, tools=[get_tool_json_schema(tool) for tool in tools] or None
        )

    def _goes_on(self, history: Sequence[Turn]) -> bool:
        """Whether this is the conversation of our session: a plan or a managed agent begins in another way."""
        if self.key is None:
            return False
        known = self.folding.session(self.key).messages
        if not known or not history:
            return True
        first = self.folding.codec.to_wire(history[0])
        # The first plan comes before the first step and has no system prompt: it must not keep the session's name.
        return first == known[:1] or (known[0]["role"] != "system" and first[0]["role"] == "system")

    def _offered(self, given: dict[str, Any], folded: Folded[Turn]) -> dict[str, Any]:
        tools = given.get("tools_to_call_from")
        if not tools or folded.recallable:
            return given
        return {**given, "tools_to_call_from": [tool for tool in tools if not isinstance(tool, RecallTool)]}

    def _check(self, tools: Sequence[Any]) -> None:
        ours = [tool for tool in tools if isinstance(tool, RecallTool)]
        if any(tool.name == RECALL and not isinstance(tool, RecallTool) for tool in tools) and self.tools:
            raise SettingsError(
                "the agent has a tool named recall already; rename it, or FoldawayModel(recall='directive')"
            )
        if tools and self.tools and not ours:
            self.folding.warn(NO_RECALL)
        for tool in tools:
            declared = declaration(getattr(tool, "forward", None))
            if declared is not None:
                self.folding.declare(replace(declared, tool=tool.name))

    def _report(self, folded: Folded[Turn], usage: Any) -> None:
        tokens = getattr(usage, "input_tokens", None)
        self.folding.report(folded, {"input_tokens": tokens, "input_tokens_details": {}} if tokens else None)


class RecallTool(Tool):  # type: ignore[misc, unused-ignore]
    """The tool that brings back what is folded in the conversation it is called from."""

    name = RECALL
    description = RECALL_DESCRIPTION
    inputs = {  # noqa: RUF012 (smolagents reads a plain dict of the class)
        "ids": dict(RECALL_SCHEMA["properties"]["ids"]),
        "find": {**RECALL_SCHEMA["properties"]["find"], "nullable": True},
    }
    output_type = "string"

    def __init__(self, owner: FoldawayModel) -> None:
        super().__init__()
        self.owner = owner

    def forward(self, ids: str, find: str | None = None) -> str:
        key, history = self.owner._at.get() or (None, None)
        return self.owner.folding.recall({"ids": ids, "find": find}, key=key, messages=history)


def _flat(history: Sequence[Turn]) -> list[ChatMessage]:
    return [message for turn in history for message in turn.messages]
